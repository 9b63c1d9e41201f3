"""snellen.deblur, Deblurrer and Stream with arrays on the GPU: CuPy's, PyTorch's, on any stream."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from snellen import Deblurrer
from snellen.errors import InputError
from snellen.mia import channels as arrays
from snellen.mia.batches import BYTES
from snellen.mia.cuda import cufft, fused
from snellen.mia.stream import Stream
from support.gpu import busy
from support.mia import drawn
from support.mia.images import WHITE, image
from support.mia.plain import deblur
from support.mia.truth import truth

pytestmark = pytest.mark.gpu

HOW = {"psf_size": 9, "iterations": 20, "device": "cuda"}


def equal(found, wanted):
    """Check that two results are the same, wherever they live."""
    for one, other in ((found.image, wanted.image), (found.psf, wanted.psf)):
        one, other = (a if isinstance(a, np.ndarray) else a.get() for a in (one, other))
        assert one.dtype == other.dtype and (one == other).all()
    assert np.array_equal(found.fit, wanted.fit) and found.iterations == wanted.iterations


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("dtype", WHITE)
def test_cupy_gives_what_numpy_gives(cuda, random, dtype, channels):
    came = image(random, dtype, channels=channels)
    there = cuda.asarray(came)
    for more in ({}, {"tile": 40}, {"multiframe": True}):
        how = {**HOW, "data_range": WHITE[dtype], **more}
        one, other = (a[None] if "multiframe" in more else a for a in (there, came))
        found, wanted = deblur(one, **how), deblur(other, **how)
        assert type(found.image) is type(found.psf) is cuda.ndarray
        assert type(wanted.image) is type(wanted.psf) is np.ndarray
        equal(found, wanted)
        assert found.history == wanted.history
    assert (there.get() == came).all()


def test_a_psf_on_the_gpu(cuda, random):
    came = image(random)
    found = deblur(cuda.asarray(came), **HOW)
    wanted = deblur(came, found.psf.get(), iterations=5, device="cuda")
    equal(deblur(cuda.asarray(came), found.psf, iterations=5), wanted)


@pytest.mark.parametrize("dtype", WHITE)
@pytest.mark.parametrize("edges", ["taper", "extend", "circular"])
def test_the_deblurrer_takes_both(cuda, random, dtype, edges):
    came = image(random, dtype, (64, 128))
    with Deblurrer(**HOW, edges=edges, warm=True) as deblurrer:
        deblurrer.prepare(drawn.floats((64, 128), WHITE[dtype]))
        wanted = [deblurrer.run(came) for _ in range(2)]
        deblurrer.prepare(drawn.floats((64, 128), WHITE[dtype]))
        wide = cuda.zeros((70, 140), dtype)
        wide[3:67, 5:133] = cuda.asarray(came)
        found = [deblurrer.run(plane) for plane in (cuda.asarray(came), wide[3:67, 5:133])]
        for one, other in zip(found, wanted, strict=True):
            assert type(one.image) is cuda.ndarray
            equal(one, other)
        with pytest.raises(InputError, match="NaN"):
            bad = came.astype(np.float32)
            bad[0, 0] = np.nan
            deblurrer.run(cuda.asarray(bad))


@pytest.mark.parametrize(
    ("size", "dtype", "kind"),
    [
        ((64, 128), None, fused.Backend),
        ((256, 256), "float32", fused.Backend),
        ((64, 128), "float64", cufft.Backend),
        ((64, 100), None, cufft.Backend),
        ((512, 64), None, cufft.Backend),
    ],
)
def test_which_backend(cuda, size, dtype, kind):
    with Deblurrer(device="cuda", dtype=dtype) as deblurrer:
        deblurrer.prepare(drawn.floats(size))
        assert type(deblurrer._restorer.backend) is kind


@pytest.mark.parametrize("size", [(64, 64), (60, 100)])
def test_cupys_current_stream(cuda, random, size):
    """The picture is not there yet when it is given; on one stream after another."""
    came = image(random, "float32", size)
    there = cuda.asarray(came)
    with Deblurrer(**HOW) as deblurrer:
        deblurrer.prepare(drawn.floats(size))
        wanted = deblurrer.run(came)
        other = deblur(came, **HOW)
        cuda.cuda.Device().synchronize()
        for _ in range(3):
            with cuda.cuda.Stream(non_blocking=True) as stream:
                late = [cuda.zeros_like(there) for _ in range(2)]
                busy(cuda)
                for buffer in late:
                    buffer[...] = there
                equal(deblurrer.run(late[0]), wanted)
                equal(deblur(late[1], **HOW), other)
                stream.synchronize()
            equal(deblurrer.run(came), wanted)


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16"])
def test_torch_gives_torch(torch, random, dtype, channels):
    came = image(random, dtype, channels=channels)
    wanted = deblur(came, **HOW)
    for tensor in (torch.from_numpy(came).cuda(), torch.from_numpy(came)):
        found = deblur(tensor, **{**HOW, "device": "auto" if tensor.is_cuda else "cuda"})
        for one, other in ((found.image, wanted.image), (found.psf, wanted.psf)):
            assert type(one) is torch.Tensor and one.device == tensor.device
            assert (one.cpu().numpy() == other).all()
        assert found.fit == wanted.fit


@pytest.mark.parametrize("side", [False, True])
def test_torchs_current_stream(torch, random, side):
    came = image(random, "float32")
    wanted = deblur(came, **HOW)
    there = torch.from_numpy(came).cuda()
    load = torch.ones(2048, 2048, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream() if side else torch.cuda.default_stream()
    for _ in range(3):
        with torch.cuda.stream(stream):
            late = torch.zeros_like(there)
            for _ in range(40):
                load = load @ load / 2048
            late.copy_(there)
            found = deblur(late, **{**HOW, "device": "auto"})
            late.fill_(7)
            picture = found.image + 0
            stream.synchronize()
        assert (picture.cpu().numpy() == wanted.image).all()


def test_the_stream_takes_frames_on_the_gpu(cuda, random):
    """On the caller's stream, where they are not there yet; they may be overwritten at once."""
    frames = [image(random, "uint8", (60, 80)) for _ in range(4)]
    with Deblurrer(**HOW) as deblurrer:
        deblurrer.prepare(drawn.floats((32, 64)))
        wanted = [deblurrer.run(frame[5:37, 9:73]) for frame in frames]
    with (
        cuda.cuda.Stream(non_blocking=True),
        Stream(Deblurrer(**HOW), (32, 64), 4) as stream,
    ):
        buffer = cuda.zeros((60, 80), np.uint8)
        for frame in frames:
            there = cuda.asarray(frame)
            busy(cuda)
            buffer[...] = there
            stream.push(buffer, (9, 5))
        buffer.fill(7)
        stream.finish()
        found = list(stream)
    for region, other in zip(found, wanted, strict=True):
        assert type(region.restored.image) is cuda.ndarray
        equal(region.restored, other)


