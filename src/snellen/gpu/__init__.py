"""GPUs: devices, memory, kernels and their compiler, graphs, and times of stages."""
