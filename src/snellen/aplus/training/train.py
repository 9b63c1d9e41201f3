"""Learning an A+ model from images: windows → PCA → K-SVD → samples → projections. Offline.

Timofte, De Smet, Van Gool 2014. Everything is settled by the images and the seed, whatever the
number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from time import monotonic

import numpy as np
import numpy.typing as npt

from snellen._version import __version__
from snellen.aplus.features import margin
from snellen.aplus.model import SCALES, WINDOW, Model
from snellen.aplus.training.ksvd import ksvd
from snellen.aplus.training.projections import learn
from snellen.aplus.training.protocol import psnr_table, require
from snellen.aplus.training.samples import Samples, dictionary_windows, grid, principal, pyramid
from snellen.cpu.blas import single_threaded
from snellen.cpu.threads import available
from snellen.errors import InputError

Float32 = npt.NDArray[np.float32]
Progress = Callable[[str, float], None]
"""Called with the name of a stage and the share of it that is done."""

RIDGE = ((1024, 0.01), (2048, 0.1), (8192, 1.0))  # anchors under n: λ; authors' code
RIDGE_MANY = 5.0  # λ for more


@dataclass(frozen=True, slots=True)
class Settings:
    """How to learn. The defaults are those of Timofte, De Smet, Van Gool 2014."""

    scale: int
    """Magnification, one of `SCALES`."""
    window: int = WINDOW
    """Side of a window in low-resolution pixels, odd."""
    anchors: int = 1024
    """Atoms of the dictionary."""
    energy: float = 0.999
    """Share of the features' energy that PCA keeps; settles the dimensions (Zeyde et al. 2010)."""
    sparsity: int = 3
    """Atoms that make up a feature in K-SVD (Zeyde et al. 2010)."""
    iterations: int = 20
    """Rounds of K-SVD (authors' code)."""
    samples: int = 5_000_000
    """Most samples that projections are learnt from."""
    sizes: int = 12
    """Sizes of each training image that samples come from (authors' code)."""
    ratio: float = 0.98
    """Each size to the one before it (authors' code)."""
    neighbours: int = 2048
    """Samples that an anchor learns from."""
    ridge: float | None = None
    """λ of the ridge regression; None: by the number of anchors, see `RIDGE`."""
    seed: int = 0
    """First seed of K-SVD."""
    seeds: int = 1
    """Seeds to try: seed, seed + 1, … The best on the images held out is taken."""
    hold_out: int = 0
    """Images on which the seeds are judged. Dictionaries never see them; the final projections
    are learnt from all images."""

    def __post_init__(self) -> None:
        for wrong, what in (
            *(
                (getattr(self, name) < 1, f"{name} {getattr(self, name)}: give 1 or more")
                for name in _COUNTS
            ),
            (self.scale not in SCALES, f"scale {self.scale}: there are {SCALES}"),
            (self.window < 1 or self.window % 2 == 0, f"window {self.window}: give an odd number"),
            (not 0 < self.energy <= 1, f"energy {self.energy}: give a share over 0, at most 1"),
            (not 0 < self.ratio <= 1, f"ratio {self.ratio}: give a share over 0, at most 1"),
            (
                self.ridge is not None and not self.ridge > 0,
                f"ridge {self.ridge}: give more than 0",
            ),
            (self.sparsity > self.anchors, f"sparsity {self.sparsity}: more than the anchors"),
            (
                self.neighbours > self.samples,
                f"{self.neighbours} neighbours of {self.samples} samples",
            ),
            (self.seeds > 1 and not self.hold_out, f"{self.seeds} seeds need images held out"),
            (min(self.seed, self.hold_out) < 0, "seed and hold_out are 0 or more"),
        ):
            if wrong:
                raise InputError(f"no training with {what}")

    @property
    def factors(self) -> tuple[float, ...]:
        """Sizes of the training images in the pyramid, the full one first."""
        return tuple(self.ratio**k for k in range(self.sizes))

    @property
    def damping(self) -> float:
        """λ, as given or by the number of anchors."""
        if self.ridge is not None:
            return self.ridge
        return next((value for under, value in RIDGE if self.anchors < under), RIDGE_MANY)


_COUNTS = ("anchors", "sparsity", "iterations", "samples", "sizes", "neighbours", "seeds")


@dataclass(frozen=True, slots=True)
class Report:
    """What training met on its way."""

    images: int
    """Images given."""
    windows: int
    """Windows that PCA and K-SVD saw."""
    dims: int
    """Dimensions kept by PCA."""
    energy: float
    """Share of the energy that they hold."""
    samples: int
    """Samples that the final projections are learnt from."""
    seed: int
    """The seed of the anchors."""
    candidates: tuple[tuple[int, float], ...]
    """Seeds tried and the mean PSNR of each on the images held out, dB."""
    held_out: tuple[str, ...]
    """Names of these images."""
    seconds: float
    """Wall clock."""


