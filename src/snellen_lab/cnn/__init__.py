"""Training of compact networks; only this package imports PyTorch."""
