"""Tasks of a pool of threads that are one piece of work: their results, or none of them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")


def results(tasks: Sequence[Future[T]]) -> list[T]:
    """Wait for all tasks and return their results; an interrupt cancels those not begun yet."""
    try:
        wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
    return [task.result() for task in tasks]
