"""Projections of models of format 2 as a file holds them: low rank, in whole numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.aplus.packed import UNIT, Packed

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]

LARGEST = 127  # code


def packed(projections: Float32, grams: Float64, rank: int) -> Packed:
    """Return projections on the patches that they make most of.

    Parameters
    ----------
    projections : (k, p, d) float32
    grams : (k, d, d) float64
        Sum of the products of the features of each projection with themselves.
    rank : int
        Dimensions of patches that are kept, at most p.
    """
    patch = projections.shape[1]
    covariance = np.zeros((patch, patch))
    for projection, gram in zip(projections.astype(np.float64), grams, strict=True):
        covariance += projection @ gram @ projection.T
    vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, :rank]
    vectors = vectors * np.sign(
        vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    )
    basis = np.rint(vectors / UNIT).astype(np.int16)
    inner = (UNIT * basis).T @ projections.astype(np.float64)
    scales = (np.abs(inner).max(axis=(1, 2)) / LARGEST).astype(np.float32)
    scales = np.maximum(scales, np.finfo(np.float32).tiny)
    codes = np.rint(inner / scales[:, None, None]).clip(-LARGEST, LARGEST).astype(np.int8)
    return Packed(basis, codes, scales)
