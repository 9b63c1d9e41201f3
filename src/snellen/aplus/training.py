"""Settings of a training of an A+ model, and its reports; nothing that learns is imported."""

from __future__ import annotations

from dataclasses import dataclass

from snellen.errors import InputError, quoted
from snellen.frames.values import check_options, real, whole
from snellen.schema import METHOD, option

SCALES = (2, 3, 4)
WINDOW = 3  # side of a window, low-resolution pixels; Timofte, De Smet, Van Gool 2014
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
    window: int = option(WINDOW, "Side in low-resolution pixels, odd.", least=0, most=99)
    anchors: int = option(
        1024, "Anchors of the model.", more="The atoms of the dictionary.", least=1, most=2**20
    )
    energy: float = option(
        0.999, "Share of the energy that PCA keeps.",
        more="0 … 1; it determines the number of dimensions (Zeyde et al. 2010).",
    )  # fmt: skip
    sparsity: int = option(
        3, "Atoms of a feature in K-SVD.", more="Zeyde et al. 2010.", least=1, most=2**20
    )
    iterations: int = option(20, "Rounds of K-SVD.", more="As the authors' code.", least=1)
    samples: int = option(5_000_000, "Most samples to learn from.", least=1, most=2**40)
    sizes: int = option(
        12, "Sizes of each training image from which samples are taken.",
        more="As the authors' code.", least=1, most=1000, command=False,
    )  # fmt: skip
    ratio: float = option(
        0.98, "Ratio of each size to the previous one.", more="As the authors' code.",
        command=False,
    )  # fmt: skip
    neighbours: int = option(
        2048, "Samples of an anchor.", more="Its projection is learnt from them.", least=1,
        most=2**40,
    )  # fmt: skip
    ridge: float | None = option(None, "λ of the regression.", unset="by the anchors")
    seed: int = option(0, "First seed of what is drawn.", least=0, most=2**63 - 1, group=METHOD)
    seeds: int = option(
        1, "Seeds to try; the best is taken.", least=1,
        more="seed, seed + 1, … The one with the best PSNR on the held-out images is the best.",
    )  # fmt: skip
    hold_out: int = option(
        0, least=0, group=METHOD,
        help="Training images on which seeds, or a network's progress, are measured.",
        more="Dictionaries are learnt without them, the final projections from all images.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", whole("scale", self.scale, 1, 100))
        check_options(self)
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
