"""Fixtures: see support/jobs.py and support/scores.py."""

from support.jobs import clip, frames, heard, picture, saved
from support.scores import clips, films, folders, images

__all__ = ["clip", "clips", "films", "folders", "frames", "heard", "images", "picture", "saved"]
