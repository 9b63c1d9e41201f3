"""Settings of a training of one network, and its reports; without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from snellen.cnn.definition import SCALES, SIZES
from snellen.frames.values import check_options, whole
from snellen.schema import METHOD, option


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
    network: str = option(
        "fast", choices=tuple(SIZES), help="4 layers of 16 channels, or 6 of 32.",
        more="Convolutions between the first and the last.",
    )  # fmt: skip
    steps: int = option(
        20_000, "Steps of the optimiser.", least=1,
        more="Rounded up to a multiple of 5 on a CPU, of 50 on a GPU.",
    )  # fmt: skip
    batch: int = option(32, "Patches in a step.", least=1, most=1024)
    patch: int = option(48, "Side of a patch in low-resolution pixels.", least=8, most=256)
    seed: int = option(
        0, "Seed of the first weights and of the patches.", least=0, most=2**63 - 1, group=METHOD
    )
    hold_out: int = option(
        0, "Images that are never learnt from, on which PSNR is measured on the way.", least=0,
        group=METHOD,
    )  # fmt: skip

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", whole("scale", self.scale, min(SCALES), max(SCALES)))
        check_options(self)


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
