"""Profiling: how long each stage of a method takes, on the CPU and on a GPU.

Methods mark their stages; that costs less than a microsecond where nobody measures::

    with profile.stage("match"):
        match(features, anchors, index)

Whoever wants the times records them::

    with profile.recording() as found:
        upscaler.run(frame)
    found.table()  # {"features": [0.41, 0.40], "match": [1.12, 1.13]} in milliseconds

What `prepare` runs, so that all is compiled and allocated, is not recorded (see `paused`).

Inside `device.using` of a GPU a stage lasts from one CUDA event to another on the stream that is
current where it begins; elsewhere it lasts as long as the host's clock says. A stage that runs in
several CPU threads at once has a time for each of them, and the sum counts the time of all threads.

A CUDA graph replays without Python, so its stages cannot be timed one by one. While a recording is
active, `graph.capture`'s results therefore run the work itself and not the graph: each stage is
timed as it is, and the whole takes longer by what the launches of its kernels cost.

Under Nsight Systems or Nsight Compute each stage is also an NVTX range.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from types import TracebackType
from typing import Any

from snellen import process
from snellen.errors import InputError
from snellen.gpu import device

INJECTION = "NVTX_INJECTION64_PATH"
"""Environment variable that Nsight's tools set for the programs that they profile."""


class Recording:
    """The times of all stages between the begin and the end of a recording."""

    def __init__(self) -> None:
        self._found: dict[str, list[float | tuple[Any, Any]]] = {}

    def table(self) -> dict[str, list[float]]:
        """Return milliseconds of every run of each stage; wait for the GPU where it still works.

        Stages stand in the order in which they began for the first time.
        """
        return {
            name: [_milliseconds(time) for time in times] for name, times in self._found.items()
        }

    def times(self, name: str) -> list[float | tuple[Any, Any]]:
        """Return the list to which each run of a stage adds: milliseconds, or two events."""
        return self._found.setdefault(name, [])


def stage(name: str) -> AbstractContextManager[object]:
    """Mark what the `with` block does as one run of a stage."""
    recording = None if _pauses else _recording
    if recording is None and not _ranges:
        return _NOTHING
    return _Stage(name, recording)


@contextmanager
def recording() -> Iterator[Recording]:
    """Record the times of the stages of all threads meanwhile.

    Raises
    ------
    InputError
        A recording is active already.
    """
    global _recording
    if _recording is not None:
        raise InputError("stages are being recorded already; end that recording first")
    _recording = found = Recording()
    try:
        yield found
    finally:
        _recording = None


@contextmanager
def paused() -> Iterator[None]:
    """Record nothing meanwhile, in no thread: methods prepare in it, with blank pictures.

    Several threads may pause at once; recording goes on when the last of them is done.
    """
    global _pauses
    with _lock:
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1


def active() -> bool:
    """Return whether stages are being recorded."""
    return _recording is not None and not _pauses


class _Stage:
    """One run of a stage, with its NVTX range."""

    __slots__ = ("_begin", "_name", "_range", "_recording", "_stream")

    def __init__(self, name: str, recording: Recording | None):
        self._name, self._recording = name, recording
        self._begin: Any = None
        self._stream: Any = None

    def __enter__(self) -> None:
        self._range = _nvtx() if _ranges else None
        if self._range:
            self._range.RangePush(self._name)
        if self._recording is None:
            return
        self._recording.times(self._name)  # gives it its place in the table
        if device.current() == "cpu":
            self._begin = perf_counter()
            return
        import cupy

        stream = cupy.cuda.get_current_stream()
        if not stream.is_capturing():  # the events of a graph have no time
            self._stream, self._begin = stream, cupy.cuda.Event()
            self._begin.record(stream)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._range:
            self._range.RangePop()
        if self._recording is None or self._begin is None or kind is not None:
            return
        times = self._recording.times(self._name)
        if self._stream is None:
            times.append(1e3 * (perf_counter() - self._begin))
            return
        import cupy

        end = cupy.cuda.Event()
        end.record(self._stream)
        times.append((self._begin, end))


def _milliseconds(time: float | tuple[Any, Any]) -> float:
    if not isinstance(time, tuple):
        return time
    import cupy

    begin, end = time
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(begin, end))


def _nvtx() -> Any:
    """Return CuPy's NVTX; None where it is not installed."""
    try:
        from cupy.cuda import nvtx
    except ImportError:
        return None
    return nvtx if hasattr(nvtx, "RangePush") else None


_NOTHING = nullcontext()
_recording: Recording | None = None
_pauses = 0
_lock = process.lock()  # of _pauses
_ranges = INJECTION in os.environ
