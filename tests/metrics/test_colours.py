"""Linear colours of pictures against float64, by the definitions of H.273 and IEC 61966-2-1."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from snellen.frames.coding import BT601, BT709, BT2020
from snellen.frames.frame import CENTRE, LEFT, TOP_LEFT, Format
from snellen.metrics.colours import Coding, Picture, of_rgb
from support.lut import to_rgb

MATRICES = {"bt709": BT709, "bt601": BT601, "bt2020": BT2020}
# Float32 holds a code of 16 bits and the sums of the matrix to 3e-7 of white, which the steepest
# part of the transfer function, 2.28, makes 7e-7.
CLOSE = 1e-6


def linear(rgb):
    """IEC 61966-2-1, in float64."""
    rgb = np.clip(rgb, 0, 1)
    return np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)


def at_luma(plane, shape, format):
    """Chroma at each luma sample, one after another: linear between the two nearest."""
    (across, down), (x_site, y_site) = format.subsampling, format.siting
    out = np.empty(shape)
    for y, x in np.ndindex(shape):
        row = (y + 0.5) / 2**down - (y_site if down else 0.5)
        column = (x + 0.5) / 2**across - (x_site if across else 0.5)
        row, column = np.clip(row, 0, plane.shape[0] - 1), np.clip(column, 0, plane.shape[1] - 1)
        i, j = int(row), int(column)
        k, l = min(i + 1, plane.shape[0] - 1), min(j + 1, plane.shape[1] - 1)  # noqa: E741
        s, t = row - i, column - j
        above = (1 - t) * plane[i, j] + t * plane[i, l]
        out[y, x] = (1 - s) * above + s * ((1 - t) * plane[k, j] + t * plane[k, l])
    return out


def check(random, matrix, format):
    """Random samples over the whole range of codes: some lie outside the gamut."""
    planes = [random.integers(0, 1 << format.bits, one).astype(format.dtype)
              for one in format.shapes]  # fmt: skip
    found = Picture(tuple(planes), Coding(format, MATRICES[matrix])).linear()
    luma, *chroma = (plane.astype(np.float64) for plane in planes)
    wide = [luma, *(at_luma(plane, luma.shape, format) for plane in chroma)]
    wanted = linear(np.moveaxis(to_rgb(wide, matrix, format.bits, format.full_range), -1, 0))
    assert found.dtype == np.float32 and found.flags.c_contiguous
    assert np.abs(found - wanted).max() < CLOSE
    assert wanted.min() == 0 and wanted.max() == 1


@pytest.mark.cases(4)
@pytest.mark.parametrize("subsampling", [(1, 1), (1, 0), (0, 0), (0, 1), (2, 0), (2, 2)])
def test_subsamplings(random, subsampling):
    for siting, (width, height) in product((LEFT, CENTRE, TOP_LEFT), ((17, 67), (18, 8))):
        check(random, "bt709", Format(width, height, 8, subsampling, siting))
    tiny = Picture((np.full((1, 1), 235, np.uint8), *[np.full((1, 1), 128, np.uint8)] * 2),
                   Coding(Format(1, 1, 8, subsampling), BT709))  # fmt: skip
    assert tiny.linear().ravel() == pytest.approx(1, abs=CLOSE)


@pytest.mark.parametrize("matrix", sorted(MATRICES))
@pytest.mark.parametrize("full", [False, True])
def test_matrices_and_ranges(random, matrix, full):
    check(random, matrix, Format(40, 30, 10, (1, 1), full_range=full))


@pytest.mark.parametrize("bits", range(8, 17))
def test_depths(random, bits):
    check(random, "bt709", Format(40, 30, bits, (1, 1)))


def test_rows_with_a_pitch_that_cannot_be_written(random):
    whole = [random.integers(0, 256, (12, 64)).astype(np.uint8) for _ in range(3)]
    for plane in whole:
        plane.flags.writeable = False
    coding = Coding(Format(20, 12, 8, (0, 0)), BT709)
    cut = Picture(tuple(plane[:, :20] for plane in whole), coding).linear()
    copied = Picture(tuple(plane[:, :20].copy() for plane in whole), coding).linear()
    assert (cut == copied).all()


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("bits", [8, 10, 16])
def test_grey_films(random, bits, full):
    format = Format(20, 10, bits, full_range=full)
    codes = random.integers(0, 1 << bits, (10, 20)).astype(format.dtype)
    black, white = (0, 2**bits - 1) if full else (16 << (bits - 8), 235 << (bits - 8))
    found = Picture((codes,), Coding(format, BT709)).linear()
    wanted = linear((codes.astype(float) - black) / (white - black))
    assert found.shape == (3, 10, 20) and np.abs(found - wanted).max() < CLOSE


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32, np.float64])
def test_images(random, kind):
    white = np.iinfo(kind).max if np.dtype(kind).kind == "u" else 2.0
    pixels = random.uniform(0, white, (7, 9, 3)).astype(kind)
    wanted = linear(np.moveaxis(pixels.astype(float) / white, -1, 0))
    found = of_rgb(pixels, white).linear()
    assert found.dtype == np.float32 and found.shape == (3, 7, 9)
    assert np.abs(found - wanted).max() < CLOSE
    grey = of_rgb(pixels[..., 1], white).linear()
    assert (grey == found[1]).all()
