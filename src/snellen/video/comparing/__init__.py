"""Two videos are compared: their frames in pairs, and in what they differ."""
