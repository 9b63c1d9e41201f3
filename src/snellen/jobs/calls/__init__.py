"""Functions that callers use: one job or several, plans, previews, dry runs, tables of pairs."""
