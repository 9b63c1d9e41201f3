"""Whole frames on the GPU beside the CPU's: every format, many threads, little memory."""

from __future__ import annotations

import gc
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen import clear_cache
from snellen.engine import streams as all_streams
from snellen.errors import DeviceError, InputError
from snellen.frames.frame import CENTRE, LEFT, TOP_LEFT, Format, Frame
from snellen.gpu import device, profile
from snellen.upscaling.cuda.frames import Backend
from snellen.upscaling.upscaler import Upscaler
from support.aplus import reference
from support.aplus.frames import enlarged, tolerance
from support.aplus.oriented import oriented_model
from support.gpu import busy, memory_state

pytestmark = pytest.mark.gpu


def drawn(random, format):
    """Planes of noise, black and white among it, with a pitch."""
    white = (1 << format.bits) - 1 if format.bits else 1
    planes = []
    for height, width in format.shapes:
        values = random.uniform(-0.1, 1.1, (height, width + 3)).clip(0, 1) * white
        planes.append((np.rint(values) if format.bits else values).astype(format.dtype)[:, :width])
    return tuple(planes)


def on_gpu(model, planes, format, bits=None, **options):
    """The planes by a backend of its own, with options that Upscaler does not have."""
    backend = Backend(model, format, format.scaled(model.scale, bits), "cuda:0", **options)
    try:
        return backend.run(Frame(tuple(planes))).planes
    finally:
        backend.close()


def same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


FORMATS = [
    (2, Format(33, 21, 8, (1, 1), LEFT), 8),
    (2, Format(33, 21, 8, (1, 1), TOP_LEFT, full_range=True), 10),
    (2, Format(40, 23, 10, (1, 0), LEFT), 10),
    (2, Format(40, 23, 12, (0, 0), CENTRE, full_range=True), 8),
    (2, Format(19, 34, 16, (1, 1), CENTRE), 16),
    (3, Format(31, 17, 8, (1, 0), CENTRE), 8),
    (3, Format(31, 17, 10, (1, 1), LEFT), 12),
    (4, Format(21, 25, 8, (0, 0), LEFT), 8),
    (4, Format(21, 25, 0, (1, 1), LEFT), 0),
    (2, Format(33, 21, 0, (0, 1), TOP_LEFT), 8),
    (2, Format(33, 21, 12, None), 0),
]


@pytest.mark.parametrize(("scale", "format", "to"), FORMATS)
def test_beside_the_cpu(random, random_model, scale, format, to):
    """Chroma to the byte, whoever makes it; luma by the reference, ties aside."""
    model = random_model(scale)
    planes = drawn(random, format)
    wanted = enlarged(model, planes, format, to)
    found = on_gpu(model, planes, format, to, chroma="gpu")
    same(on_gpu(model, planes, format, to, chroma="cpu"), found)
    same(found[1:], wanted[1:])
    white = (1 << format.bits) - 1 if format.bits else 1
    factor = 1.0
    if format.bits and to:
        full = ((1 << to) - 1) / white
        factor = full if format.full_range else 2.0 ** (to - format.bits)
    exact, unsure = reference.upscale(planes[0], model, white)
    exact *= factor
    assert unsure.mean() < 0.05
    error = tolerance(model, white) * factor
    if to:
        exact = exact.clip(0, (1 << to) - 1)
        error += 0.5  # of rounding
    assert np.abs(found[0].astype(np.float64) - exact)[~unsure].max() <= error


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (2, 2), (7, 1), (3, 5)])
@pytest.mark.parametrize("subsampling", [(1, 1), (0, 0)])
def test_tiny_frames(random, random_model, size, subsampling):
    model = random_model(2)
    format = Format(*size, 8, subsampling)
    planes = drawn(random, format)
    found = on_gpu(model, planes, format)
    wanted = enlarged(model, planes, format)
    same(found[1:], wanted[1:])
    exact, unsure = reference.upscale(planes[0], model, 255)
    # Half a step of rounding and float32's error.
    error = np.abs(found[0] - exact.clip(0, 255))[~unsure]
    assert (error <= 0.5 + tolerance(model, 255)).all()


@pytest.mark.parametrize("options", [{"graphs": False}, {"memory": 200_000}, {"memory": 80_000}])
@pytest.mark.parametrize("window", [3, 5])
def test_graphs_and_bands_change_nothing(random, random_model, options, window):
    """200 KB hold some rows of features and patches at a time, 80 KB hardly one."""
    model = random_model(2, window)
    format = Format(50, 61, 8, (1, 1))
    planes = drawn(random, format)
    memory = options.get("memory")
    if memory and window == 5:
        options = {"memory": 3 * memory}
    same(on_gpu(model, planes, format, **options), on_gpu(model, planes, format))


