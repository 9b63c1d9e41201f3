"""Finds what differs between two videos that are to be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from snellen.errors import InputError
from snellen.video import pixels
from snellen.video.comparing.resize import METHOD
from snellen.video.comparing.turning import (
    applies,
    lies_across,
    orientation,
    said,
    shown_size,
    stored_size,
)
from snellen.video.ffmpeg import UNSPECIFIED
from snellen.video.media import Change, MediaInfo

_SAME_RATE = Fraction(1, 2000)
"""Ratio by which equal rates may differ due to a container's clock: half of that of 24 to
23.976."""


def sizes(one: MediaInfo, other: MediaInfo) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return width and height of two videos' pictures as they are compared."""
    size = shown_size if applies(one, other) else stored_size
    return size(one.picture), size(other.picture)


def check_sizes(one: MediaInfo, other: MediaInfo, resized: bool) -> None:
    """Raise InputError for videos of different sizes, unless one is to be resized."""
    first, second = sizes(one, other)
    if first != second and not resized:
        named = (f"{info.name} (sample aspect ratio {_ratio(info)})" for info in (one, other))
        alike = _ratio(one) == _ratio(other)
        names = (one.name, other.name) if alike else tuple(named)
        raise InputError(unequal(names[0], first, names[1], second))


def unequal(one: str, first: tuple[int, int], other: str, second: tuple[int, int]) -> str:
    """Return the message for pictures of different sizes, (width, height)."""
    message = (
        f"{one} is {first[0]}×{first[1]}, but {other} is {second[0]}×{second[1]}: pictures "
        "are compared pixel by pixel; "
    )
    if lies_across(first, second):
        return message + "one seems to be turned by a quarter: turn it back first"
    return message + "`resize` scales the distorted ones"


def scaled(size: tuple[int, int], target: tuple[int, int]) -> str:
    """Return the message for a picture that is scaled to another size, (width, height)."""
    found = f"scaled from {size[0]}×{size[1]} to {target[0]}×{target[1]} by {METHOD}"
    return found + (", although one seems turned by a quarter" * lies_across(size, target))


def _ratio(info: MediaInfo) -> Fraction:
    return info.picture.sample_aspect_ratio or Fraction(1)


def differences(one: MediaInfo, other: MediaInfo) -> Iterator[tuple[str, str]]:
    """Yield warnings about other differences, and about properties that are ignored.

    Each is the name of the video that it concerns, empty for both, and the text.
    """
    for info in (one, other):
        layout = pixels.parse(info.picture.pixel_format)
        if info.decoder_notice:
            yield info.name, info.decoder_notice
        for notice in info.notices:
            yield info.name, notice
        if info.fields_notice:
            yield info.name, info.fields_notice
        if layout.alpha:
            yield info.name, "transparency does not count"
        if layout.rgb:
            yield info.name, f"{layout.name} is compared by BT.709 luma in limited range"
    pictures = one.picture, other.picture
    first, second = sizes(one, other)
    if first != second:
        yield other.name, scaled(second, first)
    if _ratio(one) != _ratio(other) and first == second:
        yield (
            "",
            f"the videos have different sample aspect ratios, {_ratio(one)} and {_ratio(other)}: "
            "they are compared sample by sample",
        )
    if abs(one.rate - other.rate) > _SAME_RATE * one.rate:
        yield (
            "",
            f"{float(one.rate):g} frames a second in {one.name}, {float(other.rate):g} in "
            f"{other.name}: frames are paired by number, not by time",
        )
    if pictures[0].format.full_range != pictures[1].format.full_range:
        yield "", "one video has full range and one limited: code values are compared"
    turns = [picture.display_matrix for picture in pictures]
    if applies(one, other):
        for info, turn in zip((one, other), turns, strict=True):
            if orientation(turn) != orientation(None):
                yield info.name, f"it is compared as its tag shows it: {said(turn)}"
    elif orientation(turns[0]) != orientation(turns[1]):
        yield (
            "",
            f"the videos have different rotations, {said(turns[0])} and {said(turns[1])} by their "
            "tags: they are compared without rotation",
        )
    transfers = {picture.color_trc for picture in pictures} - {UNSPECIFIED}
    if len(transfers) > 1:
        yield (
            "",
            "the videos have different transfer functions: code values are compared",
        )


def later_differences(
    one: tuple[MediaInfo, Sequence[Change]], other: tuple[MediaInfo, Sequence[Change]]
) -> Iterator[tuple[str, str]]:
    """Yield warnings about what changes within one of two videos, and not within the other alike.

    Each is the name of the video that it concerns, and the text.
    """
    for (info, changes), (_, others) in ((one, other), (other, one)):
        for change in changes:
            alike = any(
                change.text == same.text and abs(change.since - same.since) * info.rate < 1
                for same in others
            )
            if change.samples and not alike:
                yield info.name, str(change)
