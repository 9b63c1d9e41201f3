"""Steps that deblur and score frames, and the tables of their results."""
