"""snellen.upscale with arrays on the GPU: CuPy's and PyTorch's, their streams, many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from snellen import upscale
from snellen.errors import InputError, ModelError
from snellen.frames.axes import DTYPES
from snellen.frames.colour import ycc
from support.aplus import reference
from support.aplus.images import WHITE, drawn
from support.gpu import busy

pytestmark = pytest.mark.gpu

SHAPES = [(9, 10), (2, 9, 10), (17, 12, 3), (2, 9, 11, 4), (2, 2, 5, 7), (1, 1), (0, 7, 6)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_cupy_gives_what_numpy_gives(cuda, random, random_model, dtype, scale):
    model = random_model(scale)
    for shape in SHAPES:
        image = drawn(random, shape, dtype)
        there = cuda.asarray(image)
        found = upscale(there, scale, model)
        assert type(found) is cuda.ndarray and found.dtype == dtype
        assert (found.get() == upscale(image, scale, model, "cuda")).all()
        assert (there.get() == image).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(33, 40), (33, 40, 3), (33, 40, 4)])
def test_beside_the_cpu(cuda, random, random_model, dtype, shape):
    """Alpha to the byte; colour where no tie between anchors lets float32 choose."""
    model = random_model(2)
    image = drawn(random, shape, dtype)
    found = upscale(cuda.asarray(image), 2, model).get()
    wanted = upscale(image, 2, model, "cpu")
    if len(shape) == 3:
        assert (found[..., 3:] == wanted[..., 3:]).all()
    luma = ycc(image)[0] if len(shape) == 3 else image
    _, unsure = reference.upscale(luma, model, WHITE[dtype])
    assert unsure.mean() < 0.05
    error = np.abs(found.astype(np.float64) - wanted.astype(np.float64))[~unsure].max()
    # Float32 on both sides: 5e-6 of white each (test_upscaler's tolerance at ×2), through the
    # colour matrix (coefficients up to 1.8); then one step of rounding.
    step = {"uint8": 1, "uint16": 1, "float16": 2.0**-10}.get(dtype, 0)
    assert error <= step + 2e-5 * WHITE[dtype] * (dtype != "uint8")


@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(cuda, random, random_model, dtype):
    model = random_model(2)
    for shape in [(9, 10), (2, 9, 10), (9, 10, 3), (9, 10, 4)]:
        image = drawn(random, shape, dtype)
        wanted = upscale(cuda.asarray(image), 2, model).get()
        spaced = cuda.zeros((*shape[:-1], shape[-1] * 2), dtype)
        spaced[..., ::2] = cuda.asarray(image)
        backwards = cuda.asarray(np.ascontiguousarray(image[::-1, ::-1]))[::-1, ::-1]
        for there in (cuda.asfortranarray(cuda.asarray(image)), spaced[..., ::2], backwards):
            assert (upscale(there, 2, model).get() == wanted).all()


@pytest.mark.parametrize("bits", [8, 10, 15, None])
@pytest.mark.parametrize("channels", [(), (3,), (4,)])
def test_bits(cuda, random, random_model, bits, channels):
    model = random_model(2)
    white = (1 << (bits or 16)) - 1
    image = random.choice([0, white], (8, 9, *channels)).astype(np.uint16)
    found = upscale(cuda.asarray(image), 2, model, bits=bits)
    assert found.max() == white
    assert (found.get() == upscale(image, 2, model, "cuda", bits=bits)).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_channels_and_white(cuda, random, random_model, axis):
    model = random_model(2)
    image = random.integers(0, 1001, (8, 9, 3)).astype(np.uint16)
    how = {"data_range": 1000, "channel_axis": axis}
    image = np.moveaxis(image, -1, axis)
    found = upscale(cuda.asarray(image), 2, model, **how)
    assert found.max() == 1000 and found.shape[axis] == 3
    assert (found.get() == upscale(image, 2, model, "cuda", **how)).all()


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros((4, 4), np.int64), "got dtype int64; expected one of uint8"),
        (np.zeros(4, np.uint8), r"shape \(4,\); expected"),
        (np.zeros((0, 4), np.uint8), "at least one pixel"),
        (np.full((4, 4), np.nan, np.float32), "NaN or infinity"),
        (np.full((4, 4, 3), np.inf, np.float16), "NaN or infinity"),
        (np.full((4, 5), 1e39), "float32"),
        (np.full((4, 5), 2, np.float16), "samples from 2 to 2; expected 0 to 1; state another"),
        (np.zeros((4, 5, 1), np.uint8), "looks like 1 channel"),
    ],
)
def test_refusals(cuda, random_model, image, words):
    with pytest.raises(InputError, match=words):
        upscale(cuda.asarray(image), 2, random_model(2))


def test_more_refusals(cuda, random_model):
    there = cuda.full((4, 4), 1024, cuda.uint16)
    with pytest.raises(InputError, match="samples from 1024 to 1024; expected 0 to 1023"):
        upscale(there, 2, random_model(2), bits=10)
    with pytest.raises(InputError, match="for integer samples"):
        upscale(there.astype(cuda.float32), 2, random_model(2), bits=10)
    with pytest.raises(InputError, match=r"lives on a GPU.*device='cpu'"):
        upscale(there, 2, random_model(2), "cpu")
    with pytest.raises(ModelError, match="enlarges ×3"):
        upscale(there, 2, random_model(3))


def test_cupys_current_stream(cuda, random, random_model):
    """The input is not there yet when upscale is called, and the result is used at once."""
    model = random_model(2)
    image = drawn(random, (64, 80, 3), "uint8")
    wanted = upscale(image, 2, model, "cuda")
    there = cuda.asarray(image)
    cuda.cuda.Device().synchronize()
    for _ in range(3):
        with cuda.cuda.Stream(non_blocking=True) as stream:
            late = cuda.zeros(image.shape, cuda.uint8)
            busy(cuda)
            late[...] = there
            found = upscale(late, 2, model)
            late[...] = 7  # only after it has been read
            result = found + cuda.uint8(0)
            stream.synchronize()
        assert (result.get() == wanted).all()
        assert cuda.cuda.get_current_stream() == cuda.cuda.Stream.null


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(9, 10), (2, 9, 10), (17, 12, 3), (2, 9, 11, 4)])
def test_torch_gives_torch(torch, random, random_model, dtype, shape):
    model = random_model(2)
    image = drawn(random, shape, dtype)
    tensor = torch.from_numpy(image).cuda()
    found = upscale(tensor, 2, model)
    assert type(found) is torch.Tensor and found.device == tensor.device
    assert found.dtype == tensor.dtype
    wanted = upscale(image, 2, model, "cuda")
    assert (found.cpu().numpy() == wanted).all()
    here = upscale(torch.from_numpy(image), 2, model, "cuda")  # from main memory and back
    assert not here.is_cuda and (here.numpy() == wanted).all()


@pytest.mark.parametrize("side", [False, True])
def test_torchs_current_stream(torch, random, random_model, side):
    model = random_model(2)
    image = drawn(random, (64, 80), "float32")
    wanted = upscale(image, 2, model, "cuda")
    there = torch.from_numpy(image).cuda()
    load = torch.ones(2048, 2048, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream() if side else torch.cuda.default_stream()
    for _ in range(3):
        with torch.cuda.stream(stream):
            late = torch.zeros_like(there)
            for _ in range(40):
                load = load @ load / 2048
            late.copy_(there)
            found = upscale(late, 2, model)
            late.fill_(7)
            result = found + 0
            stream.synchronize()
        assert (result.cpu().numpy() == wanted).all()


def test_a_tensor_that_wants_gradients(torch, random_model):
    tensor = torch.zeros(5, 6, device="cuda", requires_grad=True)
    with pytest.raises(InputError, match="DLPack"):
        upscale(tensor, 2, random_model(2))


def test_a_page_locked_tensor_is_in_main_memory(torch, random, random_model):
    image = drawn(random, (6, 7), "float32")
    tensor = torch.from_numpy(image).pin_memory()
    found = upscale(tensor, 2, random_model(2), "cpu")
    assert (found.numpy() == upscale(image, 2, random_model(2), "cpu")).all()


def test_many_threads_each_with_a_stream(cuda, random, random_model):
    model = random_model(2)
    images = [drawn(random, (40 + i, 50, 3), "uint8") for i in range(4)]
    wanted = [upscale(image, 2, model, "cuda") for image in images]

    def work(number):
        image = images[number % 4]
        with cuda.cuda.Device(0), cuda.cuda.Stream(non_blocking=True) as stream:
            found = upscale(cuda.asarray(image), 2, model)
            stream.synchronize()
            return bool((found.get() == wanted[number % 4]).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(64)))


def test_the_second_call_lays_out_no_model(cuda, random, random_model, monkeypatch):
    image = cuda.asarray(drawn(random, (20, 30), "uint8"))
    model = random_model(2)
    first = upscale(image, 2, model)
    monkeypatch.setattr("snellen.aplus.cuda.luma.Match", None)  # to make one would be a TypeError
    assert (upscale(image, 2, model) == first).all()


def test_a_shipped_model_is_the_same_object_each_time():
    from snellen.upscaling import shipped
    from snellen.upscaling.models import load

    assert load(None, 2) is load(shipped.choose(2), 2)