@pytest.mark.parametrize("subsampling", [None, (1, 1)])
def test_a_frame_is_captured_as_a_graph(random_model, subsampling):
    """Else Python launches each kernel, and takes its time."""
    format = Format(40, 30, 8, subsampling)
    backend = Backend(random_model(2), format, format.scaled(2), "cuda:0")
    (engine,) = backend._engines.values()
    assert engine.captured
    backend.close()


@pytest.mark.parametrize("window", [3, 5])
def test_models_of_format_2(random, window):
    """Beside the reference; in a graph or not, in bands or not."""
    model = oriented_model(2, window)
    format = Format(50, 61, 8, (1, 1))
    planes = drawn(random, format)
    for plane in planes:
        plane[:, :9] = plane[:, :1]  # ties
    found = on_gpu(model, planes, format)
    for options in ({"graphs": False}, {"memory": 100_000 * (window - 2)}):
        same(on_gpu(model, planes, format, **options), found)
    white = replace(model, strengths=model.strengths * np.float32(255))
    exact, unsure = reference.upscale(planes[0], white, 255)
    assert unsure.mean() < 0.5
    error = np.abs(found[0] - exact.clip(0, 255))[~unsure]
    assert (error <= 0.5 + tolerance(model, 255)).all()
    backend = Backend(model, format, format.scaled(2), "cuda:0")
    (engine,) = backend._engines.values()
    assert engine.captured
    backend.close()


def test_no_memory_for_a_single_row(random_model):
    with pytest.raises(DeviceError, match=r"memory do not suffice.*device=cpu"):
        on_gpu(random_model(2), (), Format(5000, 40), memory=1000)


def test_frames_that_do_not_fit_beside_the_scratch(cuda, random_model):
    pool = cuda.get_default_memory_pool()
    clear_cache()
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes() + (3 << 20))  # the scratch takes 80 % of what is free
    refused = pytest.raises(DeviceError, match=r"memory does not suffice.*device=cpu")
    try:
        with Upscaler(2, random_model(2), "cuda") as step, refused:
            step.prepare(Format(640, 480))  # three slots of 1.5 MB
    finally:
        pool.set_limit(size=0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_what_is_no_number_stays_in_its_neighbourhood(random, random_model, value):
    """Also in the anchors' numbers, which lead to memory."""
    model = random_model(2, anchors=1024, dims=28)
    plane = random.random((40, 50), np.float32)
    (clean,) = on_gpu(model, [plane], Format(50, 40, 0))
    plane[20, 31] = value
    (found,) = on_gpu(model, [plane], Format(50, 40, 0))
    far = np.ones((40, 50), bool)
    # An output pixel depends on 11 × 11 pixels; kernels may multiply some beyond them by zero.
    far[8:33, 19:44] = False
    far = far.repeat(2, axis=0).repeat(2, axis=1)
    assert found[far].tobytes() == clean[far].tobytes()
    assert np.isfinite(value) or not np.isfinite(found[40, 62])


@pytest.mark.parametrize("chroma", ["cpu", "gpu"])
def test_the_same_bytes_for_any_number_of_threads(random, random_model, chroma):
    model = random_model(2, anchors=1024, dims=28)
    format = Format(97, 71, 8, (1, 1))
    frames = [Frame(drawn(random, format), pts=i) for i in range(6)]
    with Upscaler(2, model, "cuda", chroma) as step:
        step.prepare(format)
        assert step.slots == 3 and step.chroma == chroma
        wanted = [step.run(frame).planes for frame in frames]
        for threads in (1, 2, 3, 8):  # also more than there are slots
            with ThreadPoolExecutor(threads) as pool:
                for number, found in enumerate(pool.map(step.run, frames * 8)):
                    assert found.pts == number % 6
                    same(found.planes, wanted[number % 6])


def test_two_upscalers_at_once(random, random_model):
    """Of other models and formats, each in its threads."""
    cases = []
    for scale, format in [(2, Format(80, 61, 8, (1, 1))), (3, Format(55, 40, 10, (1, 0)))]:
        cases.append((random_model(scale), format, drawn(random, format)))
    wanted = [on_gpu(*case[::2], case[1], chroma="gpu") for case in cases]
    failed = []

    def work(case, result):
        model, format, planes = case
        try:
            for _ in range(3):
                with Upscaler(model.scale, model, "cuda", "auto") as step:
                    step.prepare(format)
                    with ThreadPoolExecutor(step.slots) as pool:
                        for found in pool.map(step.run, [Frame(planes)] * 30):
                            same(found.planes, result)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=pair) for pair in zip(cases, wanted, strict=True)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed


