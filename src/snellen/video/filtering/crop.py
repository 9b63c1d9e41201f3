"""A step that cuts a part out of each frame, without a copy."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from snellen.errors import InputError, quoted
from snellen.frames.frame import Format, Frame, Plane
from snellen.frames.step import Step, Traits
from snellen.video import pixels

_AREA = re.compile(r"(\d{1,9}):(\d{1,9}):(\d{1,9}):(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Area:
    """A part of a picture, in luma samples."""

    width: int
    height: int
    left: int
    top: int

    def __str__(self) -> str:
        return f"{self.width}:{self.height}:{self.left}:{self.top}"


def area(text: str, parameter: str) -> Area:
    """Return the area that a text W:H:X:Y means (InputError: it means none)."""
    found = _AREA.fullmatch(text)
    if found is None or not (int(found[1]) and int(found[2])):
        raise InputError(
            f"got `{parameter}`={quoted(text)}; expected auto or W:H:X:Y, such as 1920:800:0:140: "
            "width, height, and the distances from the left and from the top",
            parameter=parameter,
        )
    return Area(*(int(one) for one in found.groups()))


class Crop(Step):
    """Cuts an area, which begins and ends on whole chroma samples, out of each frame."""

    def __init__(self, area: Area, parameter: str = "crop") -> None:
        self.area, self._parameter = area, parameter
        self.traits = Traits(label=f"crop {area}")

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results; InputError: the area is not in such frames."""
        area, name = self.area, self._parameter
        if area.left + area.width > format.width or area.top + area.height > format.height:
            raise InputError(
                f"got `{name}`={area}, which reaches beyond the picture of {format.width}×"
                f"{format.height}",
                parameter=name,
            )
        across, down = format.subsampling or (0, 0)
        starts = area.left % (1 << across) or area.top % (1 << down)
        right, bottom = area.left + area.width, area.top + area.height
        ends = (right != format.width and right % (1 << across)) or (
            bottom != format.height and bottom % (1 << down)
        )
        if starts or ends:
            raise InputError(
                f"got `{name}`={area}; pictures of {pixels.describe(format)} are cut at multiples "
                f"of {1 << across} across and {1 << down} down",
                parameter=name,
                advice=f"the next such area inside is `{name}`={inside(area, format)}",
            )
        return replace(format, width=area.width, height=area.height)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Return the format of the results, whose depth is that of the frames to come."""
        self._across, self._down = format.subsampling or (0, 0)
        return self.outcome(format, 0)

    def run(self, frame: Frame) -> Frame:
        """Return views of the frame's planes."""
        first, *others = frame.planes
        parts = [self._part(first, 0, 0)]
        parts += [self._part(plane, self._across, self._down) for plane in others]
        return replace(frame, planes=tuple(parts))

    def _part(self, plane: Plane, across: int, down: int) -> Plane:
        area = self.area
        bottom = -(-(area.top + area.height) >> down)
        right = -(-(area.left + area.width) >> across)
        return plane[area.top >> down : bottom, area.left >> across : right]

    def alpha(self) -> Crop:
        """Return a step for the alpha channel."""
        return Crop(self.area, self._parameter)


def inside(area: Area, format: Format) -> Area:
    """Return the largest area in another one that begins and ends on whole chroma samples."""
    across, down = format.subsampling or (0, 0)

    def fitted(start: int, size: int, whole: int, shift: int) -> tuple[int, int]:
        unit = 1 << shift
        first, end = -(-start // unit) * unit, start + size
        if end != whole:
            end = end // unit * unit
        return first, max(end - first, unit)

    left, width = fitted(area.left, area.width, format.width, across)
    top, height = fitted(area.top, area.height, format.height, down)
    return Area(width, height, left, top)
