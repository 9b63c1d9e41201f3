"""The kernel of a compact network on a GPU against float64: sizes, scales, depths, layouts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from snellen.cnn.cuda.layout import layouts
from snellen.cnn.cuda.luma import Luma
from snellen.cnn.model import read
from snellen.errors import DeviceError
from snellen.frames.frame import Format
from snellen.gpu import graph
from support.aplus.drawings import drawing
from support.aplus.images import noise
from support.cnn import planes, reference

pytestmark = pytest.mark.gpu

GUARD = 3  # samples around the result that nobody may write


def enlarged(cuda, stage, plane, target):
    """Between samples that stay, on both sides; NaN where the result is to be."""
    height, width = plane.shape
    given = cuda.full((height + 2, width + 5), 99, plane.dtype)
    low = given[1:-1, 2 : 2 + width]
    low[...] = cuda.asarray(plane)
    rows, columns = target.shapes[0]
    buffer = cuda.empty((rows + 2 * GUARD, columns + 2 * GUARD + 1), target.dtype)
    buffer.view(cuda.uint8).fill(0xFF)
    out = buffer[GUARD : GUARD + rows, GUARD : GUARD + columns]
    stage(low, out)
    found = out.get()
    if target.bits:
        out[...] = (1 << (8 * target.dtype.itemsize)) - 1
    else:
        out.fill(np.nan)
    around = buffer.get()
    assert (around == np.iinfo(around.dtype).max if target.bits else np.isnan(around)).all()
    return found


def check(cuda, model, plane, bits=8, to=None, full_range=False, **options):
    source = Format(plane.shape[1], plane.shape[0], bits, full_range=full_range, **options)
    target = source.scaled(model.scale, to)
    found = enlarged(cuda, Luma(model, source, target), plane, target)
    planes.check(found, plane, model, source, target)
    return found


MODELS = [(2, 4, 16, 5), (2, 4, 32, 5), (3, 4, 16, 5), (3, 4, 32, 3), (4, 4, 16, 3), (4, 4, 32, 5)]


@pytest.mark.parametrize(("scale", "layers", "channels", "side"), MODELS)
@pytest.mark.parametrize("bits", [8, 0])
def test_against_float64(cuda, random, scale, layers, channels, side, bits):
    model = reference.model(random, scale, layers, channels, side)
    check(cuda, model, noise(random, bits, (75, 141)), bits, 0)


@pytest.mark.parametrize(
    ("layers", "channels"),
    [
        (0, 3),
        (0, 16),
        (1, 32),
        (2, 20),
        (3, 33),
        (2, 48),
        (2, 64),
        (5, 16),
        (8, 8),
        (6, 32),
        (8, 30),
    ],
)
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_networks_of_other_sizes(cuda, random, scale, layers, channels):
    model = reference.model(random, scale, layers, channels)
    check(cuda, model, noise(random, 8, (37, 45)), 8, 0)


SIZES = [
    (1, 1),
    (1, 9),
    (9, 1),
    (3, 7),
    (2, 150),
    (150, 2),
    (32, 64),
    (33, 65),
    (31, 63),
    (61, 1083),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("scale", "channels"), [(2, 16), (3, 32), (4, 16)])
def test_sizes(cuda, random, scale, channels, size):
    model = reference.model(random, scale, 4, channels)
    check(cuda, model, noise(random, 8, size))


DEPTHS = [(8, 10), (8, 16), (8, 0), (10, 8), (10, 10), (12, 16), (16, 8), (16, 16), (16, 0), (0, 0)]


@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize(("bits", "to"), DEPTHS)
@pytest.mark.parametrize("channels", [16, 32])
def test_every_type(cuda, random, bits, to, full_range, channels):
    model = reference.model(random, 2, 4, channels)
    check(cuda, model, noise(random, bits, (33, 70)), bits, to, full_range)


def test_floats_with_a_white_of_their_own(cuda, random):
    model = reference.model(random, 2, 4, 16)
    check(cuda, model, 255 * noise(random, 0, (33, 70)), 0, 0, white=255.0)


@pytest.mark.parametrize("channels", [16, 32])
@pytest.mark.parametrize("bits", [8, 0])
def test_no_result_depends_on_the_tile(cuda, random, channels, bits):
    model = reference.model(random, 2, 4, channels)
    source = Format(131, 77, bits)
    target, plane = source.scaled(2), noise(random, bits, (77, 131))
    device = cuda.cuda.Device()
    limit = int(device.attributes["MaxSharedMemoryPerBlockOptin"])
    tried = layouts(model, source, f"sm_{device.compute_capability}")
    for kind in {one.warpgroups for one in tried}:
        found = {
            enlarged(cuda, Luma(model, source, target, layout=one), plane, target).tobytes()
            for one in tried
            if one.warpgroups == kind and one.shared <= limit
        }
        assert len(found) == 1


@pytest.mark.parametrize(
    ("scale", "layers", "channels", "tiles"),
    [(2, 6, 32, [(32, 20, 12), (32, 16, 8), (16, 16, 16), (26, 24, 4)]),
     (3, 4, 32, [(32, 20, 12), (40, 20, 16)]), (4, 5, 20, [(16, 16, 8), (30, 24, 12)]),
     (2, 1, 32, [(32, 32, 12), (8, 8, 4)])],
)  # fmt: skip
@pytest.mark.parametrize("bits", [8, 0])
def test_products_of_warpgroups(cuda, random, scale, layers, channels, tiles, bits):
    """The same bytes by every tile, within the bounds of float64."""
    if cuda.cuda.Device().compute_capability != "90":
        pytest.skip("only Hopper has them")
    model = reference.model(random, scale, layers, channels)
    source, plane = Format(131, 77, bits), noise(random, bits, (77, 131))
    target, usual = source.scaled(scale, 0), layouts(model, source)[0]
    found = []
    limit = int(cuda.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
    for across, down, warps in tiles:
        layout = replace(usual, tile=(across, down), warps=warps, blocks=1, warpgroups=True)
        if not layout.fits(limit):  # two halves of v take more
            continue
        found.append(enlarged(cuda, Luma(model, source, target, layout=layout), plane, target))
    planes.check(found[0], plane, model, source, target)
    assert len({one.tobytes() for one in found}) == 1


@pytest.mark.parametrize(
    ("scale", "layers", "channels"), [(2, 4, 16), (3, 2, 32), (4, 4, 32), (2, 6, 32)]
)
def test_parts_are_the_bytes_of_the_whole(cuda, random, scale, layers, channels):
    """Bands of rows, and parts of columns, with what they see around them."""
    model, reach = reference.model(random, scale, layers, channels), layers + 2
    plane = noise(random, 8, (90, 90))
    whole = check(cuda, model, plane)
    for axis, (first, last) in product((0, 1), ((0, 41), (17, 18), (41, 90))):
        top, bottom = max(0, first - reach), min(90, last + reach)
        part = plane.take(range(top, bottom), axis)
        source = Format(part.shape[1], part.shape[0])
        target = source.scaled(scale)
        found = enlarged(cuda, Luma(model, source, target), part, target)
        inside = range((first - top) * scale, (last - top) * scale)
        wanted = whole.take(range(first * scale, last * scale), axis)
        assert (found.take(inside, axis) == wanted).all()


def test_planes_one_after_another_and_in_a_graph(cuda, random):
    """One object takes planes of any size, allocates nothing, and can be captured."""
    model = reference.model(random, 2, 4, 32)
    source = Format(120, 65)
    first, second = (noise(random, 8, (65, 120)) for _ in range(2))
    stage = Luma(model, source, source.scaled(2))
    wanted = [enlarged(cuda, stage, one, source.scaled(2)) for one in (first, second)]
    small = Format(50, 31)
    found = enlarged(cuda, stage, first[:31, :50], small.scaled(2))
    assert (found[:50, :80] == wanted[0][:50, :80]).all()
    with cuda.cuda.Stream(non_blocking=True) as stream:
        there, out = cuda.asarray(first), cuda.empty((130, 240), cuda.uint8)
        used = cuda.get_default_memory_pool().used_bytes()
        stage(there, out)
        assert cuda.get_default_memory_pool().used_bytes() == used
        launch = graph.record(lambda: stage(there, out))
        for plane, result in zip((second, first, second), (*wanted[::-1], wanted[1]), strict=True):
            there.set(plane)
            out.fill(0xEE)
            launch()
            stream.synchronize()
            assert (out.get() == result).all()


@pytest.mark.parametrize(("scale", "channels"), [(2, 16), (2, 32), (3, 16), (4, 32)])
def test_one_in_a_hundred_pixels_is_off_by_one(cuda, random, scale, channels):
    """Of a network whose results are as small as those of trained ones, on a smooth picture."""
    model = reference.gentle(random, scale, 4, channels)
    y, x = np.mgrid[:211, :307]
    smooth = 128 + 60 * np.sin(x / 9) * np.cos(y / 7) + random.normal(0, 3, x.shape)
    plane = np.rint(smooth).clip(0, 255).astype(np.uint8)
    source = Format(307, 211)
    target = source.scaled(scale)
    wanted, residual = planes.enlarged(plane, model, source, target)
    assert 2 < residual.std() < 20
    found = enlarged(cuda, Luma(model, source, target), plane, target).astype(int)
    off = np.abs(found - np.rint(wanted).clip(0, 255))
    assert off.max() <= 1 and off.mean() <= 0.01


def test_a_trained_network_on_a_drawing(cuda):
    model = read(Path(__file__).parents[1] / "drawings-x2.safetensors")
    plane = np.rint(255 * drawing(5, (180, 220))).astype(np.uint8)
    source = Format(220, 180)
    target = source.scaled(2)
    wanted, _ = planes.enlarged(plane, model, source, target)
    found = enlarged(cuda, Luma(model, source, target), plane, target).astype(int)
    off = np.abs(found - np.rint(wanted).clip(0, 255))
    assert off.max() <= 1 and off.mean() <= 0.01


@pytest.mark.parametrize("value", [1e4, -1e4, 1e30, -1e30])
@pytest.mark.parametrize("channels", [16, 32])
def test_floats_far_beyond_white_stay_finite(cuda, random, value, channels):
    model = reference.model(random, 2, 4, channels)
    plane = noise(random, 0, (40, 70))
    clean, plane[20, 31] = plane.copy(), value
    source = Format(70, 40, 0)
    stage = Luma(model, source, source.scaled(2))
    found = enlarged(cuda, stage, plane, source.scaled(2))
    assert np.isfinite(found).all()
    far = np.ones(found.shape, bool)
    far[2 * 14 : 2 * 27, 2 * 25 : 2 * 38] = False
    assert (found == enlarged(cuda, stage, clean, source.scaled(2)))[far].all()


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("channels", [16, 32])
@pytest.mark.parametrize("value", [0, 93, 255])
def test_a_flat_plane_stays_flat(cuda, random, scale, channels, value):
    """Each phase has one value: every sample sees the same."""
    model = reference.model(random, scale, 4, channels)
    found = check(cuda, model, np.full((70, 41), value, np.uint8))
    for i, j in np.ndindex(scale, scale):
        assert len(set(found[i::scale, j::scale].ravel().tolist())) == 1


def test_a_network_too_large_for_shared_memory(cuda, random):
    model = reference.model(random, 2, 16, 64)
    source = Format(40, 30)
    with pytest.raises(DeviceError, match="16 layers and 64 channels"):
        Luma(model, source, source.scaled(2))


def test_the_weights_of_a_model_are_uploaded_once(cuda, random):
    model, source = reference.model(random, 2, 4, 16), Format(40, 30)
    first, second = (Luma(model, source, source.scaled(2, bits)) for bits in (8, 10))
    assert first._weights is second._weights
