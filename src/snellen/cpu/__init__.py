"""Tools of all CPU backends: compiled loops, and control of BLAS and of thread counts."""

from snellen.cpu import pool as pool  # before SciPy is imported, which may need its stand-in
