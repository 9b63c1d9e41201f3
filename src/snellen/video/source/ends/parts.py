"""The walks of all containers share this: reading, and messages about a file that ends early."""

from __future__ import annotations

from typing import BinaryIO


def read_at(file: BinaryIO, at: int, count: int) -> bytes:
    """Return so many bytes from a place on; fewer at the end of the file."""
    file.seek(at)
    return file.read(count)


def within(where: str, there: int, promised: int) -> str:
    """Return a sentence: `there` of `promised` bytes of a part are in the file."""
    return f"the input ends early: within {where} ({there} of {promised} bytes)"


def before(end: str) -> str:
    """Return a sentence: the file lacks what marks its end."""
    return f"the input ends early: without {end}"
