"""Frames in flight: on streams that run as late and as disordered as events allow, and on a GPU."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from snellen.engine import engine as engines
from snellen.engine import slots as buffers
from snellen.engine import streams as all_streams
from snellen.engine.engine import Engine
from snellen.errors import DeviceError, InputError
from snellen.gpu import profile
from snellen.gpu.pages import pinned
from support.fake_cupy import disordered

SIZES = [(1, 1), (3, 5), (17, 33)]


@pytest.fixture(params=range(6))
def fake(request, monkeypatch):
    yield from disordered(request.param, monkeypatch)


def worker(cupy, shape):
    """Work with a scratch array that all slots share: twice the input, and its sum."""
    scratch = cupy_array(cupy, shape)

    def work(inputs, outputs):
        ((plane,), (large, total)) = inputs, outputs
        cupy.kernel(lambda a: a.astype(np.int64) * 2, [plane], scratch)
        cupy.kernel(lambda a: a, [scratch], large)
        cupy.kernel(lambda a: [a.sum()], [scratch], total)

    return work


def cupy_array(cupy, shape, dtype=np.int64):
    from cupy import empty

    return empty(shape, dtype)


def make(cupy, shape, **options):
    return Engine(
        "cuda:0",
        [(shape, np.uint8)],
        [(shape, np.int64), ((1,), np.float64)],
        worker(cupy, shape),
        **options,
    )


def check(result, plane):
    large, total = result
    assert large.dtype == np.int64 and total.dtype == np.float64
    np.testing.assert_array_equal(large, plane.astype(np.int64) * 2)
    assert total[0] == 2 * plane.sum(dtype=np.int64)


def planes(count, shape):
    random = np.random.default_rng(7)
    return [random.integers(0, 256, shape, np.uint8) for _ in range(count)]


def test_what_runs_as_an_engine_is_made_is_not_recorded(fake):
    double = worker(fake, (5, 7))

    def work(inputs, outputs):
        assert not profile.active()
        with profile.stage("double"):
            double(inputs, outputs)

    with profile.recording() as found:
        engine = Engine(
            "cuda:0", [((5, 7), np.uint8)], [((5, 7), np.int64), ((1,), np.float64)], work
        )
        assert engine.captured and found.table() == {}


def test_engines_one_after_another_have_the_same_streams(fake):
    engine = make(fake, (5, 7))
    streams = engine.streams
    beside = make(fake, (5, 7))
    sharing = make(fake, (5, 7), streams=streams)
    assert beside.streams is not streams
    sharing.close()  # they are not its own
    assert make(fake, (5, 7)).streams is not streams
    engine.close()
    engine.close()
    later = [make(fake, (5, 7)) for _ in range(2)]
    assert later[0].streams is streams and later[1].streams is not streams
    for frame in planes(4, (5, 7)):
        check(later[0].submit([frame]).result(), frame)


def test_large_arrays_go_up_as_they_are(fake, monkeypatch):
    """They may be written to when `submit` has returned; small ones, and parts, are copied."""
    monkeypatch.setattr(buffers, "LARGE", 28)
    copies, copy = [], buffers.copy
    monkeypatch.setattr(buffers, "copy", lambda *how: copies.append(how) or copy(*how))
    for shape, is_large in (((4, 7), True), ((4, 6), False)):
        engine = make(fake, shape)
        frames = planes(4, shape)
        wide = np.repeat(frames[0], 2, 1)
        for frame, lent in (*((one, is_large) for one in frames), (wide[:, ::2], False)):
            copies.clear()
            kept = frame.copy()
            pending = engine.submit([frame])
            (source,) = [source for source, _, _, kind, _ in copies if kind == buffers.UP]
            assert (source == frame.ctypes.data) == lent
            frame[:] = 0
            check(pending.result(), kept)


@pytest.mark.parametrize("slots", [1, 2])
def test_work_that_writes_into_page_locked_memory(fake, slots):
    """Also into arrays of the caller's; results that were dropped are written to no more."""
    frames, where = planes(7, (5, 7)), pinned((5, 7), np.int64)
    engine = make(fake, (5, 7), slots=slots, direct=True)
    assert not engine.captured
    found = [engine.submit([frame]) for frame in frames[:3]]
    engine.submit([frames[3]])
    for pending, frame in zip(found, frames, strict=False):
        check(pending.result(), frame)
    for frame in frames[4:]:
        large, total = engine.submit([frame], out=[where]).result()
        assert large is where
        check((large, total), frame)
    engine.close()
    check(found[0].result(), frames[0])


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("slots", [1, 3])
def test_more_frames_than_slots_and_results_in_any_order(fake, slots, graphs):
    frames = planes(9, (5, 7))
    engine = make(fake, (5, 7), slots=slots, graphs=graphs)
    assert engine.captured == graphs
    pending = [engine.submit([frame]) for frame in frames]
    for i in (4, 0, 8, 1, 7, 2, 6, 3, 5):
        check(pending[i].result(), frames[i])
    check(pending[4].result(), frames[4])  # again
    engine.close()


