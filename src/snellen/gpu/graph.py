"""CUDA graphs: kernels are captured once and launched as one from then on.

This is the only place that captures a stream, and that waits for a whole GPU: where any thread
does so, CUDA breaks off the captures of all threads on that GPU, and refuses to wait. So one waits
for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from snellen import process
from snellen.gpu import profile

Work = Callable[[], object]
"""It queues kernels and copies on CuPy's current stream, and returns without waiting for them."""


def capture(work: Work) -> Work:
    """Return work as one graph; the work itself where it cannot be captured.

    The graph is launched on the stream that is current when it is called. While stages are being
    recorded (see `profile`) the call runs the work itself, so that each stage can be timed.

    Parameters
    ----------
    work : callable
        Its kernels must have run before, on this GPU and on the streams that they will run on, as
        a capture cannot load them. It reads and writes the same arrays at each call, and the caller
        holds these arrays as long as the graph is used. Other streams may take part: they wait for
        an event of the current one first, and the current one waits for them in the end.

    Returns
    -------
    callable
        It holds `work`.
    """
    try:
        launch = record(work)
    except RuntimeError:  # CUDA's and ours; kernels that are launched one by one do as well
        return work

    def replay() -> None:
        if profile.active():
            work()
        else:
            launch()

    return replay


def record(work: Work) -> Callable[[], None]:
    """Return the launch of work as one graph, on the stream that is current when it is called.

    Parameters
    ----------
    work : callable
        As for `capture`. It runs now, on CuPy's current stream, which is not the default one; its
        kernels do not.

    Raises
    ------
    RuntimeError
        Something in it cannot be captured.
    """
    import cupy

    stream = cupy.cuda.get_current_stream()
    graph: Any = None
    with _capturing:
        stream.begin_capture()
        try:
            work()
        finally:
            graph = stream.end_capture()
    graph.upload(stream=stream)  # now, and not at its first launch
    return lambda: graph.launch(stream=cupy.cuda.get_current_stream())


def synchronize() -> None:
    """Wait until the current GPU has done all queued work, and no thread captures a stream."""
    import cupy

    with undisturbed():
        cupy.cuda.Device().synchronize()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back captures while the block does what may wait for a whole GPU, as freeing memory."""
    with _capturing:
        yield


@contextmanager
def quiet() -> Iterator[bool]:
    """Say whether no other thread captures; then none begins in the block. Nobody is waited for."""
    free = _capturing.acquire(blocking=False)
    try:
        yield free
    finally:
        if free:
            _capturing.release()


_capturing = process.lock()
"""Held while a stream is captured, and while a thread waits for a whole GPU."""
