"""Comparisons and tables of the checkout: run them as `python -m benchmarks.NAME` in its root."""
