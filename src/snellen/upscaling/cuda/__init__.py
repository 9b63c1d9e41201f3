"""Enlarging on a GPU: frames in flight, the planes of a frame, and pictures as arrays."""