@pytest.mark.parametrize("warm", [False, True])
def test_streams_one_after_another_take_no_more_memory(cuda, random, warm):
    """In flight (False) or one region after another: the next one finds what the last one had."""
    pool, frame = cuda.get_default_memory_pool(), drawn.problem(random, (128, 128)).y[0]

    def once():
        how = {"psf_size": 9, "iterations": 3, "edges": "circular", "warm": warm}
        with Stream(Deblurrer(**how, device="cuda"), (128, 128)) as stream:
            for _ in range(3):
                stream.push(frame.clip(0, 1).astype(np.float32))
            stream.finish()
            assert len(list(stream)) == 3

    gc.collect()  # engines of other tests
    for _ in range(2):  # the streams of the thread and of the engine change places once
        once()
        gc.collect()
    used, total = pool.used_bytes(), pool.total_bytes()
    for _ in range(6):
        once()
        gc.collect()
    assert (pool.used_bytes(), pool.total_bytes()) == (used, total)


def test_a_batch_larger_than_memory_is_split(cuda, random, monkeypatch):
    came = np.array([image(random) for _ in range(5)])
    wanted = deblur(cuda.asarray(came), **HOW)
    monkeypatch.setattr("snellen.gpu.memory.free_memory", lambda: BYTES * 3 * 64 * 64)
    found = deblur(cuda.asarray(came), **HOW)
    for one, other in ((found.image, wanted.image), (found.psf, wanted.psf)):
        assert np.abs(one.get().astype(float) - other.get()).max() <= 1


