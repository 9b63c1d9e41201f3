"""Training of A+ models and their evaluation, offline."""
