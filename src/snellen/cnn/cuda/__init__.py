"""Compact networks on the GPU, as one kernel."""
