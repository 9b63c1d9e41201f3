"""Frames to container."""
