"""How the frames of a film stand for colours, for metrics that look at these."""

from __future__ import annotations

from dataclasses import replace

from snellen.errors import InputError
from snellen.frames.coding import NUMBERS, Matrix, guessed
from snellen.frames.frame import Format
from snellen.metrics.colours import Coding
from snellen.video.comparing.turning import orientation
from snellen.video.ffmpeg import UNSPECIFIED
from snellen.video.media import PictureInfo

_WIDE = {9: "BT.2020", 10: "CIE XYZ", 11: "DCI-P3", 12: "Display P3", 8: "film"}
"""AVCOL_PRI numbers of primaries that lie far from those of BT.709. The others' differ by little,
and count as these, as in a PNG file that FFmpeg makes."""
_OTHERS = {8: "linear", 9: "logarithmic", 10: "logarithmic", 16: "PQ", 17: "SMPTE ST 428",
           18: "HLG"}  # fmt: skip
"""AVCOL_TRC numbers of transfer functions that are not those of SDR."""
_BT2020 = 9


def coding(picture: PictureInfo, name: str, metrics: str, turned: bool = False) -> Coding:
    """Return how planes of a film stand for colours.

    A film of SDR counts as sRGB, whatever SDR transfer function it states. One that states no
    matrix is taken for BT.709 or BT.601, by its size. With `turned` planes are turned as the film's
    tag says. InputError, about the film `name` and `metrics` that look at colours: HDR, primaries
    of a wide gamut, or a matrix that is none of luma and colour differences; without `metrics` no
    film is refused.
    """
    why = no_sdr(picture)
    if metrics and why is not None:
        raise InputError(
            f"{name}: {why}, and {metrics} is defined for SDR with BT.709 primaries",
            parameter="metrics",
            advice="bring both films to SDR and BT.709 first, as by FFmpeg's filters zscale and "
            "tonemap, or take metrics of luma",
        )
    format = picture.format
    matrix = NUMBERS.get(picture.colorspace, guessed(format.width, format.height))
    return Coding(_turned(format, picture.display_matrix if turned else None), matrix)


def assumed(picture: PictureInfo) -> Matrix | None:
    """Return the matrix that a film is taken to have; None: it states one, or is grey."""
    if picture.colorspace != UNSPECIFIED or picture.format.subsampling is None:
        return None
    return guessed(picture.format.width, picture.format.height)


def no_sdr(picture: PictureInfo) -> str | None:
    """Return why a film is none of SDR with BT.709 primaries, as a clause; None: it is one."""
    if picture.color_trc in _OTHERS:
        return f"its transfer function is {_OTHERS[picture.color_trc]}"
    if picture.color_primaries in _WIDE:
        return f"its primaries are those of {_WIDE[picture.color_primaries]}"
    if picture.colorspace == _BT2020 and picture.color_primaries == UNSPECIFIED:
        return "its matrix is that of BT.2020, and it states no primaries"
    if picture.format.subsampling is not None and picture.colorspace not in (*NUMBERS, UNSPECIFIED):
        return f"its matrix is number {picture.colorspace} of ITU-T H.273"
    return None


def _turned(format: Format, tag: tuple[int, ...] | None) -> Format:
    """Return the format of planes that are turned and flipped as a tag says."""
    swapped, across, down = orientation(tag)
    subsampling, siting = format.subsampling, format.siting
    width, height = format.width, format.height
    if swapped:
        width, height, siting = height, width, siting[::-1]
        subsampling = None if subsampling is None else (subsampling[1], subsampling[0])
    siting = (1 - siting[0] if across else siting[0], 1 - siting[1] if down else siting[1])
    return replace(format, width=width, height=height, subsampling=subsampling, siting=siting)
