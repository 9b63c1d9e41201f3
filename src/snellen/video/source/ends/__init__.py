"""For each container: whether a file of it ends early, by its own structure."""
