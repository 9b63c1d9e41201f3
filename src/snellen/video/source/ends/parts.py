"""Messages about a file that ends early."""

from __future__ import annotations


def within(where: str, there: int, promised: int) -> str:
    """Return a sentence: `there` of `promised` bytes of a part are in the file."""
    return f"the input ends early: within {where} ({there} of {promised} bytes)"


def before(end: str) -> str:
    """Return a sentence: the file lacks what marks its end."""
    return f"the input ends early: without {end}"
