"""SER, films of planetary cameras: how many bits of a sample count, which FFmpeg does not read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path

import numpy as np
from av.video.frame import VideoFrame

from snellen.files.opening import raw
from snellen.video.media import PictureInfo

FORMAT = "ser"
"""FFmpeg's name."""
_DEPTH = 34
"""Where the header has the depth, as 4 bytes (SER format description, version 3)."""
_GREY, _LAYOUTS = "gray16le", {bits: f"gray{bits}le" for bits in (9, 10, 12, 14)}
"""How FFmpeg hands on grey, and what it calls grey of other depths."""


@dataclass(frozen=True, slots=True)
class Depth:
    """Bits of samples that FFmpeg calls 16."""

    bits: int

    def described(self, picture: PictureInfo) -> PictureInfo:
        """Return the description of pictures: grey keeps its depth, where FFmpeg has it, too."""
        if not self._stays(picture.pixel_format):
            return picture
        form = replace(picture.format, bits=self.bits)
        return replace(picture, format=form, pixel_format=_LAYOUTS[self.bits])

    def frame(self, frame: VideoFrame) -> VideoFrame:
        """Return a frame whose samples have the depth of the description, at most white."""
        stays, fits = self._stays(frame.format.name), self.fits(frame)
        if stays and fits:
            return frame
        samples = np.minimum(frame.to_ndarray(), (1 << self.bits) - 1)
        if not stays:
            samples <<= 16 - self.bits
        deep = VideoFrame.from_ndarray(samples, format=frame.format.name)
        deep.pts, deep.time_base = frame.pts, frame.time_base
        deep.color_range, deep.colorspace = frame.color_range, frame.colorspace
        return deep

    def fits(self, frame: VideoFrame) -> bool:
        """Return whether a frame has only samples of so many bits; a header may be wrong."""
        return int(np.asarray(frame.to_ndarray()).max()) >> self.bits == 0

    def _stays(self, layout: str) -> bool:
        return layout == _GREY and self.bits in _LAYOUTS


def depth_of(file: Path) -> Depth | None:
    """Return the depth of a SER file whose samples have 9 to 15 bits; None: they have 8 or 16."""
    with BufferedReader(raw(file)) as opened:
        bits = int.from_bytes(opened.read(_DEPTH + 4)[_DEPTH:], "little")
    return Depth(bits) if 8 < bits < 16 else None
