"""Pictures: frames, colour, rounding, bicubic, image files, arrays of other libraries."""
