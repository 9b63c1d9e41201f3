"""Settings of a training of an A+ model, and its reports; nothing that learns is imported."""

from __future__ import annotations

from dataclasses import dataclass

from snellen.aplus.model import SCALES, WINDOW
from snellen.errors import InputError, quoted
from snellen.frames.values import MOST, real, whole

RIDGE = (
    (1024, 0.01),
    (2048, 0.1),
    (8192, 1.0),
)  # (n, λ): λ for fewer than n anchors; authors' code
RIDGE_MANY = 5.0  # λ for more anchors


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters of the training. The defaults are those of Timofte, De Smet, Van Gool 2014.

    Raises
    ------
    InputError
        A field is out of its range, or several contradict one another.
    """

    scale: int
    """Magnification, one of `SCALES`."""
    window: int = WINDOW
    """Side of a window in low-resolution pixels, odd."""
    anchors: int = 1024
    """Number of anchors, the atoms of the dictionary."""
    energy: float = 0.999
    """Share of the features' energy that PCA retains, 0 … 1; it determines the number of dimensions
    (Zeyde et al. 2010)."""
    sparsity: int = 3
    """Number of atoms that approximate a feature in K-SVD (Zeyde et al. 2010)."""
    iterations: int = 20
    """Number of K-SVD iterations (authors' code)."""
    samples: int = 5_000_000
    """Greatest number of samples from which projections are learnt."""
    sizes: int = 12
    """Number of sizes of each training image from which samples are taken (authors' code)."""
    ratio: float = 0.98
    """Ratio of each size to the previous one (authors' code)."""
    neighbours: int = 2048
    """Number of samples from which an anchor's projection is learnt."""
    ridge: float | None = None
    """λ of the ridge regression. None: `RIDGE` gives it for the number of anchors."""
    seed: int = 0
    """First seed of K-SVD."""
    seeds: int = 1
    """Number of seeds to try: seed, seed + 1, … The one with the best PSNR on the held-out images
    is taken."""
    hold_out: int = 0
    """Number of images on which seeds are compared. Dictionaries are learnt without them, the final
    projections from all images."""

    def __post_init__(self) -> None:
        for name, (least, most) in _COUNTS.items():
            object.__setattr__(self, name, whole(name, getattr(self, name), least, most))
        for name in ("energy", "ratio", "ridge"):
            found = real(value := getattr(self, name))
            missing = found is None and not (name == "ridge" and value is None)
            self._require(not missing, name, "a finite number")
            object.__setattr__(self, name, found)
        self._require(self.scale in SCALES, "scale", f"one of {', '.join(map(str, SCALES))}")
        self._require(self.window > 0 and self.window % 2 == 1, "window", "an odd number")
        self._require(0 < self.energy <= 1, "energy", "a share greater than 0, at most 1")
        self._require(0 < self.ratio <= 1, "ratio", "a share greater than 0, at most 1")
        self._require(self.ridge is None or self.ridge > 0, "ridge", "a number greater than 0")
        self._require(
            self.sparsity <= self.anchors, "sparsity", f"at most the {self.anchors} `anchors`"
        )
        self._require(
            self.neighbours <= self.samples, "neighbours", f"at most the {self.samples} `samples`"
        )
        self._require(
            self.seeds == 1 or bool(self.hold_out), "seeds", "1, as no images are held out"
        )

    def _require(self, good: bool, name: str, expected: str) -> None:
        """Raise InputError about the field `name` unless it is good."""
        if not good:
            raise InputError(
                f"got `{name}`={quoted(getattr(self, name))}; expected {expected}", parameter=name
            )

    @property
    def factors(self) -> tuple[float, ...]:
        """Sizes of the pyramid relative to the training image, 1 first."""
        return tuple(self.ratio**k for k in range(self.sizes))

    @property
    def damping(self) -> float:
        """λ: `ridge`, or the default for the number of anchors."""
        if self.ridge is not None:
            return self.ridge
        return next((value for under, value in RIDGE if self.anchors < under), RIDGE_MANY)


_COUNTS = {
    "scale": (1, 100), "window": (0, 99), "anchors": (1, 2**20), "sparsity": (1, 2**20),
    "iterations": (1, MOST), "samples": (1, 2**40), "sizes": (1, 1000), "neighbours": (1, 2**40),
    "seeds": (1, MOST), "seed": (0, 2**63 - 1), "hold_out": (0, MOST),
}  # fmt: skip
"""Fields that are whole numbers, and the range of each."""


@dataclass(frozen=True, slots=True)
class Report:
    """Figures of a training run."""

    images: int
    """Number of training images."""
    windows: int
    """Number of windows from which PCA and K-SVD learnt."""
    dims: int
    """Number of dimensions that PCA retains."""
    energy: float
    """Share of the windows' energy in these dimensions, 0 … 1."""
    samples: int
    """Number of samples from which the final projections are learnt."""
    seed: int
    """Seed of the model's anchors."""
    candidates: tuple[tuple[int, float], ...]
    """Seeds tried, each with its mean PSNR on the held-out images in dB; empty if none are held
    out."""
    held_out: tuple[str, ...]
    """Names of the held-out images."""
    seconds: float
    """Duration of the training in seconds (wall clock)."""
