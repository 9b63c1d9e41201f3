"""Container to frames."""