@pytest.mark.parametrize("shape", SIZES)
def test_one_after_another(fake, shape):
    engine = make(fake, shape)
    for frame in planes(7, shape):
        check(engine.submit([frame]).result(), frame)
    engine.close()


def test_where_nothing_can_be_captured(fake):
    fake.captures = False
    engine = make(fake, (5, 7))
    assert not engine.captured
    (frame,) = planes(1, (5, 7))
    check(engine.submit([frame]).result(), frame)


def test_the_caller_may_change_what_was_submitted(fake):
    frames = planes(6, (5, 7))
    engine, pending = make(fake, (5, 7)), []
    for frame in frames:
        given = frame.copy()
        pending.append(engine.submit([given]))
        given[...] = 99
    for frame, one in zip(frames, pending, strict=True):
        check(one.result(), frame)


def test_results_that_go_where_the_caller_says(fake):
    """The first of them; others are new arrays."""
    frames, engine = planes(7, (5, 7)), make(fake, (5, 7))
    out = pinned((7, 5, 7), np.int64)
    both = list(zip(frames, out, strict=True))
    pending = [engine.submit([frame], out=[place]) for frame, place in both]
    for (frame, place), one in zip(both, pending, strict=True):
        result = one.result()
        check(result, frame)
        assert result[0] is place or result[0].base is place.base
        check((place, result[1]), frame)
    assert all(stream.ops == [] for stream in fake.streams if stream is engine.streams.down)
    for wrong in (out[0, :4], out[0].astype(np.int32), np.empty((7, 5), np.int64).T):
        with pytest.raises(InputError, match="for a result; expected"):
            engine.submit([frames[0]], out=[wrong])
    check(engine.submit([frames[0]]).result(), frames[0])
    engine.close()


def test_rows_with_a_pitch(fake):
    (frame,) = planes(1, (5, 20))
    check(make(fake, (5, 7)).submit([frame[:, 3:10]]).result(), frame[:, 3:10])


@pytest.mark.slow
def test_results_that_nobody_takes(fake):
    """Their memory is written to all the same, and must not go before."""
    frames = planes(8, (5, 7))
    engine = make(fake, (5, 7))
    kept = [engine.submit([frame]) for frame in frames][::3]
    gc.collect()
    for frame, one in zip(frames[::3], kept, strict=True):
        check(one.result(), frame)
    engine.close()


def test_results_stay_as_they_are(fake):
    frames = planes(10, (5, 7))
    engine = make(fake, (5, 7))
    results = [engine.submit([frame]).result() for frame in frames]
    engine.close()
    for frame, result in zip(frames, results, strict=True):
        check(result, frame)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_several_threads(fake, count):
    frames = planes(24, (5, 7))
    engine = make(fake, (5, 7))

    def run(frame):
        check(engine.submit([frame]).result(), frame)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, frames))
    engine.close()


