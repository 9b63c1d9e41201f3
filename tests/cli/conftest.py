"""Fixtures: see support/jobs.py."""

from support.jobs import clip, frames, heard, picture, saved

__all__ = ["clip", "frames", "heard", "picture", "saved"]
