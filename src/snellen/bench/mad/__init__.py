"""The benchmark of MAD: first that the scores are right, then the time."""