def train(
    images: Mapping[str, Float32],
    settings: Settings,
    *,
    threads: int | None = None,
    progress: Progress = lambda stage, done: None,
) -> tuple[Model, Report]:
    """Learn a model.

    Parameters
    ----------
    images : name → (H, W) float32 luma in 0…1, as `protocol.luma` reads it
    threads : the cores that this process may use, by default; without influence on the result

    Returns
    -------
    model : with projections in float16 (costs under 0.0001 dB)
    report

    Raises
    ------
    InputError
        Images too few or too small for these settings.
    """
    began = monotonic()
    held = _hold_out(list(images), settings.hold_out)
    _check(images, held, settings)
    kept = [plane for name, plane in images.items() if name not in held]
    with ThreadPoolExecutor(threads or available()) as pool, single_threaded():
        windows = dictionary_windows(kept, settings.scale, settings.window)
        basis, energy = principal(windows, settings.energy)
        low = windows @ basis
        del windows
        learner = _Learner(settings, basis, low, pool, progress)
        best, candidates = learner.choose(kept, {name: images[name] for name in held})
        samples = learner.samples(list(images.values()))
        model = learner.model(samples, best[1])
    report = Report(
        images=len(images),
        windows=len(low),
        dims=basis.shape[1],
        energy=energy,
        samples=len(samples.features),
        seed=best[0],
        candidates=candidates,
        held_out=held,
        seconds=monotonic() - began,
    )
    return _described(model, settings, report), report


@dataclass(frozen=True, eq=False)
class _Learner:
    """What all candidates share."""

    settings: Settings
    basis: Float32
    low: Float32
    pool: ThreadPoolExecutor
    progress: Progress

    def choose(
        self, kept: Sequence[Float32], held: Mapping[str, Float32]
    ) -> tuple[tuple[int, Float32], tuple[tuple[int, float], ...]]:
        """Return the best seed with its anchors, and the PSNR of each seed on `held`."""
        first = self.settings.seed
        if not held:
            return (first, self.anchors(first)), ()
        samples = self.samples(kept)
        found: list[tuple[int, float]] = []
        best = (first, self.low[:0])
        for seed in range(first, first + self.settings.seeds):
            anchors = self.anchors(seed)
            model = self.model(samples, anchors)
            psnr = float(np.mean(list(psnr_table(held, model).values())))
            if not found or psnr > max(value for _, value in found):
                best = (seed, anchors)
            found.append((seed, psnr))
        return best, tuple(found)

    def anchors(self, seed: int) -> Float32:
        s = self.settings
        atoms = ksvd(
            self.low,
            s.anchors,
            sparsity=s.sparsity,
            iterations=s.iterations,
            seed=seed,
            pool=self.pool,
            progress=partial(self.progress, f"K-SVD, seed {seed}"),
        )
        return atoms.astype(np.float32)

    def samples(self, images: Sequence[Float32]) -> Samples:
        s = self.settings
        return pyramid(
            images,
            s.scale,
            s.window,
            self.basis,
            factors=s.factors,
            most=s.samples,
            pool=self.pool,
            progress=partial(self.progress, "samples"),
        )

    def model(self, samples: Samples, anchors: Float32) -> Model:
        s = self.settings
        projections = learn(
            samples,
            anchors,
            neighbours=s.neighbours,
            ridge=s.damping,
            pool=self.pool,
            progress=partial(self.progress, "projections"),
        )
        return Model(s.scale, s.window, anchors, self.basis, projections.astype(np.float16))


def _check(images: Mapping[str, Float32], held: Sequence[str], settings: Settings) -> None:
    """Refuse images that are too small or too few."""
    s = settings
    need = (2 * margin(s.window) + 1) * s.scale
    require(images, need, f"training at ×{s.scale}, window {s.window},")
    kept = [plane for name, plane in images.items() if name not in held]
    if not kept:
        raise InputError(
            f"{len(images)} training images, {s.hold_out} of them to be held out: nothing is "
            "left to learn from; give more images or hold out fewer"
        )
    shapes = [(plane.shape[0], plane.shape[1]) for plane in kept]
    grids = [grid(shape, s.scale, s.window, factor) for shape in shapes for factor in s.factors]
    samples = sum(rows * columns for rows, columns in grids)
    if samples < s.neighbours:
        raise InputError(
            f"the images give {samples} samples, but {s.neighbours} neighbours are asked for; "
            "give more or larger images, or fewer neighbours"
        )


def _hold_out(names: Sequence[str], count: int) -> tuple[str, ...]:
    """Choose `count` names, evenly spread over the list."""
    count = min(count, len(names))
    return tuple(names[(2 * k + 1) * len(names) // (2 * count)] for k in range(count))


def _described(model: Model, settings: Settings, report: Report) -> Model:
    """Return the model with how it was made in its `about`."""
    about = {f"train_{name}": str(value) for name, value in asdict(settings).items()}
    about |= {
        "train_ridge": str(settings.damping),
        "train_seed": str(report.seed),
        "train_first_seed": str(settings.seed),
        "images": str(report.images),
        "windows": str(report.windows),
        "samples": str(report.samples),
        "energy_kept": f"{report.energy:.6f}",
        "candidates": ", ".join(f"seed {k}: {value:.4f} dB" for k, value in report.candidates),
        "held_out": ", ".join(report.held_out),
        "snellen": __version__,
        "numpy": np.__version__,
    }
    about = {name: value for name, value in about.items() if value}
    return Model(model.scale, model.window, model.anchors, model.basis, model.projections, about)
