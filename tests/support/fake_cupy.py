"""The part of CuPy that the engine uses, on the CPU: streams run late and in a random order.

A stream is a list of operations. They run when somebody waits for them, and some at random before;
operations of different streams run in any order that events allow. Memory that is dropped is
overwritten at once, and an operation that touches it afterwards is noted as a fault. So whatever
could go wrong on a GPU because an event or a reference is missing does go wrong here, soon.
"""

from __future__ import annotations

import ctypes
import random
import sys
import threading
from contextlib import contextmanager, nullcontext
from copy import copy
from types import ModuleType, SimpleNamespace

import numpy as np

from snellen.engine import engine, prepared, streams
from snellen.gpu import device, memory, pages

GARBAGE = 0xA5


def disordered(seed, monkeypatch):
    """Yield a GPU whose streams run in an order of their own; no memory that is gone is touched."""
    monkeypatch.setattr(streams, "_unused", {})
    monkeypatch.setattr(streams, "_lent", set())
    engine._idle.cache_clear()
    cupy = FakeCupy(seed).install(monkeypatch)
    yield cupy
    engine._idle.cache_clear()
    assert not cupy.faults


def two_gpus(seed, monkeypatch):
    """Yield such GPUs, which have no pools; what calls of the test have kept is closed."""
    monkeypatch.setattr(device, "why_not", lambda number=0: "" if number < 2 else "only two")
    monkeypatch.setattr(device.driver, "forked", lambda: False)
    monkeypatch.setattr(prepared, "_idle", [])
    for name, value in {"own": nullcontext, "held": lambda: 0, "budget": lambda: 1}.items():
        monkeypatch.setattr(memory, name, value)
    gpus = disordered(seed, monkeypatch)
    yield next(gpus)
    prepared.clear_cache()
    next(gpus, None)


