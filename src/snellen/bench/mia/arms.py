"""Our arms, and problems where they want them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from snellen.bench.gpu import free
from snellen.bench.mia.cases import PLAIN, Case, Option, Problem


@contextmanager
def made(
    case: Case, device: str, option: Option = PLAIN, dtype: str | None = None
) -> Iterator[Any]:
    """Make our arm for a case, and give its memory back."""
    where = "snellen.mia.cpu" if device == "cpu" else "snellen.mia.cuda.fused"
    make: Any = import_module(where).Backend
    period = (case.side, case.side)
    with closing(make(option.definition, period, option.frames, case.batch, device, dtype)) as arm:
        yield arm
    if device != "cpu":
        free()


def placed(given: Problem, device: str) -> Problem:
    """Return a problem on a device."""
    if device == "cpu":
        return given
    import cupy

    y, f, h = (cupy.asarray(np.ascontiguousarray(array)) for array in (given.y, given.f, given.h))
    return Problem(y, f, h)
