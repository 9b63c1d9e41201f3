"""MIA on the GPU: one kernel for all iterations of small periods, cuFFT for all others."""
