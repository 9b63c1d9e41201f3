"""One pair on several GPUs, on disordered streams: copies, events and buffers, sums for MAD."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.mad.cuda import backend, multi_gpu, upload
from snellen.mad.cuda.loggabor import BANDS
from snellen.mad.definition import Definition
from support import fake_cupy
from support.fake_cupy import FakeCupy, Pointer

SIZE = (6, 5)


class Address(Pointer):
    """An address on a GPU."""

    def copy_to_host_async(self, target, size):
        self._cupy.memcpy_async(target, self.ptr, size, 2, self._cupy.current().ptr)


class Card(fake_cupy.Array):
    """An array on a GPU, of which parts can be taken."""

    def __init__(self, cupy, shape, dtype, of=None, offset=0):
        if of is None:
            super().__init__(cupy, shape, dtype)
        else:
            self.shape, self.dtype, self._cupy, self._of = shape, of.dtype, cupy, of
            self.nbytes = int(np.prod(shape)) * self.dtype.itemsize
            self.flags, self.device = of.flags, of.device
        self.data = Address(cupy, (self if of is None else of).data.ptr + offset)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, key):
        low, high = (key, key + 1) if isinstance(key, int) else key.indices(len(self))[:2]
        rest = self.shape[1:] if isinstance(key, int) else (high - low, *self.shape[1:])
        return Card(self._cupy, rest, None, self, low * self.nbytes // len(self))

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def copy(self):
        found = Card(self._cupy, self.shape, self.dtype)
        found.data.copy_from_device_async(self.data, self.nbytes)
        return found

    def fill(self, value):
        self._cupy.kernel(lambda: np.full(self.shape, value, self.dtype), [], self)


def made(shape, dtype):
    return sys.modules["cupy"].zeros(shape, dtype)


class Appearance:
    """Differences of subbands: the planes' difference, times the number of the band."""

    def __init__(self, definition, format, peak, dtype, bands=range(BANDS), guests=0):
        self.bands, self.kept = bands, made(SIZE, np.float64)
        self.differences = made((len(bands) + guests, *SIZE), np.float64)

    def set_reference(self, reference):
        self.kept._cupy.kernel(lambda one: one, [reference], self.kept)

    def compare(self, distorted):
        def work(one, other):
            return [(other - one) * (band + 1) for band in self.bands]

        mine = self.differences[: len(self.bands)]
        self.kept._cupy.kernel(work, [self.kept, distorted], mine)

    def respond(self, samples):
        if not hasattr(self, "responses"):
            self.responses = made(SIZE, np.float64)
        self.kept._cupy.kernel(lambda two: two, [samples], self.responses)
        return self.responses

    def settle(self, responses):
        self.compare(responses)

    def pair(self, reference, distorted):
        self.set_reference(reference)
        self.compare(distorted)


class Combine:
    """Sums."""

    def __init__(self, definition, format, peak, dtype):
        self.hi, self.lo = made((1,), np.float64), made((1,), np.float64)

    def appearance(self, planes):
        self.lo._cupy.kernel(lambda all: all.sum(0), [planes], planes[0])
        self.lo._cupy.kernel(lambda all: [all[0].sum()], [planes], self.lo)

    def score(self, out):
        def work(hi, lo):
            return [hi[0] + lo[0], hi[0], lo[0]]

        out._cupy.kernel(work, [self.hi, self.lo], out[:3])


class Detection:
    """The sum of the reference's samples, and of those of both."""

    def __init__(self, definition, format, peak, dtype, combine):
        self.kept, self.combine = made((1,), np.float64), combine

    def set_reference(self, reference):
        self.kept._cupy.kernel(lambda one: [one.sum(dtype=float)], [reference], self.kept)

    def compare(self, reference, distorted):
        def work(kept, one, other):
            return [1e6 * kept[0] + 1e3 * one.sum() + other.sum()]

        self.kept._cupy.kernel(work, [self.kept, reference, distorted], self.combine.hi)


def wanted(one, other):
    hi = 1e6 * one.sum() + 1e3 * one.sum() + other.sum()
    lo = (other.astype(float) - one).sum() * sum(range(1, BANDS + 1))
    return [hi + lo, hi, lo]


