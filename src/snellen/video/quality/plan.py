"""Chooses the excerpts of a film: those of the probes, and those by which the result is checked."""

from __future__ import annotations

from fractions import Fraction

SHORT = 180
"""Frames of a film up to which all of it is the excerpt."""
LENGTH = 30
"""Frames of an excerpt that are scored."""
BEFORE, AFTER = 10, 20
"""Frames that are encoded before and after these. Without them an excerpt is worse than the same
frames within a film, by 1 of VMAF: encoders look ahead (lab/target.md)."""
_LEAST, _MOST, _FOR_ONE = 3, 8, 150
"""Excerpts of a film: one for so many frames."""


def excerpts(
    frames: int | None, room: int
) -> tuple[int, tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the frames of an excerpt, and where the excerpts begin: of the probes, and others.

    Parameters
    ----------
    frames : int or None
        Of the film, as far as is known; None: only its beginning is taken.
    room : int
        Frames that can be kept.

    Returns
    -------
    tuple
        Places are frames from the beginning, which need not be whole. Those of the probes are the
        middles of equal parts of the film, the others are between them: together they are evenly
        spaced. A short film is one excerpt.
    """
    if frames is None or frames <= SHORT:
        length = max(1, min(frames or SHORT, room))
        return length, (Fraction((frames or length) - length, 2),), ()
    fit = room // (BEFORE + LENGTH + AFTER)
    count = max(1, min(max(_LEAST, frames // _FOR_ONE), _MOST, fit))
    places = [
        Fraction(frames * number, 2 * count) - Fraction(LENGTH, 2) for number in range(1, 2 * count)
    ]
    return LENGTH, tuple(places[::2]), tuple(places[1::2])


def picked(numbers: range, most: int | None) -> tuple[int, ...]:
    """Return which of consecutive frames are scored, at most so many; None: all.

    They are evenly spaced, but for a part of the spacing: an even one might always meet the same
    kind of frame in the encoder's pattern.
    """
    count = len(numbers)
    if most is None or count <= most:
        return tuple(numbers)
    golden = 0.6180339887498949 if count >= 2 * most else 0.0  # else two could be the same
    return tuple(numbers[int((n + (n + 1) * golden % 1) * count / most)] for n in range(most))