def test_a_chain_hands_over_planes_on_the_gpu(fake):
    """The caller drops each plane as soon as the next engine has it."""
    frames = planes(8, (5, 7))
    first = make(fake, (5, 7), on_device=True)
    second = Engine(
        "cuda:0",
        [((5, 7), np.int64)],
        [((5, 7), np.int64)],
        lambda inputs, outputs: fake.kernel(lambda a: a + 1, inputs, outputs[0]),
    )
    pending = []
    for frame in frames:
        one = first.submit([frame])
        large, _ = one.result()
        assert not isinstance(large, np.ndarray)
        pending.append(second.submit([large], ready=[one.ready, None]))
        del large, one
    for frame, one in zip(frames, pending, strict=True):
        (found,) = one.result()
        np.testing.assert_array_equal(found, frame.astype(np.int64) * 2 + 1)
    first.close()
    second.close()


def test_results_on_the_gpu_are_new_for_each_frame(fake):
    frames = planes(8, (5, 7))
    engine = make(fake, (5, 7), on_device=True)
    pending = [engine.submit([frame]) for frame in frames]
    for frame, one in zip(frames, pending, strict=True):
        one.ready.synchronize()
        check([array.get() for array in one.result()], frame)
    engine.close()


def test_engines_that_share_scratch_share_streams(fake):
    frames = planes(12, (5, 7))
    work = worker(fake, (5, 7))
    given, made = [((5, 7), np.uint8)], [((5, 7), np.int64), ((1,), np.float64)]
    one = Engine("cuda:0", given, made, work)
    other = Engine("cuda:0", given, made, work, streams=one.streams)
    pending = [(one, other)[i % 2].submit([frame]) for i, frame in enumerate(frames)]
    for frame, each in zip(frames, pending, strict=True):
        check(each.result(), frame)
    one.close()
    check(other.submit([frames[0]]).result(), frames[0])


def test_a_failure_leaves_the_slot_usable(fake):
    frames, broken = planes(7, (5, 7)), threading.Event()
    usual = worker(fake, (5, 7))

    def work(inputs, outputs):
        if broken.is_set():
            raise ZeroDivisionError
        usual(inputs, outputs)

    engine = Engine(
        "cuda:0", [((5, 7), np.uint8)], [((5, 7), np.int64), ((1,), np.float64)], work, graphs=False
    )
    earlier = engine.submit([frames[0]])
    broken.set()
    for _ in range(5):  # more often than there are slots
        with pytest.raises(ZeroDivisionError):
            engine.submit([frames[1]])
    broken.clear()
    check(earlier.result(), frames[0])
    for frame in frames:
        check(engine.submit([frame]).result(), frame)
    engine.close()


def test_page_locked_memory_is_for_arrays_of_the_host_only(fake, monkeypatch):
    """Of inputs that an earlier engine gives there is none, and the host cannot send these."""
    asked = []
    monkeypatch.setattr(
        buffers, "pinned", lambda shape, dtype: asked.append(shape) or pinned(shape, dtype)
    )
    first = make(fake, (5, 7), on_device=True)
    asked.clear()
    second = Engine(
        "cuda:0", [((1,), np.int64), ((5, 7), np.int64)], [((5, 7), np.int64)],
        lambda inputs, outputs: fake.kernel(lambda a, b: a + b, inputs, outputs[0]),
        slots=2, staged=1,
    )  # fmt: skip
    assert asked == [(1,), (1,)]
    (frame,) = planes(1, (5, 7))
    one = first.submit([frame])
    large, _ = one.result()
    (found,) = second.submit([np.array([3]), large], ready=[one.ready]).result()
    np.testing.assert_array_equal(found, frame.astype(np.int64) * 2 + 3)
    with pytest.raises(InputError, match="NumPy array; expected it on cuda:0"):
        second.submit([np.array([3]), np.zeros((5, 7), np.int64)])
    first.close()
    second.close()


def test_arrays_of_another_shape(fake):
    engine = make(fake, (5, 7))
    for _ in range(5):
        with pytest.raises(InputError, match=r"\(5, 8\); expected \(5, 7\)"):
            engine.submit([np.zeros((5, 8), np.uint8)])
    (frame,) = planes(1, (5, 7))
    check(engine.submit([frame]).result(), frame)


