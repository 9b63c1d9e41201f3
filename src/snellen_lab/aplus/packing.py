"""Projections as a file holds them: low rank, in whole numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.aplus.packed import UNIT, Packed

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]

LARGEST = 127  # code
COMMON = 0.03
"""Share that the features of all projections have in the Gram matrix of one, so that rounding is
good for features that it has not met, too."""


def packed(projections: Float32, grams: Float64, rank: int, noise: float) -> Packed:
    """Return projections on the patches that they make most of.

    A code's step is such that all projections and all coordinates of features add as much noise to
    patches, which takes the fewest bits: coarse where features are rare or weak. The error of a
    coordinate is made up for by those after it, as far as features are correlated.

    Parameters
    ----------
    projections : (k, p, d) float32
    grams : (k, d, d) float64
        Sum of the products of the features of each projection with themselves.
    rank : int
        Dimensions of patches that are kept, at most p.
    noise : float
        Energy that rounding adds, as a share of that of all patches.
    """
    count, patch, dims = projections.shape
    covariance = np.zeros((patch, patch))
    for projection, gram in zip(projections.astype(np.float64), grams, strict=True):
        covariance += projection @ gram @ projection.T
    vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, :rank]
    vectors = vectors * np.sign(
        vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    )
    basis = np.rint(vectors / UNIT).astype(np.int16)
    inner = (UNIT * basis).T @ projections.astype(np.float64)
    factors = _factors(grams)
    # What the error of a coordinate costs, if those after it make up for it: the pivots of G.
    energies = 1 / np.square(np.einsum("kdd->kd", factors))
    weights = (1 / np.sqrt(energies.sum(axis=0))).astype(np.float32)
    shares = (energies * np.square(weights, dtype=np.float64)).sum(axis=1)
    # Rounding adds step²/12 · share in each dimension of patches.
    steps = np.sqrt(12 * noise * np.trace(covariance) / (count * rank) / shares)
    largest = np.abs(inner / weights).max(axis=(1, 2)) / LARGEST
    scales = np.maximum(np.maximum(steps, largest), np.finfo(np.float32).tiny).astype(np.float32)
    codes = np.empty((rank, dims, count), np.int8)
    for j in range(dims):
        step = scales[:, None].astype(np.float64) * weights[j]
        code = np.rint(inner[:, :, j] / step).clip(-LARGEST, LARGEST)
        error = (inner[:, :, j] - code * step) / factors[:, j, j, None]
        inner[:, :, j + 1 :] -= error[:, :, None] * factors[:, None, j, j + 1 :]
        codes[:, j] = code.T
    return Packed(basis, codes, scales, weights)


def _factors(grams: Float64) -> Float64:
    """Return upper triangular U, UᵀU the inverse of each Gram matrix, (k, d, d)."""
    whole = grams.sum(axis=0)
    mean = max(float(np.trace(whole)) / len(grams), 1e-30)
    shares = np.maximum(np.trace(grams, axis1=1, axis2=2) / mean, 0.001) / len(grams)
    damped = grams + COMMON * shares[:, None, None] * whole + 1e-9 * mean * np.eye(len(whole))
    return np.linalg.cholesky(np.linalg.inv(damped)).swapaxes(1, 2)
