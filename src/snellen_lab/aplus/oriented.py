"""Training of an A+ model of format 2: windows → adapted PCA → k-means → normal equations.

Windows are turned first, as `orientation` does it. All samples count, and memory does not grow with
their number. The result depends on the pictures, the settings and the seed only, not on the number
of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from snellen.aplus.features import margin
from snellen.aplus.model import Model
from snellen.aplus.orientation import orientations, turn
from snellen.aplus.symmetry import adapted, kinds, places
from snellen.aplus.training import WINDOW
from snellen.cpu.blas import single_threaded
from snellen.cpu.pool import Pool
from snellen.cpu.threads import available
from snellen.frames.bicubic import bicubic
from snellen_lab.aplus.clusters import clusters, nearest
from snellen_lab.aplus.equations import Equations
from snellen_lab.aplus.packing import packed
from snellen_lab.aplus.samples import patches, raw_windows
from snellen_lab.protocol import crop, shrink

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Pair = tuple[Float32, Float32]
"""A low-resolution picture (h, w) and its original (s·h, s·w), luma in 0 … 1."""
Progress = Callable[[str, float], None]

BATCH = 1 << 18  # samples that are added to the equations at a time, at least
WEAK = (
    0.02  # norm of features below which neither k-means nor the classes of strength consider them
)

RANKS = {2: 28, 3: 44, 4: 56}
"""By scale; each costs at most 0.006 dB of the full rank, 36, 81 and 144."""
NOISE = {2: 0.002, 3: 0.004, 4: 0.006}
"""By scale; each costs at most 0.004 dB, as a sample of a result is the mean of nine patches."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters of the training."""

    scale: int
    """Magnification, one of `SCALES`."""
    window: int = WINDOW
    """Side of a window in low-resolution pixels, odd."""
    anchors: int = 1024
    """Number of anchors."""
    classes: int = 4
    """Number of classes of strength, quantiles of the features' norms."""
    energy: float = 0.9990
    """Share of the windows' energy that PCA retains, 0 … 1."""
    iterations: int = 12
    """Number of k-means iterations."""
    clustered: int = 91
    """Number of pairs, evenly spaced in the list, from which basis, anchors and classes are
    learnt."""
    ridge: float = 0.1
    """λ with which an anchor's projection is drawn towards that of all samples."""
    class_ridge: float = 0.3
    """λ with which a class's projection is drawn towards its anchor's."""
    rank: int = 0
    """Dimensions of patches that projections keep; 0: what `RANKS` says."""
    seed: int = 0
    """Seed of k-means."""


def clean(image: Float32, scale: int, factor: float = 1.0, shift: int = 0) -> Pair:
    """Return a low-resolution picture and its original, by the protocol.

    The original is the image shrunk by `factor`, without its first `shift` rows and columns: other
    low-resolution pixels, so other samples.
    """
    truth = crop(shrink(image, factor)[shift:, shift:], scale)
    return shrink(truth, 1 / scale), truth


def train(
    pairs: Sequence[Callable[[], Pair]],
    settings: Settings,
    *,
    threads: int | None = None,
    progress: Progress = lambda stage, done: None,
) -> Model:
    """Train a model.

    Parameters
    ----------
    pairs : sequence of callables
        Each returns a pair of pictures, and is called once or twice, in a thread.
    threads : int, optional
        Number of threads; by default the number of cores that this process may use.
    progress : callable, optional
        Called with the name of a stage and the share of it that is done, 0 … 1.
    """
    s = settings
    some = [pairs[len(pairs) * k // s.clustered] for k in range(s.clustered)]
    if len(pairs) < s.clustered:
        some = list(pairs)
    with Pool(threads or available()) as pool, single_threaded():
        basis = _basis(some, s, pool)
        gather = partial(_samples, settings=s, basis=basis, kinds=kinds(basis))
        low = np.concatenate([features for features, _ in pool.map(gather, some)])
        norms = np.linalg.norm(low, axis=1)
        low, norms = low[norms > WEAK], norms[norms > WEAK]
        strengths = np.quantile(norms, np.arange(1, s.classes) / s.classes).astype(np.float32)
        anchors = clusters(
            low, s.anchors, iterations=s.iterations, seed=s.seed, pool=pool,
            progress=partial(progress, "anchors"),
        )  # fmt: skip
        equations = Equations(s.anchors, s.classes, basis.shape[1], (s.window * s.scale) ** 2)
        for features, high in _batches(pairs, gather, pool, partial(progress, "samples")):
            cells = nearest(features, anchors, pool) * np.int32(s.classes)
            cells += np.searchsorted(strengths, np.linalg.norm(features, axis=1), "right").astype(
                np.int32
            )
            equations.add(features, high, cells, pool)
        solved = equations.solved(s.ridge, s.class_ridge)
        found = packed(solved, equations.whole, s.rank or RANKS[s.scale], NOISE[s.scale])
    return Model(s.scale, s.window, anchors, basis, found.unpacked(), {}, strengths, found)


def _windows(pair: Pair, settings: Settings) -> tuple[Float32, Float32]:
    """Return raw windows of a pair, (4·(w·s)², n), and the patches they lack, (n, (w·s)²)."""
    low, high = pair
    s, w = settings.scale, settings.window
    mid = np.empty_like(high)
    bicubic(low, s, mid)
    raw = raw_windows(mid, s, w, centred=True)
    return raw.reshape(len(raw), -1), patches(high - mid, s, w)


def _basis(pairs: Sequence[Callable[[], Pair]], settings: Settings, pool: Pool) -> Float32:
    """Return the basis that is adapted to the windows of some pairs."""

    def covariance(pair: Callable[[], Pair]) -> Float64:
        raw = _windows(pair(), settings)[0].astype(np.float64)
        return raw @ raw.T

    total = sum(pool.map(covariance, pairs))
    return adapted(np.asarray(total), settings.energy)[0]


def _samples(
    pair: Callable[[], Pair], settings: Settings, basis: Float32, kinds: Int32
) -> tuple[Float32, Float32]:
    """Return features (n, d) and patches (n, (w·s)²) of a pair, turned."""
    low, high = pair()
    edge = margin(settings.window)
    raw, detail = _windows((low, high), settings)
    signs = np.empty((low.shape[0] - 2 * edge, 3, low.shape[1]), np.int8)
    orientations(low, edge, signs)
    sign = signs[:, :, edge:-edge].swapaxes(0, 1).reshape(3, -1).astype(np.float32)
    features = basis.T @ raw
    turn(features, sign, kinds, np.empty(0, np.float32), np.empty(len(detail), np.int32))
    orientation = (sign < 0).T @ np.array([1, 2, 4])  # of those that tie, the first
    place = places(settings.window * settings.scale)[orientation]
    return np.ascontiguousarray(features.T), np.take_along_axis(detail, place, axis=1)


def _batches(
    pairs: Sequence[Callable[[], Pair]],
    gather: Callable[[Callable[[], Pair]], tuple[Float32, Float32]],
    pool: Pool,
    progress: Callable[[float], None],
) -> Iterator[tuple[Float32, Float32]]:
    """Yield the samples of all pairs, many at a time."""
    waiting: list[tuple[Float32, Float32]] = []
    step = 16  # pairs in work, so that memory is bounded
    for start in range(0, len(pairs), step):
        waiting += pool.map(gather, pairs[start : start + step])
        progress(min(start + step, len(pairs)) / len(pairs))
        if sum(len(features) for features, _ in waiting) >= BATCH or start + step >= len(pairs):
            yield (np.concatenate([one[0] for one in waiting]),
                   np.concatenate([one[1] for one in waiting]))  # fmt: skip
            waiting = []
