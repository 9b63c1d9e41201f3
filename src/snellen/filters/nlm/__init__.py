"""Non-local means over several frames: the mean of samples whose surroundings are alike."""
