"""The CPU backend: exactness, formats, and that strips, parts and threads do not count."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from snellen.cnn import cpu
from snellen.cnn.cpu import Luma
from snellen.cnn.model import read
from snellen.frames.frame import Format
from snellen_lab.protocol import crop, luma, pictures, shrink
from support.aplus import reference as aplus
from support.aplus.drawings import drawing
from support.cnn import reference

TRAINED = Path(__file__).with_name("drawings-x2.safetensors")
"""A fast network that was trained on drawings: values have the range of real ones."""


def enlarged(model, plane, source=None, bits=None, threads=2):
    height, width = plane.shape
    source = source or Format(width, height, 8)
    target = source.scaled(model.scale, bits)
    out = np.empty((height * model.scale, width * model.scale), target.dtype)
    luma = Luma(model, source, target)
    with ThreadPoolExecutor(threads) as pool:
        for task in luma.tasks(pool, plane, out):
            task.result()
    luma.close()
    return out


def exact(model, codes):
    """Return the definition's result for 8-bit codes in float64, not rounded."""
    return aplus.bicubic(codes, model.scale) + reference.residual(codes, model)


FLOATS = Format(1, 1, 0, white=255)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "layers", "channels", "side"),
    [(2, 4, 16, 5), (3, 1, 5, 3), (4, 0, 3, 5), (2, 2, 32, 3)],
)
@pytest.mark.parametrize("shape", [(17, 23), (1, 1), (70, 6), (1, 40)])
def test_floats(random, scale, layers, channels, side, shape):
    model = reference.model(random, scale, layers, channels, side)
    codes = random.uniform(-20, 280, shape).astype(np.float32)
    found = enlarged(model, codes, FLOATS)
    # Values near 1 in units of 128 codes, float32 sums of up to 288 products in each of 6 stages.
    np.testing.assert_allclose(found, exact(model, codes), rtol=0, atol=128 * 2e-5)


@pytest.mark.slow
def test_strips_parts_and_threads_do_not_count(random, monkeypatch):
    model = reference.model(random, 2, 4, 16)
    for shape in ((131, 75), (1, 90), (90, 1), (67, 67)):
        codes = random.uniform(0, 255, shape).astype(np.float32)
        found = set()
        for columns, rows, threads in ((384, 256, 1), (1, 256, 2), (17, 3, 3), (64, 1, 2)):
            monkeypatch.setattr(cpu, "COLUMNS", columns)
            monkeypatch.setattr(cpu, "ROWS", (1, rows))
            found.add(enlarged(model, codes, FLOATS, threads=threads).tobytes())
        assert len(found) == 1


def test_a_part_is_what_it_is_in_the_whole(random):
    model, reach = reference.model(random, 2, 4, 16), 6
    codes = random.integers(0, 256, (60, 40), np.uint8)
    part, whole = enlarged(model, codes[7:44, 5:33]), enlarged(model, codes)
    inside = (slice(2 * reach, -2 * reach),) * 2
    np.testing.assert_array_equal(part[inside], whole[14:88, 10:66][inside])


@pytest.mark.parametrize(
    ("height", "cores", "rows"), [(1080, 2, 270), (2160, 2, 270), (1080, 8, 68)]
)
def test_every_thread_gets_as_many_strips(monkeypatch, height, cores, rows):
    monkeypatch.setattr(cpu.threads, "available", lambda: cores)
    found = [end - first for first, end in cpu.strips((height, 1920), 2)]
    assert set(found[:-1]) == {rows} and len(found) % cores == 0


def test_strips_are_small_and_whole():
    for height, width, scale in ((1080, 1920, 2), (1, 1, 4), (30000, 3, 2), (7, 1 << 20, 4)):
        rows = list(cpu.strips((height, width), scale))
        assert [first for first, _ in rows] == [0, *(end for _, end in rows[:-1])]
        assert rows[-1][1] == height
        for first, end in rows:
            assert end - first <= cpu.ROWS[1]
            assert end - first == 1 or 4 * scale**2 * width * (end - first) <= cpu.STRIP