def test_results_belong_to_the_caller(random, random_model):
    """However many are held; and what is let go of is handed out again."""
    format = Format(64, 48, 8, (1, 1))
    frames = [Frame(drawn(random, format)) for _ in range(20)]
    with Upscaler(2, random_model(2), "cuda") as step:
        step.prepare(format)
        held = [step.run(frame).planes for frame in frames]
        copies = [[plane.copy() for plane in planes] for planes in held]
        for planes in held:
            assert all(plane.flags.writeable and plane.flags.c_contiguous for plane in planes)
        for frame in reversed(frames):
            step.run(frame)
        for planes, copy in zip(held, copies, strict=True):
            same(planes, copy)
        addresses = {planes[0].ctypes.data for planes in held}
        assert len(addresses) == 20
        del held, planes
        assert step.run(frames[0]).planes[0].ctypes.data in addresses
    with Upscaler(2, random_model(2), "cuda") as step:
        step.prepare(format)
        last = step.run(frames[0]).planes
    same(last, copies[0])  # also after close


def resident():
    """Bytes of this process in main memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.alone
@pytest.mark.parametrize("chroma", ["cpu", "gpu"])
def test_a_thousand_frames_allocate_nothing(cuda, random, random_model, chroma):
    format = Format(96, 64, 8, (1, 1))
    frame = Frame(drawn(random, format))
    pinned = cuda.get_default_pinned_memory_pool()

    def run(count):
        with ThreadPoolExecutor(step.slots) as callers:
            deque(callers.map(lambda _: step.run(frame) and None, range(count)), maxlen=0)

    gc.collect()  # what other tests left must not come back meanwhile
    with Upscaler(2, random_model(2), "cuda", chroma) as step:
        step.prepare(format)
        held = [step.run(frame) for _ in range(step.slots)]  # the most that callers below hold
        del held
        run(200)  # what NumPy, CuPy and CUDA make at first use
        before, blocks, memory = memory_state(cuda), pinned.n_free_blocks(), resident()
        run(1000)
        assert memory_state(cuda) == before and pinned.n_free_blocks() == blocks
        # A result has 37 KB: leaking one frame in ten would be 3.7 MB. What NumPy, Python and
        # glibc take and give back meanwhile stays below a megabyte.
        assert resident() - memory < 2 << 20


def test_close_gives_back_the_memory(cuda, random, random_model):
    pool = cuda.get_default_memory_pool()
    pool.free_all_blocks()
    model = random_model(2)
    format = Format(640, 480)
    on_gpu(model, drawn(random, format), format)  # what a model leaves on the GPU stays
    before = pool.used_bytes(), pool.total_bytes()
    for _ in range(3):
        on_gpu(model, drawn(random, format), format)
    # What one has given back serves the next.
    assert (pool.used_bytes(), pool.total_bytes()) == before


@pytest.mark.parametrize("closed", [True, False])
def test_the_streams_of_one_serve_the_next(random, random_model, closed):
    """Also where nobody closes it."""
    format = Format(64, 48, 8, (1, 1))
    gc.collect()  # what other tests left
    for _ in range(3):
        backend = Backend(random_model(2), format, format.scaled(2), "cuda:0")
        streams = backend._streams
        assert streams in all_streams._lent and streams not in all_streams._unused[0]
        backend.run(Frame(drawn(random, format)))
        if closed:
            backend.close()
        del backend
        gc.collect()
        assert streams not in all_streams._lent and all_streams._unused[0].count(streams) == 1


def test_close_leaves_the_callers_memory_alone(cuda, random, random_model):
    """Blocks that the caller's pool keeps free, on the GPU and page-locked, stay there."""
    format = Format(64, 48, 8, (1, 1))
    planes = drawn(random, format)
    pools = cuda.get_default_memory_pool(), cuda.get_default_pinned_memory_pool()
    step = Upscaler(2, random_model(2), "cuda")
    step.prepare(format)
    step.run(Frame(planes))
    with cuda.cuda.Stream(non_blocking=True) as stream:
        mine = cuda.empty(12_345_678, cuda.uint8)
        locked = cuda.cuda.alloc_pinned_memory(12_345_678)
        stream.synchronize()
        address = mine.data.ptr
        del mine, locked
        before = pools[1].n_free_blocks()
        step.close()
        assert pools[1].n_free_blocks() >= before
        assert cuda.empty(12_345_678, cuda.uint8).data.ptr == address


