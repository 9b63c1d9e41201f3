"""Pictures in flight on the GPU: what its queues do with buffers and memory, and equal results."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

from snellen import Deblurrer
from snellen.engine import engine as engines
from snellen.engine import streams as all_streams
from snellen.errors import DeviceMemoryError, InputError
from snellen.gpu import device, memory, pages
from snellen.mia.cuda.in_flight import How, InFlight
from support.fake_cupy import FakeCupy
from support.mia import drawn

SHAPE = (1, 2, 4, 6)
SIDE = 3


@pytest.fixture(params=range(4))
def fake(request, monkeypatch):
    """A GPU whose streams run in an order of their own; nothing may touch memory that is gone."""
    monkeypatch.setattr(all_streams, "_unused", {})
    engines._idle.cache_clear()
    cupy = FakeCupy(request.param).install(monkeypatch)
    yield cupy
    engines._idle.cache_clear()
    gc.collect()
    assert not cupy.faults and not any(cupy.pooled)


class Frames:
    """Counts the samples of white; each call makes temporary arrays."""

    def __init__(self, cupy):
        from cupy import empty

        self.cupy, self.empty = cupy, empty
        self.y, self.f = empty(SHAPE, np.float32), empty((1, 4, 6), np.float32)

    def place(self, frames, peak):
        scaled = self.empty(SHAPE, np.float32)
        self.cupy.kernel(lambda a: a / np.float32(peak), [frames], scaled)
        self.cupy.kernel(lambda a: a, [scaled], self.y)
        self.cupy.kernel(lambda a: a.mean(1), [scaled], self.f)
        return self.y, self.f

    def finish(self, f, h, recentre, out):
        flags = self.empty((1,), np.float32)
        self.cupy.kernel(lambda a: [np.isnan(a).any()], [self.y], flags)
        self.cupy.kernel(lambda *all: np.concatenate([a.ravel() for a in all]), [f, h, flags], out)

    def views(self, results):
        return results[:24].reshape(1, 4, 6), results[24:42].reshape(1, 2, SIDE, SIDE)


class Backend:
    """Adds 1 in each iteration, in buffers that no other queue may touch."""

    slots = 3

    def __init__(self, cupy, leaves_room):
        from cupy import empty

        self.cupy, self.empty, self.leaves_room = cupy, empty, leaves_room
        self.f, self.h = empty((1, 4, 6), np.float32), empty((1, 2, SIDE, SIDE), np.float32)
        self.launches = 0
        self.closed = False

    def start(self, y, f, h):
        self.cupy.kernel(lambda a: a, [f], self.f)
        self.cupy.kernel(lambda a: a, [h], self.h)

    def iterate(self, count):
        self.launches += 1
        self.cupy.kernel(lambda a: a + count, [self.f], self.f)

    estimate = property(lambda self: self.f)

    @property
    def psf(self):
        out = self.empty((1, 2, SIDE, SIDE), np.float32)
        self.cupy.kernel(lambda a: a / 2, [self.h], out)
        return out

    def fit_on_gpu(self, psf):
        out = self.empty((1,), np.float64)
        self.cupy.kernel(lambda a, h: [a.sum(dtype=np.float64) + h.sum()], [self.f, psf], out)
        return out

    def close(self):
        self.closed = True


def made(fake, leaves_room, most=3):
    """Return what keeps pictures in flight, and the backends that it has made by then.

    There is memory for so many of them at most.
    """
    from cupy import empty
    from cupy.cuda.memory import OutOfMemoryError

    start, backends = empty((1, 2, SIDE, SIDE), np.float32), []
    fake.kernel(lambda: np.full((1, 2, SIDE, SIDE), 6), [], start)

    def parts():
        if len(backends) == most:
            raise OutOfMemoryError("no more")
        backends.append(Backend(fake, leaves_room))
        return Frames(fake), backends[-1]

    fake.null.synchronize()
    return InFlight("cuda:0", SHAPE, SIDE, parts(), parts, How(start, 5, True)), backends


@pytest.mark.parametrize("leaves_room", [False, True])
def test_results_of_lanes_and_of_one(fake, leaves_room):
    """One graph a frame; its temporary arrays stay where they are; types and white may change."""
    random = np.random.default_rng(3)
    flights, backends = made(fake, leaves_room)
    assert len(backends) == (3 if leaves_room else 1)
    for dtype, peak in (("uint8", 255.0), ("float32", 1.0), (">u2", 1023.0), ("uint8", 255.0)):
        frames = [(random.random(SHAPE) * peak).astype(dtype) for _ in range(8)]
        pending, found = [], []
        for frame in frames:
            given = frame.copy()
            pending.append(flights.submit(given, peak))
            given[:] = 0
            if len(pending) == 3:
                found.append(pending.pop(0)())
        found += [result() for result in pending]
        launches = [one.launches for one in backends]
        for (image, psf, fit), frame in zip(found, frames, strict=True):
            wanted = (frame / np.float32(peak)).astype(np.float32).mean(1) + np.float32(5)
            np.testing.assert_array_equal(image, wanted)
            assert (psf == 3).all()
            np.testing.assert_allclose(fit, wanted.sum() + psf.sum(), rtol=1e-6)
        flights.submit(frames[0], peak)()
        assert launches == [one.launches for one in backends]  # graphs are replayed
    flights.settle()
    flights.close()
    flights.close()
    assert (
        len(all_streams._unused[0]) == 1 and not all_streams._lent
    )  # one triple of streams serves all
    assert [one.closed for one in backends] == [False, *[True] * (len(backends) - 1)]


@pytest.mark.slow
def test_a_wrong_picture_among_others(fake):
    flights, _ = made(fake, True)
    used = {queue._streams.compute for queue in flights._queues}
    assert len(used) == 3 and all(queue._streams.up in used for queue in flights._queues)
    frames = [np.full(SHAPE, value, np.float32) for value in (1, np.nan, 2)]
    one, two, three = (flights.submit(frame, 1.0) for frame in frames)
    assert (three()[0] == 7).all() and (one()[0] == 6).all()
    with pytest.raises(InputError, match="NaN or infinity"):
        two()
    assert (flights.submit(frames[2], 1.0)()[0] == 7).all()
    flights.close()
    other, _ = made(fake, True)
    del other, one, two, three
    gc.collect()
    assert not all_streams._lent  # also of what nobody has closed


def restored_in_turn(flights):
    """Submit pictures, three in flight, and check what comes back."""
    pending = []
    for number in range(7):
        pending.append(flights.submit(np.full(SHAPE, number, np.float32), 1.0))
        if len(pending) == 3:
            assert (pending.pop(0)()[0] == number + 3).all()
    assert [result()[0].ravel()[0] for result in pending] == [10, 11]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_queues_that_fit(fake, most):
    """Where there is no memory for a further queue, those that there are do the work."""
    flights, backends = made(fake, True, most)
    assert len(backends) == len(flights._queues) == most
    restored_in_turn(flights)
    flights.close()
    assert not all_streams._lent and len(all_streams._unused[0]) == 1


def test_the_graphs_that_fit(fake):
    """The same where memory ends as the graphs are made; with too little for one, an error."""
    held, room, block = [], [np.inf], fake.block

    def used():
        return sum(one().nbytes for one in held if one() is not None)

    def limited(size):
        if used() + size > room[0]:
            raise sys.modules["cupy.cuda.memory"].OutOfMemoryError("full")
        found = block(size)
        held.append(weakref.ref(found))
        return found

    fake.block = limited
    flights, backends = made(fake, True)
    buffers = used()
    restored_in_turn(flights)
    assert len(flights._queues) == 3
    gc.collect()
    room[0] = used() - 1
    flights.submit(np.zeros(SHAPE, np.uint8), 255.0)()  # graphs of another kind
    restored_in_turn(flights)
    count = len(flights._queues)
    assert count < 3
    assert [one.closed for one in backends] == [number >= count for number in range(3)]
    room[0] = buffers // 2
    for _ in range(2):
        with pytest.raises(DeviceMemoryError):
            flights.submit(np.zeros(SHAPE, np.uint8), 255.0)
    room[0] = np.inf
    restored_in_turn(flights)
    flights.close()
    assert not all_streams._lent


def test_a_deblurrer_that_was_closed_can_be_pickled():
    """What makes further queues is dropped with the rest."""
    deblurrer = Deblurrer(psf_size=3, iterations=1, device="cpu")
    deblurrer.prepare(drawn.floats((8, 8)))
    deblurrer.close()
    assert pickle.loads(pickle.dumps(deblurrer)).side == 3


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["uint8", "uint16", "float16", "float32", "float64", ">u2"])
@pytest.mark.parametrize("counts", [(1, 1), (1, 3), (3, 1), (1, 100)])
@pytest.mark.parametrize("shape", [(128, 128), (32, 64), (50, 61), (128, 100)])
def test_the_same_bits_as_one_by_one(cuda, random, shape, counts, kind):
    """By queues and by one queue: what `run` gives, picture by picture, PSF and fit too."""
    frames, batch = counts
    how = {"psf_size": 9, "iterations": 11, "frames": frames, "batch": batch, "device": "cuda"}
    peak = np.iinfo(kind).max if "u" in kind else 1
    lead = tuple(n for n in (batch, frames) if n > 1)
    edges = "taper" if shape in ((128, 128), (32, 64)) else "extend"
    pictures = [(random.random((*lead, *shape)) * peak).astype(kind) for _ in range(7)]
    pictures[3][...] = 1
    with Deblurrer(**how, edges=edges) as deblurrer:
        deblurrer.prepare(drawn.floats(shape))
        wanted = [deblurrer.run(picture) for picture in pictures]
        for _ in range(2):
            pending, found = [], []
            for picture in pictures:
                pending.append(deblurrer.submit(picture))
                if len(pending) == deblurrer.slots:
                    found.append(pending.pop(0)())
            found += [result() for result in pending]
            for one, other in zip(found, wanted, strict=True):
                assert one.image.dtype == other.image.dtype
                assert one.image.tobytes() == other.image.tobytes()
                assert one.psf.tobytes() == other.psf.tobytes()
                assert np.array_equal(one.fit, other.fit)
        queues = deblurrer._in_flight._queues
        assert all(queue._engine.captured for queue in queues)
        assert len(queues) == (1 if batch == 100 else 3)


@pytest.mark.gpu
def test_nobody_else_gets_the_memory_of_a_graph(cuda, random):
    """NaN goes into all memory that the pools give out between two pictures, of any size."""
    pictures = random.random((9, 128, 128)).astype(np.float32)
    with Deblurrer(psf_size=9, iterations=5, edges="taper", device="cuda") as deblurrer:
        deblurrer.prepare(drawn.floats((128, 128)))
        wanted = [deblurrer.run(picture) for picture in pictures]
        for number in range(60):
            with memory.own():
                held = [cuda.full(1 << size, np.nan, np.float32) for size in range(4, 22)]
            held += [cuda.full(1 << size, np.nan, np.float32) for size in range(4, 22)]
            found = deblurrer.submit(pictures[number % 9])()
            assert found.image.tobytes() == wanted[number % 9].image.tobytes()
            assert found.psf.tobytes() == wanted[number % 9].psf.tobytes()
            del held


@pytest.mark.gpu
def test_the_memory_of_graphs_is_given_back(cuda, random):
    """CuPy's pools keep what is free in one that is dropped."""

    def held():
        gc.collect()
        pages.clear()
        with device.using("cuda:0"):
            return memory.held()

    picture, before = random.random((128, 128)).astype(np.float32), held()
    for _ in range(3):
        with Deblurrer(psf_size=9, iterations=5, edges="taper", device="cuda") as deblurrer:
            deblurrer.prepare(drawn.floats((128, 128)))
            deblurrer.submit(picture)()
            assert held() > before
        assert held() <= before
    deblurrer.prepare(drawn.floats((128, 128)))
    deblurrer.submit(picture)()
    del deblurrer  # not closed
    assert held() <= before