DEPTHS = [
    # source, target bits, codes of the source in an 8-bit code, of the target in one of the source
    (Format(31, 20, 8), 8, 1, 1),
    (Format(31, 20, 8), 10, 1, 4),
    (Format(31, 20, 10), 10, 4, 1),
    (Format(31, 20, 12), 8, 16, 1 / 16),
    (Format(31, 20, 16, full_range=True), 16, 257, 1),
    (Format(31, 20, 10, full_range=True), 8, 1023 / 255, 255 / 1023),
    (Format(31, 20, 16, white=1000), 16, 1000 / 255, 1),
]


@pytest.mark.parametrize(("source", "bits", "unit", "factor"), DEPTHS)
def test_depths(random, source, bits, unit, factor):
    model = read(TRAINED)
    most = (1 << source.bits) - 1
    plane = (drawing(7, (20, 31)) * min(most, 255 * unit)).astype(source.dtype)
    plane = np.repeat(plane, 2, 1)[:, ::2]  # rows with a pitch
    plane[0, :3] = most
    found = enlarged(model, plane, source, bits)
    codes = plane / unit
    wanted = (aplus.bicubic(plane, 2) + unit * reference.residual(codes, model)) * factor
    wanted = wanted.clip(0, (1 << bits) - 1)
    assert found.dtype == np.dtype(np.uint8 if bits == 8 else np.uint16)
    # Half a code of rounding; a float32 sum of six stages is off by less than 2e-3 8-bit codes.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=0.5 + 2e-3 * unit * factor)


def test_white_of_floats_is_a_scale(random):
    model = read(TRAINED)
    plane = drawing(3, (24, 30))
    found = enlarged(model, plane, Format(30, 24, 0))
    for white in (0.25, 1024.0):  # powers of two: every product is the same
        other = enlarged(model, plane * np.float32(white), Format(30, 24, 0, white=white))
        np.testing.assert_array_equal(other, found * np.float32(white))
    np.testing.assert_allclose(255 * found, exact(model, 255.0 * plane), rtol=0, atol=2e-3)
    assert found.min() > -0.2 and found.max() < 1.2


def proof(model, planes):
    """Check what is promised for 8 bits against float64, for each plane."""
    s = model.scale
    for plane, truth in planes:
        found = enlarged(model, plane).astype(np.int64)
        wanted = np.rint(exact(model, plane.astype(np.float64)).clip(0, 255)).astype(np.int64)
        off = np.abs(found - wanted)
        assert off.max() <= 1 and (off > 0).mean() <= 1e-4  # issue: 1 %; float32 is far below
        if truth is None:
            continue
        psnr = [
            10 * np.log10(255**2 / np.square(one[s:-s, s:-s] - truth[s:-s, s:-s]).mean())
            for one in (found.astype(float), wanted.astype(float))
        ]
        assert abs(psnr[0] - psnr[1]) < 0.005


def shrunk(picture, scale):
    truth = crop(picture, scale)
    return np.rint(shrink(truth, 1 / scale).clip(0, 255)).astype(np.uint8), truth


def test_exactness(random):
    drawn = [shrunk(drawing(k, (84, 100)) * np.float32(255), 2) for k in (100, 101)]
    noise = [(random.integers(0, 256, (40, 60), np.uint8), None)]
    proof(read(TRAINED), drawn + noise)


@pytest.mark.slow
def test_exactness_on_pictures(shared_data):
    paths = [*pictures(shared_data / "Set5"), *pictures(shared_data / "Set14")[:4]]
    proof(read(TRAINED), [shrunk(luma(path).astype(np.float32) * 255, 2) for path in paths])


def test_the_trained_network_is_one():
    """It is better than bicubic on drawings that it never saw, so its values are real ones."""
    model, gains = read(TRAINED), []
    for k in (200, 201):
        low, truth = shrunk(drawing(k, (84, 100)) * np.float32(219) + 16, 2)
        plain, found = aplus.bicubic(low, 2), enlarged(model, low).astype(float)
        errors = [np.square(one[2:-2, 2:-2] - truth[2:-2, 2:-2]).mean() for one in (plain, found)]
        gains.append(10 * np.log10(errors[0] / errors[1]))
    assert min(gains) > 2