def test_arrays_on_another_gpu(fake):
    engine = make(fake, (5, 7))
    elsewhere = cupy_array(fake, (5, 7), np.uint8)
    elsewhere.device.id = 1
    with pytest.raises(InputError, match="on cuda:1; expected it on cuda:0"):
        engine.submit([elsewhere])


def test_close_while_frames_are_in_flight(fake):
    frames = planes(3, (5, 7))
    engine = make(fake, (5, 7))
    pending = [engine.submit([frame]) for frame in frames]
    engine.close()
    engine.close()  # again
    with pytest.raises(InputError, match="closed"):
        engine.submit([frames[0]])
    for frame, one in zip(frames, pending, strict=True):
        check(one.result(), frame)


@pytest.mark.slow
def test_an_engine_that_is_dropped_waits_for_its_frames(fake):
    (frame,) = planes(1, (5, 7))
    engine = make(fake, (5, 7))
    pending = engine.submit([frame])
    del engine
    gc.collect()
    check(pending.result(), frame)


@pytest.mark.slow
def test_an_engine_that_the_collector_finds_in_a_cycle_gives_back_streams_that_live(fake):
    """The collector calls `__del__` of CuPy's streams, too, before or after the engine's."""

    class Owner:
        def __init__(self):
            self.double = worker(fake, (5, 7))
            out = [((5, 7), np.int64), ((1,), np.float64)]
            self.engine = Engine("cuda:0", [((5, 7), np.uint8)], out, self.work)

        def work(self, inputs, outputs):
            self.double(inputs, outputs)

    (frame,) = planes(1, (5, 7))
    owner = Owner()
    number = id(owner.engine.streams)
    check(owner.engine.submit([frame]).result(), frame)
    del owner
    gc.collect()
    engine = make(fake, (5, 7))
    assert id(engine.streams) == number
    check(engine.submit([frame]).result(), frame)
    engine.close()
    assert not all_streams._lent


def test_an_engine_that_cannot_be_made_gives_back_its_streams(fake):
    """Though the error, whose traceback holds the engine, is kept."""
    closed = make(fake, (5, 7))
    closed.close()

    def work(inputs, outputs):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as error:
        Engine("cuda:0", [((5, 7), np.uint8)], [((5, 7), np.int64)], work)
    (frame,) = planes(1, (5, 7))
    engine = make(fake, (5, 7))
    assert engine.streams is closed.streams
    check(engine.submit([frame]).result(), frame)
    del error
    gc.collect()
    assert not all_streams._unused[0] and all_streams._lent == {engine.streams}
    check(engine.submit([frame]).result(), frame)
    engine.close()


@pytest.mark.slow
def test_close_drops_all_memory(fake):
    gc.collect()
    before = len(fake.live)
    engine = make(fake, (5, 7))
    (frame,) = planes(1, (5, 7))
    result = engine.submit([frame]).result()
    engine.close()
    del engine
    gc.collect()
    assert len(fake.live) == before + len(result)


def test_a_thread_that_waits_for_a_slot_learns_of_the_end(fake):
    inside, go_on = threading.Event(), threading.Event()
    usual = worker(fake, (5, 7))

    def work(inputs, outputs):
        inside.set()
        go_on.wait(20)
        usual(inputs, outputs)

    engine = Engine(
        "cuda:0",
        [((5, 7), np.uint8)],
        [((5, 7), np.int64), ((1,), np.float64)],
        work,
        slots=1,
        graphs=False,
    )
    frames = planes(2, (5, 7))
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(lambda: engine.submit([frames[0]]).result())
        assert inside.wait(20)
        second = pool.submit(lambda: engine.submit([frames[1]]))  # there is no other slot
        closing = pool.submit(engine.close)
        go_on.set()
        check(first.result(20), frames[0])
        closing.result(20)
        try:
            check(second.result(20).result(), frames[1])  # it was quicker
        except InputError as error:
            assert "closed" in str(error)


GPU = pytest.mark.gpu


