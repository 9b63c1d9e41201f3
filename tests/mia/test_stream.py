"""Stream: regions of frames in their order, a queue that blocks or drops, errors, the end."""

from __future__ import annotations

import textwrap
import threading
import time
import weakref
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import snellen
from snellen import Deblurrer
from snellen.errors import InputError
from snellen.mia import stream as streaming
from snellen.mia.stream import Region, Stream
from support.mia import drawn, reference

HOW = {"psf_size": 9, "iterations": 10}
PATIENCE = 20  # seconds, after which a thread that should have gone on hangs


@pytest.fixture
def film(random):
    """Six blurred frames (50, 60) of 8 bits, and where the region lies in each."""
    y = [drawn.problem(random, (50, 60)).y[0] for _ in range(6)]
    frames = [np.rint(255 * plane.clip(0, 1)).astype(np.uint8) for plane in y]
    return list(zip(frames, [(0, 0), (20, 10), (5, 3), (28, 18), (0, 18), (7, 7)], strict=True))


def cut(frame, position):
    column, row = position
    return frame[row : row + 32, column : column + 32]


class Gate(Deblurrer):
    """One whose work waits for a permit, and says when it has begun."""

    def __init__(self):
        super().__init__(**HOW, device="cpu")
        self.permits, self.begun = threading.Semaphore(0), threading.Semaphore(0)

    def run(self, image, callback=None):
        self.begun.release()
        assert self.permits.acquire(timeout=PATIENCE)
        return super().run(image, callback)


