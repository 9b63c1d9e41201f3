"""The CPU: compiled loops and BLAS."""
