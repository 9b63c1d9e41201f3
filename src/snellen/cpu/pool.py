"""Threads for tasks, for as long as Python runs: also in threads that outlive the main one.

The pool of `concurrent.futures` takes no task once the main thread has ended, and its module cannot
even be imported then, although Python still waits for other threads and calls the functions of
`atexit`. The threads of these pools are daemons, which such a function waits for.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, wait
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from snellen.errors import SnellenError
from snellen.process import check_running, lock

P = ParamSpec("P")
T = TypeVar("T")

Task = tuple[Future[Any], Callable[[], Any]]


class Pool(Executor):
    """Threads that run tasks in the order in which they are submitted.

    A thread starts where no other one is free; all of them end with the pool.

    Parameters
    ----------
    count : int
        How many threads there may be.
    name : str
        How the names of the threads begin.
    """

    _asks = True
    """True: daemons are refused at the end."""

    def __init__(self, count: int, name: str = "snellen") -> None:
        if count < 1:
            raise ValueError(f"got {count} threads; expected 1 or more")
        self._count, self._name = count, name
        self._lock = threading.Lock()
        self._closed = False
        self._begin()
        with _listing:
            _pools.add(self)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a thread call `fn`; return the future of what that returns.

        Raises
        ------
        SnellenError
            Python shuts down, or the program has ended and does not wait for this thread.
        RuntimeError
            The pool is shut down, or no thread can be started.
        """
        check_running()
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if _ending and self._asks and not awaited():
                raise SnellenError(
                    "the program has ended, and does not wait for this thread, a daemon",
                    advice="let the main thread wait for it by join()",
                )
            if len(self._threads) < self._count and not self._free.acquire(blocking=False):
                self._start()
            self._tasks.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads once they have run what was submitted; or what they run now.

        Parameters
        ----------
        wait : bool
            Until they have ended.
        cancel_futures : bool
            Cancel what no thread has begun.
        """
        with self._lock:
            self._closed = True
        self._end(wait, cancel_futures)

    def __del__(self) -> None:
        for _ in getattr(self, "_threads", ()):
            self._tasks.put(None)

    def _begin(self) -> None:
        """Set up what a group of threads shares; they refer to nothing else of the pool."""
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._free = threading.Semaphore(0)  # threads that wait for a task nobody has submitted
        self._threads: list[threading.Thread] = []

    def _start(self) -> None:
        name = f"{self._name}_{len(self._threads)}"
        thread = _Thread(target=_work, args=(self._tasks, self._free), daemon=True, name=name)
        thread.start()
        self._threads.append(thread)

    def _end(self, wait: bool, cancel: bool) -> None:
        """End all threads there are; those of later tasks are others."""
        with self._lock:
            tasks, threads = self._tasks, self._threads
            self._begin()
        while cancel and not tasks.empty():
            _cancel(tasks)
        for _ in threads:
            tasks.put(None)
        for thread in threads if wait else ():
            thread.join()


class _Thread(threading.Thread):
    """A thread of a pool: whoever submits a task is asked himself whether Python waits for him."""

    awaited = True


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_listing = lock()
_ending = False
"""True: all threads have ended for which Python waits."""


def awaited() -> bool:
    """Return whether Python waits for this thread, or for the one on whose behalf it works."""
    thread = threading.current_thread()
    return bool(getattr(thread, "awaited", not thread.daemon))


def _work(tasks: SimpleQueue[Task | None], free: threading.Semaphore) -> None:
    """Run tasks until there is a None."""
    while (task := tasks.get()) is not None:
        _run(*task)
        del task  # else its result is kept while this waits for the next one
        free.release()


def _run(future: Future[Any], call: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            result = call()
        except BaseException as error:
            future.set_exception(error)
            del future  # the error's traceback has this frame
        else:
            future.set_result(result)


def _cancel(tasks: SimpleQueue[Task | None]) -> None:
    """Cancel the next task, unless a thread has just taken it."""
    from queue import Empty

    try:
        task = tasks.get_nowait()
    except Empty:
        return
    if task is not None:
        task[0].cancel()
        task[0].set_running_or_notify_cancel()


@atexit.register
def _at_exit() -> None:
    """Wait for what is being computed: Python would take its memory and code away."""
    global _ending
    _ending = True
    with _listing:  # a daemon may make a pool meanwhile
        pools = list(_pools)
    for pool in pools:
        pool._end(wait=True, cancel=False)


if hasattr(os, "register_at_fork"):  # the threads are the parent's
    os.register_at_fork(after_in_child=_pools.clear)


class _StandIn(Pool):
    """In the place of the class of `concurrent.futures`, for other libraries: asyncio's threads."""

    _asks = False

    def __init__(self, max_workers: int | None = None, thread_name_prefix: str = "") -> None:
        super().__init__(max_workers or min(32, (os.cpu_count() or 1) + 4), thread_name_prefix)


try:  # as long as that can be done
    import concurrent.futures.thread
except RuntimeError:  # the main thread has ended; importing SciPy needs a class of this name
    concurrent.futures.ThreadPoolExecutor = _StandIn  # type: ignore[assignment,misc]


def results(tasks: Sequence[Future[T]]) -> list[T]:
    """Wait for all tasks and return their results; an interrupt cancels those not begun yet."""
    try:
        wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
    return [task.result() for task in tasks]
