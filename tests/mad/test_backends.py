"""Which backend of a Scorer takes a pair: by precision, by GPU, and with which reference."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.mad.result import Score
from snellen.mad.scorer import Scorer

SIZE = (70, 80)
FINE = 0.5  # what float64 adds to a score, here


class Pretended:
    """A backend whose score tells of both pictures and of the precision; nothing is computed.

    As a GPU does, it sees for itself whether float32 suffices, and does a pair's work late.
    """

    def __init__(self, log, names, dtype):
        self.log, self.names, self.dtype = log, names, dtype or "float32"
        self.slots = 3 * len(names)
        self.samples, self.closed, self.fails = None, False, False

    @property
    def reference(self):
        return Plane(self.samples.copy(), self.names[0])

    def set_reference(self, reference):
        self.log.append((self.names, self.dtype, "reference"))
        self.samples = self._own(reference)

    def submit(self, reference, distorted, maps=False, in_flight=False, to_host=False):
        assert not self.closed
        if self.fails:
            raise RuntimeError("no memory")
        self.log.append((self.names, self.dtype, "comparison" if reference is None else "pair"))
        if reference is not None:
            self.samples = self._own(reference)
        one, other = self.samples, self._own(distorted)
        mad = 1000.0 * one[0, 1] + other[0, 1] + (FINE if self.dtype == "float64" else 0)
        host = to_host or isinstance(distorted, np.ndarray)
        planes = (np.full(SIZE, mad), np.zeros(SIZE)) if maps else ()
        planes = planes if host else tuple(Plane(one, self.names[0]) for one in planes)
        flat = self.dtype == "float32" and any((p[:64, :64] == p[0, 0]).all() for p in (one, other))
        return lambda: (Score(mad, 0.0, 0.0, *planes), flat)

    def close(self):
        self.closed = True

    def _own(self, plane):
        if isinstance(plane, Plane):
            assert plane.place == self.names[0], "a plane of another GPU"
            plane = plane.samples
        return np.array(plane)


class Plane:
    """An array on a GPU."""

    def __init__(self, samples, place):
        self.samples, self.place = samples, place
        self.shape, self.dtype = samples.shape, samples.dtype

    def get(self):
        return self.samples.copy()


@pytest.fixture
def make(monkeypatch):
    """A maker of prepared Scorers for some GPUs, and the log of what their backends did."""
    monkeypatch.setattr("snellen.gpu.device.why_not", lambda n=0: "")
    monkeypatch.setattr("snellen.gpu.device.name", lambda device: "a GPU")
    monkeypatch.setattr("snellen.mad.backends.devices.using", lambda device: _Nothing())
    monkeypatch.setattr(
        "snellen.frames.arrays.place",
        lambda plane: plane.place if isinstance(plane, Plane) else "cpu",
    )
    monkeypatch.setattr("snellen.frames.arrays.plain", lambda plane: plane)
    log = []

    def made(definition, format, peak, names, dtype):
        return Pretended(log, names, dtype)

    monkeypatch.setattr("snellen.mad.backends.on_devices", made)

    def make(device, **options):
        scorer = Scorer(device=device, **options)
        scorer.prepare(Format(SIZE[1], SIZE[0]))
        return scorer, log

    return make


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def plane(value, flat=False):
    """A picture that is told apart by its sample (0, 1); flat ones have that value everywhere."""
    if flat:
        return np.full(SIZE, value, np.uint8)
    found = np.arange(np.prod(SIZE), dtype=np.uint8).reshape(SIZE)
    found[0, 1] = value
    return found


def mads(scores):
    return [score.mad for score in scores]


ONE, TWO = ("cuda:0",), ("cuda:0", "cuda:1")


def test_where_float32_does_not_suffice_float64_alone_computes(make):
    scorer, log = make("cuda")
    order = [(1, 2, False), (3, 4, True), (5, 6, True), (7, 8, False)]
    pairs = [(plane(one), plane(other, flat)) for one, other, flat in order]
    assert mads(scorer.runs(pairs)) == [1002, 3004.5, 5006.5, 7008]
    assert log == [(ONE, dtype, "pair") for dtype in ("float32", "float64", "float64", "float32")]
    assert scorer.run(plane(9, flat=True), plane(2)).mad == 9002.5
    assert scorer.compare(plane(3)).mad == 9003.5
    assert log[4:] == [(ONE, "float64", "pair"), (ONE, "float64", "comparison")]


def test_an_eager_pair_is_looked_at_only_after_one_with_flat_areas(make):
    """As those of `snellen.score`: float64 follows where float32 was not enough."""
    scorer, log = make("cuda")
    for flats, wanted in (
        ((False, False), ["float32"]),
        ((False, True), ["float32", "float64"]),
        ((True, False), ["float64"]),
        ((False, False), ["float32"]),
        ((True, False), ["float32", "float64"]),
    ):
        del log[:]
        pair = plane(1, flats[0]), plane(2, flats[1])
        assert mads(scorer._runs([pair], False, eager=True)) == [1002 + FINE * any(flats)]
        assert [dtype for _, dtype, _ in log] == wanted
    del log[:]
    scorer.run(plane(1), plane(2))
    pairs = [(plane(1, True), plane(2)), (None, plane(3)), (None, plane(4))]
    assert mads(scorer._runs(pairs, False, eager=True)) == [1002.5, 1003.5, 1004.5]
    assert [dtype for _, dtype, _ in log] == ["float32"] * 2 + ["float64"] * 3


def test_planes_on_the_gpu_are_scored_again(make):
    scorer, log = make("cuda")
    there = [Plane(one, "cuda:0") for one in (plane(1), plane(2, flat=True))]
    assert scorer.run(*there).mad == 1002.5
    assert log == [(ONE, dtype, "pair") for dtype in ("float32", "float64")]


@pytest.mark.parametrize("flat", [False, True])
def test_maps_of_planes_on_the_gpu(make, flat):
    """Those of pictures that `score` has brought there come back, and never are the caller's."""
    scorer, _ = make("cuda")
    pairs = [(Plane(plane(1), "cuda:0"), Plane(plane(2, flat), "cuda:0"))] * 2
    for found in scorer.runs(pairs, maps=True):
        assert isinstance(found.detection, Plane) and isinstance(found.appearance, Plane)
    for found in scorer._runs(pairs, maps=True, to_host=True):
        assert isinstance(found.detection, np.ndarray) and isinstance(found.appearance, np.ndarray)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_precision_that_was_asked_for_stays(make, dtype):
    scorer, log = make("cuda", dtype=dtype)
    scorer.runs([(plane(1), plane(2, flat=True))] * 2)
    assert log == [(ONE, dtype, "pair")] * 2


