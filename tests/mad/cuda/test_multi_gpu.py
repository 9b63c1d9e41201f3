"""One pair, or a batch, on several GPUs: the scores of one GPU."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from snellen import score
from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.mad.cuda.loggabor import BANDS
from snellen.mad.cuda.multi_gpu import MultiGpuBackend, shares
from snellen.mad.definition import Definition
from snellen.mad.scorer import Scorer
from support.gpu import busy
from support.mad import drawn, pairs
from support.mad.checks import check_maps, numbers
from support.mad.precision import DTYPES

SIZES = [(34, 34), (61, 83), (64, 150), (367, 401)]


def near(wanted):
    """Each GPU's plans are for batches of another size, which cuFFT may plan otherwise."""
    return pytest.approx(numbers(wanted), rel=1e-6)


@pytest.mark.parametrize("count", range(1, 31))
def test_every_subband_is_one_gpus(count):
    """No GPU is without, if there are enough; the first, which detects, has no more than others."""
    found = shares(count)
    assert len(found) == min(count, BANDS) and all(found)
    assert [band for bands in found for band in bands] == list(range(BANDS))
    assert len(found[0]) == min(map(len, found))
    others = [len(bands) for bands in found[1:]]
    assert others == sorted(others, reverse=True)  # those that begin first have the most


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [None, "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_the_score_of_one_gpu(random, gpus, size, dtype):
    one, other = drawn.pair(random, size)
    with Scorer(device="cuda", dtype=dtype) as single, Scorer(device=gpus, dtype=dtype) as several:
        for scorer in (single, several):
            scorer.prepare(Format(size[1], size[0]))
        assert single.dtype == several.dtype
        found, wanted = (scorer.run(one, other, maps=True) for scorer in (several, single))
        assert numbers(found) == near(wanted) and found.hi == wanted.hi
        assert type(found.detection) is np.ndarray
        check_maps(found, [wanted.detection, wanted.appearance], dtype)
        assert numbers(several.run(one, other)) == numbers(found)
        assert numbers(several.run(one, one)) == [0, 0, 0]


@pytest.mark.gpu
@pytest.mark.parametrize("name", pairs.CLONE)
def test_the_authors_scores(gpus, name):
    (pair,) = pairs.authors([name])
    found = score(pair.reference, pair.distorted, device=gpus)
    wanted = [pair.scores[column] for column in ("MAD", "HI", "LO")]
    assert numbers(found) == pytest.approx(
        wanted, rel=1e-8, abs=1e-12
    )  # float64, as they are small


@pytest.mark.gpu
@pytest.mark.parametrize("how", [{"variant": "paper"}, {"eight_bit_lut": True}, {"hi_scale": 1}])
@pytest.mark.parametrize(("bits", "peak"), [(8, 255), (10, 1023), (0, 1)])
def test_every_definition_and_type(random, gpus, bits, peak, how):
    format = Format(80, 64, bits)
    planes = [plane * (peak / 255) for plane in drawn.pair(random, (64, 80))]
    planes = [(np.rint(plane) if bits else plane).astype(format.dtype) for plane in planes]
    found = score(*planes, data_range=peak, device=gpus, **how)
    assert numbers(found) == near(score(*planes, data_range=peak, device="cuda", **how))


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(41, 53), (367, 401)])
def test_one_reference_against_many(cuda, random, gpus, size):
    one, first = drawn.pair(random, size)
    others = [first, one, np.full(size, 9, np.uint8), *(drawn.pair(random, size)[1] for _ in "ab")]
    with Scorer(device=gpus) as scorer:
        scorer.prepare(Format(size[1], size[0]))
        wanted = [scorer.run(one, other) for other in others]
        scorer.set_reference(one)
        assert [scorer.compare(other) for other in others] == wanted
        for library in (np, cuda):  # planes on the first GPU, too
            there = [library.asarray(plane) for plane in (one, *others)]
            scorer.set_reference(there[0])
            assert [scorer.compare(plane) for plane in there[:0:-1]] == wanted[::-1]
        scorer.set_reference(others[3])
        assert scorer.compare(others[3]).lo == 0
        scorer.prepare(Format(60, 40))
        with pytest.raises(InputError, match="no reference is set"):
            scorer.compare(np.zeros((40, 60), np.uint8))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(34, 34), (61, 83), (367, 401)])
