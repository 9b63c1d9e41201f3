"""K-SVD: a dictionary whose sparse combinations fit the training features.

Aharon, Elad, Bruckstein 2006, in the approximate form of Rubinstein, Zibulevsky, Elad 2008 (each
atom one power step, no SVD) with their batch OMP; start and replacement of atoms as in KSVDBox.
The same seed gives the same atoms, whatever the number of threads: work is cut in fixed blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled
from snellen.errors import InputError

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]

BLOCK = 8192  # signals a task
STRIP = 128  # inner products of STRIP signals × 1024 atoms stay in the cache (1 MB)
SILENT = 1e-6  # signals of less energy start no atom: KSVDBox
DEGENERATE = 1e-14  # a squared product or pivot below ends the pursuit: OMPBox
UNUSED = 1e-7  # a smaller weight is no use of an atom: KSVDBox
FEWEST = 4  # uses under which an atom is replaced: KSVDBox
COHERENCE = 0.99  # inner product with another atom over which it is replaced: KSVDBox
CANDIDATES = 5000  # signals among which an atom without any use finds its successor: KSVDBox


def ksvd(
    features: npt.NDArray[np.floating],
    count: int,
    *,
    sparsity: int,
    iterations: int,
    seed: int,
    pool: ThreadPoolExecutor,
    progress: Callable[[float], None] = lambda done: None,
) -> Float64:
    """Learn `count` unit-norm atoms, of which `sparsity` combine to each signal.

    Parameters
    ----------
    features : (n, d) float, the signals
    pool : threads that code the signals; BLAS is to be single-threaded while this runs
    progress : called with the share that is done

    Returns
    -------
    (count, d) float64

    Raises
    ------
    InputError
        Fewer signals with any energy than atoms.
    """
    signals: Float64 = np.ascontiguousarray(features, np.float64)
    random = np.random.default_rng(seed)
    atoms = _start(signals, count, random)
    index = np.empty((len(signals), sparsity), np.int32)
    weight = np.empty((len(signals), sparsity))
    for iteration in range(iterations):
        code(signals, atoms, index, weight, pool)
        rest = signals.copy()
        subtract(rest, atoms, index, weight)
        free = np.ones(len(signals), np.bool_)
        fresh = update(signals, rest, atoms, index, weight, free, random)
        replace(signals, rest, atoms, index, weight, free, fresh)
        progress((iteration + 1) / iterations)
    return atoms


def _start(signals: Float64, count: int, random: np.random.Generator) -> Float64:
    """Choose signals at random as first atoms."""
    usable = np.flatnonzero(np.einsum("nd,nd->n", signals, signals) > SILENT)
    if len(usable) < count:
        raise InputError(
            f"{len(usable)} of {len(signals)} training windows hold any detail, but "
            f"{count} anchors are asked for; give more or larger images, or fewer anchors"
        )
    atoms = signals[random.permutation(usable)[:count]]
    return np.asarray(atoms / np.linalg.norm(atoms, axis=1, keepdims=True))


def code(
    signals: Float64, atoms: Float64, index: Int32, weight: Float64, pool: ThreadPoolExecutor
) -> None:
    """Code each signal by batch OMP (Rubinstein et al. 2008, algorithm 1).

    Parameters
    ----------
    signals : (n, d) float64
    atoms : (k, d) float64, unit norm
    index : (n, sparsity) int32, written whole; −1 where fewer atoms suffice
    weight : (n, sparsity) float64, written whole
    """
    gram = atoms @ atoms.T
    starts = range(0, len(signals), BLOCK)

    def block(start: int) -> None:
        part = slice(start, start + BLOCK)
        _code_block(signals[part], atoms, gram, index[part], weight[part])

    for _ in pool.map(block, starts):
        pass


@compiled
def _code_block(signals, atoms, gram, index, weight):  # type: ignore[no-untyped-def]
    sparsity = index.shape[1]
    factor = np.zeros((sparsity, sparsity))
    now = np.empty(len(atoms))
    for start in range(0, len(signals), STRIP):
        products = np.dot(signals[start : start + STRIP], atoms.T)
        for p in range(len(products)):
            _pursue(products[p], gram, factor, now, index[start + p], weight[start + p])


@compiled
def _pursue(product, gram, factor, now, index, weight):  # type: ignore[no-untyped-def]
    """Greedy choice and least squares of one signal, from its products with the atoms alone."""
    index[:] = -1
    weight[:] = 0
    now[:] = product
    for n in range(len(index)):
        pick, best = 0, 0.0
        for k in range(len(now)):
            if abs(now[k]) > best:
                best = abs(now[k])
                pick = k
        if best * best < DEGENERATE:
            return
        pivot = 1.0
        for i in range(n):  # next row of the Cholesky factor of the chosen atoms' Gram matrix
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
            now[:] = product
            for i in range(n + 1):
                w, row = weight[i], gram[index[i]]
                for k in range(len(now)):
                    now[k] -= w * row[k]


@compiled
def subtract(rest, atoms, index, weight):  # type: ignore[no-untyped-def]
    """Subtract from each signal in `rest` (n, d) what its atoms explain."""
    for p in range(len(rest)):
        for i in range(index.shape[1]):
            if index[p, i] >= 0:
                rest[p] -= weight[p, i] * atoms[index[p, i]]


def update(
    signals: Float64,
    rest: Float64,
    atoms: Float64,
    index: Int32,
    weight: Float64,
    free: npt.NDArray[np.bool_],
    random: np.random.Generator,
) -> npt.NDArray[np.bool_]:
    """Improve the atoms one after another, in random order, with the weights that use them.

    An atom that nothing uses becomes the worst-fitted of some random signals that are still
    `free` for that. Returns which atoms became a signal, (k,) bool.
    """
    uses = np.flatnonzero(index.ravel() >= 0)
    uses = uses[np.argsort(index.ravel()[uses], kind="stable")]
    ends = np.searchsorted(index.ravel()[uses], np.arange(len(atoms) + 1))
    fresh = np.zeros(len(atoms), np.bool_)
    for k in random.permutation(len(atoms)):
        mine = uses[ends[k] : ends[k + 1]]
        if len(mine):
            _improve(rest, atoms[k], mine, weight)
            continue
        left = np.flatnonzero(free)
        some = left[random.permutation(len(left))[:CANDIDATES]]
        worst = some[np.argmax(np.einsum("nd,nd->n", rest[some], rest[some]))]
        _adopt(signals, worst, atoms[k])
        free[worst] = False
        fresh[k] = True
    return fresh


@compiled
def _improve(rest, atom, uses, weight):  # type: ignore[no-untyped-def]
    """Rank-one fit of what is left without the atom: one power step from the old weights."""
    slots = weight.shape[1]
    better = np.zeros_like(atom)
    for use in uses:
        p, i = use // slots, use % slots
        rest[p] += weight[p, i] * atom
        better += weight[p, i] * rest[p]
    length = np.sqrt(np.sum(better * better))
    if length > 0:
        atom[:] = better / length
    for use in uses:
        p, i = use // slots, use % slots
        weight[p, i] = np.sum(rest[p] * atom)
        rest[p] -= weight[p, i] * atom


def replace(
    signals: Float64,
    rest: Float64,
    atoms: Float64,
    index: Int32,
    weight: Float64,
    free: npt.NDArray[np.bool_],
    fresh: npt.NDArray[np.bool_],
) -> None:
    """Replace atoms that are hardly used or nearly equal to another by the worst-fitted signals.

    `fresh` atoms stay. Each signal that is `free` serves once.
    """
    used = index[(index >= 0) & (np.abs(weight) > UNUSED)]
    uses = np.bincount(used, minlength=len(atoms))
    error = np.where(free, np.einsum("nd,nd->n", rest, rest), -1)
    for k in range(len(atoms)):
        close = np.abs(atoms @ atoms[k])
        close[k] = 0
        if not fresh[k] and (uses[k] < FEWEST or close.max() > COHERENCE):
            worst = int(np.argmax(error))
            _adopt(signals, worst, atoms[k])
            error[worst] = -1


def _adopt(signals: Float64, chosen: int, atom: Float64) -> None:
    """Make a signal an atom, unless it is empty."""
    length = np.linalg.norm(signals[chosen])
    if length > 0:
        atom[:] = signals[chosen] / length
