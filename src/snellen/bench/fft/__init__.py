"""The benchmark of small Fourier transforms: right first, then the times."""