@pytest.mark.parametrize("count", [2, 4, 7])
def test_one_gpu_in_all_roles(cuda, random, made, size, dtype, count):
    """What several do can be tested on one: it lends a hand to itself."""
    alone = made(size, dtype=dtype)
    format = Format(size[1], size[0])
    shared = MultiGpuBackend(Definition(), format, 255.0, ("cuda:0",) * count, dtype)
    assert all((one._other is not None) == (dtype == "float32") for one in shared._helpers)
    pairs = [drawn.pair(random, size) for _ in range(4)]
    try:
        for library in (np, cuda):
            there = [[library.asarray(plane) for plane in planes] for planes in pairs]
            wanted = [alone.submit(*planes, maps=True)()[0] for planes in pairs]
            pending = [shared.submit(*planes, maps=True) for planes in there]
            for wait, score in zip(pending, wanted, strict=True):
                found = wait()[0]
                assert numbers(found) == near(score) and found.hi == score.hi
                planes = (plane if library is np else plane.get()
                          for plane in (found.detection, found.appearance))  # fmt: skip
                for one, other in zip(planes, (score.detection, score.appearance), strict=True):
                    np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * other.max())
            assert numbers(shared.submit(there[0][0], there[0][0])()[0]) == [0, 0, 0]
            for _ in range(3):
                whole = [shared.submit(*planes) for planes in there]
                whole = [numbers(wait()[0]) for wait in whole]
                shared.set_reference(there[0][0])
                halves = [shared.submit(None, planes[1]) for planes in there]
                halves = [numbers(wait()[0]) for wait in halves]
                assert whole[0] == halves[0] and whole == [
                    numbers(shared.submit(*planes)()[0]) for planes in there
                ]
    finally:
        shared.close()


@pytest.mark.gpu
def test_helpers_work_by_graphs(gpus):
    """Else Python launches each kernel, one GPU after another."""
    with Scorer(device=gpus) as scorer:
        scorer.prepare(Format(80, 64))
        for helper in scorer._backends.main._helpers:
            plain = {helper._describe, helper._respond, helper._sum}
            assert not {*helper._works} & plain


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(41, 53), (367, 401)])
def test_pairs_that_follow_one_another(cuda, random, gpus, size):
    """None overtakes the one before, on whichever GPU."""
    pairs = [drawn.pair(random, size) for _ in range(9)]
    with Scorer(device="cuda") as single, Scorer(device=gpus) as several:
        for scorer in (single, several):
            scorer.prepare(Format(size[1], size[0]))
        alone = [several.run(*planes) for planes in pairs]
        for found, planes in zip(alone, pairs, strict=True):
            assert numbers(found) == near(single.run(*planes))
        for library in (np, cuda):
            there = [[library.asarray(plane) for plane in planes] for planes in pairs]
            for _ in range(5):
                assert several.runs(there) == alone
            several.set_reference(there[0][0])
            several.set_reference(there[1][0])  # whose samples must not overtake the first ones
            assert several.compare(there[1][1]) == alone[1]
            assert several.run(*there[2]) == alone[2]
            assert several.compare(there[2][1]) == alone[2]


