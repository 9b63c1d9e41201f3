"""Runs a CompareJob: scores of all variants, and what a report shows of them."""