class FakeCupy:
    """One GPU. `install` makes it the module cupy."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lock = threading.RLock()
        self.streams = []
        self.live = {}
        self.pooled = []  # the blocks of each pool
        self.faults = []
        self.stack = threading.local()
        self.null = Stream(self)
        self.captures = True

    def install(self, monkeypatch):
        """Make this the module cupy while a test runs."""
        runtime = ModuleType("cupy.cuda.runtime")
        runtime.memcpyAsync = self.memcpy_async
        runtime.CUDARuntimeError = type("CUDARuntimeError", (RuntimeError,), {})
        memory = ModuleType("cupy.cuda.memory")
        memory.OutOfMemoryError = type("OutOfMemoryError", (MemoryError,), {})
        cuda = ModuleType("cupy.cuda")
        cuda.runtime, cuda.memory = runtime, memory
        cuda.Device, cuda.Event = Device, lambda **options: Event(self)
        cuda.get_current_stream = self.current
        cuda.PinnedMemory, cuda.PinnedMemoryPointer = PinnedMemory, self.page_locked
        monkeypatch.setattr(pages, "pages", pages.Pages())
        cuda.Stream = lambda **options: Handle(Stream(self))
        cuda.Stream.null = self.null
        cuda.MemoryPool = lambda allocator=None: MemoryPool(self)
        cuda.using_allocator = self.using_allocator
        cuda.UnownedMemory = lambda address, size, owner, device: (self, address, owner)
        cuda.MemoryPointer = lambda memory, offset: memory
        cupy = ModuleType("cupy")
        cupy.cuda = cuda
        cupy.ndarray = Over
        cupy.empty = lambda shape, dtype: Array(self, shape, dtype)
        cupy.zeros = self.zeros
        for module in (cupy, cuda, runtime, memory):
            monkeypatch.setitem(sys.modules, module.__name__, module)
        return self

    def current(self):
        """Return the current stream of this thread."""
        stack = getattr(self.stack, "streams", None)
        return stack[-1] if stack else self.null

    def block(self, size):
        """Return new memory that counts as live until it is dropped."""
        block = Block(max(1, size), np.uint8)
        block[:] = GARBAGE
        block.live, block.address = self.live, block.ctypes.data
        self.live[block.address] = size
        return block

    @contextmanager
    def using_allocator(self, allocator):
        """Take the memory of arrays from an allocator, in this thread."""
        before = getattr(self.stack, "allocator", None)
        self.stack.allocator = allocator
        try:
            yield
        finally:
            self.stack.allocator = before

    def allocated(self, size):
        """Return the memory of a new array."""
        return (getattr(self.stack, "allocator", None) or self.block)(size)

    def page_locked(self, memory, offset):
        """Return the bytes of page-locked memory, which count as live until they are dropped."""
        fake, size, address = self, memory.size, memory.ptr

        class Pointer(ctypes.c_uint8 * size):
            def __del__(self):
                fake.live.pop(address, None)
                ctypes.memset(address, GARBAGE, size)

        ctypes.memset(address, GARBAGE, size)
        self.live[address] = size
        pointer = Pointer.from_address(address)
        pointer.held = memory
        return pointer

    def zeros(self, shape, dtype):
        """Return an array that its stream fills with zeros."""
        array = Array(self, shape, dtype)
        self.kernel(lambda: np.zeros(shape, dtype), [], array)
        return array

    def seen(self, address, size):
        """Return bytes at an address; note a fault where that is no live memory."""
        live = self.live.copy()  # another thread may drop memory meanwhile
        if not any(at <= address and address + size <= at + n for at, n in live.items()):
            self.faults.append(f"{size} bytes at {address:#x} are not there any more")
            return np.zeros(size, np.uint8)
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))

    def memcpy_async(self, target, source, size, kind, stream):
        """Queue a copy on a stream that is given by its address.

        What comes from the test's own arrays is read as late as anything else: CUDA need not have
        copied it when the call returns.
        """
        with self.lock:
            live = self.live.copy()
        is_ours = any(at <= source and source + size <= at + n for at, n in live.items())
        own = None if is_ours or kind != 1 else (ctypes.c_uint8 * size).from_address(source)

        def copy():
            given = self.seen(source, size) if own is None else np.ctypeslib.as_array(own)
            self.seen(target, size)[:] = given

        next(one for one in self.streams if one.ptr == stream).put(copy)

    def kernel(self, function, inputs, output):
        """Queue a function of the samples of `inputs` on the current stream; fill `output`.

        Like a kernel it holds addresses, and not the arrays.
        """
        given = [(array.data.ptr, array.shape, array.dtype) for array in inputs]
        there, size, dtype = output.data.ptr, output.nbytes, output.dtype

        def run():
            arrays = [
                self.seen(p, int(np.prod(s)) * d.itemsize).view(d).reshape(s).copy()
                for p, s, d in given
            ]
            result = np.ascontiguousarray(function(*arrays), dtype)
            self.seen(there, size)[:] = result.reshape(-1).view(np.uint8)

        self.current().put(run)

    def step(self):
        """Run one operation of some stream; return whether one could run."""
        with self.lock:
            ready = [stream for stream in self.streams if stream.runnable()]
            if ready:
                self.random.choice(ready).run()
            return bool(ready)

    def wait(self, done):
        """Run operations until `done()`."""
        while not done():
            if not self.step():
                if done():
                    return
                raise AssertionError("the streams wait for each other, or for nothing")


class Block(np.ndarray):
    """Memory that is overwritten, and dead, when nobody holds it."""

    live = None

    def __del__(self):
        if self.live is not None:  # it is no view
            self.live.pop(self.address, None)
            self[:] = GARBAGE


class MemoryPool:
    """Memory that lives until the pool gives it back, whoever drops the pool or what it gave."""

    def __init__(self, cupy):
        self._cupy, self._blocks = cupy, []
        cupy.pooled.append(self._blocks)

    def malloc(self, size):
        """Return memory."""
        self._blocks.append(self._cupy.block(size))
        return self._blocks[-1][:]

    def free_all_blocks(self):
        """Give all memory back."""
        self._blocks.clear()

    def total_bytes(self):
        """Return the bytes that the pool holds."""
        return sum(block.nbytes for block in self._blocks)


class PinnedMemory:
    """Memory that a pool keeps."""

    def __init__(self, size, flags):
        self.bytes = np.empty(size, np.uint8)
        self.ptr, self.size = self.bytes.ctypes.data, size


class Pointer:
    """An address on the GPU."""

    def __init__(self, cupy, ptr):
        self._cupy, self.ptr = cupy, ptr

    def copy_from_device_async(self, source, size):
        """Queue a copy on the current stream."""
        self._cupy.memcpy_async(self.ptr, source.ptr, size, 3, self._cupy.current().ptr)

    def copy_to_host_async(self, address, size):
        """Queue a copy to main memory on the current stream."""
        self._cupy.memcpy_async(address, self.ptr, size, 2, self._cupy.current().ptr)


class Array:
    """An array on the GPU."""

    def __init__(self, cupy, shape, dtype):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = np.dtype(dtype)
        self.nbytes = int(np.prod(self.shape)) * self.dtype.itemsize
        self._cupy, self._block = cupy, cupy.allocated(self.nbytes)
        self.data = Pointer(cupy, self._block.ctypes.data)
        self.flags = SimpleNamespace(c_contiguous=True)
        self.device = SimpleNamespace(id=0)

    def __setitem__(self, key, other):
        assert key is Ellipsis
        self._cupy.kernel(lambda samples: samples, [other], self)

    def end(self, first):
        """Return a view of all samples of a line from one on."""
        view = copy(self)
        view.shape = (self.shape[0] - first,)
        view.nbytes = view.shape[0] * self.dtype.itemsize
        view.data = Pointer(self._cupy, self.data.ptr + first * self.dtype.itemsize)
        return view

    def get(self):
        """Return a copy in host memory, of what lies there now."""
        seen = self._cupy.seen(self.data.ptr, self.nbytes)
        return seen.view(self.dtype).reshape(self.shape).copy()


class Over(Array):
    """An array over memory that somebody else holds: page-locked, for one."""

    def __init__(self, shape, dtype, pointer):
        self._cupy, address, self._block = pointer
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.nbytes = int(np.prod(self.shape)) * self.dtype.itemsize
        self.data = Pointer(self._cupy, address)
        self.flags = SimpleNamespace(c_contiguous=True)
        self.device = SimpleNamespace(id=0)


class Device:
    """The only one."""

    def __init__(self, number=0):
        self.id = number

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def use(self):
        """Do nothing."""


class Stream:
    """Operations in their order."""

    def __init__(self, cupy):
        self.cupy, self.ops, self.capturing = cupy, [], None
        self.ptr = id(self)
        cupy.streams.append(self)

    def put(self, op):
        """Queue an operation, and sometimes run a few of any stream."""
        if self.capturing is not None:
            self.capturing.append(op)
            return
        self.ops.append(op)
        while self.cupy.random.random() < 0.3:
            self.cupy.step()

    def runnable(self):
        """Return whether the first operation need not wait."""
        return bool(self.ops) and getattr(self.ops[0], "ready", lambda: True)()

    def run(self):
        """Run the first operation."""
        self.ops.pop(0)()

    def wait_event(self, event):
        """Wait for what the event has recorded by now."""
        token = event.token
        op = lambda: None  # noqa: E731  it needs an attribute
        op.ready = lambda: token["done"]
        self.put(op)

    def synchronize(self):
        """Run until nothing is left here."""
        self.cupy.wait(lambda: not self.ops)

    def is_capturing(self):
        """Return whether operations are captured."""
        return self.capturing is not None

    def begin_capture(self):
        """Keep operations for a graph from now on."""
        if not self.cupy.captures:
            raise RuntimeError("this stream captures nothing")
        self.capturing = []

    def end_capture(self):
        """Return a graph."""
        ops, self.capturing = self.capturing, None

        def launch(stream):
            for op in ops:
                stream.put(op)

        return SimpleNamespace(upload=lambda stream: None, launch=launch)

    def __enter__(self):
        if not hasattr(self.cupy.stack, "streams"):
            self.cupy.stack.streams = []
        self.cupy.stack.streams.append(self)
        return self

    def __exit__(self, *error):
        self.cupy.stack.streams.pop()


class Handle:
    """A stream as its user holds it: as in CuPy, its `__del__` destroys the stream."""

    def __init__(self, stream):
        self._stream, self._destroyed = stream, False

    def __getattr__(self, name):
        if self._destroyed:
            self._stream.cupy.faults.append(f"`{name}` of a stream that is destroyed")
        return getattr(self._stream, name)

    def __enter__(self):
        return self.__getattr__("__enter__")()

    def __exit__(self, *error):
        return self._stream.__exit__(*error)

    def __del__(self):
        self._destroyed = True


class Event:
    """A point in a stream."""

    def __init__(self, cupy):
        self.cupy, self.token = cupy, {"done": True}

    def record(self, stream=None):
        """Mark the end of what a stream has now."""
        self.token = token = {"done": False}
        (stream or self.cupy.current()).put(lambda: token.update(done=True))

    def synchronize(self):
        """Run until the point is reached."""
        token = self.token
        self.cupy.wait(lambda: token["done"])
