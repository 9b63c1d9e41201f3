"""snellen.score and Scorer with arrays on the GPU: CuPy's, PyTorch's, streams, pitches, batches."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import score
from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.mad.cuda.backend import Backend
from snellen.mad.scorer import Scorer
from support.gpu import busy
from support.mad import drawn, reference
from support.mad.checks import check_maps, numbers
from support.mad.precision import of_size

pytestmark = pytest.mark.gpu

DTYPES = {"uint8": 255, "uint16": 1023, "float16": 1, "float32": 1, "float64": 255}


def images(random, dtype="uint8", size=(41, 53), channels=()):
    """A pair of images of any type, grey or RGB."""
    found = []
    for plane in drawn.pair(random, size):
        image = plane * (DTYPES[dtype] / 255)
        if channels:
            image = np.stack([image, 0.8 * image, image[::-1]], axis=-1)
        found.append((np.rint(image) if dtype[0] == "u" else image).astype(dtype))
    return found


def equal(found, wanted):
    assert numbers(found) == numbers(wanted)


def planes(found):
    return found.detection, found.appearance


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy_gives_what_numpy_gives(cuda, random, dtype, channels):
    pair = images(random, dtype, channels=channels)
    there = [cuda.asarray(image) for image in pair]
    options = {"data_range": DTYPES[dtype], "maps": True}
    found, wanted = score(*there, **options), score(*pair, device="cuda", **options)
    equal(found, wanted)
    assert isinstance(found.mad, float)
    for one, other in zip(planes(found), planes(wanted), strict=True):
        assert type(one) is cuda.ndarray and type(other) is np.ndarray
        assert one.dtype == other.dtype == of_size(other.shape) and (one.get() == other).all()
    assert all((a.get() == b).all() for a, b in zip(there, pair, strict=True))


def test_layouts(cuda, random):
    """Pitch, steps, backwards, Fortran's order: the numbers of a plain plane."""
    size = (41, 53)
    for dtype, bits in [("uint8", 8), ("uint16", 10), ("float32", 0)]:
        pair = images(random, dtype, size)
        with Scorer(device="cuda") as scorer:
            scorer.prepare(Format(size[1], size[0], bits, white=DTYPES[dtype]))
            wanted = scorer.run(*pair)
            for library in (np, cuda):
                ways = [[] for _ in range(4)]
                for image in pair:
                    plain = library.asarray(image)
                    wide = library.full((size[0] + 2, 2 * size[1] + 7), 1, dtype)
                    wide[1:-1, 3 : 3 + size[1]] = plain
                    ways[0].append(wide[1:-1, 3 : 3 + size[1]].copy("K"))
                    ways[1].append(wide[1:-1, 3 : 3 + size[1]])
                    ways[2].append(library.asfortranarray(plain))
                    ways[3].append(library.ascontiguousarray(plain[::-1, ::-1])[::-1, ::-1])
                spaced = [library.zeros((size[0], 2 * size[1]), dtype) for _ in pair]
                for buffer, image in zip(spaced, pair, strict=True):
                    buffer[:, ::2] = library.asarray(image)
                for way in (*ways, [buffer[:, ::2] for buffer in spaced]):
                    assert scorer.run(*way) == wanted
                    equal(score(*way, data_range=DTYPES[dtype], device="cuda"), wanted)


def test_maps_are_of_the_library_of_the_distorted_plane(cuda, random):
    one, other = images(random)
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(53, 41))
        here = scorer.run(cuda.asarray(one), other, maps=True)
        there = scorer.run(one, cuda.asarray(other), maps=True)
        again = scorer.run(one, other, maps=True)
    assert type(here.detection) is np.ndarray and type(there.appearance) is cuda.ndarray
    assert here.detection is not again.detection
    check_maps(here, [there.detection.get(), there.appearance.get()])
    assert here.appearance.tobytes() == again.appearance.tobytes()


def test_cupys_current_stream(cuda, random):
    """The planes are not there yet when score is called."""
    pair = images(random, size=(64, 150))
    wanted = score(*pair, device="cuda")
    there = [cuda.asarray(image) for image in pair]
    cuda.cuda.Device().synchronize()
    for _ in range(3):
        with cuda.cuda.Stream(non_blocking=True) as stream:
            late = [cuda.zeros_like(image) for image in there]
            busy(cuda)
            for buffer, image in zip(late, there, strict=True):
                buffer[...] = image
            equal(score(*late), wanted)
            stream.synchronize()
        assert cuda.cuda.get_current_stream() == cuda.cuda.Stream.null


@pytest.mark.parametrize("there", [False, True])
def test_the_scorer_on_the_current_stream(cuda, random, there):
    """The reference's half is still to run when the next plane is brought in."""
    pair, others = images(random, size=(64, 150)), images(random, size=(64, 150))
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(150, 64))
        wanted = scorer.run(*pair)
        for _ in range(3):
            with cuda.cuda.Stream(non_blocking=True) as stream:
                one, other, buffer = (image.copy() for image in (*pair, others[0]))
                if there:
                    one, other, buffer = (cuda.asarray(image) for image in (one, other, buffer))
                busy(cuda)
                buffer[...] = one
                scorer.set_reference(buffer)
                buffer[...] = 7  # only after it has been read
                assert scorer.compare(other) == wanted
                stream.synchronize()


