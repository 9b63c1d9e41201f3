"""Pictures: frames, colour, rounding, bicubic, arrays of other libraries."""
