"""Flat pictures stay as they are: a last, small change of a network's weights.

A network hardly ever sees whole patches of one code in training, and white of full range (255) not
in films, so what it adds there is not quite 0. Here the last convolution, its bias and the linear
filter get a small change, equal for all taps, with which every code comes out unchanged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from snellen.cnn.definition import HALF
from snellen.cnn.model import Model

Float64 = npt.NDArray[np.float64]

CODES = np.arange(256) / HALF - 1  # v of all 8-bit codes
ENOUGH = 0.3  # codes: what may be left of an error; rounding hides a half
RIDGES = tuple(float(r) for r in np.geomspace(1e2, 1e-6, 33))


def levelled(model: Model) -> Model:
    """Return a network whose results of flat pictures are these pictures.

    Of the changes that leave at most ENOUGH, it gets the one with the strongest ridge, or the best
    one if there is none.
    """
    if np.abs(added(model)).max() <= ENOUGH:
        return model
    best, least = model, np.inf
    for ridge in RIDGES:
        one = _changed(model, ridge)
        error = np.abs(added(one)).max()
        if error < least:
            best, least = one, error
        if error <= ENOUGH:
            break
    return replace(best, about={**model.about, "levelled": f"{least:.2f} codes at most"})


def added(model: Model) -> Float64:
    """Return what a network adds to flat pictures of all 8-bit codes: (256, s²) codes, float64."""
    last, skip = (array.astype(np.float64) for array in (model.last_weight, model.skip))
    linear = CODES[:, None] * skip.sum((1, 2))
    found: Float64 = features(model) @ last.sum((2, 3)).T + model.last_bias + linear
    return HALF * found


def features(model: Model) -> Float64:
    """Return the last activations of flat pictures of all 8-bit codes: (256, C) float64."""
    weight = model.first_weight.astype(np.float64).sum((1, 2))
    values = _prelu(CODES[:, None] * weight + model.first_bias, model.first_slope)
    for kernel, bias, slope in zip(
        model.body_weight, model.body_bias, model.body_slope, strict=True
    ):
        values = _prelu(values @ kernel.astype(np.float64).sum((2, 3)).T + bias, slope)
    return values


def _prelu(values: Float64, slope: npt.NDArray[np.float16]) -> Float64:
    return np.where(values > 0, values, slope * values)


def _changed(model: Model, ridge: float) -> Model:
    """Return the network with the least squares of what it adds and of the change, × ridge."""
    given = np.concatenate([features(model), CODES[:, None], np.ones((len(CODES), 1))], axis=1)
    gram = given.T @ given + ridge * np.eye(given.shape[1])
    change = np.linalg.solve(gram, given.T @ (-added(model) / HALF)).T
    last = model.last_weight + change[:, :-2, None, None] / 9
    skip = model.skip + change[:, -2, None, None] / model.skip[0].size
    return replace(
        model, last_weight=last.astype(np.float16), skip=skip.astype(np.float16),
        last_bias=(model.last_bias + change[:, -1]).astype(np.float16),
    )  # fmt: skip
