"""Long films in segments, so that a run that was killed goes on where it was."""
