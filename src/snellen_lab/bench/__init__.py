"""Measurements of whole calls, of quality and of several workers; checked, then timed."""
