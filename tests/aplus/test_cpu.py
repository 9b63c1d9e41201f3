"""Luma by A+ on both backends: against the float64 reference, the authors' outputs, and itself."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from snellen.aplus import cpu
from snellen.aplus.model import Model
from snellen.frames.frame import Format, Frame
from snellen.upscaling import chroma
from snellen.upscaling.upscaler import Upscaler
from support.aplus import reference
from support.aplus.frames import enlarged, tolerance

SIZES = [(1, 1), (1, 7), (2, 3), (4, 4), (5, 5), (5, 4), (6, 17), (7, 7), (40, 33)]


def luma(model, plane, backend="cpu"):
    (out,) = enlarged(model, [plane], Format(plane.shape[1], plane.shape[0], 0), backend=backend)
    return out


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("size", SIZES)
def test_luma(random, random_model, scale, window, size, backend):
    model = random_model(scale, window)
    plane = random.random(size, np.float32)
    found = luma(model, plane, backend)
    wanted, unsure = reference.upscale(plane, model)
    assert found.shape == wanted.shape and found.dtype == np.float32
    assert unsure.mean() < 0.03
    np.testing.assert_allclose(found[~unsure], wanted[~unsure], rtol=0, atol=tolerance(model))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_noise_and_many_anchors(random_model, seed, backend):
    random = np.random.default_rng(seed)
    model = random_model(2, anchors=1024, dims=28, dtype=np.float16)
    plane = random.random((30, 45), np.float32)
    wanted, unsure = reference.upscale(plane, model)
    # 1024 anchors leave smaller gaps between the two best, and each tie touches 36 pixels.
    assert unsure.mean() < 0.05
    found = luma(model, plane, backend)
    np.testing.assert_allclose(found[~unsure], wanted[~unsure], rtol=0, atol=tolerance(model))


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_the_border_is_the_extended_pictures_and_the_rest_the_authors(
    random, random_model, scale, backend
):
    """Outside a ring of `scale` pixels, extending the picture must change nothing (METHODS)."""
    model = random_model(scale)
    plane = random.random((14, 15), np.float32)
    total, count, unsure = reference.windows_of(plane, model, 1.0)
    inside = np.zeros(count.shape, bool)
    inside[scale:-scale, scale:-scale] = True
    assert ((count > 0) == inside).all()
    keep = inside & ~unsure
    found = luma(model, plane, backend)
    np.testing.assert_allclose(found[keep], (total[keep] / count[keep]), atol=tolerance(model))


@pytest.mark.slow
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_many_strips_and_chunks_are_the_same_picture(
    random, random_model, monkeypatch, scale, window
):
    model = random_model(scale, window)
    planes = [random.random((23, 31), np.float32), *random.random((2, 12, 16), np.float32)]
    format = Format(31, 23, 0, (1, 1))
    whole = enlarged(model, planes, format)
    monkeypatch.setattr(cpu, "STRIP", 1)
    monkeypatch.setattr(cpu, "CHUNK", 7)
    monkeypatch.setattr(chroma, "ROWS", 3)
    parts = enlarged(model, planes, format)
    _, unsure = reference.upscale(planes[0], model)
    assert unsure.mean() < 0.02
    # The matrix products may order their sums by the number of columns.
    np.testing.assert_allclose(
        parts[0][~unsure], whole[0][~unsure], rtol=0, atol=2 * tolerance(model)
    )
    for a, b in zip(parts[1:], whole[1:], strict=True):
        assert a.tobytes() == b.tobytes()


def test_strips_cover_each_row_once(random_model):
    model = random_model(2)
    for width, height in [(1, 1), (3840, 2160), (100_000, 9), (7, 100_000)]:
        strips = list(cpu.strips(model, height, width))
        assert strips[0][0] == 0 and strips[-1][1] == height
        assert all(a[1] == b[0] for a, b in pairwise(strips))
        assert all(first < last for first, last in strips)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_bytes_run_after_run_and_for_any_number_of_threads(
    random, random_model, monkeypatch, threads
):
    model = random_model(2, anchors=1024, dims=28)
    monkeypatch.setattr(cpu, "STRIP", 1 << 16)
    planes = [random.random((60, 80), np.float32), *random.random((2, 30, 40), np.float32)]
    format = Format(80, 60, 0, (1, 1))
    first = enlarged(model, planes, format)
    monkeypatch.setattr("snellen.cpu.threads.available", lambda: threads)
    with Upscaler(2, model, "cpu") as step:
        step.prepare(format)
        for _ in range(3):
            again = step.run(Frame(tuple(planes))).planes
            assert [p.tobytes() for p in again] == [p.tobytes() for p in first]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "to"), [(8, 8), (8, 10), (10, 8), (12, 16), (16, 12), (8, 16), (10, 0), (0, 8)]
)
@pytest.mark.parametrize("full", [False, True])
def test_depths(random, random_model, bits, to, full, backend):
    model = random_model(2)
    format = Format(20, 17, bits, None, full_range=full)
    white = (1 << bits) - 1 if bits else 255
    plane = (random.random((17, 20), np.float32) * white).astype(format.dtype)
    (found,) = enlarged(model, [plane], format, to, backend)
    factor = 1.0
    if bits and to:
        factor = ((1 << to) - 1) / white if full else 2.0 ** (to - bits)
    wanted, unsure = reference.upscale(plane, model, white)
    wanted *= factor
    assert unsure.mean() < 0.02
    assert found.dtype == format.scaled(2, to).dtype
    error = tolerance(model, white) * factor
    if to:
        wanted = wanted.clip(0, (1 << to) - 1)
        error += 0.5
    assert np.abs(found.astype(np.float64) - wanted)[~unsure].max() <= error


def test_integers_are_the_rounded_float(random, random_model, backend):
    model = random_model(3)
    plane = random.integers(0, 256, (19, 23)).astype(np.uint8)
    exact = luma(model, plane.astype(np.float32), backend)
    (found,) = enlarged(model, [plane], Format(23, 19), backend=backend)
    assert (found == np.rint(exact.clip(0, 255))).all()
    assert found.min() == 0 and found.max() == 255


def test_a_model_of_views_works(random, random_model, backend):
    model = random_model(2)
    plane = random.random((9, 8), np.float32)
    arrays = (model.anchors, model.basis, model.projections)
    other = Model(2, 3, *(np.asfortranarray(array) for array in arrays))
    # The same numbers in another order of memory: only the order of sums may differ.
    np.testing.assert_allclose(
        luma(other, plane, backend), luma(model, plane, backend), rtol=0, atol=2 * tolerance(model)
    )


@pytest.fixture(scope="module")
def authors(shared_data):
    with np.load(shared_data / "aplus" / "model_x2.npz") as file:
        arrays = {name: file[name] for name in ("anchors", "basis", "projections")}
    return Model(scale=2, window=3, **arrays)


def psnr(truth, estimate, border):
    a, b = (np.floor(plane.clip(0, 1).astype(float) * 255 + 0.5) for plane in (truth, estimate))
    inside = np.s_[border:-border, border:-border]
    return 10 * np.log10(255**2 / np.mean((a[inside] - b[inside]) ** 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "decibels"), [("bird", 41.2082), ("butterfly", 32.0710), ("woman", 35.3138)]
)
def test_the_authors_outputs(shared_data, authors, name, decibels, backend):
    (path,) = (shared_data / "aplus").glob(f"{name}*_x2.npz")
    with np.load(path) as case:
        low, mid, wanted, truth = (case[k] for k in ("lr", "bicubic", "aplus", "hr"))
    found = luma(authors, low, backend)
    inside = np.s_[2:-2, 2:-2]
    # Their own code and an independent port agree to 1.7e-7; float32 features and patches of
    # norm up to 0.5 and projections of norm up to 10 leave ten times that.
    assert np.abs(found - wanted)[inside].max() <= 2e-6
    # Of 80,000 pixels some lie within 2e-6 of a half and are rounded the other way: at a squared
    # error of 5 each moves the figure by up to 1e-4 dB, this way or that.
    assert psnr(truth, found, 2) == pytest.approx(decibels, abs=3e-4)
    assert psnr(truth, wanted, 2) == pytest.approx(decibels, abs=6e-5)
    format = Format(low.shape[1], low.shape[0], 0, (0, 0))
    large = enlarged(authors, [low, low, low], format, backend=backend)[1]
    # bicubic, each of the two passes rounded to float32.
    np.testing.assert_allclose(large, mid, rtol=0, atol=1e-6)


def test_the_reference_agrees_with_the_authors(shared_data, authors):
    """A corner of their butterfly: else the reference itself could be wrong."""
    with np.load(next((shared_data / "aplus").glob("butterfly*_x2.npz"))) as case:
        low, wanted = case["lr"][:20, :22], case["aplus"]
    found, unsure = reference.upscale(low, authors)
    inside = np.s_[2:24, 2:28]  # 6 low-resolution pixels from the cut, which sees other pixels
    assert not unsure[inside].any()
    # Float32 on the authors' side.
    np.testing.assert_allclose(found[inside], wanted[inside], rtol=0, atol=1e-6)