def test_page_locked_planes_may_be_overwritten(cuda, random):
    """A copy from such memory goes on by itself: hold has to wait until it is done."""
    from snellen.gpu.pages import pinned

    size = (400, 600)
    pair = images(random, size=size)
    buffer = pinned(size, np.uint8)
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(size[1], size[0]))
        wanted = scorer.run(*pair)
        for _ in range(3):
            with cuda.cuda.Stream(non_blocking=True):
                buffer[...] = pair[0]
                busy(cuda)
                scorer.set_reference(buffer)
                buffer[...] = 7
                assert scorer.compare(pair[1]) == wanted


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16"])
def test_torch_gives_torch(torch, random, dtype, channels):
    pair = images(random, dtype, channels=channels)
    options = {"data_range": DTYPES[dtype], "maps": True}
    wanted = score(*pair, device="cuda", **options)
    for tensors in (
        [torch.from_numpy(image).cuda() for image in pair],
        [torch.from_numpy(image) for image in pair],  # from main memory, and back
    ):
        found = score(*tensors, device="auto" if tensors[0].is_cuda else "cuda", **options)
        equal(found, wanted)
        for one, other in zip(planes(found), planes(wanted), strict=True):
            assert type(one) is torch.Tensor and one.device == tensors[0].device
            assert (one.cpu().numpy() == other).all()


@pytest.mark.parametrize("side", [False, True])
def test_torchs_current_stream(torch, random, side):
    pair = images(random, size=(64, 150))
    wanted = score(*pair, device="cuda", maps=True)
    there = [torch.from_numpy(image).cuda() for image in pair]
    load = torch.ones(2048, 2048, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream() if side else torch.cuda.default_stream()
    for _ in range(3):
        with torch.cuda.stream(stream):
            late = [torch.zeros_like(image) for image in there]
            for _ in range(40):
                load = load @ load / 2048
            for buffer, image in zip(late, there, strict=True):
                buffer.copy_(image)
            found = score(*late, maps=True)
            for buffer in late:
                buffer.fill_(7)
            maps = [plane + 0 for plane in planes(found)]
            stream.synchronize()
        equal(found, wanted)
        for one, other in zip(maps, planes(wanted), strict=True):
            assert (one.cpu().numpy() == other).all()


BATCHES = [((), (3,)), ((3,), (3,)), ((1,), (3,)), ((3, 1), (2,)), ((2,), (3, 2)), ((3,), ())]


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("batches", BATCHES, ids=str)
def test_batches_broadcast(cuda, random, batches, channels):
    size = (36, 41)
    one, other = (
        random.integers(0, 256, (*batch, *size, *channels)).astype(np.uint8) for batch in batches
    )
    axis = -1 if channels else None
    found = score(cuda.asarray(one), cuda.asarray(other), maps=True, channel_axis=axis)
    batch = np.broadcast_shapes(*batches)
    ones, others = (np.broadcast_to(image, (*batch, *size, *channels)) for image in (one, other))
    assert found.mad.shape == batch and found.detection.shape == (*batch, *size)
    assert type(found.mad) is np.ndarray and type(found.detection) is cuda.ndarray
    for place in np.ndindex(*batch):
        single = score(ones[place], others[place], device="cuda", maps=True)
        equal(single, type(single)(found.mad[place], found.hi[place], found.lo[place]))
        assert (found.detection[place].get() == single.detection).all()
        assert (found.appearance[place].get() == single.appearance).all()


def test_a_reference_is_held_once_for_many(cuda, random, monkeypatch):
    asked = []
    ask = Backend.submit
    monkeypatch.setattr(
        Backend, "submit", lambda self, *of: asked.append(of[0] is None) or ask(self, *of)
    )
    ones = cuda.asarray(random.integers(0, 256, (2, 36, 40)).astype(np.uint8))
    others = cuda.asarray(random.integers(0, 256, (5, 2, 36, 40)).astype(np.uint8))
    assert score(ones, others).mad.shape == (5, 2)
    assert asked == 2 * [False, True, True, True, True]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_luma_is_the_references(cuda, random, dtype):
    pair = images(random, dtype, channels=(3,))
    found = score(*(cuda.asarray(image) for image in pair), data_range=1)
    wanted = reference.mad(*(255 * image.astype(np.float64) for image in pair))
    assert numbers(found) == pytest.approx(wanted[:3], rel=3e-5)  # luma is rounded to float32


@pytest.mark.parametrize(
    ("image", "options", "words"),
    [
        (np.zeros((33, 40), np.uint8), {}, "34×34"),
        (np.zeros((40, 40), np.int32), {}, "dtype int32"),
        (np.full((40, 40), 2, np.float32), {}, "state another data_range"),
        (np.full((40, 40), np.nan, np.float32), {"data_range": 1}, "NaN"),
        (np.full((40, 40), 2, np.float32), {"data_range": 1}, "samples from 2 to 2"),
        (np.zeros((40, 40), np.uint8), {"device": "cpu"}, "lives on a GPU"),
    ],
)
def test_refusals(cuda, image, options, words):
    with pytest.raises(InputError, match=words):
        score(cuda.asarray(image), cuda.asarray(image), **options)


def test_arrays_in_both_memories(cuda, random):
    one, other = images(random)
    wanted = score(one, other, device="cuda")
    equal(score(cuda.asarray(one), other), wanted)
    equal(score(one, cuda.asarray(other)), wanted)
    with Scorer(device="cpu") as scorer:
        scorer.prepare(Format(53, 41))
        with pytest.raises(InputError, match="NumPy array"):
            scorer.run(cuda.asarray(one), other)
