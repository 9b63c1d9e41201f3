"""MAD on the GPU: lightness → csf → masking; log-Gabor → statistics; combine, each with its kernel.

The stages take CuPy arrays and work on CuPy's current device and stream; `backend` composes them.
"""
