"""Stills that scroll and zoom: clips whose every frame is as sharp as the still."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from snellen_lab.sources.degrade import Bytes, whole

FASTEST = 6  # pixels a frame
ZOOMS = 0.3  # share of clips that zoom
ZOOM = 0.02  # of the least window, a frame, at most


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a still that a frame shows, in pixels of the still."""

    left: float
    top: float
    width: float
    height: float


def windows(
    shape: tuple[int, int], size: tuple[int, int], count: int, random: np.random.Generator
) -> list[Window]:
    """Return the windows of the frames of a clip.

    A clip scrolls by whole pixels, which keeps all of the still's detail, or it zooms: then the
    window is never smaller than the frame, so that frames are shrunk and not enlarged.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the still.
    size : (int, int)
        Height and width of the frames, at most those of the still.
    count : int
        Number of frames.
    random : Generator
        Where motion comes from.
    """
    room = min(shape[0] / size[0], shape[1] / size[1])
    if room > 1 and random.random() < ZOOMS:
        most = min(room, 1 + ZOOM * (count - 1))
        return _zoom(shape, size, np.linspace(1, most, count)[:: random.choice((-1, 1))])
    paths = [_path(side - least, count, random) for side, least in zip(shape, size, strict=True)]
    return [
        Window(float(left), float(top), float(size[1]), float(size[0]))
        for top, left in zip(*paths, strict=True)
    ]


def _zoom(
    shape: tuple[int, int], size: tuple[int, int], factors: npt.NDArray[np.float64]
) -> list[Window]:
    """Return windows round the middle."""
    found = []
    for factor in factors.tolist():
        height, width = (min(factor * shown, side) for shown, side in zip(size, shape, strict=True))
        found.append(Window((shape[1] - width) / 2, (shape[0] - height) / 2, width, height))
    return found


def _path(room: int, count: int, random: np.random.Generator) -> list[int]:
    """Return positions in 0 … room: constant speed, turning round where there is no more room."""
    speed = int(random.integers(-FASTEST, FASTEST + 1))
    place = int(random.integers(0, room + 1)) + speed * np.arange(count)
    if not room:
        return [0] * count
    return [int(one) for one in room - np.abs(place % (2 * room) - room)]


def shown(still: Bytes, window: Window, size: tuple[int, int]) -> Bytes:
    """Return what a frame of `size` (height, width) shows of a still."""
    height, width = size
    if (window.height, window.width) == (height, width):
        top, left = int(window.top), int(window.left)
        return still[top : top + height, left : left + width].copy()
    box = (
        window.left,
        window.top,
        min(window.left + window.width, still.shape[1]),
        min(window.top + window.height, still.shape[0]),
    )
    image = Image.fromarray(still.astype(np.float32))
    part = image.resize((width, height), Image.Resampling.LANCZOS, box=box)
    return whole(np.asarray(part))
