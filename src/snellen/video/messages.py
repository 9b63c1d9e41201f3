"""Phrases that messages share."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """Return e.g. '1 packet' or '2 packets'."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
