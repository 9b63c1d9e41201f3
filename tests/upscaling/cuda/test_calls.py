"""snellen.upscale on GPUs: what is kept, in flight and shared; on a fake of CuPy, and on GPUs."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import snellen
from snellen import upscale
from snellen.engine import engine, prepared
from snellen.errors import DeviceError, InputError
from snellen.frames import arrays
from snellen.frames.axes import DTYPES
from snellen.gpu import device, memory, pages
from snellen.upscaling import image as images
from snellen.upscaling.cuda import pictures
from support.aplus.images import drawn
from support.fake_cupy import two_gpus

SHAPES = [(9, 10), (9, 10, 3), (9, 10, 4), (7, 9, 10), (2, 3, 9, 10), (5, 9, 10, 3), (1, 9, 10, 4),
          (0, 9, 10)]  # fmt: skip


class Twice:
    """Instead of A+: each sample four times, and a number that says who made it."""

    made = None

    def __init__(self, model, source, target, memory):
        self.scale = target.width // source.width
        Twice.made.append(threading.current_thread().name)

    def __call__(self, planes, out):
        for plane, large in zip(planes, out, strict=True):
            Twice.cupy.kernel(lambda a: a.repeat(2, 0).repeat(2, 1), [plane], large)


class Channels:
    """Instead of the kernels between samples and planes: the same by NumPy, without colour."""

    def __init__(self, dtype, channels, bits, plane):
        self.channels = channels

    def split(self, picture, planes):
        for number, plane in enumerate(planes):
            Twice.cupy.kernel(
                lambda a, n=number: a.reshape(*a.shape[:2], -1)[..., n], [picture], plane
            )

    def join(self, planes, picture):
        Twice.cupy.kernel(lambda *a: np.stack(a, -1).reshape(picture.shape), planes, picture)


class Check:
    """Instead of the kernel."""

    needed = pictures.Check.needed

    def __init__(self, dtype, bits, largest):
        self.bits = bits

    def __call__(self, samples, found):
        bits = self.bits
        Twice.cupy.kernel(
            lambda a: [(a >> bits).any() if bits else not np.isfinite(a).all()], [samples], found
        )


@pytest.fixture(params=range(3))
def fake(request, monkeypatch):
    """Two GPUs that enlarge by repetition."""
    gpus = two_gpus(request.param, monkeypatch)
    Twice.cupy, Twice.made = next(gpus), []
    monkeypatch.setattr(pictures, "Planes", Twice)
    monkeypatch.setattr(pictures, "Samples", Channels)
    monkeypatch.setattr(pictures, "Check", Check)
    monkeypatch.setattr(pictures, "scratch", lambda taken: 1 << 30)
    monkeypatch.setattr(pictures, "kernel", lambda *case: None)
    monkeypatch.setattr(pictures, "bicubic", lambda plane, scale, out: Twice(
        None, *(type("F", (), {"width": n}) for n in (1, 2)), None)((plane,), (out,)))  # fmt: skip
    monkeypatch.setattr(images, "WORTH", 1)
    yield Twice.cupy
    next(gpus, None)


def larger(image):
    axis = image.ndim - 2 - (image.ndim > 2 and image.shape[-1] in (3, 4))
    return image.repeat(2, axis).repeat(2, axis + 1)


@pytest.mark.cases(5)
@pytest.mark.parametrize("devices", ["cuda", "cuda:1,cuda:0"])
@pytest.mark.parametrize("dtype", ["uint8", ">u2", "float16", ">f4"])
def test_every_sample_comes_back_where_it_belongs(fake, random, devices, dtype):
    for shape in SHAPES:
        image = drawn(random, shape, np.dtype(dtype).name).astype(dtype)
        before = image.copy()
        axis = -1 if len(shape) > 2 and shape[-1] in (3, 4) else None
        found = upscale(image, device=devices, channel_axis=axis)
        assert found.dtype == image.dtype and (found == larger(image)).all()
        assert (image == before).all()
        spaced = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
        spaced[...] = image
        assert (upscale(spaced, device=devices, channel_axis=axis) == larger(image)).all()


@pytest.mark.slow
def test_the_second_call_makes_nothing(fake, random):
    batch = drawn(random, (5, 9, 10), "uint8")
    for _ in range(4):
        assert (upscale(batch[0], device="cuda") == larger(batch[0])).all()
        assert (upscale(batch, device="cuda:0,cuda:1") == larger(batch)).all()
    # One picture at a time; and several in flight on each of two GPUs, by a thread for each.
    assert sorted(Twice.made) == ["MainThread", "snellen cuda:0", "snellen cuda:1"]
    upscale(batch[0, 1:], device="cuda")
    upscale(batch[0].astype("f4"), device="cuda", data_range=255)
    assert len(Twice.made) == 5
    snellen.clear_cache()
    upscale(batch[0], device="cuda")
    assert len(Twice.made) == 6


@pytest.mark.slow
def test_results_belong_to_the_caller(fake, random):
    """Later calls leave them alone, and their memory goes back when they are dropped."""
    one, other = drawn(random, (2, 9, 10), "uint8")
    first = upscale(one, device="cuda")
    address = first.ctypes.data
    assert (upscale(other, device="cuda") == larger(other)).all()
    assert (first == larger(one)).all() and first.flags.writeable
    del first
    gc.collect()
    again = upscale(one, device="cuda")
    assert again.ctypes.data == address or (again == larger(one)).all()


def test_results_that_are_too_many_are_not_page_locked(fake, random, monkeypatch):
    batch = drawn(random, (7, 9, 10), "uint8")
    for how in ({"LOCKED": 0, "LOCKED_SHARE": 1 << 60}, {"KEPT": 100}):
        with monkeypatch.context() as patch:
            patch.setattr(pages, "IDLE", 100 if "KEPT" in how else pages.IDLE)
            for name, value in how.items():
                patch.setattr(arrays, name, value)
            for devices in ("cuda", "cuda:0,cuda:1"):
                found = upscale(batch, device=devices)
                assert not arrays.locked(found) and (found == larger(batch)).all()
    assert arrays.locked(upscale(batch, device="cuda"))


@pytest.mark.parametrize("devices", ["cuda", "cuda:0,cuda:1"])
def test_samples_that_cannot_be_used(fake, random, devices):
    batch = drawn(random, (6, 9, 10), "float32")
    batch[4, 3, 2] = np.nan
    with pytest.raises(InputError, match="NaN or infinity"):
        upscale(batch, device=devices)
    deep = np.full((6, 9, 10), 1023, np.uint16)
    assert (upscale(deep, bits=10, device=devices) == 1023).all()
    deep[5, 8, 9] = 1024
    with pytest.raises(InputError, match="samples from 1023 to 1024; expected 0 to 1023"):
        upscale(deep, bits=10, device=devices)
    made = len(Twice.made)
    batch[4, 3, 2] = 0
    assert (upscale(batch, device=devices) == larger(batch)).all()
    assert len(Twice.made) == made


def test_a_failure_in_the_middle(fake, random, monkeypatch):
    """Nothing is written any more when it is raised, and the next call works."""
    batch = drawn(random, (6, 9, 10), "uint8")
    upscale(batch, device="cuda")
    submit, calls = engine.Engine.submit, []

    def failing(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 4:
            raise DeviceError("CUDA failed")
        return submit(self, *arguments, **options)

    monkeypatch.setattr(engine.Engine, "submit", failing)
    with pytest.raises(DeviceError, match="CUDA failed"):
        upscale(batch, device="cuda")
    assert not any(stream.ops for stream in fake.streams)
    assert (upscale(batch, device="cuda") == larger(batch)).all()
    assert len(Twice.made) == 2


def test_several_gpus_share_what_pays(fake, random, monkeypatch):
    batch = drawn(random, (5, 9, 10), "uint8")
    monkeypatch.setattr(images, "WORTH", 9 * 10 * 3)
    upscale(batch, device="cuda:0,cuda:1")
    upscale(batch[0], device="cuda:0,cuda:1")
    assert Twice.made == ["MainThread"] * 2
    with pytest.raises(DeviceError, match="only two"):
        upscale(batch, device="cuda:0,cuda:2")


@pytest.mark.slow
def test_threads(fake, random):
    batch = drawn(random, (4, 9, 10), "uint8")
    found = [None] * 4

    def work(number):
        for _ in range(5):
            found[number] = upscale(batch[number], device="cuda")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, result in zip(batch, found, strict=True):
        assert (result == larger(one)).all()


def test_equal_models_share_what_is_prepared(random_model):
    one, other, third = random_model(2), random_model(2), random_model(2, seed=1)
    assert one.digest == other.digest != third.digest


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_kept_or_not_the_bytes_are_equal(cuda, random, random_model, dtype, scale):
    """And those of the planes' own way, through CuPy's arithmetic."""
    from snellen.frames.bicubic import bicubic
    from snellen.frames.colour import rgb, ycc
    from snellen.frames.frame import Format
    from snellen.frames.quantise import quantise
    from snellen.upscaling.cuda.planes import Planes

    model = random_model(scale, anchors=64, dims=20)
    depth = {"uint8": 8, "uint16": 16}.get(dtype, 0)

    def store(samples, out):
        if samples.dtype.kind == "u":
            out[...] = samples
        elif depth == 0:
            limit = min(float(np.finfo(dtype).max), float(np.finfo(np.float32).max))
            out[...] = samples.clip(-limit, limit)
        else:
            quantise(samples, (1.0, 0.0), depth, out)

    for shape in [(33, 47), (64, 30, 3), (21, 35, 4), (5, 33, 47), (3, 21, 35, 3)]:
        image = drawn(random, shape, dtype)
        colour = shape[-1] in (3, 4)
        size = shape[-3:-1] if colour else shape[-2:]
        format = Format(size[1], size[0], 0, (0, 0)) if colour else Format(size[1], size[0], depth)
        found = upscale(image, scale, model, "cuda")
        assert (upscale(image, scale, model, "cuda") == found).all()
        snellen.clear_cache()
        assert (upscale(image, scale, model, "cuda") == found).all()
        assert (upscale(cuda.asarray(image), scale, model).get() == found).all()
        old = Planes(model, format, format.scaled(scale))
        each = (a.reshape(-1, *a.shape[-2 - colour :]) for a in (image, found))
        for picture, result in zip(*each, strict=True):
            there = cuda.asarray(picture)
            wanted = cuda.empty(result.shape, dtype)
            if colour:
                large = rgb(old.new(tuple(cuda.ascontiguousarray(p) for p in ycc(there))))
                for channel in range(3):
                    store(cuda.ascontiguousarray(large[..., channel]), wanted[..., channel])
                if shape[-1] == 4:
                    alpha = cuda.empty(result.shape[:2], np.float32)
                    bicubic(cuda.ascontiguousarray(there[..., 3], np.float32), scale, alpha)
                    store(alpha, wanted[..., 3])
            else:
                store(old.new((cuda.ascontiguousarray(there, format.dtype),))[0], wanted)
            assert wanted.get().tobytes() == result.tobytes()


@pytest.mark.gpu
def test_nothing_in_the_callers_pools(cuda, random, random_model):
    model, image = random_model(2), drawn(random, (40, 50, 3), "uint8")
    pools = cuda.get_default_memory_pool(), cuda.get_default_pinned_memory_pool()
    upscale(image, 2, model, "cuda")
    before = pools[0].total_bytes(), pools[1].n_free_blocks()
    snellen.clear_cache()
    for number in range(5):
        upscale(image[number:], 2, model, "cuda")
        upscale(np.stack([image] * 7)[:, number:], 2, model, "cuda")
    assert (pools[0].total_bytes(), pools[1].n_free_blocks()) == before
    there = cuda.asarray(image)
    used = pools[0].used_bytes()
    found = upscale(there, 2, model)
    assert pools[0].used_bytes() - used >= found.nbytes
    assert pools[0].used_bytes() - used < found.nbytes + 1024


@pytest.mark.gpu
def test_memory_is_bounded(cuda, random, random_model):
    model = random_model(2)
    for _ in range(60):
        size = random.integers(200, 1200, 2)
        upscale(np.zeros(size, np.uint8), 2, model, "cuda")
        with device.using("cuda:0"):
            assert memory.held() <= memory.budget()
    assert len(prepared._idle) <= prepared.ON_GPU
    snellen.clear_cache()
    with device.using("cuda:0"):
        assert memory.held() < 64 << 20


@pytest.mark.gpu
def test_where_memory_runs_short_what_is_idle_goes(cuda, random_model):
    model, pool = random_model(2), cuda.get_default_memory_pool()
    snellen.clear_cache()
    gc.collect()
    pool.free_all_blocks()
    large, small = (np.zeros((side, side), np.uint8) for side in (1500, 400))
    wanted = upscale(small, 2, model, "cuda")
    snellen.clear_cache()
    try:
        pool.set_limit(size=pool.total_bytes() + (800 << 20))
        upscale(large, 2, model, "cuda")  # 640 MB, or what there is
        assert (upscale(small, 2, model, "cuda") == wanted).all()
        free = pool.get_limit() - pool.total_bytes()
        held = cuda.empty(free - (100 << 20), np.uint8)
        assert (upscale(small, 2, model, "cuda") == wanted).all()
        del held
    finally:
        pool.set_limit(size=0)


@pytest.mark.gpu
@pytest.mark.parametrize("count", [2, 4])
def test_several_gpus(cuda, random, random_model, count):
    if cuda.cuda.runtime.getDeviceCount() < count:
        pytest.skip(f"fewer than {count} GPUs")
    model, devices = random_model(2), [f"cuda:{number}" for number in range(count)]
    for shape, dtype in [((9, 800, 900), "uint8"), ((2, 3, 700, 800, 3), "float32")]:
        batch = drawn(random, shape, dtype)
        wanted = upscale(batch, 2, model, "cuda")
        for _ in range(3):
            assert (upscale(batch, 2, model, devices) == wanted).all()
            assert (upscale(batch, 2, model, ",".join(devices[::-1])) == wanted).all()
    with pytest.raises(InputError, match="several GPUs share arrays in main memory"):
        upscale(cuda.asarray(batch), 2, model, devices)