def gpu_engine(cuda, shape, **options):
    """Three times the plane, and its first sample, by way of scratch that all slots share."""
    scratch = cuda.empty(shape, cuda.float32)

    def work(inputs, outputs):
        with profile.stage("triple"):
            cuda.multiply(inputs[0], cuda.float32(3), out=scratch)
        cuda.copyto(outputs[0], scratch)
        cuda.copyto(outputs[1], scratch[:1, :1])

    cuda.cuda.Device().synchronize()
    out = [(shape, np.float32), ((1, 1), np.float64)]
    return Engine("cuda:0", [(shape, np.uint16)], out, work, **options)


def gpu_check(result, plane):
    large, first = result
    np.testing.assert_array_equal(large, plane.astype(np.float32) * 3)
    assert first[0, 0] == 3 * int(plane[0, 0])


def gpu_planes(count, shape):
    random = np.random.default_rng(3)
    return [random.integers(0, 1 << 16, shape, np.uint16) for _ in range(count)]


@GPU
@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (37, 53), (1080, 1920)])
def test_on_the_gpu(cuda, shape, graphs):
    frames = gpu_planes(7, shape)
    engine = gpu_engine(cuda, shape, graphs=graphs)
    pending = [engine.submit([frame]) for frame in frames]
    for frame, one in zip(reversed(frames), reversed(pending), strict=True):
        gpu_check(one.result(), frame)
    engine.close()


@GPU
def test_every_sample_is_written(cuda):
    """Also where memory held NaN before: in results, and in the slots' own outputs."""
    shape = (101, 203)
    frames = gpu_planes(6, shape)
    engine = gpu_engine(cuda, shape)
    for frame in frames:
        large, first = engine.submit([frame]).result()
        gpu_check((large, first), frame)
        large.fill(np.nan)
        first.fill(np.nan)
        del large, first  # their memory is used again
    for slot in [engine._free.get() for _ in range(engines.SLOTS)]:
        for out in slot.outputs:
            out.fill(np.nan)
        cuda.cuda.Device().synchronize()
        engine._free.put(slot)
    for frame in frames:
        gpu_check(engine.submit([frame]).result(), frame)
    engine.close()


@GPU
@pytest.mark.parametrize("threads", [1, 3, 8])
def test_several_threads_on_the_gpu(cuda, threads):
    frames = gpu_planes(5, (270, 480))
    engine = gpu_engine(cuda, (270, 480))

    def run(number):
        gpu_check(engine.submit([frames[number % 5]]).result(), frames[number % 5])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, range(200)))
    engine.close()


@GPU
def test_planes_of_the_gpu_are_read_after_their_event(cuda):
    """Behind a long queue on the stream that makes them; also with a pitch, and of another type."""
    from support.gpu import busy

    frames = gpu_planes(6, (270, 480))
    engine = gpu_engine(cuda, (270, 480))
    pending = []
    for i, frame in enumerate(frames):
        with cuda.cuda.Device(0), cuda.cuda.Stream(non_blocking=True) as stream:
            wide = cuda.zeros((270, 500), cuda.float32 if i % 3 == 2 else cuda.uint16)
            there = cuda.asarray(frame)
            plane = wide[:, 7:487] if i % 3 else cuda.zeros((270, 480), cuda.uint16)
            stream.synchronize()
            busy(cuda)
            plane[...] = there
            ready = stream.record(cuda.cuda.Event(disable_timing=True))
        pending.append(engine.submit([plane], ready=[ready]))
        del plane, wide
    for frame, one in zip(frames, pending, strict=True):
        gpu_check(one.result(), frame)
    engine.close()


@GPU
@pytest.mark.parametrize("graphs", [True, False])
def test_a_chain_of_two_engines(cuda, graphs):
    shape = (540, 961)
    frames = gpu_planes(12, shape)
    first = gpu_engine(cuda, shape, graphs=graphs, on_device=True)

    def add(inputs, outputs):
        cuda.add(inputs[0], cuda.float32(0.5), out=outputs[0])

    second = Engine("cuda:0", [(shape, np.float32)], [(shape, np.float32)], add, graphs=graphs)
    pending = []
    for frame in frames:
        one = first.submit([frame])
        large, _ = one.result()
        assert isinstance(large, cuda.ndarray)
        pending.append(second.submit([large], ready=[one.ready]))
        del large, one
    for frame, one in zip(frames, pending, strict=True):
        np.testing.assert_array_equal(one.result()[0], frame.astype(np.float32) * 3 + 0.5)
    first.close()
    second.close()


