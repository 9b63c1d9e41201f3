"""Many pairs on a GPU, the next begun before a score is waited for: the scores of each alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from snellen import score
from snellen.engine.engine import SLOTS
from snellen.frames.frame import Format
from snellen.mad.cuda.numbers import MOST
from snellen.mad.scorer import Scorer
from support.gpu import busy
from support.mad import drawn
from support.mad.drawn import page
from support.mad.precision import DTYPES

pytestmark = pytest.mark.gpu

SIZE = (400, 420)  # float32, where nobody asks


@pytest.fixture(scope="module", params=["one GPU", "several"])
def device(request, cuda):
    """One GPU, or all that there are."""
    count = cuda.cuda.runtime.getDeviceCount()
    if request.param == "one GPU":
        return "cuda:0"
    if count < 2:
        pytest.skip(f"2 GPUs are needed, {count} here")
    return ",".join(f"cuda:{number}" for number in range(count))


@pytest.fixture
def scorer(device):
    with Scorer(device=device) as scorer:
        scorer.prepare(Format(SIZE[1], SIZE[0]))
        yield scorer


@pytest.mark.parametrize("there", [False, True, "some"])
def test_the_same_scores(cuda, random, scorer, there):
    pairs = [drawn.pair(random, SIZE) for _ in range(7)]
    wanted = [scorer.run(*planes) for planes in pairs]
    assert len({found.mad for found in wanted}) == len(pairs)

    def given(number, plane):
        here = not there or (there == "some" and number % 2)
        return plane if here else cuda.asarray(plane)

    lies = [
        tuple(given(i + j, plane) for j, plane in enumerate(planes))
        for i, planes in enumerate(pairs)
    ]
    for _ in range(3):
        assert scorer.runs(lies) == wanted
        assert scorer.runs(reversed(lies)) == wanted[::-1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [8, 10, 0])
def test_every_type_of_sample(cuda, random, device, bits, dtype):
    format = Format(80, 64, bits)
    factor = ((1 << bits) - 1) / 255 if bits else 1 / 255
    pairs = [
        [(plane * factor).astype(format.dtype) for plane in drawn.pair(random, (64, 80))]
        for _ in range(4)
    ]
    with Scorer(device=device, dtype=dtype) as scorer:
        scorer.prepare(replace(format, white=None if bits else 1))
        wanted = [scorer.run(*planes) for planes in pairs]
        assert scorer.runs(pairs) == wanted
        assert scorer.runs([[*map(cuda.asarray, planes)] for planes in pairs]) == wanted


@pytest.mark.parametrize("there", [False, True])
def test_pairs_with_flat_areas_are_scored_again_in_their_place(cuda, random, scorer, there):
    """With the reference that each had, though the GPU has got the next one since."""
    plain, others = drawn.pair(random, SIZE), drawn.pair(random, SIZE)
    flat, letterbox = page(random, SIZE, (200, 420)), page(random, SIZE, (220, 420), (100, 0), 16)
    order = [plain, flat, flat, others, letterbox, plain, (plain[0], flat[1]), letterbox]
    wanted = [scorer.run(*planes) for planes in order]
    assert scorer._backends.finer
    truth = score(*flat, device="cpu")
    assert wanted[1].mad == pytest.approx(truth.mad, rel=1e-9)
    library = cuda if there else np

    def lying(pairs):
        return [
            tuple(None if plane is None else library.asarray(plane) for plane in planes)
            for planes in pairs
        ]

    assert scorer.runs(lying(order)) == wanted
    # Without a reference: the one that is held, first, and then the ones before.
    scorer.set_reference(flat[0])
    some = [
        (None, flat[1]),
        others,
        (None, flat[1]),
        flat,
        (None, plain[1]),
        (None, flat[1]),
        plain,
    ]
    meant = [flat, others, (others[0], flat[1]), flat, (flat[0], plain[1]), flat, plain]
    wanted = [scorer.run(*planes) for planes in meant]
    scorer.set_reference(flat[0])
    assert scorer.runs(lying(some)) == wanted
    assert scorer.compare(plain[1]) == wanted[-1]


def test_not_where_float32_is_asked_for(random, device):
    flat = page(random, SIZE, (200, 420))
    with Scorer(device=device, dtype="float32") as scorer:
        scorer.prepare(Format(SIZE[1], SIZE[0]))
        assert scorer.runs([flat] * 3) == [scorer.run(*flat)] * 3
        assert not scorer._backends.finer


def test_on_any_stream_and_overwritten_afterwards(cuda, random, scorer):
    pairs = [drawn.pair(random, SIZE) for _ in range(4)]
    wanted = [scorer.run(*planes) for planes in pairs]
    for _ in range(3):
        with cuda.cuda.Stream(non_blocking=True) as stream:
            late = [[cuda.zeros(SIZE, cuda.uint8) for _ in planes] for planes in pairs]
            busy(cuda)
            for buffers, planes in zip(late, pairs, strict=True):
                for buffer, plane in zip(buffers, planes, strict=True):
                    buffer[...] = cuda.asarray(plane)
            assert scorer.runs(late) == wanted
            for buffers in late:
                for buffer in buffers:
                    buffer[...] = 7
            stream.synchronize()
        assert scorer.runs(pairs) == wanted


def test_planes_that_are_made_on_the_way(cuda, random, scorer):
    """Nobody else holds them: what they leave is theirs only who works after them."""
    pairs = [drawn.pair(random, SIZE) for _ in range(6)]
    wanted = [scorer.run(*planes) for planes in pairs]
    there = [[cuda.asarray(plane) for plane in planes] for planes in pairs]

    def made():
        for planes in there:
            yield tuple((255 - (255 - plane)) for plane in planes)

    for _ in range(3):
        assert scorer.runs(made()) == wanted


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("batches", [((5,), (5,)), ((), (4,)), ((2, 1), (3,))], ids=str)
def test_a_batch_has_the_scores_of_its_pairs(cuda, random, batches, channels):
    """Some of them flat, in float64, wherever they stand."""
    ones, others = (
        random.integers(0, 256, (*batch, *SIZE, *channels)).astype(np.uint8) for batch in batches
    )
    others.reshape(-1, *SIZE, *channels)[1::2, 100:300] = 16
    batch = np.broadcast_shapes(*batches)
    for library in (np, cuda):
        there = library.asarray(ones), library.asarray(others)
        axis = -1 if channels else None
        found = score(*there, device="cuda", channel_axis=axis)
        assert found.mad.shape == batch
        for place in np.ndindex(batch):
            pair = (np.broadcast_to(x, (*batch, *SIZE, *channels))[place] for x in (ones, others))
            alone = score(*pair, device="cuda")
            numbers = [getattr(found, name)[place] for name in ("mad", "hi", "lo")]
            assert numbers == [alone.mad, alone.hi, alone.lo]


def test_pairs_in_flight(cuda, random, scorer):
    """Host memory and the GPU's in turn, with a reference that is set between them."""
    pairs = [drawn.pair(random, SIZE) for _ in range(6)]
    wanted = [scorer.run(*planes) for planes in pairs]
    assert scorer.slots == min(SLOTS * len(scorer.devices), MOST)
    for _ in range(3):
        pending, found = [], []
        for number, planes in enumerate(pairs):
            planes = [cuda.asarray(plane) if number % 3 == 2 else plane for plane in planes]
            pending.append((scorer.submit(*planes), planes))
            if len(pending) == scorer.slots:
                found.append(pending.pop(0)[0]())
        assert found + [result() for result, _ in pending] == wanted
        assert scorer.compare(pairs[-1][1]) == wanted[-1]  # the last reference is set
        scorer.set_reference(pairs[1][0])
        first, second = scorer.submit(*pairs[2]), scorer.submit(*pairs[0])
        for _ in range(3):
            assert scorer.compare(pairs[0][1]) == wanted[0]
            assert scorer.run(*pairs[4], maps=True).mad == wanted[4].mad
            scorer.set_reference(pairs[0][0])
        assert (first(), second()) == (wanted[2], wanted[0])


def test_a_pair_in_flight_with_flat_areas(random, scorer):
    plain, flat = drawn.pair(random, SIZE), page(random, SIZE, (200, 420))
    wanted = [scorer.run(*planes) for planes in (flat, plain)]
    results = [scorer.submit(*planes) for planes in (flat, plain)]
    assert [result() for result in results] == wanted
