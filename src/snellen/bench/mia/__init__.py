"""The benchmark of MIA: right first, then the times."""