@GPU
def test_results_on_the_gpu_belong_to_the_caller(cuda):
    shape = (101, 203)
    frames = gpu_planes(9, shape)
    engine = gpu_engine(cuda, shape, on_device=True)
    held = []
    for frame in frames:
        one = engine.submit([frame])
        held.append((one.result(), one.ready))
    assert len({large.data.ptr for (large, _), _ in held}) == len(held)
    for frame, (result, ready) in zip(frames, held, strict=True):
        ready.synchronize()
        gpu_check([array.get() for array in result], frame)
    engine.close()


@GPU
def test_stages_are_timed_without_the_graph(cuda):
    engine = gpu_engine(cuda, (270, 480))
    (frame,) = gpu_planes(1, (270, 480))
    assert engine.captured
    with profile.recording() as found:
        for _ in range(4):
            gpu_check(engine.submit([frame]).result(), frame)
    table = found.table()
    assert list(table) == ["upload", "triple", "download"]
    assert all(len(times) == 4 for times in table.values())
    gpu_check(engine.submit([frame]).result(), frame)
    assert found.table() == table
    engine.close()


@GPU
def test_a_failure_on_the_gpu_and_close_in_flight(cuda):
    shape, broken = (270, 480), threading.Event()
    frames = gpu_planes(5, shape)

    def work(inputs, outputs):
        cuda.multiply(inputs[0], cuda.float32(3), out=outputs[0])
        if broken.is_set():
            raise ZeroDivisionError

    engine = Engine("cuda:0", [(shape, np.uint16)], [(shape, np.float32)], work, graphs=False)
    earlier = engine.submit([frames[0]])
    broken.set()
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            engine.submit([frames[1]])
    broken.clear()
    pending = [engine.submit([frame]) for frame in frames]
    engine.close()
    for frame, one in zip([frames[0], *frames], [earlier, *pending], strict=True):
        np.testing.assert_array_equal(one.result()[0], frame.astype(np.float32) * 3)
    with pytest.raises(InputError, match="closed"):
        engine.submit([frames[0]])


@GPU
def test_close_gives_back_all_memory(cuda):
    pool = cuda.get_default_memory_pool()

    def once():
        engine = gpu_engine(cuda, (1080, 1920))
        (frame,) = gpu_planes(1, (1080, 1920))
        gpu_check(engine.submit([frame]).result(), frame)
        engine.close()

    once()
    gc.collect()
    used, total = pool.used_bytes(), pool.total_bytes()
    for _ in range(3):
        once()
        gc.collect()
    assert pool.used_bytes() == used
    assert pool.total_bytes() == total  # later engines get the memory of earlier ones


@GPU
def test_later_engines_get_what_work_allocated(cuda):
    """CuPy's pool has a free list for each stream: engines one after another have one stream."""
    pool, shape = cuda.get_default_memory_pool(), (1080, 1920)
    (frame,) = gpu_planes(1, shape)

    def work(inputs, outputs):
        outputs[0][...] = inputs[0].astype(cuda.float32) * 3  # two temporary arrays

    def once():
        engine = Engine("cuda:0", [(shape, np.uint16)], [(shape, np.float32)], work, graphs=False)
        result = engine.submit([frame]).result()[0]
        np.testing.assert_array_equal(result, frame.astype(np.float32) * 3)
        engine.close()

    gc.collect()  # engines of other tests
    once()
    gc.collect()
    total = pool.total_bytes()
    for _ in range(8):
        once()
        gc.collect()
    assert pool.total_bytes() == total


@GPU
def test_too_little_memory_for_the_slots(cuda):
    kinds = [((1 << 20, 1 << 20), np.float32)]
    expected = r"memory.* does not suffice.*device=cpu"
    with pytest.raises(DeviceError, match=expected):
        Engine("cuda:0", [((2, 2), np.uint8)], kinds, lambda inputs, outputs: None)
