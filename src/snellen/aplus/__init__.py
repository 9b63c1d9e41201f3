"""A+ super-resolution."""
