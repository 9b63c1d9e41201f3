"""Comparisons in flight: pairs, one reference against many, and their maps."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from snellen.engine import streams as all_streams
from snellen.frames.frame import Format
from snellen.mad.cuda.backend import Backend
from snellen.mad.scorer import Scorer
from support.fake_cupy import disordered
from support.mad import drawn

SIZE = (5, 7)


class Samples:
    """Both planes of samples."""

    def __init__(self, cupy):
        from cupy import empty

        self.shape, self.dtype = (2, *SIZE), np.dtype(np.uint8)
        self.planes = [empty(SIZE, self.dtype) for _ in range(2)]

    def __getitem__(self, number):
        return self.planes[number]


class Small(Backend):
    """The backend with its buffers and its orders, but sums instead of MAD.

    As in the real one, a half of the work for the reference stays for later comparisons.
    """

    def __init__(self, cupy, graphs):
        from cupy import empty

        self.cupy, self.device, self.dtype, self._graphs = cupy, "cuda:0", "float64", graphs
        self.samples = Samples(cupy)
        self._kept, self._out = empty(SIZE, np.float64), empty((4,), np.float64)
        self._engines, self.done = {}, cupy_event()

    def _compare(self, pair, finishes):
        assert finishes
        if pair:
            self.cupy.kernel(lambda one: one * 1000.0, [self.samples[0]], self._kept)

        def numbers(kept, other):
            return [kept.sum() + other.sum(), kept.sum(), other.sum(), other[0, 0] == 7]

        self.cupy.kernel(numbers, [self._kept, self.samples[1]], self._out)

    def _fill(self, detection, appearance):
        self.cupy.kernel(lambda one, two: one + two, [self._kept, self.samples[1]], detection)
        self.cupy.kernel(lambda two: two * 2.0, [self.samples[1]], appearance)


def cupy_event():
    from cupy.cuda import Event

    return Event()


@pytest.fixture(params=range(8))
def fake(request, monkeypatch):
    yield from disordered(request.param, monkeypatch)


def check(found, one, other, maps):
    score, flat = found
    one = one * 1000.0
    assert (score.mad, score.hi, score.lo) == (one.sum() + other.sum(), one.sum(), other.sum())
    assert flat == (other[0, 0] == 7)
    if not maps:
        assert score.detection is None and score.appearance is None
        return
    np.testing.assert_array_equal(score.detection, one + other)
    np.testing.assert_array_equal(score.appearance, other * 2.0)


@pytest.mark.parametrize("graphs", [True, False])
def test_all_kinds_in_turn(fake, graphs):
    """Each new engine computes a blank pair in the buffers; no reference may suffer from it."""
    random = np.random.default_rng(fake.random.randrange(1000))
    backend = Small(fake, graphs)
    pending, reference = deque(), None
    for _ in range(40):
        one, other = random.integers(0, 256, (2, *SIZE), np.uint8)
        new, maps = reference is None or random.random() < 0.4, bool(random.integers(2))
        reference = one if new else reference
        given = one.copy() if new else None
        wait = backend.submit(given, other, maps, in_flight=True)
        pending.append((wait, reference, other.copy(), maps))
        other[:] = 0  # it was copied
        if new:
            given[:] = 0
        if len(pending) == backend.slots:
            wait, *wanted = pending.popleft()
            check(wait(), *wanted)
    for wait, *wanted in pending:
        check(wait(), *wanted)
        check(wait(), *wanted)  # again
    assert len(backend._engines) == 4
    streams = {engine.streams for engine in backend._engines.values()}
    assert len(streams) == 1  # as their scratch arrays are the same
    for engine in reversed(backend._engines.values()):
        engine.close()
    assert len(all_streams._unused[0]) == 1


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [8, 10, 0])
@pytest.mark.parametrize("size", [(41, 53), (400, 421)])
def test_the_same_bytes_in_flight(random, size, bits):
    """As one by one: scores and maps, with new references and without."""
    kind = Format(*size, bits).dtype
    factor = ((1 << bits) - 1) / 255 if bits else 1 / 255
    planes = [(plane * factor).astype(kind) for _ in range(4) for plane in drawn.pair(random, size)]
    planes.insert(3, np.full(size, planes[0].max(), kind))  # float64 takes it
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(size[1], size[0], bits, white=None if bits else 1))
        for maps in (True, False, True):
            wanted = [scorer.run(planes[i], other, maps=maps) for i in (0, 2) for other in planes]
            pairs = [(planes[i] if j == 0 else None, planes[j]) for i in (0, 2) for j in range(9)]
            for many in (pairs, [(planes[i], planes[j]) for i in (0, 2) for j in range(9)]):
                found = scorer.runs(many, maps=maps)
                for one, other in zip(found, wanted, strict=True):
                    assert (one.mad, one.hi, one.lo) == (other.mad, other.hi, other.lo)
                    for mine, theirs in (
                        (one.detection, other.detection),
                        (one.appearance, other.appearance),
                    ):
                        assert type(mine) is (np.ndarray if maps else type(None))
                        np.testing.assert_array_equal(mine, theirs, strict=True)


@pytest.mark.gpu
def test_the_reference_of_a_pair_in_flight_goes_to_the_other_precision(random):
    """Though nobody has waited for the pair, and the next one overwrites it."""
    size = (400, 421)
    plain, others = drawn.pair(random, size), drawn.pair(random, size)
    page = drawn.page(random, size, (200, 421))
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(size[1], size[0]))
        wanted = [scorer.run(plain[0], page[1]), scorer.run(*plain), scorer.run(others[0], page[1])]
        for _ in range(20):
            first = scorer.submit(plain[0], page[1])
            found = scorer.compare(plain[1])
            last = scorer.submit(others[0], page[1])
            assert [first(), found, last()] == wanted


@pytest.mark.gpu
def test_whole_pairs_on_several_gpus_have_the_bytes_of_one(random, gpus):
    pairs = [drawn.pair(random, (400, 421)) for _ in range(9)]
    pairs.insert(2, drawn.page(random, (400, 421), (200, 421)))
    with Scorer(device="cuda") as single, Scorer(device=gpus) as several:
        for scorer in (single, several):
            scorer.prepare(Format(421, 400))
        wanted = [single.run(*planes) for planes in pairs]
        for _ in range(3):
            assert several.runs(pairs) == wanted
        one = pairs[0][0]
        many = [(one if i == 0 else None, other) for i, (_, other) in enumerate(pairs)]
        assert several.runs(many) == single.runs(many)
        found = [several.submit(*planes, maps=True) for planes in pairs[: several.slots]]
        for wait, planes in zip(found, pairs, strict=False):
            score, other = wait(), single.run(*planes, maps=True)
            np.testing.assert_array_equal(score.detection, other.detection)
            np.testing.assert_array_equal(score.appearance, other.appearance)
        assert several.compare(pairs[0][1]).mad == pytest.approx(
            single.run(pairs[several.slots - 1][0] if several.slots < 10 else pairs[-1][0],
                       pairs[0][1]).mad, rel=1e-6,
        )  # fmt: skip
