"""Regions of frames: where they lie, what is cut out or pasted back, at which depth; in a film."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame
from snellen.frames.luma import levels, samples
from snellen.frames.step import Traits
from snellen.video.convert import Encoding
from snellen.video.steps.region import LumaOperation, RegionStep, cut
from snellen.video.steps.track import Track
from support.video.clips import HEIGHT, WIDTH, luma, make, read
from support.video.converting import convert

LOSSLESS = Encoding(codec="ffv1")


class Inverted(LumaOperation):
    """1 − luma; keeps the planes that it got."""

    traits = Traits(device_name="nothing")

    def __init__(self):
        self.shape = None
        self.given = []
        self.closed = 0

    def prepare(self, height, width):
        self.shape = height, width

    def run(self, plane):
        assert plane.shape == self.shape and plane.dtype == np.float32
        self.given.append(plane)
        return 1 - plane

    def close(self):
        self.closed += 1


class Deferred(Inverted):
    """Three planes in flight: each is inverted when its result is asked for."""

    traits = Traits(3, device_name="nothing")

    def __init__(self):
        super().__init__()
        self.waiting, self.most = [], 0

    def submit(self, plane):
        self.waiting.append(plane)
        self.most = max(self.most, len(self.waiting))

        def result():
            assert self.waiting.pop(0) is plane
            return self.run(plane)

        return result


class Coded(Deferred):
    """It takes and returns code values, where both are of 8 bits."""

    codes = None

    def prepare_codes(self, height, width, given, made):
        self.codes = (given, made) if given.dtype == made.dtype == "uint8" else None
        self.shape = height, width
        return self.codes is not None

    def run(self, plane):
        if self.codes is None:
            return super().run(plane)
        given, made = self.codes
        assert plane.shape == self.shape and plane.dtype == given.dtype
        self.given.append(plane)
        share = (plane.astype(np.float32) - np.float32(given.black)).clip(0)
        share /= np.float32(given.white - given.black)
        out = (1 - share) * np.float32(made.white - made.black) + np.float32(made.black)
        return np.rint(out.clip(0, made.most)).astype(made.dtype)


def frame(format, random):
    most = 1 << format.bits
    planes = [random.integers(0, most, shape).astype(format.dtype) for shape in format.shapes]
    for plane in planes:
        plane.flags.writeable = False
    return Frame(tuple(planes), pts=7, duration=2)


@pytest.mark.parametrize("bits", [8, 10])
@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize("track", [None, Track(WIDTH, HEIGHT, ((0, 0),))])
def test_luma_is_what_the_work_makes_of_it_and_chroma_stays(random, bits, full_range, track):
    format = Format(WIDTH, HEIGHT, bits, (1, 1), full_range=full_range)
    step, given = RegionStep(Inverted(), track), frame(format, random)
    assert step.prepare(format) == format
    found = step.run(given)
    black, white = (0, 255) if full_range else (16, 235)
    black, white = (x << (bits - 8) for x in (black, white))
    white = (1 << bits) - 1 if full_range else white
    assert levels(format) == (black, white)
    wanted = (white - (given.planes[0].clip(black).astype(int) - black)).clip(0)
    assert found.planes[0].dtype == format.dtype and (found.planes[0] == wanted).all()
    for one, other in zip(found.planes[1:], given.planes[1:], strict=True):
        assert (one == other).all()
    assert (found.pts, found.duration) == (7, 2)


@pytest.mark.parametrize("paste_back", [False, True])
@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize(("bits", "to"), [(8, 8), (8, 10), (10, 8), (10, 10)])
def test_an_operation_may_take_code_values(random, bits, to, full_range, paste_back):
    """It gets the luma as it is, and returns it as it is to be: the same bytes."""
    format = Format(WIDTH, HEIGHT, bits, (1, 1), full_range=full_range)
    given, track = frame(format, random), Track(8, 6, ((4, 2),))
    found = []
    for operation in (Inverted(), Coded()):
        step = RegionStep(operation, track, paste_back)
        step.prepare(format, to)
        found.append(step.run(given))
        (plane,) = operation.given
        assert plane.dtype == (np.uint8 if getattr(operation, "codes", None) else np.float32)
    assert bool(operation.codes) is (bits == to == 8)
    for one, other in zip(found[0].planes, found[1].planes, strict=True):
        assert one.dtype == other.dtype and (one == other).all()


def test_what_is_below_black_is_black(random):
    format = Format(4, 1)
    plane = np.array([[0, 15, 16, 235]], np.uint8)
    assert samples(plane, format).tolist() == [[0, 0, 0, 1]]
    assert samples(np.array([[255]], np.uint8), format)[0, 0] > 1


@pytest.mark.parametrize("subsampling", [None, (0, 0), (1, 0), (1, 1), (2, 0)])
@pytest.mark.parametrize("place", [(0, 0), (4, 2), (5, 3), (13, 9)])
def test_a_region_alone_and_back(random, subsampling, place):
    format = Format(21, 16, 8, subsampling, full_range=True)
    x, y = place
    given = frame(format, random)
    there = slice(y, y + 7), slice(x, x + 8)
    alone = RegionStep(Inverted(), Track(8, 7, (place,)))
    made = alone.prepare(format)
    assert made == Format(8, 7, 8, subsampling, full_range=True) == alone.outcome(format, 1)
    found = alone.run(given)
    assert tuple(plane.shape for plane in found.planes) == made.shapes
    assert (found.planes[0] == 255 - given.planes[0][there]).all()
    back = RegionStep(Inverted(), Track(8, 7, (place,)), paste_back=True)
    assert back.prepare(format) == format == back.outcome(format, 1)
    whole = back.run(given).planes
    expected = given.planes[0].copy()
    expected[there] = 255 - expected[there]
    assert (whole[0] == expected).all()
    assert all((a == b).all() for a, b in zip(whole[1:], given.planes[1:], strict=True))


@pytest.mark.parametrize("x", [4, 5])
def test_chroma_of_a_ramp_moves_with_its_luma(x):
    """Half a chroma sample where the region begins between two."""
    format = Format(32, 8, 8, (1, 1))
    ramp = np.tile(np.arange(16, dtype=np.uint8) * 2, (4, 1))  # as wide as luma: 1 a column
    step = RegionStep(Inverted(), Track(8, 4, ((x, 2),)))
    step.prepare(format)
    chroma = step.run(Frame((np.zeros((8, 32), np.uint8), ramp, ramp))).planes[1]
    assert chroma.tolist() == [[x, x + 2, x + 4, x + 6]] * 2


def test_a_cut_at_the_edge_repeats_it():
    plane = np.array([[10, 20, 30]], np.uint8)
    assert cut(plane, (0, 1.5), (1, 2)).tolist() == [[25, 30]]
    assert cut(plane, (0, 1), (1, 2)).tolist() == [[20, 30]]


def test_depths_of_the_encoder(random):
    """10 bit come, 8 are wanted: luma rounded once, what is put back and chroma recoded alike."""
    format = Format(16, 12, 10, (1, 1))
    given = frame(format, random)
    step = RegionStep(Inverted(), Track(4, 4, ((2, 2),)), paste_back=True)
    assert step.prepare(format, 8).bits == 8
    found = step.run(given)
    assert all(plane.dtype == np.uint8 for plane in found.planes)
    wanted = np.rint(given.planes[0] / 4).clip(0, 255)
    wanted[2:6, 2:6] = np.rint(16 + 219 * (1 - samples(given.planes[0][2:6, 2:6], format))).clip(0)
    assert (found.planes[0] == wanted).all()
    assert (found.planes[1] == np.rint(given.planes[1] / 4).clip(0, 255)).all()


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((9, 0), "columns go from 0 to 8"),
        ((0, 9), "rows to 8"),
        ((-1, 0), "-1,0"),
        ((0, -1), "0,-1"),
    ],
)
def test_a_region_outside(place, message):
    track = Track(8, 8, ((0, 0), place), "at.txt", (1, 3))
    with pytest.raises(InputError, match=r"at\.txt line 3 leaves the frame") as error:
        RegionStep(Inverted(), track).outcome(Format(16, 16), 2)
    assert message in str(error.value)


def test_a_region_larger_than_the_frame():
    with pytest.raises(InputError, match="got a region of 17×8 for frames of 16×16"):
        RegionStep(Inverted(), Track(17, 8, ((0, 0),))).outcome(Format(16, 16), 0)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "in_flight"), [(Inverted, 0), (Deferred, 3)])
def test_a_film_with_a_moving_region(tmp_path, kind, in_flight):
    source = make(tmp_path / "in.mkv", codec="ffv1", frames=5)
    places = tuple((3 * n, 2 * n) for n in range(5))
    work = kind()
    step = RegionStep(work, Track(16, 12, places, "at.txt", tuple(range(1, 6))))
    summary = convert(source, tmp_path / "out.mkv", step, encoding=LOSSLESS)
    assert (summary.width, summary.height, summary.frames) == (16, 12, 5)
    assert summary.device == "nothing" and work.closed == 1
    assert getattr(work, "most", 0) == in_flight
    frames = [luma(one).astype(int) for one in read(source).frames]
    results = [luma(one) for one in read(tmp_path / "out.mkv").frames]
    for given, found, (x, y) in zip(frames, results, places, strict=True):
        assert (found == (251 - given[y : y + 12, x : x + 16].clip(16)).clip(0)).all()


@pytest.mark.parametrize("name", ["in.mp4", "in.mkv", "in.y4m"])
def test_too_few_places_are_reported_before_any_work(tmp_path, name):
    codec = {"in.mp4": "libx264", "in.mkv": "ffv1", "in.y4m": "wrapped_avframe"}[name]
    source = make(tmp_path / name, codec=codec, frames=5)
    work = Inverted()
    step = RegionStep(work, Track(16, 12, ((0, 0),) * 4, "at.txt", (1, 2, 3, 4)))
    with pytest.raises(
        InputError, match=r"at\.txt has 4 positions, but at least 5 frames .*frames=4"
    ):
        convert(source, tmp_path / "out.mkv", step, encoding=LOSSLESS)
    assert work.shape is None and work.closed == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", [Inverted, Deferred])
def test_too_few_places_of_a_pipe_are_reported_when_they_end(tmp_path, kind):
    """A pipe's length is unknown; no file is left."""
    source = make(tmp_path / "in.y4m", codec="wrapped_avframe", frames=5)
    work = kind()
    step = RegionStep(work, Track(16, 12, ((0, 0),) * 4, "at.txt", (1, 2, 3, 4)))
    with source.open("rb") as file, pytest.raises(InputError, match="but there are more frames"):
        convert(file, tmp_path / "out.mkv", step, encoding=LOSSLESS)
    assert len(work.given) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["in.y4m"]


@pytest.mark.parametrize(
    ("track", "parameter"),
    [
        (Track(65, 8, ((0, 0),)), "region"),
        (Track(8, 8, ((60, 0),)), "region"),
        (Track(8, 8, ((0, 0), (60, 0)), "at.txt", (1, 2)), "positions"),
        (Track(8, 8, ((0, 0),), "at.txt", (1,)), "positions"),
    ],
)
def test_errors_name_the_parameter(track, parameter):
    with pytest.raises(InputError) as caught:
        track.check(64, 48, frames=2)
    assert caught.value.parameter == parameter
