"""XPSNR, which FFmpeg's filter xpsnr computes: PSNR weighted by what the eye sees of each block.

Helmrich, Siekmann, Becker, Bosse, Marpe, Wiegand, "XPSNR: A low-complexity extension of the
perceptually weighted peak signal-to-noise ratio for high-resolution video quality assessment",
ICASSP 2020. The filter has one score for each of luma and both chroma planes; of these the one
score of a frame is the least, as the filter's summary has it ("minimum").
"""

from __future__ import annotations

from fractions import Fraction

import av
from av.filter import filters_available

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.film_graph import FilmGraph, Planes, depth_of

FILTER = "xpsnr"
_DEPTHS = (8, 9, 10, 12, 14)
"""Bits that the filter takes. Those of 16 bits it takes for signed ones."""


def is_there() -> bool:
    """Return whether XPSNR can be computed here."""
    return FILTER in filters_available


def refused(parameter: str = "metrics") -> InputError:
    """Return the error that says why there is no XPSNR, where a parameter asks for it."""
    return InputError(
        f"`{parameter}` asks for xpsnr, but the FFmpeg in PyAV {av.__version__} was built without "
        f"the filter {FILTER}",
        parameter=parameter,
        advice="leave xpsnr out, or take PyAV's own wheels",
    )


def reach() -> int:
    """Return how many frames before and after each its score depends on."""
    return 2  # from 32 frames a second on; else 1


def whole() -> bool:
    """Return whether scores depend on chroma, too."""
    return True


class Stream:
    """XPSNR of frames that come one after another.

    Parameters
    ----------
    format : Format
        Of the planes to come: luma and chroma, or of grey films luma only.
    rate : Fraction
        Frames a second: from 32 on the filter looks at two frames before each.

    Raises
    ------
    InputError
        Pictures that the filter does not take.
    """

    def __init__(self, format: Format, rate: Fraction) -> None:
        depth = depth_of(format.bits, _DEPTHS)
        if depth is None:
            raise InputError(
                f"got {format.bits} bits; FFmpeg's filter for XPSNR takes up to {_DEPTHS[-1]}",
                parameter="metrics",
                advice="leave xpsnr out, or convert the films to 12 bits",
            )
        across, down = format.subsampling or (1, 1)
        # Frames of such sizes come to the filter with padded rows, which it misreads (FFmpeg 9.0).
        if depth > 8 and (format.width % (1 << across) or format.height % (1 << down)):
            raise InputError(
                f"got {pixels.describe(format)}; XPSNR of more than 8 bits takes even sizes only",
                parameter="metrics",
                advice="leave xpsnr out, or crop the films",
            )
        self._graph = FilmGraph(FILTER, "", format, depth, rate)

    def push(self, reference: Planes, scored: Planes) -> None:
        """Take the next frame of the reference, and of what is scored."""
        self._graph.push(reference, scored)

    def finish(self) -> list[dict[str, float]]:
        """Return the scores of all frames, by name; none comes after this."""
        self._graph.finish()
        return [_scores(found) for found in self._graph.found]

    def close(self) -> None:
        """Give back what it has."""
        self._graph.close()


def _scores(metadata: dict[str, str]) -> dict[str, float]:
    every = [float(metadata[f"lavfi.xpsnr.xpsnr.{plane}"]) for plane in "yuv"]
    names = ("xpsnr_y", "xpsnr_u", "xpsnr_v")
    return {"xpsnr": min(every), **dict(zip(names, every, strict=True))}
