"""prior="l0" on a GPU."""
