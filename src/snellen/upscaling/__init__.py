"""Enlarging frames, pictures and arrays: luma by a method, chroma and alpha by bicubic."""
