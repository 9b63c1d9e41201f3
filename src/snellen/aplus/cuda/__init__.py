"""A+ on the GPU: luma → features → match → group → regress → overlap, each with its kernel.

The stages are thicker than those of the CPU, because here the way to memory is what costs. They
take CuPy arrays and work on CuPy's current device and stream.
"""
