"""What all CPU backends use: compiled loops, and control of BLAS and of thread counts."""
