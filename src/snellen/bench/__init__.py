"""Benchmarks of the methods on this machine: a result is checked, then it is timed."""
