"""The GPU: devices, kernels and their compiler."""
