"""Finds what differs between two videos that are to be compared."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from snellen.errors import InputError
from snellen.video import pixels
from snellen.video.ffmpeg import UNSPECIFIED
from snellen.video.media import MediaInfo
from snellen.video.resize import METHOD

_SAME_RATE = Fraction(1, 2000)
"""Ratio by which equal rates may differ due to a container's clock: half of that of 24 to
23.976."""


def size(info: MediaInfo) -> tuple[int, int]:
    """Return width and height of a video's frames."""
    return info.picture.format.width, info.picture.format.height


def check_sizes(one: MediaInfo, other: MediaInfo, resized: bool) -> None:
    """Raise InputError for videos of different sizes, unless one is to be resized."""
    if size(one) != size(other) and not resized:
        raise InputError(unequal(one.name, size(one), other.name, size(other)))


def unequal(one: str, first: tuple[int, int], other: str, second: tuple[int, int]) -> str:
    """Return the message for pictures of different sizes, (width, height)."""
    return (
        f"{one} is {first[0]}×{first[1]}, but {other} is {second[0]}×{second[1]}: pictures "
        "are compared pixel by pixel; `resize` scales the distorted ones"
    )


def scaled(size: tuple[int, int], target: tuple[int, int]) -> str:
    """Return the message for a picture that is scaled to another size, (width, height)."""
    return f"scaled from {size[0]}×{size[1]} to {target[0]}×{target[1]} by {METHOD}"


def differences(one: MediaInfo, other: MediaInfo) -> Iterator[tuple[str, str]]:
    """Yield warnings about other differences, and about properties that are ignored.

    Each is the name of the video that it concerns, empty for both, and the text.
    """
    for info in (one, other):
        layout = pixels.parse(info.picture.pixel_format)
        if info.decoder_notice:
            yield info.name, info.decoder_notice
        if info.fields_notice:
            yield info.name, info.fields_notice
        if layout.alpha:
            yield info.name, "transparency does not count"
        if layout.rgb:
            yield info.name, f"{layout.name} is compared by BT.709 luma in limited range"
    pictures = one.picture, other.picture
    if size(one) != size(other):
        yield other.name, scaled(size(other), size(one))
    if abs(one.rate - other.rate) > _SAME_RATE * one.rate:
        yield (
            "",
            f"{float(one.rate):g} frames a second in {one.name}, {float(other.rate):g} in "
            f"{other.name}: frames are paired by number, not by time",
        )
    if pictures[0].format.full_range != pictures[1].format.full_range:
        yield "", "one video has full range and one limited: code values are compared"
    if pictures[0].display_matrix != pictures[1].display_matrix:
        yield "", "the videos have different rotations: they are compared without rotation"
    transfers = {picture.color_trc for picture in pictures} - {UNSPECIFIED}
    if len(transfers) > 1:
        yield (
            "",
            "the videos have different transfer functions: code values are compared",
        )
