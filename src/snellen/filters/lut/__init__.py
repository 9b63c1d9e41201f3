"""Colour look-up tables of .cube files, on the YCbCr planes of films."""
