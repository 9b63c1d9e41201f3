"""Calls that are measured: the interface of a case, and the sizes of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes (width, height), sides and counts of what is measured."""

    plane: tuple[int, int] = (1920, 1080)
    """Size of one plane, and of the planes of a batch."""
    large: tuple[int, int] = (3840, 2160)
    """Size of a pair that several GPUs share."""
    batch: int = 16
    """Planes, or pairs, of a batch."""
    square: tuple[int, int] = (512, 512)
    """Size of a picture that is deblurred."""
    small: int = 128
    """Side of regions and tiles of films, and of the pictures of a batch that is deblurred."""
    pictures: int = 2112
    """So many of these."""
    film: tuple[int, int] = (1280, 720)
    """Size of a film that is deblurred."""
    region_frames: int = 1000
    """Frames of a film whose region is deblurred."""
    tile_frames: int = 240
    """Frames of a film that is deblurred in tiles."""
    scored: tuple[int, int] = (2560, 1440)
    """Size of two films that are compared."""
    scored_frames: int = 240
    """Frames of each."""
    image: tuple[int, int] = (451, 300)
    """Size of the image that a command enlarges in a fresh installation."""
    iterations: int = 200
    """Iterations of deblurring, but in tiles a quarter."""
    checked: int = 6
    """Frames of a film that are compared with the plain path."""


FULL = Sizes()
QUICK = Sizes(region_frames=200, tile_frames=24, scored_frames=60, batch=4, pictures=264)
ON_CPU = Sizes(
    plane=(960, 540), batch=4, pictures=16, region_frames=100, tile_frames=3, scored=(640, 360),
    scored_frames=20, checked=2,
)  # fmt: skip


class Call(ABC):
    """One call, on one device or on several.

    Parameters
    ----------
    device : str
        As users name it: "cpu", "cuda:0", "cuda:0,cuda:1".
    """

    name: str
    """The call and its arguments, for tables."""
    films: tuple[str, ...] = ()
    """Files that have to be there, see `films.write`."""
    unit = "call"
    """The unit of the times: "call" or "frame"."""

    def __init__(self, device: str, sizes: Sizes):
        self.device, self.sizes = device, sizes
        self.stamps: list[float] = []

    @property
    def single(self) -> str:
        """The first of the devices."""
        return self.device.partition(",")[0]

    @property
    def units(self) -> int:
        """The number of units of a call: 1, or the frames of a film."""
        return 1

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Make the inputs, by nothing of what is measured; films are in the folder already."""

    @abstractmethod
    def run(self) -> Any:
        """Make the call; a film's also leaves in `stamps` when its frames were done, seconds."""

    @abstractmethod
    def check(self, result: Any) -> Figures:
        """Compare a result with the plain path, picture by picture.

        Returns
        -------
        dict
            How far it is off.

        Raises
        ------
        SnellenError
            It is another one.
        """
