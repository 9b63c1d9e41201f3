"""Features on the GPU against composed filters in float64, and the operands of its kernel."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.cuda.features import SCALE, Features, fragments, paired, pairs, tf32
from snellen.aplus.cuda.filters import compose, side
from snellen.aplus.cuda.layout import padded
from snellen.frames.frame import Format
from support.aplus.images import noise
from support.aplus.stages import filtered


def place(group, t, size, lines):
    """Line and column of the t-th word of a group, as the kernel's `place` has it."""
    across, down = size // 4, (lines + 3) // 4
    if group >= lines * across + size % 4 * down:
        return 0, 0
    if group < lines * across:
        return group // across, group % across * 4 + t
    rest = group - lines * across
    return min(rest % down * 4 + t, lines - 1), across * 4 + rest // down


def multiplied(words, operands):
    """words (lines, columns, n) times operands (slab, product, tile, column, t, far, n)."""
    lines, size, _ = words.shape
    products = operands.shape[1]
    groups = lines * (size // 4) + size % 4 * ((lines + 3) // 4)
    assert products == (groups + 1) // 2
    left = np.array(
        [
            [[words[place(2 * p + far, t, size, lines)] for far in (0, 1)] for t in range(4)]
            for p in range(products)
        ]
    )
    sums = np.einsum("spjctfn,ptfn->sjc", operands, left)
    out = np.full(len(sums) * 32, np.nan)
    for slab, j, column in np.ndindex(sums.shape):
        dim = slab * 32 + column // 2 * 4 + j // 2 * 16 + j % 2 * 2 + column % 2
        out[dim] = sums[slab, j, column]
    return out


def check_operands(found, window, filters):
    dims = filters.shape[2]
    size = len(filters)
    wanted = np.einsum("ij,ijd->d", window[:size], filters)
    # Two parts of 11 bits; the lower one may be subnormal: half of 2⁻²⁴, before it is scaled back.
    bound = np.einsum("ij,ijd->d", abs(window[:size]), abs(filters)) * 2.0**-22 + 121 * 2.0**-35
    assert (np.abs(found[:dims] - wanted) <= bound).all()
    assert (found[dims:] == 0).all()


@pytest.mark.parametrize("dims", [7, 32, 33, 70])
@pytest.mark.parametrize("window", [1, 3, 5])
def test_operands_of_tf32(random, random_model, window, dims):
    filters = compose(random_model(3, window, dims=dims))
    given = fragments(filters)
    assert given.dtype == np.float32 and given.shape[2:] == (4, 32, 4)
    assert (given == tf32(given)).all()
    pixels = random.normal(size=filters.shape[:2])
    both = given.astype(np.float64).reshape(*given.shape[:3], 8, 4, 2, 2).sum(axis=-2)
    check_operands(multiplied(pixels[..., None], both[..., None]), pixels, filters)


@pytest.mark.parametrize("dims", [7, 32, 33, 70])
@pytest.mark.parametrize("window", [1, 3, 5])
def test_operands_of_half_precision(random, random_model, window, dims):
    filters = compose(random_model(3, window, dims=dims))
    given = pairs(filters)
    assert given.dtype == np.float16 and given.shape[2:] == (4, 32, 2, 2, 2)
    assert np.isfinite(given).all()
    pixels = random.normal(size=(side(window) + 1, side(window)))  # the last row has no weight
    words = pixels.reshape(-1, 2, side(window)).swapaxes(1, 2)
    both = given.astype(np.float64).reshape(*given.shape[:3], 8, 4, 2, 2, 2).sum(axis=-3) / SCALE
    check_operands(multiplied(words, both), pixels, filters)


def test_tf32_is_the_nearest_of_eleven_bits(random):
    values = random.normal(size=1000) * 10.0 ** random.integers(-20, 20, 1000)
    found = tf32(values)
    assert not (found.view(np.uint32) & 0x1FFF).any()
    # Half a unit of 2⁻¹⁰, and float32's rounding before it.
    assert (np.abs(found - values) <= 2.0**-11 * (1 + 2.0**-12) * np.abs(values)).all()


@pytest.mark.parametrize(("bits", "wanted"), [(8, 1), (10, 1), (11, 1), (12, 0), (16, 0), (0, 0)])
def test_half_precision_holds_eleven_bits(bits, wanted):
    assert paired(Format(4, 4, bits)) == bool(wanted)


# On the GPU.


def computed(cuda, model, bits, plane, first=0, rows=None, pitch=5):
    """Features of rows first … of a plane whose rows have a pitch, without the padding."""
    height, width = plane.shape
    rows = height - first if rows is None else rows
    dims, all_dims = model.basis.shape[1], padded(model.basis.shape[1])
    buffer = cuda.full((height, width + pitch), 77, plane.dtype)
    buffer[:, 2 : width + 2] = cuda.asarray(plane)
    out = cuda.full((rows + 1, width, all_dims), cuda.nan, cuda.float32)
    Features(model, Format(width, height, bits))(buffer[:, 2 : width + 2], first, rows, out[:rows])
    assert cuda.isnan(out[rows:]).all()
    if np.isfinite(plane).all():
        assert (out[:rows, :, dims:] == 0).all()
    return out[:rows, :, :dims].get().astype(np.float64)


def check(found, model, plane, rows=slice(None)):
    wanted = filtered(plane, compose(model))[rows]
    # 1e-6 of white, the greatest sample here. Features grow with the scale, and their float32 sums
    # round by a part of themselves.
    largest = max(float(np.abs(plane).max()), np.abs(wanted).max())
    assert np.abs(found - wanted).max() <= 1e-6 * largest


CASES = [
    (2, 3, 28, 8, (45, 70)),
    (3, 3, 28, 8, (33, 31)),
    (4, 3, 28, 8, (31, 65)),
    (2, 3, 28, 10, (40, 33)),
    (3, 3, 7, 11, (7, 100)),
    (2, 3, 28, 12, (40, 33)),
    (4, 3, 28, 16, (64, 32)),
    (2, 3, 28, 0, (45, 70)),
    (3, 3, 28, 0, (33, 31)),
    (4, 3, 28, 0, (31, 65)),
    (2, 1, 7, 8, (33, 35)),
    (4, 1, 33, 16, (35, 33)),
    (3, 1, 28, 0, (33, 35)),
    (2, 5, 28, 8, (33, 35)),
    (4, 5, 7, 10, (35, 33)),
    (3, 5, 28, 16, (33, 35)),
    (2, 5, 28, 0, (35, 33)),
    (2, 3, 33, 8, (33, 40)),
    (3, 3, 33, 0, (33, 40)),
    (2, 3, 70, 0, (40, 33)),
    (3, 3, 70, 10, (40, 33)),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("scale", "window", "dims", "bits", "size"), CASES)
def test_equal_to_filters(cuda, random, random_model, scale, window, dims, bits, size):
    model = random_model(scale, window, dims=dims)
    plane = noise(random, bits, size)
    check(computed(cuda, model, bits, plane), model, plane)


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(1, 1), (1, 9), (5, 3), (32, 32), (33, 1), (2, 150)])
@pytest.mark.parametrize("bits", [8, 0])
@pytest.mark.parametrize("window", [3, 5])
def test_sizes(cuda, random, random_model, window, bits, size):
    model = random_model(2, window, dims=28)
    plane = noise(random, bits, size)
    check(computed(cuda, model, bits, plane, pitch=3), model, plane)


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [8, 16, 0])
@pytest.mark.parametrize(("first", "rows"), [(0, 1), (1, 33), (17, 32), (49, 1), (30, 20)])
def test_bands(cuda, random, random_model, bits, first, rows):
    model = random_model(2, dims=28)
    plane = noise(random, bits, (50, 37))
    found = computed(cuda, model, bits, plane, first, rows)
    check(found, model, plane, slice(first, first + rows))


