"""The patch of each feature against a matrix product in float64."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.regress import BLOCK, regress

UNIT = 2.0**-24


def case(random, dims, patch, count, anchors=13):
    features = random.normal(size=(dims, count)).astype(np.float32)
    index = random.integers(0, anchors, count).astype(np.int32)
    projections = random.normal(size=(anchors, dims, patch)).astype(np.float32)
    return features, index, projections


def check(found, features, index, projections):
    p = projections[index].astype(np.float64)
    wanted = np.einsum("ndp,dn->pn", p, features)
    magnitude = np.einsum("ndp,dn->pn", np.abs(p), np.abs(features))
    # Each product and each of at most dims sums rounds by a unit of the magnitudes' sum.
    assert (np.abs(found - wanted) <= (len(features) + 1) * UNIT * magnitude).all()


@pytest.mark.parametrize("dims", [1, 2, 3, 4, 5, 7, 8, 28, 31])
@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 3])
@pytest.mark.parametrize("patch", [1, 36, 225])
def test_every_block_and_rest(random, dims, count, patch):
    features, index, projections = case(random, dims, patch, count)
    out = np.full((patch, count), np.nan, np.float32)
    regress(features, index, projections, out)
    check(out, features, index, projections)


def test_layouts(random):
    features, index, projections = case(random, 9, 36, 40)
    wanted = np.empty((36, 40), np.float32)
    regress(features, index, projections, wanted)
    pitched = np.full((9, 64), np.nan, np.float32)
    pitched[:, 5:45] = features
    buffer = np.full((36, 90), np.nan, np.float32)
    indices = np.full(50, 99, np.int32)
    indices[3:43] = index
    regress(pitched[:, 5:45], indices[3:43], projections, buffer[:, 30:70])
    assert buffer[:, 30:70].tobytes() == wanted.tobytes()
    assert np.isnan(buffer[:, :30]).all() and np.isnan(buffer[:, 70:]).all()
    regress(np.asfortranarray(features), index, projections, buffer[:, :40])
    assert buffer[:, :40].tobytes() == wanted.tobytes()


def test_first_and_last_anchor(random):
    features, index, projections = case(random, 6, 36, 21, anchors=1024)
    index[:] = 1023
    index[::2] = 0
    out = np.full((36, 21), np.nan, np.float32)
    regress(features, index, projections, out)
    check(out, features, index, projections)
