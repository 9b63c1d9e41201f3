"""Arrays of the fake CuPy with which one can calculate: each operation is queued on a stream."""

from __future__ import annotations

import sys
from operator import add, mul, sub, truediv

import numpy as np

from support.fake_cupy import Array, FakeCupy

FUNCTIONS = ("ascontiguousarray", "clip", "maximum", "minimum", "rint")


def install(monkeypatch, seed):
    """Install a fake CuPy whose arrays calculate, and return it."""
    fake = FakeCupy(seed).install(monkeypatch)
    cupy = sys.modules["cupy"]
    cupy.empty = lambda shape, dtype: Numbers(fake, shape, dtype)
    cupy.arange = lambda count: queued(fake, lambda: np.arange(count))
    for name in FUNCTIONS:
        function = getattr(np, name)
        setattr(cupy, name, lambda *given, function=function: queued(fake, function, *given))
    return fake


def queued(fake, function, *given):
    """Queue function(*given) on the current stream; return the array for its result."""

    def work(*samples):
        rest = iter(samples)
        return function(*(next(rest) if isinstance(one, Numbers) else one for one in given))

    inputs = [one for one in given if isinstance(one, Numbers)]
    like = np.asarray(work(*(np.zeros(one.shape, one.dtype) for one in inputs)))
    result = Numbers(fake, like.shape, like.dtype)
    fake.kernel(work, inputs, result)
    return result


class Numbers(Array):
    """An array on the GPU.

    As in CuPy's pool, its memory serves others after all that its own stream has queued by the time
    it is dropped. Work on another stream that still reads it then is a fault.
    """

    def __init__(self, cupy, shape, dtype):
        super().__init__(cupy, shape, dtype)
        self._stream = cupy.current()

    def __del__(self):
        block = self._block
        self._stream.ops.append(lambda: block.size)

    def __dlpack_device__(self):
        return 2, 0

    def __getitem__(self, key):
        return queued(self._cupy, lambda samples: samples[key], self)

    def __setitem__(self, key, other):
        def work(samples, *others):
            samples[key] = others[0] if others else other
            return samples

        inputs = [self, other] if isinstance(other, Numbers) else [self]
        self._cupy.kernel(work, inputs, self)

    def __add__(self, other):
        return queued(self._cupy, add, self, other)

    def __sub__(self, other):
        return queued(self._cupy, sub, self, other)

    def __rsub__(self, other):
        return queued(self._cupy, sub, other, self)

    def __mul__(self, other):
        return queued(self._cupy, mul, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return queued(self._cupy, truediv, self, other)

    def astype(self, dtype):
        """Return a copy of another type."""
        return queued(self._cupy, lambda samples: samples.astype(dtype), self)

    def copy(self):
        """Return a copy."""
        return queued(self._cupy, np.copy, self)

    def take(self, indices, axis):
        """Return rows or columns."""
        return queued(self._cupy, lambda a, i: a.take(i, axis), self, indices)

    def set(self, array):
        """Fill it from host memory, which may change afterwards."""
        staged = array.copy()
        self._cupy.kernel(lambda: staged, [], self)

    def get(self):
        """Wait for the current stream; return a copy in host memory."""
        self._cupy.current().synchronize()
        return super().get()
