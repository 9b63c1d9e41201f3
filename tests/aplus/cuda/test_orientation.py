"""Models of format 2 on the GPU: turns, features, cells and patches turned back.

Each test runs twice: on a GPU, and with the kernels compiled for the CPU by g++.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.aplus import orientation as cpu
from snellen.aplus.cuda import features, luma, orientation, overlap
from snellen.aplus.cuda.filters import compose
from snellen.aplus.cuda.layout import LANE_DIMS, padded
from snellen.aplus.cuda.regress import row
from snellen.aplus.symmetry import Kind, kinds
from snellen.frames.bicubic import bicubic
from snellen.frames.frame import Format
from snellen.frames.quantise import recode
from support import emulated
from support.aplus import reference
from support.aplus.frames import tolerance
from support.aplus.images import noise
from support.aplus.oriented import oriented_model, tied_pictures
from support.aplus.stages import filtered, places, whole

HEADER = Path(orientation.__file__).with_suffix(".cuh")


def installed(monkeypatch, tmp_path):
    """Put what stands for CuPy and its kernels in place."""
    kernels = emulated.Kernels(tmp_path)
    return emulated.install(monkeypatch, kernels, features, orientation, overlap)


@pytest.fixture(params=emulated.BOTH)
def there(request, monkeypatch, tmp_path):
    """CuPy, or what stands for it where kernels run on the CPU."""
    if request.param == "gpu":
        return request.getfixturevalue("cuda")
    return installed(monkeypatch, tmp_path)


def with_pitch(there, plane, pitch=5):
    """The plane as part of a wider array, from whose numbers it differs."""
    buffer = np.full((plane.shape[0], plane.shape[1] + pitch), 77, plane.dtype)
    buffer[:, 2 : 2 + plane.shape[1]] = plane
    return there.asarray(buffer)[:, 2 : 2 + plane.shape[1]]


def signs_of(plane, first=0, rows=None):
    rows = plane.shape[0] - first if rows is None else rows
    out = np.full((rows, 3, plane.shape[1]), 99, np.int8)
    cpu.orientations(plane, first, out)
    return out


def turns_of(signs):
    """Turns (rows, W) of signs (rows, 3, W)."""
    bits = np.array([1, 2, 4])[:, None]
    return ((signs < 0) * bits + (signs == 0) * 8 * bits).sum(axis=1).astype(np.uint8)


def meant(turn):
    """The orientations that a turn means."""
    return [g for g in range(8) if not (g ^ turn) & ~(turn >> 3) & 7]


def test_what_the_header_says_is_what_the_package_says():
    text = HEADER.read_text(encoding="utf-8")
    found = dict(re.findall(r"(\w+) = (\d+)", text))
    kind = {Kind.SAME: "SAME", Kind.TURN: "TURN", Kind.SQUARE: "SQUARE",
            Kind.DIAGONAL: "DIAGONAL", Kind.ACROSS: "SWAPPED"}  # fmt: skip
    assert {name: int(found[name]) for name in kind.values()} == {
        name: int(value) for value, name in kind.items()
    }
    assert int(found["KIND_BITS"]) == orientation.KIND_BITS
    assert max(Kind) < 1 << orientation.KIND_BITS


@pytest.mark.parametrize(("scale", "window"), [(2, 3), (2, 5)])
def test_kinds_of_each_lane(scale, window):
    model = oriented_model(scale, window)
    packed = orientation.packed_kinds(model)
    wanted = kinds(model.basis)
    for number, word in enumerate(packed):
        for place, dim in enumerate(LANE_DIMS[number % 4] + number // 4 * 32):
            kind = word >> 4 * place & 15
            assert kind == (wanted[dim] if dim < len(wanted) else 0)


def turns_there(there, plane, bits, first=0, rows=None, scale=2):
    height, width = plane.shape
    rows = height - first if rows is None else rows
    out = there.asarray(np.full((rows + 1, width), 99, np.uint8))
    stage = orientation.Orientation(oriented_model(scale), Format(width, height, bits))
    stage(with_pitch(there, plane), first, rows, out[:rows])
    assert (out[rows:].get() == 99).all()
    return out[:rows].get()


@pytest.mark.parametrize("bits", [8, 10, 16, 0])
def test_turns_are_those_of_the_cpu(there, random, bits):
    """To the bit, ties among them, and where sums of floats are not exact."""
    pictures = [noise(random, bits, size) for size in ((1, 1), (1, 40), (9, 2), (37, 45))]
    if bits:
        pictures += tied_pictures(random, bits).values()
    else:
        pictures += [tied_pictures(random, 8)["few"].astype(np.float32) / 255,
                     (noise(random, 0, (20, 33)) * 10.0 ** random.integers(-30, 30, (20, 33)))
                     .astype(np.float32)]  # fmt: skip
    for plane in pictures:
        assert (turns_there(there, plane, bits) == turns_of(signs_of(plane))).all()


def test_turns_of_a_band(there, random):
    plane = noise(random, 8, (40, 33))
    wanted = turns_of(signs_of(plane))
    for first, rows in ((0, 1), (7, 9), (31, 9)):
        assert (turns_there(there, plane, 8, first, rows) == wanted[first : first + rows]).all()


def test_turns_of_what_is_no_number(there, random):
    plane = noise(random, 0, (20, 21))
    plane[5, 6], plane[12, 13], plane[12, 15] = np.nan, np.inf, -np.inf
    assert (turns_there(there, plane, 0) == turns_of(signs_of(plane))).all()


def turned_features(there, model, plane, bits, first=0, rows=None):
    """Features, squared norms and turns of rows of windows."""
    height, width = plane.shape
    rows = height - first if rows is None else rows
    dims = padded(model.basis.shape[1])
    given = with_pitch(there, plane)
    format = Format(width, height, bits)
    turns = there.asarray(np.full((rows, width), 99, np.uint8))
    out = there.asarray(np.full((rows + 1, width, dims), np.nan, np.float32))
    norms = there.asarray(np.full((dims // 32, rows, width), np.nan, np.float32))
    orientation.Orientation(model, format)(given, first, rows, turns)
    features.Features(model, format)(given, first, rows, out[:rows], turns, norms)
    assert np.isnan(out[rows:].get()).all()
    return out[:rows].get(), norms.get(), turns.get()


CASES = [
    (2, 3, 8, (33, 37)),
    (3, 3, 8, (9, 66)),
    (4, 3, 10, (5, 33)),
    (2, 3, 16, (33, 20)),
    (3, 3, 0, (20, 33)),
    (2, 5, 8, (20, 33)),
]


def wanted_features(model, plane, turns):
    """Features by float64, turned: the mean over all orientations that are meant."""
    kind = kinds(model.basis)
    plain = filtered(plane, compose(model))
    sign = np.array([[0 if turn >> 3 & bit else -1 if turn & bit else 1 for bit in (1, 2, 4)]
                     for turn in turns.ravel()]).T  # fmt: skip
    across, down, order = sign.reshape(3, *turns.shape).astype(np.float64)
    out = plain.copy()
    factors = {Kind.TURN: across * down * order, Kind.SQUARE: order, Kind.DIAGONAL: across * down}
    for k, one in enumerate(kind):
        if one in factors:
            out[..., k] *= factors[Kind(one)]
        if one == Kind.ACROSS:
            u, v, share = across * plain[..., k], down * plain[..., k + 1], (1 + order) / 2
            out[..., k], out[..., k + 1] = share * u + (1 - share) * v, share * v + (1 - share) * u
    return out


@pytest.mark.parametrize(("scale", "window", "bits", "size"), CASES)
def test_features_are_turned(there, random, scale, window, bits, size):
    model = oriented_model(scale, window)
    plane = noise(random, bits, size)
    plane[:, :9] = plane[:, :1]  # both make ties
    plane[:, 12:20] = plane[:1, 12:20]
    first = 3
    found, norms, turns = turned_features(there, model, plane, bits, first)
    assert (turns == turns_of(signs_of(plane, first))).all()
    assert (turns > 7).any() and (turns < 8).any()
    dims = model.basis.shape[1]
    wanted = np.zeros(found.shape)
    whole_turns = turns_of(signs_of(plane))
    wanted[..., :dims] = wanted_features(model, plane, whole_turns)[first:]
    largest = max(float(np.abs(plane).max()), np.abs(wanted).max())
    assert np.abs(found - wanted).max() <= 1e-6 * largest
    squares = np.square(found.astype(np.float64)).reshape(*turns.shape, -1, 32).sum(axis=3)
    np.testing.assert_allclose(norms, squares.transpose(2, 0, 1), rtol=32 * 2.0**-24)


@pytest.mark.parametrize("classes", [1, 3, 256])
def test_cells(there, random, classes):
    """Also of features that are 0, whose ties are dropped, and of norms that are no numbers."""
    model = oriented_model(2, anchors=7, classes=classes)
    format = Format(8, 8, 8)
    total = 1000
    norms = (random.random((1, total)) * 255**2 * 0.5).astype(np.float32)
    edges = cpu.edges(model, format)
    norms[0, : len(edges)] = edges
    norms[0, 300:310], norms[0, 310] = 0, np.nan
    index = random.integers(0, 7, total).astype(np.uint16)
    turns = random.integers(0, 64, total).astype(np.uint8)
    wanted = index * classes + (norms[0][:, None] >= edges).sum(axis=1)
    kept = np.where(norms[0] == 0, turns & 7, turns)
    there_index, there_turns = there.asarray(index), there.asarray(turns)
    stage = orientation.Orientation(model, format)
    stage.divide(there.asarray(norms), there_index, there_turns)
    assert (there_index.get() == wanted).all() and (there_turns.get() == kept).all()


def turned_back(model, patches, turns):
    """Patches (H, (w·s)², W) in canonical orientation, turned back; means in ties."""
    side = model.window * model.scale
    out = np.empty_like(patches)
    for y, x in np.ndindex(turns.shape):
        patch = patches[y, :, x].reshape(side, side, order="F").astype(np.float64)
        mean = np.mean([reference.turn_picture_back(patch, g) for g in meant(turns[y, x])], axis=0)
        out[y, :, x] = mean.ravel(order="F")
    return out


@pytest.mark.parametrize(
    ("scale", "window", "bits"), [(2, 3, 8), (3, 3, 0), (4, 3, 16), (3, 5, 8), (2, 1, 0)]
)
def test_patches_are_turned_back(there, random, scale, window, bits):
    model = oriented_model(scale, window)
    size = (11, 37)
    source = Format(size[1], size[0], bits)
    target = source.scaled(scale)
    plane, white = noise(random, bits, size), (1 << bits) - 1 if bits else 1
    patches = random.normal(size=(size[0], (window * scale) ** 2, size[1])) * 0.1 * white
    patches = patches.astype(np.float32)
    turns = random.integers(0, 8, size)
    ties = random.integers(0, 8, size) * (random.random(size) < 0.3)
    turns = (turns & ~ties | ties << 3).astype(np.uint8)
    assert set((turns >> 3).ravel()) == set(range(8))
    rows = np.full((*size, row(model)), np.nan, np.float32)
    rows[..., places(model)] = patches.swapaxes(1, 2)
    out = there.asarray(np.full((size[0] * scale + 1, size[1] * scale + 3), 99, target.dtype))
    stage = overlap.Overlap(model, source, target)
    stage(there.asarray(rows), 0, with_pitch(there, plane), 0, size[0],
          out[1:, 2 : 2 + size[1] * scale], there.asarray(turns))  # fmt: skip
    found = out.get()
    assert (found[0] == 99).all() and (found[:, :2] == 99).all() and (found[:, -1] == 99).all()
    mid = np.full((size[0] * scale, size[1] * scale), np.nan, np.float32)
    bicubic(plane, scale, mid)
    factor, offset = recode(source, target, chroma=False)
    wanted = whole(turned_back(model, patches, turns), mid, scale, window).astype(np.float64)
    wanted = wanted * factor + offset
    error = 60 * 2.0**-24 * (float(np.abs(plane).max()) + float(np.abs(patches).max())) * factor
    if bits:
        wanted, error = wanted.clip(0, white), error + 0.5
    assert np.abs(found[1:, 2:-1] - wanted).max() <= error


class Matched:
    """Instead of `Match`, for which see test_match.py: the same by NumPy."""

    def __init__(self, model):
        self.anchors = model.anchors

    def __call__(self, features, index, listed, work):
        given = np.asarray(features)[:, : self.anchors.shape[1]]
        index[...] = np.abs(given @ self.anchors.T).argmax(axis=1)


class Grouped:
    """Instead of `Group`."""

    def __init__(self, count):
        self.count = count

    def __call__(self, index, order, tiles):
        assert (np.asarray(index) < self.count).all()


class Regressed:
    """Instead of `Regress`."""

    def __init__(self, model):
        self.model = model

    def __call__(self, features, index, order, tiles, out):
        chosen = self.model.projections[np.asarray(index)[: len(features)]].astype(np.float64)
        given = np.asarray(features, np.float64)[:, : chosen.shape[2]]
        flat = out.reshape(-1, out.shape[-1])[: len(features)]
        flat[:, places(self.model)] = np.einsum("npd,nd->np", chosen, given)


@pytest.fixture
def composed(monkeypatch, tmp_path):
    """All stages on the CPU; those that format 2 leaves alone by NumPy."""
    cupy = installed(monkeypatch, tmp_path)
    for name, stage in {"Match": Matched, "Group": Grouped, "Regress": Regressed}.items():
        monkeypatch.setattr(luma, name, stage)
    monkeypatch.setattr(luma, "_stages", lambda *given: luma._Stages(*given, 0))
    return cupy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "window", "bits", "size"),
    [(2, 3, 8, (21, 35)), (3, 3, 0, (13, 33)), (4, 3, 8, (9, 12)), (2, 5, 8, (12, 33)),
     (2, 3, 8, (1, 1)), (2, 3, 0, (2, 7))],
)  # fmt: skip
def test_the_stages_composed(composed, random, scale, window, bits, size):
    """Whole planes and bands."""
    model = oriented_model(scale, window)
    format = Format(size[1], size[0], bits)
    target = format.scaled(scale)
    plane, white = noise(random, bits, size), (1 << bits) - 1 if bits else 1
    plane[:, :7] = plane[:, :1]
    exact, unsure = reference.upscale(plane, _scaled(model, white), white)
    assert unsure.sum() <= 0.05 * unsure.size + 2 * (window * scale) ** 2
    error = tolerance(model, white)
    if bits:
        exact, error = exact.clip(0, white), error + 0.5
    results = []
    a_patch = 4 * padded(model.basis.shape[1]) + 4 * row(model) + 15
    for rows in (size[0], min(size[0], 2 * (window // 2) + 3)):
        memory = rows * size[1] * a_patch
        stage = luma.Luma(model, format, target, memory)
        out = composed.asarray(np.full(target.shapes[0], white, target.dtype))
        stage(with_pitch(composed, plane), out)
        results.append(out.get())
        assert np.abs(results[-1] - exact)[~unsure].max() <= error
    assert stage.rows == (3 if rows < size[0] else size[0])
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "bits"), [(2, 8), (3, 16), (4, 8)])
def test_results_turn_with_the_picture_also_in_ties(composed, random, scale, bits):
    """As float samples, so that no rounding hides a fault."""
    model, white = oriented_model(scale), (1 << bits) - 1
    pictures = tied_pictures(random, bits) | {"noise": noise(random, bits, (11, 14))}
    error = tolerance(model, white)
    for name, plane in pictures.items():
        whole = enlarged(composed, model, plane, bits)
        exact, unsure = reference.upscale(plane.astype(float), _scaled(model, white), white)
        assert np.abs(whole - exact)[~unsure].max() <= error, name
        for g in (1, 2, 4, 7):
            turned = np.ascontiguousarray(reference.turn_picture(plane, g))
            back = reference.turn_picture_back(enlarged(composed, model, turned, bits), g)
            assert np.abs(back - whole)[~unsure].max() <= 2 * error, (name, g)


@pytest.mark.slow
def test_planes_whose_rows_lie_apart_are_refused(composed, random):
    """A transposed plane would be read as one of rows that overlap."""
    plane = np.asfortranarray(noise(random, 8, (12, 13)))
    with pytest.raises(AssertionError, match="not side by side"):
        enlarged(composed, oriented_model(2), plane, 8)


def enlarged(cupy, model, plane, bits):
    """All of a plane as float samples."""
    format = Format(plane.shape[1], plane.shape[0], bits)
    target = format.scaled(model.scale, 0)
    out = cupy.asarray(np.full(target.shapes[0], np.nan, target.dtype))
    luma.Luma(model, format, target, 1 << 30)(cupy.asarray(plane), out)
    return out.get()


def _scaled(model, white):
    """The model for samples up to white."""
    return replace(model, strengths=model.strengths * np.float32(white))
