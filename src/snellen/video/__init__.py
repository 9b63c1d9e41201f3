"""Video in, video out."""
