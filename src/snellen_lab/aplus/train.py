"""Training of an A+ model from images: windows → PCA → K-SVD → samples → projections.

The method is that of Timofte, De Smet, Van Gool 2014. The result depends on the images, the
settings and the seed only, not on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from time import monotonic

import numpy as np
import numpy.typing as npt

from snellen._version import __version__
from snellen.aplus.cpu import Luma
from snellen.aplus.features import margin
from snellen.aplus.model import Model
from snellen.aplus.training import Report, Settings
from snellen.cpu.blas import single_threaded
from snellen.cpu.pool import Pool
from snellen.cpu.threads import available
from snellen.errors import InputError
from snellen_lab import protocol
from snellen_lab.aplus.ksvd import ksvd
from snellen_lab.aplus.projections import learn
from snellen_lab.aplus.samples import Samples, dictionary_windows, grid, principal, pyramid
from snellen_lab.protocol import require

Float32 = npt.NDArray[np.float32]
Progress = Callable[[str, float], None]
"""Callback that gets the name of a stage and the share of it that is done, 0 … 1."""


def train(
    images: Mapping[str, Float32],
    settings: Settings,
    *,
    threads: int | None = None,
    progress: Progress = lambda stage, done: None,
) -> tuple[Model, Report]:
    """Train a model.

    Parameters
    ----------
    images : dict
        Name → (H, W) float32 luma in 0 … 1, as `protocol.planes` reads it.
    threads : int, optional
        Number of threads; by default the number of cores that this process may use. It does not
        affect the result.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    model : Model
        Its projections are float16, which costs less than 0.0001 dB.
    report : Report

    Raises
    ------
    InputError
        The images are too few or too small for these settings, or flat.
    """
    start = monotonic()
    held_out = _hold_out(list(images), settings.hold_out)
    _check(images, held_out, settings)
    seen = [plane for name, plane in images.items() if name not in held_out]
    with Pool(threads or available()) as pool, single_threaded():
        windows = dictionary_windows(seen, settings.scale, settings.window)
        basis, energy = principal(windows, settings.energy)
        low = windows @ basis
        del windows
        learner = _Learner(settings, basis, low, pool, progress)
        best, candidates = learner.choose(seen, {name: images[name] for name in held_out})
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
        held_out=held_out,
        seconds=monotonic() - start,
    )
    return _described(model, settings, report), report


@dataclass(frozen=True, eq=False)
class _Learner:
    """The part of a training that all seeds share."""

    settings: Settings
    basis: Float32
    """PCA basis: (4·(w·s)², d) float32."""
    low: Float32
    """Features from which K-SVD learns: (n, d) float32."""
    pool: Pool
    progress: Progress

    def choose(
        self, seen: Sequence[Float32], held_out: Mapping[str, Float32]
    ) -> tuple[tuple[int, Float32], tuple[tuple[int, float], ...]]:
        """Return the best seed with its anchors, and each seed's mean PSNR on `held_out`."""
        first = self.settings.seed
        if not held_out:
            return (first, self.anchors(first)), ()
        samples = self.samples(seen)
        found: list[tuple[int, float]] = []
        best = (first, self.low[:0])
        for seed in range(first, first + self.settings.seeds):
            anchors = self.anchors(seed)
            model = self.model(samples, anchors)
            psnr = float(np.mean(list(psnr_table(held_out, model).values())))
            if not found or psnr > max(value for _, value in found):
                best = (seed, anchors)
            found.append((seed, psnr))
        return best, tuple(found)

    def anchors(self, seed: int) -> Float32:
        """Return the anchors (k, d) that K-SVD learns from a seed."""
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
        """Return the samples of some images, from which projections are learnt."""
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
        """Learn the projections, and return the complete model."""
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


def _check(images: Mapping[str, Float32], held_out: Sequence[str], settings: Settings) -> None:
    """Refuse images that are too small or too few."""
    s = settings
    need = (2 * margin(s.window) + 1) * s.scale
    require(images, need, f"training at ×{s.scale}, window {s.window},")
    seen = [plane for name, plane in images.items() if name not in held_out]
    if not seen:
        raise InputError(
            f"got {len(images)} training images, {s.hold_out} of them to be held out; expected at "
            "least one to learn from",
            parameter="hold_out",
            advice="give more images, or a smaller `hold_out`",
        )
    shapes = [(plane.shape[0], plane.shape[1]) for plane in seen]
    grids = [grid(shape, s.scale, s.window, factor) for shape in shapes for factor in s.factors]
    samples = sum(rows * columns for rows, columns in grids)
    if samples < s.neighbours:
        raise InputError(
            f"the images give {samples} samples, but {s.neighbours} `neighbours` are asked for",
            parameter="neighbours",
            advice="give more or larger images, or fewer `neighbours`",
        )


def _hold_out(names: Sequence[str], count: int) -> tuple[str, ...]:
    """Return `count` names, evenly spaced in the list."""
    count = min(count, len(names))
    return tuple(names[(2 * k + 1) * len(names) // (2 * count)] for k in range(count))


def _described(model: Model, settings: Settings, report: Report) -> Model:
    """Return the model with settings and figures of its training in `about`."""
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


def psnr_table(images: Mapping[str, npt.NDArray[np.float32]], model: Model) -> dict[str, float]:
    """Return the PSNR in dB of each image when it is shrunk and enlarged again by `model`.

    Parameters
    ----------
    images : dict
        Name → (H, W) float32 luma in 0 … 1, as `planes` reads it from a folder.

    Raises
    ------
    InputError
        An image is so small that no pixel is left without its borders.
    """
    return protocol.psnr_table(images, model.scale, partial(Luma, model))
