"""What differs between two films that are to be compared."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from snellen.errors import InputError
from snellen.video import pixels
from snellen.video.resize import METHOD
from snellen.video.source.decode import Source
from snellen.video.source.open import UNSPECIFIED

_RATES = Fraction(1, 2000)
"""Share by which rates may differ and be the same but for a container's clock: half of 24 to
23.976."""


def size(film: Source) -> tuple[int, int]:
    """Return width and height of a film's pictures."""
    return film.look.format.width, film.look.format.height


def check_sizes(one: Source, other: Source, resized: bool) -> None:
    """Refuse films of different sizes, unless one is to be resized (InputError)."""
    if size(one) != size(other) and not resized:
        raise InputError(unequal(one.name, size(one), other.name, size(other)))


def unequal(one: str, first: tuple[int, int], other: str, second: tuple[int, int]) -> str:
    """Say that two pictures have different sizes, (width, height), and what to do."""
    return (
        f"{one} is {first[0]}×{first[1]}, but {other} is {second[0]}×{second[1]}: pictures "
        "are compared pixel by pixel; use --resize to scale the distorted ones"
    )


def scaled(size: tuple[int, int], wanted: tuple[int, int]) -> str:
    """Say that a picture is brought to another size, (width, height)."""
    return f"scaled from {size[0]}×{size[1]} to {wanted[0]}×{wanted[1]} by {METHOD}"


def differences(one: Source, other: Source) -> Iterator[tuple[str, str]]:
    """Yield whatever else differs between two films, or does not count in them.

    Each is the name of the film that it is said of, empty for both, and what is to be said.
    """
    for film in (one, other):
        made = pixels.describe(film.look.pixel_format)
        if film.notice:
            yield film.name, film.notice
        if made.alpha:
            yield film.name, "transparency does not count"
        if made.rgb:
            yield film.name, f"{made.name} is compared by BT.709 luma in limited range"
    looks = one.look, other.look
    if size(one) != size(other):
        yield other.name, scaled(size(other), size(one))
    if abs(one.rate - other.rate) > _RATES * one.rate:
        yield (
            "",
            f"{float(one.rate):g} frames a second in {one.name}, {float(other.rate):g} in "
            f"{other.name}: frames meet by number, not by time",
        )
    if looks[0].format.full_range != looks[1].format.full_range:
        yield "", "one film has full range and one limited: samples are compared as they are coded"
    if looks[0].matrix != looks[1].matrix:
        yield "", "the films are shown turned differently: pictures are compared as they are coded"
    transfers = {look.transfer for look in looks} - {UNSPECIFIED}
    if len(transfers) > 1:
        yield (
            "",
            "the films have different transfer functions: samples are compared as they are coded",
        )