def test_the_reference_goes_to_whoever_needs_it_once(make):
    scorer, log = make("cuda")
    scorer.set_reference(plane(1))
    flats = [False, True, True, False, True]
    found = [scorer.compare(plane(i, flat)).mad for i, flat in enumerate(flats)]
    assert found == [1000, 1001.5, 1002.5, 1003, 1004.5]
    assert [what for *_, what in log[1:]] == ["comparison", "pair", *["comparison"] * 3]
    del log[:]
    assert scorer.run(plane(2), plane(3, flat=True)).mad == 2003.5
    assert scorer.compare(plane(4)).mad == 2004  # float32's backend gets it from that of float64
    assert scorer.compare(plane(5)).mad == 2005
    assert [what for *_, what in log] == ["pair", "pair", "comparison"]


def test_one_reference_against_many(make):
    scorer, log = make("cuda")
    pairs = [(plane(1), plane(0)), *((None, plane(i, i % 3 == 0)) for i in range(1, 7))]
    assert mads(scorer.runs(pairs)) == [1000, 1001, 1002, 1003.5, 1004, 1005, 1006.5]
    assert [what for *_, what in log].count("pair") == 2  # one for each precision


def test_several_gpus_take_turns_with_pairs_in_flight(make):
    scorer, log = make("cuda:0,cuda:1")
    assert scorer.slots == 6
    pairs = [(plane(i), plane(i + 1, i == 3)) for i in range(6)]
    wanted = [1001.0 * i + 1 + (FINE if i == 3 else 0) for i in range(6)]
    assert mads(scorer.runs(pairs)) == wanted
    assert [names for names, *_ in log] == [("cuda:0",), ("cuda:1",)] * 3
    assert log[3] == (("cuda:1",), "float64", "pair")
    del log[:]
    assert mads([scorer.run(*pair) for pair in pairs]) == wanted
    assert {names for names, *_ in log} == {TWO}  # who waits for a pair has them share it
    pending = deque(scorer.submit(*pair, maps=True) for pair in pairs)
    found = [wait() for wait in pending]
    assert mads(found) == wanted and found[5].detection.shape == SIZE


