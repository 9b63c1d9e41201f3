"""The kinds of jobs, as values: upscale, deblur, score, compare, train."""
