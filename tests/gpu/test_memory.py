"""Snellen's pools: what is allocated where, limits, memory that runs short, page-locked blocks."""

from __future__ import annotations

import gc
import sys
import threading
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from snellen.gpu import graph, memory, reserved
from snellen.gpu import pages as page_locked
from snellen.gpu.pages import Pages, rounded
from support.fake_cupy import FakeCupy

GB = 1 << 30


class CudaError(RuntimeError):
    def __init__(self, status):
        super().__init__(f"error {status}")
        self.status = status


class OutOfMemoryError(MemoryError):
    """As CuPy's: size, total, limit."""


class Pool:
    """As CuPy's: blocks are kept when they are dropped, and `_from_driver` may free them."""

    def __init__(self, allocator):
        self.allocator, self.idle, self.used, self.total, self.limit = allocator, [], 0, 0, 0

    def malloc(self, size):
        if size in self.idle:
            self.idle.remove(size)
        else:
            if self.limit and self.total + size > self.limit:
                raise OutOfMemoryError(size, self.total, self.limit)
            self.total += size
            try:
                self.allocator(size)
            except BaseException:
                self.total -= size
                raise
        self.used += size
        return SimpleNamespace(pool=self, size=size)

    def free(self, pointer):
        self.idle.append(pointer.size)
        self.used -= pointer.size

    def free_all_blocks(self):
        Cuda.free += sum(self.idle)
        self.total -= sum(self.idle)
        self.idle.clear()

    def used_bytes(self):
        return self.used

    def total_bytes(self):
        return self.total

    def free_bytes(self):
        return self.total - self.used

    def get_limit(self):
        return self.limit

    def set_limit(self, size):
        self.limit = size


class Cuda:
    """What the driver has free, and the allocator of this thread."""

    free = 8 * GB
    locked = 2 * GB
    thread = threading.local()


def from_driver(size):
    if size > Cuda.free:
        raise CudaError(memory.NO_MEMORY)
    Cuda.free -= size


class Pinned:
    def __init__(self, size, flags):
        if size > Cuda.locked:
            raise CudaError(memory.NO_MEMORY)
        Cuda.locked -= size
        self.size, self.ptr = size, id(self)

    def __del__(self):
        Cuda.locked += getattr(self, "size", 0)


@contextmanager
def using_allocator(allocator):
    before = getattr(Cuda.thread, "allocator", None)
    Cuda.thread.allocator = allocator
    try:
        yield
    finally:
        Cuda.thread.allocator = before


@pytest.fixture
def cupy(monkeypatch):
    """CuPy with pools that count, and nothing else."""
    Cuda.free, Cuda.locked = 8 * GB, 2 * GB
    default = Pool(from_driver)
    runtime, errors = ModuleType("cupy.cuda.runtime"), ModuleType("cupy.cuda.memory")
    runtime.memGetInfo = lambda: (Cuda.free, 8 * GB)
    runtime.getDevice, runtime.CUDARuntimeError = lambda: 0, CudaError
    errors.OutOfMemoryError = OutOfMemoryError
    cuda, cupy = ModuleType("cupy.cuda"), ModuleType("cupy")
    cuda.runtime, cuda.memory, cuda.MemoryPool = runtime, errors, Pool
    cuda.Memory, cuda.MemoryPointer = from_driver, lambda memory, offset: memory
    cuda.PinnedMemory = Pinned
    cuda.get_allocator = lambda: getattr(Cuda.thread, "allocator", None) or default.malloc
    cuda.using_allocator = using_allocator
    stream = SimpleNamespace(is_capturing=lambda: cuda.captures)
    cuda.captures, cuda.get_current_stream = False, lambda: stream
    cupy.cuda, cupy.get_default_memory_pool = cuda, lambda: default
    for module in (cupy, cuda, runtime, errors):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(memory, "_pool", None)
    monkeypatch.setattr(memory, "used", set())
    monkeypatch.setattr(memory, "_dropped", [])
    monkeypatch.setattr(memory, "relieved", [])
    monkeypatch.setattr(page_locked, "pages", Pages())
    memory._total.cache_clear()
    yield SimpleNamespace(alloc=lambda size: cuda.get_allocator()(size), default=default, cuda=cuda)
    memory._total.cache_clear()


