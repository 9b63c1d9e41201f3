"""Training of Snellen's models, and its larger measurements: a package of its own, on top of it."""
