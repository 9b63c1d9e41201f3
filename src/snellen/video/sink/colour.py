"""Which colours the output states, where the input states none or the user knows better."""

from __future__ import annotations

from dataclasses import replace

from snellen.files.containers import Y4M
from snellen.frames import coding
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.ffmpeg import UNSPECIFIED, first_stated
from snellen.video.media import PictureInfo
from snellen.video.side_data import HDR_TRANSFERS, Light
from snellen.video.sink.encoding import COLOURS

_BT601 = "bt601"
_GUESSES = {**COLOURS, _BT601: (6, 1, 6)}
_NAMES = {
    "bt709": "BT.709", "bt601-625": "BT.601 with the primaries of 625 lines",
    "bt601-525": "BT.601 with the primaries of 525 lines",
    _BT601: "BT.601 with the primaries of BT.709",
}  # fmt: skip
_LINES = {576: "bt601-625", 480: "bt601-525", 486: "bt601-525"}


def guessed(width: int, height: int) -> str:
    """Return which colours players assume of pictures that state none, by the rule of mpv.

    BT.709 from 1280 pixels across or above 576 lines; else the matrix of BT.601, with the primaries
    of 625 lines for 576 of them, of 525 lines for 480 and 486, and of BT.709 for any other number.
    """
    if coding.guessed(width, height) is coding.BT709:
        return "bt709"
    return _LINES.get(height, _BT601)


def stated(
    picture: PictureInfo, colour: str, result: Format, muxer: str
) -> tuple[PictureInfo, str | None]:
    """Return the description of the input's pictures as the output states it, and a sentence on it.

    `colour` is "auto", "keep" or one of COLOURS; the output has pictures of format `result`.
    """
    if colour == "keep" or pixels.parse(picture.pixel_format).rgb:
        return picture, None
    if colour == "auto":
        before = guessed(picture.format.width, picture.format.height)
        after = guessed(result.width, result.height)
        grey = picture.format.subsampling is None
        known = picture.colorspace != UNSPECIFIED
        if known or grey or muxer == Y4M or (before == "bt709") == (after == "bt709"):
            return picture, None
        matrix, primaries, transfer = _GUESSES[before]
        tagged = replace(
            picture,
            colorspace=matrix,
            color_primaries=first_stated(picture.color_primaries, primaries),
            color_trc=first_stated(picture.color_trc, transfer),
        )
        return tagged, (
            "the input states no colour matrix, and players would take the larger picture for "
            f"{_NAMES[after]}: the output states {_NAMES[before]}, as they take the input; "
            "`colour` overrides it"
        )
    matrix, primaries, transfer = COLOURS[colour]
    if colour == "bt2020" and picture.color_trc in HDR_TRANSFERS:  # which it has, too
        transfer = picture.color_trc
    tagged = replace(picture, colorspace=matrix, color_primaries=primaries, color_trc=transfer)
    if picture.light and transfer not in (*HDR_TRANSFERS, picture.color_trc):
        said = "`colour` states no HDR: the HDR10 light levels of the input are left out"
        return replace(tagged, light=Light()), said
    return tagged, None