def test_large_frames_are_restored_whole(cuda, random):
    y = drawn.problem(random, (300, 420)).y
    found = deblur(cuda.asarray(y[0]), **{**HOW, "iterations": 10})
    picture, psf, fit = truth(y, 10, 9, "extend")
    np.testing.assert_allclose(found.image.get(), picture, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found.psf.get(), psf[0], rtol=0, atol=1e-4 * psf.max())
    assert found.fit == pytest.approx(fit, rel=1e-4)


@pytest.mark.parametrize(
    ("came", "options", "words"),
    [
        (np.zeros((40, 40), np.int32), {}, "dtype int32"),
        (np.full((40, 40), np.nan, np.float32), {}, "NaN"),
        (np.full((40, 40), -1, np.float32), {}, "negative samples"),
        (np.full((40, 40), 255 * 255, np.float32), {}, "expected 0 to 1; state another data_range"),
        (np.full((40, 40), 1001, np.float32), {"data_range": 1}, "more than 1000 times white"),
        (np.zeros((40, 30), np.uint8), {}, "got a PSF of 31×31"),
        (np.zeros((40, 40), np.uint8), {"device": "cpu"}, "lives on a GPU"),
    ],
)
def test_refusals(cuda, came, options, words):
    with pytest.raises(InputError, match=words):
        deblur(cuda.asarray(came), **options)


def test_arrays_in_the_wrong_memory(cuda):
    there = cuda.zeros((40, 40), np.uint8)
    with Deblurrer(device="cpu") as deblurrer:
        deblurrer.prepare(drawn.floats((40, 40)))
        with pytest.raises(InputError, match="no NumPy array, for a Deblurrer on 'cpu'"):
            deblurrer.run(there)
    with (
        Stream(Deblurrer(device="cpu"), (40, 40)) as stream,
        pytest.raises(InputError, match="no NumPy array, for a stream on 'cpu'"),
    ):
        stream.push(there)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((40, 47), {}),
        ((40, 47, 3), {}),
        ((2, 3, 64, 64), {"noise": "gaussian", "channel_axis": None}),
        ((3, 40, 47, 3), {"multiframe": True}),
        ((2, 41, 90), {"psf": np.ones((3, 5))}),
        ((40, 47), {"callback": lambda *_: None, "every": 1}),
    ],
)
def test_where_few_samples_are_converted_changes_no_bit(
    cuda, random, monkeypatch, shape, options, dtype
):
    """By NumPy, and by CuPy as those of large arrays are; a picture of one value among them."""
    how = {"iterations": 3, "device": "cuda", **({} if "psf" in options else {"psf_size": 5})}
    given = random.integers(0, 256, shape)
    given[..., -5:, :20] = 255
    array = (given / (1 if dtype[0] == "u" else 256)).astype(dtype)
    if len(shape) > 2 and not options.get("multiframe"):
        array[0] = array[0].flat[0]
    found = []
    for few in (arrays.FEW, 0):
        monkeypatch.setattr(arrays, "FEW", few)
        one = deblur(array, **how, **options)
        assert isinstance(one.image, np.ndarray) and isinstance(one.psf, np.ndarray)
        found.append((one.image.tobytes(), one.psf.tobytes(), np.asarray(one.fit).tobytes()))
    assert found[0] == found[1]
