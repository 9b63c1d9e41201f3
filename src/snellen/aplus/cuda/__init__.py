"""A+ on the GPU: luma → features → match → group → regress → overlap, each with its kernel.

Each stage does more than one of the CPU's, as memory bandwidth is the limit here: a stage reads and
writes global memory once. Stages take CuPy arrays and work on CuPy's current device and stream.
"""