@pytest.fixture(params=range(8))
def fake(request, monkeypatch):
    """GPUs whose streams run in an order of their own; what is captured here is one stream's."""
    cupy = FakeCupy(request.param).install(monkeypatch)
    cupy.captures = False
    module, runtime = sys.modules["cupy"], sys.modules["cupy.cuda.runtime"]
    module.float64 = np.float64
    module.empty = lambda shape, dtype: Card(cupy, shape, dtype)

    def zeros(shape, dtype):
        array = Card(cupy, (shape,) if isinstance(shape, int) else shape, dtype)
        array.fill(0)
        return array

    def record(stream):
        event = fake_cupy.Event(cupy)
        event.record(stream)
        return event

    def peer(target, there, source, here, size, stream):
        cupy.memcpy_async(target, source, size, 3, stream)

    module.zeros, runtime.memcpyPeerAsync = zeros, peer
    runtime.deviceEnablePeerAccess = lambda device: None
    monkeypatch.setattr(fake_cupy.Stream, "record", record, raising=False)
    monkeypatch.setattr(
        fake_cupy.Device, "synchronize",
        lambda device: [stream.synchronize() for stream in cupy.streams], raising=False,
    )  # fmt: skip
    for module in (backend, multi_gpu):
        monkeypatch.setattr(module, "Appearance", Appearance)
        monkeypatch.setattr(module, "Combine", Combine)
    monkeypatch.setattr(backend, "Detection", Detection)
    monkeypatch.setattr(backend, "Flat", lambda format, dtype: None)
    yield cupy
    assert not cupy.faults


@pytest.mark.parametrize("dtype", ["float32", "float64"])  # on two streams, and on one
@pytest.mark.parametrize("count", [2, 4])
def test_pairs_and_halves_from_anywhere(fake, monkeypatch, count, dtype):
    monkeypatch.setattr(upload, "STRIP", 8)  # with threads
    random = np.random.default_rng(fake.random.randrange(1000))
    names = tuple(f"cuda:{i}" for i in range(count))
    both = multi_gpu.MultiGpuBackend(Definition(), Format(*SIZE[::-1]), 255.0, names, dtype)
    assert all((one._other is None) == (dtype == "float64") for one in both._helpers)
    pending, reference = [], None

    def given(plane):
        """A plane in main memory, which is overwritten after the call, or on the first GPU."""
        if random.random() < 0.6:
            here.append(plane.copy())
            return here[-1]
        there = Card(fake, SIZE, np.uint8)
        fake.kernel(lambda: plane, [], there)
        on_gpu.append(there)
        return there

    cuda = sys.modules["cupy.cuda"]
    streams = [cuda.Stream.null, cuda.Stream(), cuda.Stream()]
    here, on_gpu, copies = [], [], []
    for _ in range(60):
        planes = random.integers(0, 256, (2, *SIZE), np.uint8)
        how = random.integers(3) if reference is not None else 0
        with streams[random.integers(3)]:
            if how == 0:
                reference = planes[0]
                pending.append((both.submit(*map(given, planes)), reference, planes[1]))
            elif how == 1:
                for one in planes:  # none may overtake the other
                    both.set_reference(given(one))
                reference = planes[1]
            else:
                pending.append((both.submit(None, given(planes[1])), reference, planes[1]))
            if random.random() < 0.3:
                copies.append((both.reference, reference.copy()))
        for plane in here:
            plane[:] = 0
        here.clear()
        if len(pending) == 4 or random.random() < 0.2:
            for wait, one, other in pending:
                score, flat = wait()
                assert ([score.mad, score.hi, score.lo], flat) == (wanted(one, other), False)
            pending.clear()
    for stream in fake.streams:
        stream.synchronize()
    assert all((one.get() == reference).all() for one, reference in copies)
    both.close()


def test_a_pair_in_main_memory_is_computed_while_its_second_plane_goes_up(fake):
    """The copy of the distorted picture waits for no kernel of the reference's half."""
    names = ("cuda:0", "cuda:1")
    both = multi_gpu.MultiGpuBackend(Definition(), Format(*SIZE[::-1]), 255.0, names)
    one, other = np.full(SIZE, 3, np.uint8), np.full(SIZE, 5, np.uint8)
    both.submit(one, other)()
    for stream in fake.streams:
        stream.synchronize()
    fake.random.random = lambda: 1.0  # from here on nothing runs by itself
    both.submit(one, other)
    up = both._upload._stream
    while up.runnable():
        up.run()
    assert not up.ops
    del fake.random.random
    both.close()
