"""MIA, the multiplicative iterative algorithm: a blurred picture → a sharp one, and its blur."""
