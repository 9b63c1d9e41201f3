"""All stages on the GPU, one plane: against the float64 reference, in bands, run after run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from snellen.aplus.cuda.group import MOST
from snellen.aplus.cuda.luma import Luma
from snellen.errors import DeviceError
from snellen.frames.frame import Format
from support.aplus import reference
from support.aplus.frames import enlarged as through_the_cpu
from support.aplus.frames import tolerance
from support.aplus.images import noise
from support.aplus.oriented import oriented_model, tied_pictures

pytestmark = pytest.mark.gpu


def enlarged(cuda, model, plane, format, to=None, memory=None, stage=None):
    target = format.scaled(model.scale, to)
    stage = stage or Luma(model, format, target, memory)
    white = (1 << target.bits) - 1 if target.bits else np.nan
    out = cuda.full(target.shapes[0], white, target.dtype)
    stage(cuda.asarray(plane), out)
    return out.get()


def _of_white(model, white):
    """The model whose classes of strength are those of planes up to white."""
    if model.strengths is None:
        return model
    return replace(model, strengths=model.strengths * np.float32(white))


def check(found, model, plane, format):
    """To the reference, but for pixels that a tie of two anchors may change."""
    white = (1 << format.bits) - 1 if format.bits else 1
    wanted, unsure = reference.upscale(plane, _of_white(model, white), white)
    assert unsure.mean() < 0.5  # a single tie takes w² cells
    error = tolerance(model, white)
    if format.bits:
        wanted, error = wanted.clip(0, white), error + 0.5  # of rounding
    assert np.abs(found.astype(np.float64) - wanted)[~unsure].max() <= error


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("bits", [8, 16, 0])
def test_against_the_reference(cuda, random, random_model, scale, window, bits):
    model = random_model(scale, window)
    format = Format(35, 21, bits)
    plane = noise(random, bits, (21, 35))
    check(enlarged(cuda, model, plane, format), model, plane, format)


@pytest.mark.parametrize(
    ("anchors", "dims", "dtype"),
    [(1, 28, np.float32), (33, 33, np.float16), (1024, 28, np.float16), (100, 140, np.float32)],
)
def test_models_of_other_sizes(cuda, random, random_model, anchors, dims, dtype):
    """140 dimensions: match leaves all features to float32."""
    model = random_model(2, anchors=anchors, dims=dims, dtype=dtype)
    format = Format(33, 20, 0)
    plane = noise(random, 0, (20, 33))
    check(enlarged(cuda, model, plane, format), model, plane, format)


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (9, 1), (4, 4), (5, 5), (6, 17)])
@pytest.mark.parametrize("scale", [2, 3])
def test_tiny_planes(cuda, random, random_model, scale, size):
    model = random_model(scale)
    format = Format(size[1], size[0], 0)
    plane = noise(random, 0, size)
    check(enlarged(cuda, model, plane, format), model, plane, format)


@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("bits", [8, 16, 0])
def test_bands_change_nothing(cuda, random, random_model, bits, window):
    """However little memory there is: the same bytes."""
    model = random_model(2, window, anchors=1024)
    format = Format(61, 97, bits)
    plane = noise(random, bits, (97, 61))
    wanted = enlarged(cuda, model, plane, format)
    a_row = Luma(model, format, format.scaled(2))._features[0].nbytes
    for memory in (100, 50, 22):  # rows of features; patches take two to three times as much
        stage = Luma(model, format, format.scaled(2), memory * a_row)
        assert 1 <= stage.rows < 97
        assert enlarged(cuda, model, plane, format, stage=stage).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("bits", [8, 0])
def test_the_same_bytes_again(cuda, random, random_model, bits):
    """Of one stage, and of a new one; whatever the buffers hold."""
    model = random_model(2, anchors=1024, dims=28)
    format = Format(150, 99, bits)
    first, second = (noise(random, bits, (99, 150)) for _ in range(2))
    stage = Luma(model, format, format.scaled(2))
    wanted = enlarged(cuda, model, first, format, stage=stage).tobytes()
    enlarged(cuda, model, second, format, stage=stage)
    for again in (stage, stage, None):
        assert enlarged(cuda, model, first, format, stage=again).tobytes() == wanted


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("value", [0, 93, 255])
def test_a_flat_plane_stays_flat(cuda, random_model, scale, value):
    model = random_model(scale)
    plane = np.full((40, 37), value, np.uint8)
    assert (enlarged(cuda, model, plane, Format(37, 40)) == value).all()


def test_memory_for_not_even_a_row(cuda, random_model):
    format = Format(4000, 40)
    with pytest.raises(DeviceError, match="do not suffice for a picture 4000 pixels wide"):
        Luma(random_model(2), format, format.scaled(2), memory=100_000)


def test_too_many_anchors(cuda, random_model):
    model = random_model(2, 1, anchors=MOST + 1, dims=2)
    format = Format(40, 30)
    with pytest.raises(DeviceError, match=f"{MOST + 1} projections; expected at most {MOST}"):
        Luma(model, format, format.scaled(2))


def test_the_most_anchors(cuda, random, random_model):
    model = random_model(2, 1, anchors=MOST, dims=9)
    format = Format(20, 11, 0)
    plane = noise(random, 0, (11, 20))
    check(enlarged(cuda, model, plane, format), model, plane, format)


# Models of format 2.


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("bits", [8, 10, 16, 0])
def test_turned_windows_against_the_reference(cuda, random, scale, window, bits):
    model = oriented_model(scale, window)
    format = Format(35, 21, bits)
    plane = noise(random, bits, (21, 35))
    check(enlarged(cuda, model, plane, format), model, plane, format)


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (9, 1), (4, 4), (5, 5), (6, 17), (33, 65)])
@pytest.mark.parametrize("scale", [2, 3])
def test_turned_windows_of_odd_sizes(cuda, random, scale, size):
    model = oriented_model(scale)
    plane = noise(random, 0, size)
    found = enlarged(cuda, model, plane, Format(size[1], size[0], 0))
    wanted, unsure = reference.upscale(plane, model)
    assert unsure.sum() <= 0.05 * unsure.size + (3 * scale) ** 2
    assert np.abs(found - wanted)[~unsure].max(initial=0) <= tolerance(model)


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("bits", [8, 16])
def test_results_turn_with_the_picture_also_in_ties(cuda, random, scale, bits):
    """As float samples, so that no rounding hides a fault."""
    model, white = oriented_model(scale), (1 << bits) - 1
    pictures = tied_pictures(random, bits) | {"noise": noise(random, bits, (11, 14))}
    sure = 0
    for name, plane in pictures.items():
        whole = enlarged(cuda, model, plane, Format(plane.shape[1], plane.shape[0], bits), 0)
        exact, unsure = reference.upscale(plane.astype(float), _of_white(model, white), white)
        error = tolerance(model, white)
        sure += (~unsure).mean() / len(pictures)
        assert np.abs(whole - exact)[~unsure].max() <= error, name
        for g in (1, 2, 4, 7):
            turned = np.ascontiguousarray(reference.turn_picture(plane, g))
            of_it = enlarged(cuda, model, turned, Format(*turned.shape[::-1], bits), 0)
            back = reference.turn_picture_back(of_it, g)
            assert np.abs(back - whole)[~unsure].max() <= 2 * error, (name, g)
    assert sure > 0.9


@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("bits", [8, 16, 0])
def test_bands_of_turned_windows_change_nothing(cuda, random, bits, window):
    model = oriented_model(2, window, anchors=500, classes=4)
    format = Format(61, 97, bits)
    plane = noise(random, bits, (97, 61))
    plane[:, :20] = plane[:, :1]  # ties
    wanted = enlarged(cuda, model, plane, format)
    a_row = Luma(model, format, format.scaled(2))._features[0].nbytes
    for memory in (100, 50, 22):
        stage = Luma(model, format, format.scaled(2), memory * a_row)
        assert 1 <= stage.rows < 97
        for _ in range(2):
            assert enlarged(cuda, model, plane, format, stage=stage).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("value", [0, 93, 255])
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_a_flat_plane_stays_flat_in_any_orientation(cuda, scale, value):
    plane = np.full((40, 37), value, np.uint8)
    assert (enlarged(cuda, oriented_model(scale), plane, Format(37, 40)) == value).all()


@pytest.mark.parametrize(("classes", "window"), [(1, 3), (2, 3), (4, 3), (3, 5)])
def test_classes_of_strength(cuda, random, classes, window):
    """Beside the CPU, but for windows whose norm is at an edge or whose anchors tie."""
    model = oriented_model(2, window, anchors=700, classes=classes)
    plane, format = noise(random, 8, (50, 47)), Format(47, 50, 8)
    (wanted,) = through_the_cpu(model, [plane], format)
    apart = np.abs(enlarged(cuda, model, plane, format).astype(int) - wanted)
    assert (apart > 1).mean() < 0.01 and (apart > 0).mean() < 0.03


def test_white_of_the_format_counts(cuda, random):
    """Colour pictures come as float planes up to 255; their classes are those of 8 bits."""
    model = oriented_model(2)
    plane = noise(random, 8, (30, 41))
    whole = enlarged(cuda, model, plane.astype(np.float32), Format(41, 30, 0, white=255))
    unit = enlarged(cuda, model, (plane / np.float32(255)).astype(np.float32), Format(41, 30, 0))
    _, unsure = reference.upscale(plane / 255, model)
    assert np.abs(whole / 255 - unit)[~unsure].max() <= 2 * tolerance(model)


def test_too_many_projections(cuda):
    model = oriented_model(2, 1, anchors=MOST // 4 + 1, classes=4)
    with pytest.raises(DeviceError, match=f"{MOST + 4} projections"):
        Luma(model, Format(40, 30), Format(80, 60))