@pytest.mark.gpu
@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize(
    ("bits", "value"), [(8, 255), (10, 701), (16, 51234), (0, 0.3), (0, -7e5), (0, 1e-30)]
)
def test_a_flat_picture_has_none(cuda, random_model, scale, bits, value):
    model = random_model(scale, dims=28)
    plane = np.full((35, 41), value, Format(1, 1, bits).dtype)
    assert (computed(cuda, model, bits, plane) == 0).all()


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [8, 16, 0])
def test_a_flat_tile_has_none(cuda, random, random_model, bits):
    """What a block of the kernel sees is flat; noise begins at the next pixel."""
    model = random_model(2, dims=28)
    plane = noise(random, bits, (100, 103))
    plane[28:68, 28:68] = plane[0, 0]  # windows 32 … 63, four pixels more on each side
    found = computed(cuda, model, bits, plane)
    assert (found[32:64, 32:64] == 0).all()
    check(found, model, plane)


@pytest.mark.gpu
@pytest.mark.parametrize("factor", [1e4, 1e-4, 1e-30, -1, -1e4])
def test_floats_of_any_range(cuda, random, random_model, factor):
    model = random_model(2, dims=28)
    plane = (noise(random, 0, (40, 37)) * factor).astype(np.float32)
    check(computed(cuda, model, 0, plane), model, plane)


@pytest.mark.gpu
@pytest.mark.parametrize("offset", [1000, -1000])
def test_an_offset_costs_no_precision(cuda, random, random_model, offset):
    """Differences of floats of one sign and binade are exact, so only what is beyond counts."""
    model = random_model(2, dims=28)
    plane = noise(random, 0, (40, 37)) + np.float32(offset)
    exact = plane.astype(np.float64) - offset
    check(computed(cuda, model, 0, plane), model, exact)


@pytest.mark.gpu
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("window", [1, 3, 5])
def test_what_is_no_number_stays_near(cuda, random, random_model, window, value):
    """The kernel reads no pixel for a window that lies outside of its filter."""
    model = random_model(2, window, dims=28)
    plane = noise(random, 0, (50, 61))
    clean = plane.copy()
    plane[20, 31] = value
    found = computed(cuda, model, 0, plane)
    radius = side(window) // 2
    far = np.ones(plane.shape, bool)
    far[20 - radius : 21 + radius, 31 - radius : 32 + radius] = False
    wanted = filtered(clean, compose(model))
    assert np.abs(found - wanted)[far].max() <= 1e-6 * max(1, np.abs(wanted).max())
    assert not np.isfinite(found[20, 31]).any()


@pytest.mark.gpu
def test_nothing_but_nan(cuda, random_model):
    plane = np.full((40, 33), np.nan, np.float32)
    assert np.isnan(computed(cuda, random_model(2), 0, plane)).all()


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [8, 0])
def test_the_same_bytes_again(cuda, random, random_model, bits):
    model = random_model(2, dims=28)
    plane = noise(random, bits, (97, 71))
    found = [computed(cuda, model, bits, plane).tobytes() for _ in range(2)]
    assert found[0] == found[1]
