"""Benchmarks: first that the result is right, then the time."""
