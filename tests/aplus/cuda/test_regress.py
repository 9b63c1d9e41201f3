"""Patches on the GPU against float64, and the order in which projections lie for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from snellen.aplus.cuda.group import TILE, Group, capacity
from snellen.aplus.cuda.layout import LANE_DIMS, pad, padded
from snellen.aplus.cuda.regress import Regress, cell, row, rows
from support.aplus.stages import places


@pytest.mark.parametrize(("scale", "wanted"), [(2, 4), (3, 12), (4, 16)])
def test_a_cell_is_whole_vectors(scale, wanted):
    assert cell(scale) == wanted


@pytest.mark.parametrize("dims", [7, 33])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
def test_rows(random_model, scale, window, dtype, dims):
    model = random_model(scale, window, anchors=3, dims=dims, dtype=dtype)
    dims = model.basis.shape[1]
    found = rows(model)
    assert found.dtype == dtype and found.shape == (3, row(model), padded(dims))
    assert row(model) % 8 == 0 and row(model) >= window**2 * cell(scale)
    plain = np.full_like(found, np.nan)  # put back what by_lane has moved
    for slab in range(0, padded(dims), 32):
        plain[..., slab + LANE_DIMS.ravel()] = found[..., slab : slab + 32]
    where = places(model)
    assert (plain[:, where, :dims] == model.projections).all()
    plain[:, where, :dims] = 0
    assert not plain.any()


# On the GPU.


def projected(cuda, model, features, index):
    """Patches of features (n, d), by way of group: whole rows."""
    count = len(features)
    order = cuda.full(capacity(count, len(model.anchors)), -9, cuda.int32)
    tiles = cuda.full(1, -9, cuda.int32)
    index = cuda.asarray(index.astype(np.uint16))
    Group(len(model.anchors))(index, order, tiles)
    out = cuda.full((count + 1, row(model)), cuda.nan, cuda.float32)
    given = cuda.asarray(pad(features, 1, padded(features.shape[1])))
    Regress(model)(given, index, order, tiles, out[:count])
    assert cuda.isnan(out[count:]).all()
    return out[:count].get()


def check(found, model, features, index):
    """Every sample of a patch, and zeros where a row is filled up."""
    where = places(model)
    chosen = model.projections[index].astype(np.float64)
    features = features.astype(np.float64)
    wanted = np.einsum("npd,nd->np", chosen, features)
    norms = np.linalg.norm(chosen, axis=2) * np.linalg.norm(features, axis=1)[:, None]
    # Two parts of 11 bits leave out three times 2⁻²² of each product. Each slab of 32 dimensions is
    # 8 or 12 sums of tensor cores, which cut off some 2⁻²³ of what they have by then.
    slabs = padded(features.shape[1]) // 32
    bound = (3 * 2.0**-22 + 12 * slabs * 2.0**-23) * norms
    error = np.abs(found[:, where] - wanted)
    assert (error <= bound).all()
    rest = np.delete(found, where, axis=1)
    assert (rest == 0).all()


CASES = [
    (2, 3, 28, np.float16),
    (2, 3, 28, np.float32),
    (3, 3, 28, np.float16),
    (3, 3, 7, np.float32),
    (4, 3, 28, np.float16),
    (4, 3, 28, np.float32),
    (2, 1, 7, np.float16),
    (3, 1, 33, np.float32),
    (4, 1, 28, np.float16),
    (2, 5, 28, np.float16),
    (3, 5, 33, np.float16),
    (4, 5, 7, np.float32),
    (2, 3, 33, np.float32),
    (3, 3, 70, np.float16),
    (2, 3, 70, np.float32),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("scale", "window", "dims", "dtype"), CASES)
@pytest.mark.parametrize("count", [1, 17, 1000])
def test_against_float64(cuda, random, random_model, scale, window, dims, dtype, count):
    model = random_model(scale, window, dims=dims, dtype=dtype)
    features = random.normal(size=(count, model.basis.shape[1])).astype(np.float32)
    index = random.integers(0, len(model.anchors), count)
    check(projected(cuda, model, features, index), model, features, index)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("kind", ["one anchor", "two anchors", "all anchors", "ends"])
def test_runs_of_anchors(cuda, random, random_model, kind, dtype):
    """Neighbouring tiles of one anchor share what the kernel has read, others do not."""
    model = random_model(2, anchors=1024, dims=28, dtype=dtype)
    features = random.normal(size=(5000, 28)).astype(np.float32)
    index = {
        "one anchor": np.full(5000, 77),
        "two anchors": random.choice([500, 501], 5000),
        "all anchors": random.integers(0, 1024, 5000),
        "ends": random.choice([0, 1023], 5000, p=[0.01, 0.99]),
    }[kind]
    check(projected(cuda, model, features, index), model, features, index)


@pytest.mark.gpu
def test_features_of_any_size(cuda, random, random_model):
    model = random_model(2, dims=28)
    features = random.normal(size=(1000, 28)) * 10.0 ** random.uniform(-20, 20, (1000, 1))
    features[::50] = 0
    features = features.astype(np.float32)
    index = random.integers(0, len(model.anchors), 1000)
    found = projected(cuda, model, features, index)
    check(found, model, features, index)
    assert not found[::50].any()


@pytest.mark.gpu
@pytest.mark.parametrize("scale", [2, 4])
@pytest.mark.parametrize("tiles", [0, 1, 3, 4, 5, 21])
def test_what_is_not_listed_stays(cuda, random, random_model, scale, tiles):
    """Rows that no tile lists, and tiles beyond their number."""
    model = random_model(scale, anchors=5, dims=28)
    features = random.normal(size=(500, 28)).astype(np.float32)
    index = np.sort(random.integers(0, 5, 500)).astype(np.uint16)
    order = np.full((40, TILE), -1, np.int32)
    listed = []
    for number in range(tiles):  # of one anchor each, some not full, entries in any order
        same = np.setdiff1d(np.flatnonzero(index == number % 5), listed)
        chosen = random.permutation(same)[: (16, 1, 9)[number % 3]]
        order[number, : len(chosen)] = chosen
        listed += chosen.tolist()
    order[tiles:] = 499  # nonsense behind
    out = cuda.full((500, row(model)), cuda.nan, cuda.float32)
    Regress(model)(
        cuda.asarray(pad(features, 1, 32)), cuda.asarray(index), cuda.asarray(order.ravel()),
        cuda.asarray(np.array([tiles], np.int32)), out,
    )  # fmt: skip
    found = out.get()
    rest = np.setdiff1d(np.arange(500), listed)
    assert np.isnan(found[rest]).all()
    if listed:
        check(found[listed], model, features[listed], index[listed])


@pytest.mark.gpu
@pytest.mark.parametrize("scale", [2, 3])
def test_half_precision_projections_cost_nothing(cuda, random, random_model, scale):
    """The same numbers as float32 give the same patches within rounding."""
    model = random_model(scale, dims=28, dtype=np.float16)
    wide = replace(model, projections=model.projections.astype(np.float32))
    features = random.normal(size=(700, 28)).astype(np.float32)
    index = random.integers(0, len(model.anchors), 700)
    check(projected(cuda, wide, features, index), model, features, index)


@pytest.mark.gpu
def test_the_same_bytes_again(cuda, random, random_model):
    """However group has ordered the patches of an anchor."""
    model = random_model(2, dims=28, dtype=np.float16)
    features = random.normal(size=(20_000, 28)).astype(np.float32)
    index = random.integers(0, len(model.anchors), 20_000)
    found = [projected(cuda, model, features, index).tobytes() for _ in range(3)]
    assert found[0] == found[1] == found[2]
