"""Frames through a LUT, against float64: matrices, ranges, depths, tetrahedra, chroma, clipping."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.filters.lut.cube import Cube
from snellen.filters.lut.planes import axis
from snellen.filters.lut.step import LutStep
from snellen.frames.coding import BT601, BT709, NAMED, matrix_of
from snellen.frames.frame import CENTRE, LEFT, TOP_LEFT, Format, Frame
from snellen.video.steps.chain import Chain
from support import lut as reference

BOTTOM = (0.5, 0.75)
SITINGS = [LEFT, CENTRE, TOP_LEFT, BOTTOM]


def cube(table, **domain):
    return Cube(np.asarray(table, np.float32), **domain)


def through(table, format, planes, matrix=BT709, bits=None, device="cpu", said=None):
    step = LutStep(table, matrix, device, None if said is None else said.append)
    try:
        target = step.prepare(format, bits)
        found = step.run(Frame(tuple(planes), 7, 3))
    finally:
        step.close()
    assert (found.pts, found.duration) == (7, 3)
    assert [(p.shape, p.dtype) for p in found.planes] == [
        (shape, target.dtype) for shape in target.shapes
    ]
    return [np.asarray(plane, float) for plane in found.planes]


def inside(random, format, matrix="bt709"):
    """Planes of 4:4:4 whose colours lie inside the gamut."""
    rgb = random.random((format.height, format.width, 3))
    exact = reference.from_rgb(rgb, matrix, format.bits, format.full_range)
    return [np.rint(plane).astype(format.dtype) for plane in exact]


def smooth(random, format):
    """Planes with chroma of a format whose colours lie inside the gamut, between samples, too."""
    middle = 1 << (format.bits - 1)
    (luma, chroma, _) = format.shapes
    spread = middle // 8
    return [
        random.integers(middle - spread, middle + spread, shape).astype(format.dtype)
        for shape in (luma, chroma, chroma)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("matrix", "bits", "full"),
    [
        ("bt709", 10, False),
        ("bt601", 8, False),
        ("bt2020", 10, True),
        ("bt709", 16, True),
    ],
)
def test_colours_against_float64(backend, random, matrix, bits, full):
    """A table of random colours, which need not stay inside code values."""
    table = random.random((5, 5, 5, 3)).astype(np.float32) * 1.4 - 0.2
    format = Format(17, 9, bits, (0, 0), full_range=full)
    planes = inside(random, format, matrix)
    found = through(cube(table), format, planes, NAMED[matrix], device=backend)
    rgb = reference.to_rgb([plane.astype(float) for plane in planes], matrix, bits, full)
    mapped = np.apply_along_axis(
        lambda one: reference.tetrahedral(table.astype(float), one), 2, rgb
    )
    expected = reference.from_rgb(mapped, matrix, bits, full)
    for got, exact in zip(found, expected, strict=True):
        # A half for rounding; float32 has 24 bits, and of 16 bits a dozen operations leave 1/50.
        assert np.abs(got - np.clip(exact, 0, 2**bits - 1)).max() <= 0.5 + 2e-2


@pytest.mark.slow
@pytest.mark.parametrize("subsampling", [(1, 1), (1, 0), (0, 1), (0, 0)])
@pytest.mark.parametrize("bits", [8, pytest.param(10, marks=pytest.mark.slow)])
def test_the_identity_changes_nothing(backend, random, subsampling, bits):
    said = []
    for siting in SITINGS:
        for size in ((16, 12), (15, 10), (2, 2), (70, 64), (4, 11), (2, 3), (2, 1)):
            format = Format(*size, bits, subsampling, siting)
            planes = smooth(random, format)
            for table in (reference.identity(33), np.outer(np.linspace(0, 1, 8), np.ones(3))):
                found = through(cube(table), format, planes, device=backend, said=said)
                for got, given in zip(found, planes, strict=True):
                    np.testing.assert_array_equal(got, given)
    assert not said


def test_the_identity_of_a_film_of_all_colours(random):
    """Mean error of luma at most 0.1 of a 10-bit code, of colours inside the gamut."""
    format = Format(320, 180, 10, (0, 0))
    planes = inside(random, format)
    found = through(cube(reference.identity(17)), format, planes)
    assert np.abs(found[0] - planes[0]).mean() < 0.01  # those on the gamut's edge, rounded out


def test_grey_has_no_fringes(random):
    """What a table makes grey is grey, also beside edges of chroma."""
    grey = reference.identity(2) @ np.full((3, 3), 1 / 3)
    for siting in SITINGS:
        format = Format(32, 16, 10, (1, 1), siting)
        for plane in through(cube(grey), format, smooth(random, format))[1:]:
            assert (plane == 512).all()


def test_a_scaled_domain(random):
    """A table over −1 … 3 that holds its own colours changes nothing, above white neither."""
    table = cube(reference.identity(9, -1, 3), low=(-1.0,) * 3, high=(3.0,) * 3)
    format = Format(32, 16, 10, (1, 1))
    planes = smooth(random, format)
    planes[0][:] = 1020
    for plane in planes[1:]:
        plane[:] = 512
    for got, given in zip(through(table, format, planes), planes, strict=True):
        np.testing.assert_array_equal(got, given)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("bits", "to"), [(10, 8), (8, 10), (16, 12)])
def test_another_depth(backend, random, bits, to, full):
    """White is white, and grey is neutral; rounded once."""
    format = Format(16, 8, bits, (1, 1), full_range=full)
    planes = [np.zeros(shape, format.dtype) for shape in format.shapes]
    planes[0][:] = (1 << bits) - 1 if full else 235 << (bits - 8)
    for plane in planes[1:]:
        plane[:] = 1 << (bits - 1)
    found = through(cube(reference.identity(3)), format, planes, bits=to, device=backend)
    assert (found[0] == ((1 << to) - 1 if full else 235 << (to - 8))).all()
    assert all((plane == 1 << (to - 1)).all() for plane in found[1:])


def test_clipped_colours_are_counted_and_said(backend):
    """A quarter of the pixels are brighter than white by more than half a code value."""
    format = Format(16, 68, 8, (1, 1))
    planes = [np.full(shape, 128, np.uint8) for shape in format.shapes]
    planes[0][:17] = 240
    planes[0][17:] = 235
    said = []
    found = through(cube(reference.identity(3)), format, planes, device=backend, said=said)
    assert (found[0] == 235).all()
    (sentence,) = said
    assert "25.0 %" in sentence and "clipped" in sentence


def test_what_was_clipped_is_taken_and_added(backend):
    """Parts of a film count by themselves, and together in another step."""
    format = Format(16, 68, 8, (1, 1))
    planes = [np.full(shape, 128, np.uint8) for shape in format.shapes]
    planes[0][:17] = 240
    said = []
    one, other = (
        LutStep(cube(reference.identity(3)), BT709, backend, said.append) for _ in range(2)
    )
    one.prepare(format)
    found = []
    for frames in (2, 1, 0):
        for _ in range(frames):
            one.run(Frame(tuple(planes)))
        found.append(Chain(one).take_tally())
    size = 16 * 68
    assert found == [(size // 2, 2 * size), (size // 4, size), (0, 0)]
    one.close()
    assert said == []
    Chain(other).add_tally(size // 2, 4 * size)
    Chain(other).add_tally(0, size)
    other.close()
    assert "10.0 %" in said[0]


def test_any_pitch_and_number_of_threads(random):
    """Rows with a pitch, strips whose seams show nowhere."""
    from snellen.cpu import threads

    format = Format(40, 200, 8, (1, 1))
    table = cube(random.random((4, 4, 4, 3)))
    planes = smooth(random, format)
    wide = [np.pad(plane, ((0, 0), (0, 5)))[:, :-5] for plane in planes]
    with threads.limited(1):
        one = through(table, format, planes)
    with threads.limited(5):
        other = through(table, format, wide)
    for got, expected in zip(other, one, strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("siting", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 9])
def test_up_and_down_is_exact(random, siting, count):
    """A ramp shows that places are right; a sample beyond the edge lies on the last row."""
    line = axis(count, True, siting)
    chroma = random.random(-(-count // 2))

    def up(values):
        return values[line.near[:, 0]] * (1 - line.part) + values[line.near[:, 1]] * line.part

    back = (up(chroma)[line.taps] * line.weights).sum(axis=1)
    np.testing.assert_allclose(back, chroma, atol=1e-6)
    places = 2 * np.arange(len(chroma)) + {0.25: 0, 0.5: 0.5, 0.75: 1}[siting]
    if siting == 0.75 and count % 2:
        places[-1] = count - 1
    inner = (np.arange(count) >= places[0]) & (np.arange(count) <= places[-1])
    np.testing.assert_allclose(up(places)[inner], np.arange(count)[inner])


def test_matrices():
    assert matrix_of(1, (64, 48))[0] is BT709 and matrix_of(6, (1920, 1080)) == (BT601, None)
    for size, guess in (((720, 576), BT601), ((1278, 480), BT601), ((1280, 528), BT709),
                        ((960, 720), BT709)):  # fmt: skip
        found, said = matrix_of(2, size)
        assert found is guess and guess.name in said and "`lut_matrix`" in said
        assert matrix_of(2, size, "auto")[0] is guess
    assert matrix_of(2, (720, 480), "bt709") == (BT709, None)
    for number in (8, 10, 14):
        with pytest.raises(InputError, match=f"number {number} .*lut_matrix"):
            matrix_of(number, (1920, 1080))
        assert matrix_of(number, (1920, 1080), "bt709")[0] is BT709


@pytest.mark.cases
@pytest.mark.parametrize(
    ("format", "says"),
    [
        (Format(8, 8, 8, None), "luma only; .*yuv444p"),
        (Format(8, 8, 8, (2, 0)), "less chroma .*yuv422p"),
        (Format(8, 8, 0, (0, 0)), "float samples"),
    ],
)
def test_films_without_colours(format, says):
    step = LutStep(cube(reference.identity(2)), BT709)
    with pytest.raises(InputError, match=says):
        step.outcome(format, 1)
    step.close()


def test_where_the_memory_of_a_gpu_does_not_suffice_it_is_asked_for_again(monkeypatch):
    """As by all steps: what is kept for later calls is given back in between."""
    calls = []

    class Backend:
        slots = 3

        def __init__(self, planes, device, *, on_device):
            calls.append((device, on_device))

        def clipped(self):
            return 0

        def close(self):
            pass

    monkeypatch.setattr("snellen.filters.lut.step.cuda.Backend", Backend)
    monkeypatch.setattr("snellen.filters.lut.step.devices.name", str)
    monkeypatch.setattr(
        "snellen.filters.lut.step.retried", lambda device, make: (make(), make())[1]
    )
    step = LutStep(cube(reference.identity(2)), BT709, "cuda:0")
    step.prepare(Format(8, 8, 8, (1, 1)), on_device=True)
    step.close()
    assert calls == [("cuda:0", True)] * 2