def test_several_gpus_share_the_only_pair(make):
    scorer, log = make("cuda:0,cuda:1")
    assert mads(scorer.runs(iter([(plane(1), plane(2))]))) == [1002]
    assert mads(scorer.runs([(None, plane(3))])) == [1003]
    assert {names for names, *_ in log} == {TWO} and scorer.runs([]) == []


def test_several_gpus_share_planes_that_lie_on_the_first(make):
    scorer, log = make("cuda:0,cuda:1")
    there = [(Plane(plane(i), "cuda:0"), Plane(plane(1), "cuda:0")) for i in range(3)]
    assert mads(scorer.runs(there)) == [1, 1001, 2001]
    assert {names for names, *_ in log} == {TWO}


def test_one_reference_against_many_on_several_gpus(make):
    scorer, log = make("cuda:0,cuda:1")
    pairs = [(plane(1), plane(0)), *((None, plane(i)) for i in range(1, 6))]
    assert mads(scorer.runs(pairs)) == [1000.0 + i for i in range(6)]
    assert [what for *_, what in log] == ["pair", "pair", *["comparison"] * 4]
    # The last reference stays set: for all GPUs, though the array is not what it was.
    pairs[0][0][:] = 77
    assert scorer.compare(plane(9)).mad == 1009
    assert scorer.compare(plane(9, flat=True)).mad == 1009.5
    scorer.set_reference(plane(5))
    assert mads(scorer.runs([(None, plane(i)) for i in range(3)])) == [5000, 5001, 5002]
    assert scorer.compare(plane(4)).mad == 5004
    # After whole pairs on either GPU, a picture that lies on the first.
    assert scorer.submit(plane(6), plane(1))().mad == 6001
    assert scorer.submit(plane(7), plane(1))().mad == 7001
    assert scorer.compare(Plane(plane(2), "cuda:0")).mad == 7002


def test_a_pair_that_fails_leaves_no_reference(make):
    scorer, _ = make("cuda")
    scorer.set_reference(plane(1))
    main = scorer._backends.main
    main.fails = True
    with pytest.raises(RuntimeError):
        scorer.compare(plane(2))
    main.fails = False
    assert scorer.compare(plane(2)).mad == 1002
    main.fails = True
    with pytest.raises(RuntimeError):
        scorer.run(plane(3), plane(2))
    main.fails = False
    with pytest.raises(InputError, match="no reference is set"):
        scorer.compare(plane(2))


def test_close_closes_all(make):
    scorer, _ = make("cuda:0,cuda:1")
    there = [Plane(one, "cuda:0") for one in (plane(1), plane(2, flat=True))]
    late = scorer.submit(*there)
    scorer.runs([(plane(i), plane(i + 1, i % 2)) for i in range(6)])
    members = [member.backend for member in scorer._backends._members.values()]
    assert len(members) == 3  # float32: both, and the first alone; float64: the second alone
    scorer.close()
    assert all(one.closed for one in members)
    with pytest.raises(InputError, match="was closed before this score"):
        late()