@pytest.mark.gpu
@pytest.mark.parametrize("there", [False, True])
def test_planes_may_be_overwritten(cuda, random, gpus, there):
    """While other GPUs still fetch them, and on any stream."""
    pair = drawn.pair(random, (400, 600))
    with Scorer(device=gpus) as scorer:
        scorer.prepare(Format(600, 400))
        wanted = scorer.run(*pair)
        for _ in range(5):
            with cuda.cuda.Stream(non_blocking=True) as stream:
                one, other = (cuda.asarray(plane) if there else plane.copy() for plane in pair)
                busy(cuda)
                scorer.set_reference(one)
                one[...] = 7
                scorer.set_reference(one)  # whose samples must not overtake the first ones
                one[...] = cuda.asarray(pair[0]) if there else pair[0]
                scorer.set_reference(one)
                assert scorer.compare(other) == wanted
                stream.synchronize()


@pytest.mark.gpu
def test_maps_are_of_the_library_of_the_distorted_plane(cuda, random, gpus):
    one, other = drawn.pair(random, (41, 53))
    with Scorer(device=gpus) as scorer:
        scorer.prepare(Format(53, 41))
        here = scorer.run(cuda.asarray(one), other, maps=True)
        there = scorer.run(one, cuda.asarray(other), maps=True)
    assert type(here.detection) is np.ndarray and type(there.appearance) is cuda.ndarray
    assert there.appearance.device.id == there.detection.device.id == 0
    assert (there.detection.get() == here.detection).all()
    assert (there.appearance.get() == here.appearance).all()


@pytest.mark.gpu
def test_planes_on_another_gpu_than_the_first(cuda, gpus):
    with cuda.cuda.Device(1):
        plane = cuda.zeros((40, 50), cuda.uint8)
    with Scorer(device=gpus) as scorer:
        scorer.prepare(Format(50, 40))
        with pytest.raises(InputError, match="NumPy array, nor CuPy there"):
            scorer.set_reference(plane)


@pytest.mark.gpu
def test_the_order_of_gpus_is_the_askers(random, gpus):
    names = gpus.split(",")[::-1]
    pair = drawn.pair(random, (64, 80))
    scorer = Scorer(device=",".join(names))
    assert scorer.devices == tuple(names) and scorer.device_name.count(" + ") == len(names) - 1
    with scorer:
        scorer.prepare(Format(80, 64))
        assert numbers(scorer.run(*pair)) == near(score(*pair, device="cuda"))


BATCHES = [((1,), (1,)), ((5,), (5,)), ((), (7,)), ((3, 1), (2,)), ((0,), ())]
"""Also fewer pairs than GPUs."""


@pytest.mark.gpu
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("batches", BATCHES, ids=str)
def test_batches(cuda, random, gpus, batches, channels, there):
    images = [
        random.integers(0, 256, (*batch, 36, 41, *channels)).astype(np.uint8) for batch in batches
    ]
    wanted = score(*images, device="cuda", maps=True)
    library = cuda if there else np
    given = [library.asarray(image) for image in images]
    found = score(*given, device=gpus, maps=True)
    for one, other in zip(numbers(found), numbers(wanted), strict=True):
        assert type(one) is np.ndarray and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-6)
    for one, other in ((found.detection, wanted.detection), (found.appearance, wanted.appearance)):
        assert type(one) is library.ndarray and one.shape == other.shape
        plain = one.get() if there else one
        np.testing.assert_allclose(plain, other, rtol=0, atol=1e-9 * other.max(initial=1))
    again = score(*given, device=gpus)
    for one, other in zip(numbers(again), numbers(found), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.gpu
def test_close_gives_back_the_memory_of_all(cuda, random, gpus):
    pair = drawn.pair(random, (480, 640))
    pool = cuda.get_default_memory_pool()

    def used():
        """Bytes of the pool, which has an arena for each GPU."""
        found = []
        gc.collect()
        for number in range(len(gpus.split(","))):
            with cuda.cuda.Device(number):
                found.append(pool.used_bytes())
        return found

    def run():
        with Scorer(device=gpus) as scorer:
            scorer.prepare(Format(640, 480))
            scorer.run(*pair, maps=True)
            return used()

    run()
    before = used()
    assert all(a > b for a, b in zip(run(), before, strict=True))
    assert used() == before