def within(work):
    """Run in a thread and return it; it is waited for at the end of a test."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.slow
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("policy", ["block", "drop"])
def test_regions_in_their_order(film, backend, policy, warm):
    """What a Deblurrer makes of each, one after another."""
    with Stream(Deblurrer(**HOW, device=backend, warm=warm), (32, 32), 6, policy) as stream:
        for number, (frame, position) in enumerate(film):
            assert stream.push(frame, position) == number
            frame[:] = 0 if number % 2 else frame  # only the region is kept, and a copy of it
        stream.finish()
        found = list(stream)
        assert stream.pop() is stream.pop(wait=False) is None and stream.dropped == 0
    assert [region.number for region in found] == list(range(6))
    assert [region.position for region in found] == [position for _, position in film]
    assert all(0 < region.seconds < PATIENCE for region in found)
    assert all(type(region) is Region for region in found)


@pytest.mark.slow
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_the_results(film, backend, warm, dtype):
    white = {"uint8": 255, "uint16": 1023, "float32": 4.0}[dtype]
    film = [((frame * (white / 255)).astype(dtype), position) for frame, position in film]
    how = {**HOW, "device": backend, "warm": warm}
    with Stream(Deblurrer(**how), (32, 32), data_range=white) as stream:
        found = []
        for frame, position in film:
            stream.push(frame, position)
            found.append(stream.pop())
    with Deblurrer(**how) as deblurrer:
        deblurrer.prepare(drawn.floats((32, 32), white))
        for region, (frame, position) in zip(found, film, strict=True):
            wanted = deblurrer.run(cut(frame, position))
            assert (region.restored.image == wanted.image).all()
            assert (region.restored.psf == wanted.psf).all()
            assert region.restored.fit == wanted.fit
            assert region.restored.image.dtype == dtype


def test_the_frame_may_be_overwritten(film):
    gate = Gate()
    with Stream(gate, (32, 32), 3) as stream:
        kept = [cut(frame, position).copy() for frame, position in film[:3]]
        for frame, position in film[:3]:
            stream.push(frame, position)
            frame[:] = 9
        for _ in range(3):
            gate.permits.release()
        found = [stream.pop() for _ in range(3)]
    with Deblurrer(**HOW, device="cpu") as deblurrer:
        deblurrer.prepare(drawn.floats((32, 32)))
        for region, picture in zip(found, kept, strict=True):
            assert (region.restored.image == deblurrer.run(picture).image).all()


def test_dropping(film):
    """The oldest that waits makes room; what is in work is not dropped."""
    gate = Gate()
    with Stream(gate, (32, 32), 2, "drop") as stream:
        frames = [frame for frame, _ in film]
        stream.push(frames[0])
        assert gate.begun.acquire(timeout=PATIENCE)
        for number in range(1, 6):
            assert stream.push(frames[number]) == number
            assert stream.dropped == max(0, number - 2)
        assert stream.pop(wait=False) is None
        for _ in range(3):
            gate.permits.release()
        stream.finish()
        assert [region.number for region in stream] == [0, 4, 5]
        assert stream.dropped == 3


def test_blocking(film):
    """A queue of two holds the third frame back until one is taken into work."""
    gate = Gate()
    with Stream(gate, (32, 32), 2) as stream:
        frames, pushed = [frame for frame, _ in film], []

        def push_all():
            for frame in frames:
                pushed.append(stream.push(frame))
            stream.finish()

        pusher = within(push_all)
        for number in range(6):
            assert gate.begun.acquire(timeout=PATIENCE)
            until = time.monotonic() + PATIENCE
            while len(pushed) < min(6, number + 3) and time.monotonic() < until:
                time.sleep(0.001)
            time.sleep(0.02)  # in which nothing more is to happen
            assert pushed == list(range(min(6, number + 3)))
            gate.permits.release()
            assert stream.pop().number == number
        pusher.join(PATIENCE)
        assert not pusher.is_alive() and stream.pop() is None and stream.dropped == 0


@pytest.mark.slow
def test_results_are_taken_while_more_come(film):
    found = []
    with Stream(Deblurrer(**HOW, device="cpu"), (32, 32), 1) as stream:
        taker = within(lambda: found.extend(region.number for region in stream))
        for frame, position in film * 3:
            stream.push(frame, position)
        stream.finish()
        taker.join(PATIENCE)
    assert found == list(range(18))


def test_an_error_comes_after_the_results_before_it(film, backend):
    """And at the next push; it is the same one."""
    bad = np.full((50, 60), np.nan, np.float32)
    fine = film[0][0].astype(np.float32) / 255
    with Stream(Deblurrer(**HOW, device=backend), (32, 32), 4) as stream:
        for frame in (fine, bad, fine):
            stream.push(frame)
        assert stream.pop().number == 0
        with pytest.raises(InputError, match="NaN or infinity"):
            stream.pop()
        for call in (lambda: stream.push(fine), stream.pop, lambda: next(iter(stream))):
            with pytest.raises(InputError, match="NaN or infinity"):
                call()


def test_any_error_travels(film, monkeypatch):
    """To one who waits in push, too."""
    gate = Gate()
    with Stream(gate, (32, 32), 1) as stream:
        stream.push(film[0][0])
        assert gate.begun.acquire(timeout=PATIENCE)
        stream.push(film[1][0])
        errors = []

        def push():
            try:
                stream.push(film[2][0])
            except MemoryError as error:
                errors.append(error)

        pusher = within(push)

        def fail(*_):
            raise MemoryError("no room")

        monkeypatch.setattr(Deblurrer, "run", fail)
        gate.permits.release()
        pusher.join(PATIENCE)
        assert [str(error) for error in errors] == ["no room"]
        with pytest.raises(MemoryError, match="no room"):
            stream.pop()


def test_the_end(film):
    frame = film[0][0]
    stream = Stream(Deblurrer(**HOW, device="cpu"), (32, 32))
    assert stream.pop(wait=False) is None
    stream.push(frame)
    stream.finish()
    with pytest.raises(InputError, match="finished or closed"):
        stream.push(frame)
    assert stream.pop().number == 0 and stream.pop() is None
    stream.close()
    stream.close()
    with pytest.raises(InputError, match="finished or closed"):
        stream.push(frame)
    assert stream.pop() is None and list(stream) == []


def test_closing_throws_away_what_waits(film):
    gate = Gate()
    stream = Stream(gate, (32, 32), 4)
    for frame, _ in film[:4]:
        stream.push(frame)
    assert gate.begun.acquire(timeout=PATIENCE)
    closer = within(stream.close)
    closed = False
    while not closed:
        with pytest.raises(InputError) as caught:
            stream.push(frame, (99, 99))
        closed = "finished or closed" in str(caught.value)
    gate.permits.release()
    closer.join(PATIENCE)
    assert not closer.is_alive()
    assert not gate.begun.acquire(blocking=False) and stream.pop() is None
    with pytest.raises(InputError, match="not prepared"):
        Deblurrer.run(gate, film[0][0])


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("frame", "position", "words"),
    [
        (
            (50, 60),
            (29, 0),
            r"region of 32×32 at 29,0 leaves the frame of 60×50 \(width × height\)",
        ),
        ((50, 60), (0, 19), "at 0,19 leaves the frame"),
        ((50, 60), (-1, 0), "at -1,0 leaves the frame"),
        ((31, 60), (0, 0), "at 0,0 leaves the frame of 60×31"),
        ((50, 31), (0, 0), "at 0,0 leaves the frame of 31×50"),
        (
            (50, 60, 3),
            (0, 0),
            r"a frame of shape \(50, 60, 3\); expected \(rows, columns\) of one plane",
        ),
        ((50, 60), 3, r"position=3; expected \(column, row\), two integers; round"),
        ((50, 60), np.array([1.0, 2.0]), r"position=array\(\[1\., 2\.\]\); .*round\(x\)"),
        ((50, 60), np.eye(2, dtype=int), "position=array"),
        ((50, 60), (1,), r"position=\(1,\)"),
        ((50, 60), (1, 2, 3), r"position=\(1, 2, 3\)"),
        ((50, 60), (1.5, 2), r"position=\(1\.5, 2\)"),
        (None, (0, 0), "no NumPy array"),
    ],
)
def test_frames_that_do_not_fit(backend, film, frame, position, words):
    """The stream goes on without them."""
    frame = None if frame is None else np.zeros(frame, np.uint8)
    with Stream(Deblurrer(**HOW, device=backend), (32, 32)) as stream:
        with pytest.raises(InputError, match=words):
            stream.push(frame, position)
        with pytest.raises(InputError, match="dtype int32"):
            stream.push(np.zeros((50, 60), np.int32))
        assert stream.push(film[0][0]) == 0 and stream.pop().number == 0


@pytest.mark.parametrize(
    "position",
    [np.array([5, 3]), np.array([5, 3], np.uint8), [5, 3], (np.uint64(5), 3), range(5, 1, -2)],
    ids=repr,
)
def test_positions_as_trackers_give_them(film, position):
    with Stream(Deblurrer(**HOW, device="cpu"), (32, 32)) as stream:
        stream.push(film[2][0], position)
        assert stream.pop().position == (5, 3)


def test_a_deblurrer_belongs_to_one_stream(film):
    deblurrer = Deblurrer(**HOW, device="cpu")
    with Stream(deblurrer, (32, 32)) as stream:
        with pytest.raises(InputError, match=r"prepared already.*make one for each Stream"):
            Stream(deblurrer, (40, 40))
        stream.push(film[0][0])
        assert stream.pop().restored.image.shape == (32, 32)
    with Stream(deblurrer, (40, 40)):
        assert deblurrer.prepared
    deblurrer.prepare(drawn.floats((32, 32)))
    with pytest.raises(InputError, match="prepared already"):
        Stream(deblurrer, (32, 32))
    deblurrer.close()


PAGE = Path(__file__).parents[2] / "docs" / "mia.md"
EXAMPLES = {
    "page": next(
        part for part in PAGE.read_text("utf-8").split("```") if part.startswith("python\nfrom")
    ).removeprefix("python"),
    "docstring": textwrap.dedent(Stream.__doc__.partition("::\n")[2].partition("Leaving")[0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_show_every_region(random, monkeypatch, name):
    """As they are printed: all that were not dropped, though they come faster than they go."""
    monkeypatch.setattr(snellen, "Deblurrer", partial(Deblurrer, device="cpu"))
    shown, streams = [], []

    def made(*how, **more):
        streams.append(Stream(*how, **more))
        return streams[0]

    monkeypatch.setattr(streaming, "Stream", made)
    camera = [(random.random((140, 150)), (i, i)) for i in range(8)]
    names = {"snellen": snellen, "Deblurrer": snellen.Deblurrer, "Stream": made, "camera": camera}
    exec(EXAMPLES[name], {**names, "show": lambda *what: shown.append(what)})
    assert len(shown) + streams[0].dropped == 8 and len(shown) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
def test_a_fade_to_grey_comes_as_it_is(film, backend, noise):
    """Frames of one value among others, with total variation that would make them flicker."""
    how = {"psf_size": 9, "iterations": 60, "tv": 0.004, "noise": noise, "device": backend}
    grey = np.full((50, 60), 128, np.uint8)
    with Stream(Deblurrer(**how, edges="extend", warm=True), (32, 32)) as stream:
        for frame in (film[0][0], grey):
            stream.push(frame)
        stream.finish()
        _, last = stream
    assert (last.restored.image == 128).all() and last.restored.fit == 0


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"queue": 0}, "queue=0"),
        ({"policy": "wait"}, "policy='wait'; expected one of block, drop"),
        ({"shape": (8, 32)}, "got a PSF of 9×9 for a picture of 32×8"),
        ({"shape": 32}, "shape=32"),
        ({"data_range": -1}, "data_range=-1"),
        ({"deblurrer": {}}, "got dict; expected a Deblurrer"),
    ],
)
def test_wrong_settings(how, words):
    with pytest.raises(InputError, match=words):
        Stream(**{"deblurrer": Deblurrer(**HOW, device="cpu"), "shape": (32, 32), **how})
    assert not [t for t in threading.enumerate() if t.name == "snellen stream"]


@pytest.mark.slow
def test_a_stream_of_one_value_never_tires(backend):
    """Hundreds of frames under a lens cap, warm: the PSF is still that of the start."""
    with Stream(Deblurrer(psf_size=9, iterations=2, device=backend, warm=True), (32, 32)) as stream:
        for _ in range(300):
            stream.push(np.zeros((32, 32), np.uint8))
        stream.finish()
        last = list(stream)[-1]
    assert not last.restored.image.any()
    np.testing.assert_allclose(last.restored.psf, reference.bell(2, 9), rtol=1e-4)


class Deferred(Deblurrer):
    """One with several regions in flight: each is restored when its result is asked for."""

    slots = 3

    def __init__(self):
        super().__init__(**HOW, device="cpu")
        self.outstanding, self.most = 0, 0

    def submit(self, image):
        if np.isinf(image).any():
            raise InputError("refused at once")
        self.outstanding += 1
        self.most = max(self.most, self.outstanding)

        def result():
            self.outstanding -= 1
            return self.run(image)

        return result


def test_regions_in_flight(film):
    with Deblurrer(**HOW, device="cpu") as deblurrer:
        deblurrer.prepare(drawn.floats((32, 32)))
        wanted = [deblurrer.run(cut(*one)).image for one in film]
    deferred = Deferred()
    with Stream(deferred, (32, 32), len(film)) as stream:
        for one in film:
            stream.push(*one)
        found = [stream.pop() for _ in film]  # without a further push
        stream.push(*film[0])
        assert (stream.pop().restored.image == wanted[0]).all()
        stream.finish()
        assert list(stream) == []
    assert [region.number for region in found] == list(range(len(film)))
    assert all((a.restored.image == b).all() for a, b in zip(found, wanted, strict=True))
    assert 1 <= deferred.most <= 2


@pytest.mark.parametrize(("bad", "words"), [(np.nan, "NaN or infinity"), (np.inf, "at once")])
def test_an_error_follows_the_results_before_it(film, bad, words):
    wrong = np.full((50, 60), bad, np.float32)
    with Stream(Deferred(), (32, 32), 5) as stream:
        with suppress(InputError):  # of the stream, which may have stopped by then
            for frame in (film[0][0], film[1][0], wrong, film[2][0]):
                stream.push(frame)
        stream.finish()
        found = []
        with pytest.raises(InputError, match=words):
            found.extend(iter(stream.pop, None))
    assert [region.number for region in found] == [0, 1]
    with Stream(Deferred(), (32, 32), 5) as stream:
        for frame in (film[0][0], film[1][0]):
            stream.push(frame)
        first = [stream.pop(), stream.pop()]
        stream.push(wrong)
        assert [region.number for region in first] == [0, 1]
        with pytest.raises(InputError, match=words):
            stream.pop()


def test_a_stream_that_nobody_holds_closes_itself(film):
    """Idle, with a region in work, and after its end; its thread does not hold it."""
    for state in ("idle", "working", "ended"):
        gate = Gate()
        stream = Stream(gate, (32, 32))
        thread = stream._thread
        if state == "working":
            stream.push(film[0][0])
            stream.push(film[1][0])
            assert gate.begun.acquire(timeout=PATIENCE)
        if state == "ended":
            stream.finish()
            thread.join(PATIENCE)
        there = weakref.ref(stream)
        del stream
        assert there() is None
        assert gate.prepared or state != "working"  # the region in work is restored first
        gate.permits.release()
        thread.join(PATIENCE)
        assert not thread.is_alive() and not gate.prepared
        assert not gate.begun.acquire(blocking=False)


class Slow(Deferred):
    """Each result waits for a permit."""

    def __init__(self):
        super().__init__()
        self.permits, self.asked = threading.Semaphore(0), threading.Semaphore(0)

    def run(self, image, callback=None):
        self.asked.release()
        assert self.permits.acquire(timeout=PATIENCE)
        return super().run(image, callback)


def test_closing_waits_for_one_region_in_flight(film):
    """The result of the other one that was begun is not asked for."""
    slow = Slow()
    stream = Stream(slow, (32, 32), len(film))
    for one in film:
        stream.push(*one)
    assert slow.asked.acquire(timeout=PATIENCE)
    closer = within(stream.close)
    while not stream._core._stopped:
        time.sleep(0.001)
    slow.permits.release()
    closer.join(PATIENCE)
    assert not closer.is_alive() and not slow.prepared
    assert not slow.asked.acquire(blocking=False)
