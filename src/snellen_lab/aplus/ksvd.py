"""K-SVD: learn a dictionary whose sparse combinations approximate the training features.

The algorithm is that of Aharon, Elad, Bruckstein 2006 in the approximate form of Rubinstein,
Zibulevsky, Elad 2008 (one power iteration instead of an SVD for each atom), with their batch OMP.
Initialisation and replacement of atoms follow KSVDBox. Work is divided into blocks of fixed size,
so the same seed gives the same atoms with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool
from snellen.errors import InputError

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]

BLOCK = 8192  # signals of a task
STRIP = 128  # signals whose inner products with 1024 atoms stay in the cache (1 MB)
MIN_ENERGY = 1e-6  # a signal of less energy does not become an initial atom; KSVDBox
DEGENERATE = 1e-14  # the pursuit ends at a squared product or a pivot below this; OMPBox
MIN_WEIGHT = 1e-7  # a smaller weight does not count as a use of an atom; KSVDBox
MIN_USES = 4  # an atom of fewer uses is replaced; KSVDBox
COHERENCE = 0.99  # an atom whose inner product with another is greater is replaced; KSVDBox
CANDIDATES = 5000  # random signals from which the replacement of an unused atom is chosen; KSVDBox


def ksvd(
    features: npt.NDArray[np.floating],
    count: int,
    *,
    sparsity: int,
    iterations: int,
    seed: int,
    pool: Pool,
    progress: Callable[[float], None] = lambda done: None,
) -> Float64:
    """Learn a dictionary.

    Parameters
    ----------
    features : (n, d) float
        The signals.
    count : int
        Number of atoms.
    sparsity : int
        Greatest number of atoms that approximate a signal.
    iterations : int
        Rounds of coding all signals and updating all atoms.
    seed : int
        Seed of all random choices.
    pool : Pool
        Threads that code the signals. The caller limits BLAS to one thread meanwhile.
    progress : callable, optional
        Called with the share that is done, 0 … 1.

    Returns
    -------
    (count, d) float64
        Atoms, unit norm.

    Raises
    ------
    InputError
        There are fewer signals with any energy than atoms.
    """
    signals: Float64 = np.ascontiguousarray(features, np.float64)
    random = np.random.default_rng(seed)
    atoms = _start(signals, count, random)
    index = np.empty((len(signals), sparsity), np.int32)
    weight = np.empty((len(signals), sparsity))
    for iteration in range(iterations):
        code(signals, atoms, index, weight, pool)
        residual = signals.copy()
        subtract(residual, atoms, index, weight)
        free = np.ones(len(signals), np.bool_)
        fresh = update(signals, residual, atoms, index, weight, free, random)
        replace(signals, residual, atoms, index, weight, free, fresh)
        progress((iteration + 1) / iterations)
    return atoms


def _start(signals: Float64, count: int, random: np.random.Generator) -> Float64:
    """Return random signals, scaled to unit norm, as initial atoms."""
    usable = np.flatnonzero(np.einsum("nd,nd->n", signals, signals) > MIN_ENERGY)
    if len(usable) < count:
        raise InputError(
            f"{len(usable)} of {len(signals)} training windows have any detail, but "
            f"{count} anchors are asked for",
            parameter="anchors",
            advice="give more or larger images, or fewer `anchors`",
        )
    atoms = signals[random.permutation(usable)[:count]]
    return np.asarray(atoms / np.linalg.norm(atoms, axis=1, keepdims=True))


def code(signals: Float64, atoms: Float64, index: Int32, weight: Float64, pool: Pool) -> None:
    """Approximate each signal by few atoms: batch OMP (Rubinstein et al. 2008, algorithm 1).

    Parameters
    ----------
    signals : (n, d) float64
    atoms : (k, d) float64
        Unit norm.
    index : (n, sparsity) int32
        Output: the atoms of each signal; −1 where fewer suffice.
    weight : (n, sparsity) float64
        Output: their weights; 0 where fewer suffice.
    """
    gram = atoms @ atoms.T
    starts = range(0, len(signals), BLOCK)

    def block(start: int) -> None:
        factor, now = np.empty((index.shape[1], index.shape[1])), np.empty(len(atoms))
        for first in range(start, min(start + BLOCK, len(signals)), STRIP):
            part = slice(first, min(first + STRIP, start + BLOCK))
            _pursue(signals[part] @ atoms.T, gram, factor, now, index[part], weight[part])

    for _ in pool.map(block, starts):
        pass


@compiled
def _pursue(products, gram, factor, now, index, weight):  # type: ignore[no-untyped-def]
    """Approximate each signal greedily, with least-squares weights.

    Parameters
    ----------
    products : (n, k) float64
        Inner products of the signals with all atoms.
    gram : (k, k) float64
        Inner products of the atoms.
    factor : (sparsity, sparsity) float64
        Scratch: Cholesky factor of the Gram matrix of the chosen atoms.
    now : (k,) float64
        Scratch: inner products of the residual with all atoms.
    index, weight : (n, sparsity)
        Output, see `code`.
    """
    for p in range(products.shape[0]):
        _pursue_one(products[p], gram, factor, now, index[p], weight[p])


@compiled
def _pursue_one(product, gram, factor, now, index, weight):  # type: ignore[no-untyped-def]
    for n in range(len(index)):
        index[n], weight[n] = -1, 0
    for k in range(len(now)):
        now[k] = product[k]
    for n in range(len(index)):
        pick, best = 0, 0.0
        for k in range(len(now)):
            if abs(now[k]) > best:
                best = abs(now[k])
                pick = k
        if best * best < DEGENERATE:
            return
        pivot = 1.0
        for i in range(n):  # the next row of the Cholesky factor
            t = gram[index[i], pick]
            for j in range(i):
                t -= factor[i, j] * factor[n, j]
            factor[n, i] = t / factor[i, i]
            pivot -= factor[n, i] * factor[n, i]
        if pivot < DEGENERATE:
            return
        factor[n, n] = np.sqrt(pivot)
        index[n] = pick
        for i in range(n + 1):
            t = product[index[i]]
            for j in range(i):
                t -= factor[i, j] * weight[j]
            weight[i] = t / factor[i, i]
        for i in range(n, -1, -1):
            t = weight[i]
            for j in range(i + 1, n + 1):
                t -= factor[j, i] * weight[j]
            weight[i] = t / factor[i, i]
        if n + 1 < len(index):
            for k in range(len(now)):
                now[k] = product[k]
            for i in range(n + 1):
                w, row = weight[i], gram[index[i]]
                for k in range(len(now)):
                    now[k] -= w * row[k]


@compiled
def subtract(residual, atoms, index, weight):  # type: ignore[no-untyped-def]
    """Subtract each signal's approximation in place.

    `residual` (n, d) holds the signals before the call and the residuals after it.
    """
    for p in range(len(residual)):
        for i in range(index.shape[1]):
            if index[p, i] >= 0:
                for k in range(residual.shape[1]):
                    residual[p, k] -= weight[p, i] * atoms[index[p, i], k]


def update(
    signals: Float64,
    residual: Float64,
    atoms: Float64,
    index: Int32,
    weight: Float64,
    free: npt.NDArray[np.bool_],
    random: np.random.Generator,
) -> npt.NDArray[np.bool_]:
    """Update the atoms one after another, in random order, together with their weights.

    An atom that no signal uses is replaced by a signal: among some random ones, that of the
    greatest residual.

    Parameters
    ----------
    signals : (n, d) float64
    residual : (n, d) float64
        Signals minus their approximations; updated.
    atoms : (k, d) float64
        Updated.
    index, weight : (n, sparsity)
        As `code` returns them; weights are updated.
    free : (n,) bool
        Signals that have not replaced an atom yet; updated.

    Returns
    -------
    (k,) bool
        Atoms that were replaced.
    """
    uses = np.flatnonzero(index.ravel() >= 0)  # flat positions of all weights, sorted by atom
    uses = uses[np.argsort(index.ravel()[uses], kind="stable")]
    ends = np.searchsorted(index.ravel()[uses], np.arange(len(atoms) + 1))
    fresh = np.zeros(len(atoms), np.bool_)
    for k in random.permutation(len(atoms)):
        of_atom = uses[ends[k] : ends[k + 1]]
        if len(of_atom):
            _improve(residual, atoms[k], of_atom, weight, np.zeros_like(atoms[k]))
            continue
        left = np.flatnonzero(free)
        candidates = left[random.permutation(len(left))[:CANDIDATES]]
        errors = np.einsum("nd,nd->n", residual[candidates], residual[candidates])
        worst = candidates[np.argmax(errors)]
        _adopt(signals, worst, atoms[k])
        free[worst] = False
        fresh[k] = True
    return fresh


@compiled
def _improve(residual, atom, uses, weight, better):  # type: ignore[no-untyped-def]
    """Update one atom and its weights by one power iteration."""
    # It approximates, by a matrix of rank one, the residuals without the atom's contribution.
    # `better` is scratch of d zeros.
    sparsity, dims = weight.shape[1], len(atom)
    for u in range(len(uses)):
        p, i = uses[u] // sparsity, uses[u] % sparsity
        for k in range(dims):
            residual[p, k] += weight[p, i] * atom[k]
            better[k] += weight[p, i] * residual[p, k]
    energy = 0.0
    for k in range(dims):
        energy += better[k] * better[k]
    length = np.sqrt(energy)
    if length > 0:
        for k in range(dims):
            atom[k] = better[k] / length
    for u in range(len(uses)):
        p, i = uses[u] // sparsity, uses[u] % sparsity
        total = 0.0
        for k in range(dims):
            total += residual[p, k] * atom[k]
        weight[p, i] = total
        for k in range(dims):
            residual[p, k] -= total * atom[k]


def replace(
    signals: Float64,
    residual: Float64,
    atoms: Float64,
    index: Int32,
    weight: Float64,
    free: npt.NDArray[np.bool_],
    fresh: npt.NDArray[np.bool_],
) -> None:
    """Replace atoms that few signals use, or that nearly equal another one.

    The replacements are the signals of the greatest residuals; each signal serves once.

    Parameters
    ----------
    signals, residual, atoms, index, weight, free
        See `update`.
    fresh : (k,) bool
        Atoms that `update` has just replaced: they stay.
    """
    used = index[(index >= 0) & (np.abs(weight) > MIN_WEIGHT)]
    uses = np.bincount(used, minlength=len(atoms))
    error = np.where(free, np.einsum("nd,nd->n", residual, residual), -1)
    for k in range(len(atoms)):
        close = np.abs(atoms @ atoms[k])
        close[k] = 0
        if not fresh[k] and (uses[k] < MIN_USES or close.max() > COHERENCE):
            worst = int(np.argmax(error))
            _adopt(signals, worst, atoms[k])
            error[worst] = -1


def _adopt(signals: Float64, chosen: int, atom: Float64) -> None:
    """Copy a signal, scaled to unit norm, to an atom, unless the signal is 0."""
    length = np.linalg.norm(signals[chosen])
    if length > 0:
        atom[:] = signals[chosen] / length