def test_a_slot_that_fails_is_used_again(random, random_model, monkeypatch):
    format = Format(30, 20, 8, (1, 1))
    frame = Frame(drawn(random, format))

    def broken(*arguments):
        raise RuntimeError("the bus broke")

    with Upscaler(2, random_model(2), "cuda", "cpu") as step:
        step.prepare(format)
        wanted = step.run(frame).planes
        with monkeypatch.context() as patch:
            patch.setattr("snellen.engine.slots.Slot.send", broken)
            for _ in range(4):  # more often than there are slots
                with pytest.raises(RuntimeError, match="the bus broke"):
                    step.run(frame)
        same(step.run(frame).planes, wanted)


@pytest.mark.parametrize("chroma", ["cpu", "gpu", "auto"])
@pytest.mark.parametrize("subsampling", [None, (1, 1), (0, 0)])
def test_planes_that_lie_on_the_gpu(cuda, random, random_model, chroma, subsampling):
    """Behind a long queue on the stream that makes them; then again from host memory."""
    model, format = random_model(2), Format(97, 71, 10, subsampling)
    planes = drawn(random, format)
    wanted = on_gpu(model, planes, format, chroma="gpu")
    with Upscaler(2, model, "cuda", chroma) as step:
        step.prepare(format)
        for _ in range(5):
            with cuda.cuda.Device(0), cuda.cuda.Stream(non_blocking=True) as stream:
                came = [cuda.asarray(plane) for plane in planes]
                there = tuple(cuda.zeros_like(plane) for plane in came)
                stream.synchronize()
                busy(cuda)
                for plane, target in zip(came, there, strict=True):
                    target[...] = plane
                ready = stream.record(cuda.cuda.Event(disable_timing=True))
            found = step.run(Frame(there, pts=3, ready=ready))
            assert found.pts == 3 and found.ready is None
            same(found.planes, wanted)
            same(step.run(Frame(planes)).planes, wanted)


@pytest.mark.parametrize("chroma", ["cpu", "gpu", "auto"])
def test_a_chain_that_stays_on_the_gpu(cuda, random, random_model, chroma):
    """×2 and ×2 again, the planes between them never in host memory: the same bytes."""
    model, format = random_model(2), Format(60, 43, 8, (1, 1))
    frames = [Frame(drawn(random, format), pts=i) for i in range(9)]
    with Upscaler(2, model, "cuda", "gpu") as one, Upscaler(2, model, "cuda", "gpu") as other:
        other.prepare(one.prepare(format))
        wanted = [other.run(one.run(frame)).planes for frame in frames]
    with Upscaler(2, model, "cuda", chroma) as one, Upscaler(2, model, "cuda", chroma) as other:
        other.prepare(one.prepare(format, on_device=True))
        assert one.chroma == "gpu"

        def run(frame):
            between = one.run(frame)
            assert between.ready and all(isinstance(p, cuda.ndarray) for p in between.planes)
            return other.run(between)

        with ThreadPoolExecutor(one.slots) as pool:
            for number, found in enumerate(pool.map(run, frames * 4)):
                assert found.pts == number % 9
                same(found.planes, wanted[number % 9])


def test_planes_in_two_places_are_refused(cuda, random, random_model):
    format = Format(20, 10, 8, (0, 0))
    planes = drawn(random, format)
    with Upscaler(2, random_model(2), "cuda") as step:
        step.prepare(format)
        with pytest.raises(InputError, match="partly on a GPU"):
            step.run(Frame((cuda.asarray(planes[0]), *planes[1:])))
    with Upscaler(2, random_model(2), "cpu") as step:
        step.prepare(format)
        with pytest.raises(InputError, match="on a GPU; expected NumPy arrays"):
            step.run(Frame(tuple(cuda.asarray(plane) for plane in planes)))


@pytest.mark.parametrize("chroma", ["cpu", "gpu"])
def test_stages_of_a_frame_are_timed(random, random_model, chroma):
    format = Format(97, 71, 8, (1, 1))
    frame = Frame(drawn(random, format))
    with Upscaler(2, random_model(2), "cuda", chroma) as step:
        step.prepare(format)
        wanted = step.run(frame).planes
        with profile.recording() as found:
            for _ in range(3):
                same(step.run(frame).planes, wanted)
        table = found.table()
    once = ["upload", "features", "match", "settle", "group", "regress", "overlap", "download"]
    assert set(table) == {*once, "chroma"}
    assert all(len(table[name]) == 3 for name in once)
    assert all(time >= 0 for times in table.values() for time in times)


def test_the_device_is_named(random_model):
    step = Upscaler(2, random_model(2), "auto")
    assert step.device == "cuda:0" and step.device_name == device.name("cuda:0")
    assert step.chroma == "auto"
    step.prepare(Format(64, 48, 8, (1, 1)))
    assert step.chroma in ("cpu", "gpu")
    step.close()
    assert step.chroma == "auto"
    assert Upscaler(2, random_model(2), "cpu").device_name == "cpu"
