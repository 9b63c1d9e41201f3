"""Streams, tags and chapters that are copied."""