def test_own_memory_and_the_callers(cupy):
    with memory.own():
        mine = cupy.alloc(1 * GB)
        with memory.own():
            more = cupy.alloc(2 * GB)
        with memory.callers():
            result = cupy.alloc(3 * GB)
            with memory.own():  # a call from within a callback
                inner = cupy.alloc(GB // 2)
        again = cupy.alloc(GB // 4)
    outside = cupy.alloc(GB // 8)
    assert mine.pool is more.pool is inner.pool is again.pool is memory._pool
    assert result.pool is outside.pool is cupy.default
    assert memory.held() == 3 * GB + 3 * GB // 4 and cupy.default.total == 3 * GB + GB // 8


def test_an_allocator_of_the_callers_own(cupy):
    given = Pool(from_driver)
    with using_allocator(given.malloc):
        with memory.own(), memory.callers():
            assert cupy.alloc(GB).pool is given
        with memory.callers():
            assert cupy.alloc(GB).pool is given
        with pytest.raises(ZeroDivisionError), memory.own():
            _ = 1 / 0
        assert cupy.alloc(GB).pool is given


def test_other_threads_are_left_alone(cupy):
    found = []
    with memory.own():
        thread = threading.Thread(target=lambda: found.append(cupy.alloc(GB)))
        thread.start()
        thread.join()
    assert found[0].pool is cupy.default


def test_a_limit_holds_for_both_pools_together(cupy):
    cupy.default.set_limit(4 * GB)
    kept = cupy.alloc(1 * GB)
    with memory.own():
        one = cupy.alloc(2 * GB)
        with pytest.raises(OutOfMemoryError) as caught:
            cupy.alloc(2 * GB)
        assert caught.value.args == (2 * GB, 2 * GB, 3 * GB)
        assert memory.free_memory() == 1 * GB and memory.budget() == 4 * GB // memory.SHARE
        one.pool.free(one)
        assert memory.free_memory() == 3 * GB
        cupy.alloc(3 * GB)  # what was freed is given back first
        assert memory.held() == 3 * GB
    assert memory.free_memory() == 3 * GB and kept


def test_memory_of_a_graph_that_goes_with_its_arrays(cupy):
    """The collector may take a pool's owner before the arrays of the pool."""
    owner = reserved.Reserved("cuda:0")
    with memory.own(), owner.allocating():
        used, idle = cupy.alloc(2 * GB), cupy.alloc(1 * GB)
    pool = idle.pool
    pool.free(idle)
    del owner
    memory.trim()
    assert pool.total == 2 * GB and memory._dropped
    pool.free(used)
    memory.trim()
    assert pool.total == 0 and not memory._dropped


def test_free_memory_without_a_limit(cupy):
    with memory.own():
        one = cupy.alloc(2 * GB)
        one.pool.free(one)
        assert memory.free_memory() == 8 * GB
    assert memory.free_memory() == 6 * GB
    memory.trim()
    assert memory.free_memory() == 8 * GB and memory.held() == 0
    assert memory.budget() == 1 * GB


@pytest.mark.parametrize("limit", [0, 8 * GB])
def test_what_is_idle_is_released_where_memory_runs_short(cupy, limit):
    cupy.default.set_limit(limit)
    asked = []
    with memory.own():
        idle = [cupy.alloc(3 * GB), cupy.alloc(4 * GB)]

        def release(device):
            asked.append(device)
            for pointer in idle:
                pointer.pool.free(pointer)
            return bool(idle) and not idle.clear()

        memory.relieved.append(release)
        assert cupy.alloc(5 * GB).pool is memory._pool
        assert memory.held() == 5 * GB and asked == [0]
        with pytest.raises((OutOfMemoryError, CudaError)):
            cupy.alloc(4 * GB)
        assert len(asked) == 2


def test_the_callers_memory_runs_short(cupy):
    with memory.own():
        idle = [cupy.alloc(6 * GB)]

        def release(device):
            for pointer in idle:
                pointer.pool.free(pointer)
            memory.trim()
            return bool(idle) and not idle.clear()

        memory.relieved.append(release)
        cupy.default.allocator = lambda size: short(size)

        def short(size):
            if size > Cuda.free:
                raise OutOfMemoryError(size, 0, 0)
            Cuda.free -= size

        with memory.callers():
            assert cupy.alloc(5 * GB).pool is cupy.default
            with pytest.raises(OutOfMemoryError):
                cupy.alloc(5 * GB)


def test_memory_is_given_back_between_captures(cupy, monkeypatch):
    """Freeing may wait for the GPU, and CUDA would break off a capture of any thread."""
    done = []

    def capture():
        with graph.undisturbed():
            begun.set()
            done.append(finished.wait(0.3))

    begun, finished = threading.Event(), threading.Event()
    thread = threading.Thread(target=capture)
    with memory.own():
        one = cupy.alloc(GB)
        one.pool.free(one)
        thread.start()
        begun.wait()
        memory.trim()
        finished.set()
    thread.join()
    assert done == [False] and memory.held() == 0


def test_page_locked_memory_stays_during_a_capture(cupy):
    """The garbage collector may give it back anywhere, and is not to wait there."""
    large, small = page_locked.pages.take(GB), page_locked.pages.take(1)
    begun, finished = threading.Event(), threading.Event()

    def capture():
        with graph.undisturbed():
            begun.set()
            finished.wait()

    thread = threading.Thread(target=capture)
    thread.start()
    begun.wait()
    del large  # more than is kept
    assert Cuda.locked < GB
    finished.set()
    thread.join()
    del small
    assert Cuda.locked == 2 * GB - 4096


def test_nothing_is_released_in_a_capture(cupy):
    memory.relieved.append(lambda device: pytest.fail("a graph is being captured"))
    cupy.cuda.captures = True
    with memory.own(), pytest.raises(CudaError):
        cupy.alloc(9 * GB)


def test_sizes_of_blocks():
    sizes = np.unique(np.geomspace(1, 1 << 34, 3000).astype(int))
    found = [rounded(int(size)) for size in sizes]
    assert all(
        size <= more <= max(4096, size * 9 / 8) for size, more in zip(sizes, found, strict=True)
    )
    assert len(set(found)) <= 8 * 22 + 2
    assert rounded(4097) == 4608 and rounded(8192) == 8192 and rounded(8193) == 9216


def test_blocks_are_used_again_and_bounded(cupy):
    pages = page_locked.pages
    first = pages.take(100_000)
    address = first.ptr
    assert pages.lent == rounded(100_000)
    del first
    assert pages.lent == 0
    assert pages.take(99_000).ptr == address and Cuda.locked == 2 * GB - rounded(100_000)
    for size in range(1, 2000):
        pages.take(size * 4096)
    assert 2 * GB - Cuda.locked <= page_locked.IDLE and len(pages._idle) <= page_locked.BLOCKS
    pages.clear()
    assert Cuda.locked == 2 * GB


def test_page_locked_memory_runs_short(cupy):
    pages, asked = page_locked.pages, []
    idle = pages.take(GB // 4)
    held = [pages.take(GB), pages.take(GB // 2)]
    del idle

    def release(device):
        asked.append(device)
        return bool(held) and not held.clear()

    memory.relieved.append(release)
    block = pages.take(3 * GB // 2)
    assert block.size == 3 * GB // 2 and asked == [None]
    with pytest.raises(CudaError):
        pages.take(2 * GB)


def test_what_the_parent_has_is_not_used_in_a_child(cupy, monkeypatch):
    pages = page_locked.pages
    idle, held = pages.take(5000), pages.take(50_000)
    del idle
    monkeypatch.setattr("os.getpid", lambda: -1)
    fresh = pages.take(5000)
    assert len(pages._idle) == 0 and pages.lent == fresh.size
    del held, fresh
    gc.collect()
    assert len(pages._idle) == 1  # the child's own
    monkeypatch.undo()


@pytest.mark.gpu
def test_pools_of_cupy_stay_as_they_are(cuda):
    pools = cuda.get_default_memory_pool(), cuda.get_default_pinned_memory_pool()
    before = pools[0].total_bytes(), pools[1].n_free_blocks()
    with memory.own():
        there = cuda.zeros((1000, 1000), np.float32)
        array = page_locked.pinned((1000, 1000), np.float32)
        there.get(out=array)
        assert memory.held() >= there.nbytes
    assert not array.any()
    assert (pools[0].total_bytes(), pools[1].n_free_blocks()) == before
    held = memory.held()
    del there, array
    page_locked.clear()
    assert memory.held() < held
    with memory.own(), memory.callers():
        result = cuda.zeros(1000, np.float32)
    assert pools[0].total_bytes() + pools[0].used_bytes() > before[0] and result.sum() == 0


@pytest.mark.gpu
def test_page_locked_memory_is_there_in_a_child(cuda):
    """The result of a call, read in a forked child."""
    import subprocess

    code = (
        "import os, signal, numpy\n"
        "from snellen.gpu.pages import pinned\n"
        "array = pinned(10_000_000, numpy.uint8)\n"
        "array[:] = 7\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(60)\n"
        "    os._exit(0 if int(array.sum()) == 70_000_000 else 1)\n"
        "status = os.waitpid(child, 0)[1]\n"
        "assert status == 0, status\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_pool_of_a_graph_outlives_a_collection(monkeypatch):
    """The garbage collector cuts weak references before it calls `__del__`: CuPy's are needed."""
    FakeCupy(0).install(monkeypatch)
    monkeypatch.setattr(memory, "_dropped", [])
    one = reserved.Reserved("cuda:0")
    pool = one._pool
    assert reserved._alive[id(pool)] is pool
    one.itself = one
    del one
    gc.collect()
    assert memory._dropped == [(0, pool)] and id(pool) not in reserved._alive
