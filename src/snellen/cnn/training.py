"""Settings of a training of one network, and its reports; without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from snellen.cnn.definition import SCALES, SIZES
from snellen.frames.values import MOST, choice, whole

_COUNTS = {
    "scale": (min(SCALES), max(SCALES)), "steps": (1, MOST), "batch": (1, 1024), "patch": (8, 256),
    "seed": (0, 2**63 - 1), "hold_out": (0, MOST),
}  # fmt: skip
"""Fields that are whole numbers, and the range of each."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Parameters of the training of a compact network.

    Raises
    ------
    InputError
        A field is out of its range.
    """

    scale: int
    """Magnification, 2 to 4."""
    network: str = "fast"
    """Size: "fast" has 4 convolutions of 16 channels between the first and the last, "fine" 6 of
    32."""
    steps: int = 20_000
    """Number of steps of the optimiser, rounded up to a multiple of 5 on a CPU, of 50 on a GPU."""
    batch: int = 32
    """Number of patches in a step."""
    patch: int = 48
    """Side of a patch, low-resolution pixels."""
    seed: int = 0
    """Seed of the first weights and of the patches."""
    hold_out: int = 0
    """Number of images that are never learnt from, on which PSNR is measured on the way."""

    def __post_init__(self) -> None:
        for name, (least, most) in _COUNTS.items():
            object.__setattr__(self, name, whole(name, getattr(self, name), least, most))
        object.__setattr__(self, "network", choice("network", self.network, SIZES))


@dataclass(frozen=True, slots=True)
class NetworkReport:
    """Figures of a training run."""

    images: int
    """Images that were learnt from."""
    parameters: int
    """Weights of the network."""
    steps: int
    """Steps of the optimiser."""
    begun: int
    """Step from which an interrupted training went on; 0: this run did all."""
    device: str
    """The device that trained it: the GPU's name, or CPU."""
    held_out: Mapping[int, float]
    """Step → mean PSNR in dB on the images that were held out."""
    seconds: float
    """Time of this run."""
