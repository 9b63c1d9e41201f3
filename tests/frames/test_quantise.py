"""Rounding and changes of depth."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.frames.quantise import quantise, recode


def written(samples, depth, bits, dtype):
    samples = np.asarray(samples, np.float32)
    out = np.full(samples.shape, 77, dtype)
    depth = depth if isinstance(depth, tuple) else (depth, 0)
    quantise(samples, depth, bits, out)
    return out


def test_half_goes_to_even_and_ends_are_clipped():
    found = written([[-3.7, -0.5, 0.5, 1.5, 2.5, 254.5, 255.4, 255.5, 1e9]], 1, 8, np.uint8)
    assert found.tolist() == [[0, 0, 0, 2, 2, 254, 255, 255, 255]]


@pytest.mark.parametrize("bits", range(8, 17))
def test_each_depth(random, bits):
    white = (1 << bits) - 1
    samples = random.uniform(-0.2 * white, 1.2 * white, (9, 31)).astype(np.float32)
    dtype = np.uint8 if bits == 8 else np.uint16
    found = written(samples, 1, bits, dtype)
    assert (found == np.rint(samples.clip(0, white))).all() and found.max() == white
    assert (written(samples, 0.25, bits, dtype) == np.rint((samples / 4).clip(0, white))).all()


def test_float_is_neither_rounded_nor_clipped(random):
    samples = random.normal(0, 1e4, (5, 6)).astype(np.float32)
    assert (written(samples, 1, 0, np.float32) == samples).all()


def test_every_code_value_survives():
    for bits, dtype in [(8, np.uint8), (10, np.uint16), (16, np.uint16)]:
        codes = np.arange(1 << bits, dtype=np.float32)[None]
        assert (written(codes, 1, bits, dtype) == codes).all()


def test_into_a_part_of_a_larger_plane(random):
    samples = random.uniform(0, 255, (4, 6)).astype(np.float32)
    buffer = np.full((9, 20), 99, np.uint8)
    quantise(samples, (1, 0), 8, buffer[2:6, 3:9])
    assert (buffer[2:6, 3:9] == np.rint(samples)).all()
    buffer[2:6, 3:9] = 99
    assert (buffer == 99).all()


@pytest.mark.parametrize(
    ("source", "target", "full", "wanted"),
    [
        (8, 10, False, 4),
        (8, 16, False, 256),
        (10, 8, False, 0.25),
        (8, 10, True, 1023 / 255),
        (8, 16, True, 257),
        (16, 8, True, 1 / 257),
        (12, 12, True, 1),
        (0, 8, True, 1),
        (8, 0, False, 1),
    ],
)
def test_recode(source, target, full, wanted):
    formats = (Format(4, 4, bits, full_range=full) for bits in (source, target))
    assert recode(*formats, chroma=False) == (wanted, 0)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("source", [8, 10, 12, 16])
@pytest.mark.parametrize("target", [8, 10, 12, 16])
def test_neutral_chroma_stays_neutral(full, source, target):
    formats = (Format(4, 4, bits, full_range=full) for bits in (source, target))
    dtype = np.uint8 if target == 8 else np.uint16
    neutral = [[1 << (source - 1)]]
    found = written(neutral, recode(*formats, chroma=True), target, dtype)
    assert found.tolist() == [[1 << (target - 1)]]


def test_white_and_black_map_as_their_range_says():
    limited = written(
        [[16, 235]], recode(Format(1, 1, 8), Format(1, 1, 10), chroma=False), 10, np.uint16
    )
    assert limited.tolist() == [[64, 940]]
    source, target = Format(1, 1, 8, full_range=True), Format(1, 1, 12, full_range=True)
    assert written([[0, 255]], recode(source, target, chroma=False), 12, np.uint16).tolist() == [
        [0, 4095]
    ]


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [8, 10, 16, 0])
def test_cupy_arrays_give_the_same_bytes(cuda, random, bits):
    dtype = {8: np.uint8, 0: np.float32}.get(bits, np.uint16)
    samples = random.uniform(-20_000, 80_000, (33, 45)).astype(np.float32)
    samples[:4] = np.round(samples[:4]) + np.float32(0.5)
    wanted, found = np.empty(samples.shape, dtype), cuda.empty(samples.shape, dtype)
    quantise(samples, (0.9, 3.0), bits, wanted)
    quantise(cuda.asarray(samples), (0.9, 3.0), bits, found)
    assert (found.get() == wanted).all()
