"""cuFFT's transforms as bare as they come: a plan, no scaling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.stock.run import Stock
from snellen.bench.clock import Line
from snellen.bench.runner import Case
from snellen.gpu import graph
from snellen_lab.bench.fft import REPEATED, Transform

NAME = "cuFFT"


@contextmanager
def lines(case: Case, device: str, missing: dict[str, str]) -> Iterator[dict[str, Stock]]:
    """Give cuFFT's transform of the batch of a case, as a CUDA graph; of square planes only."""
    assert isinstance(case, Transform)
    if case.height != case.width:
        yield {}
        return
    import cupy

    transform, times = cufft(case), REPEATED[case.batch]
    planes = cupy.asarray(case.planes())
    given, out = planes.copy(), cupy.empty((case.batch, *sizes(case)[1]), dtype(case))

    def check() -> dict[str, Any]:
        given[...] = planes  # anew: irfft2 destroys it
        transform(given, out)
        scale = 1 / (case.height * case.width) if case.kind in ("ifft2", "irfft2") else 1.0
        return case.check(out.get() * out.dtype.type(scale), device)

    def work() -> None:
        for _ in range(times):
            transform(given, out)

    work()
    yield {NAME: Stock(Line(graph.record(work)), check, count=times)}


def sizes(case: Transform) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return rows and columns of what goes in and of what comes out."""
    whole, half = (case.height, case.width), (case.height, case.width // 2 + 1)
    return half if case.kind == "irfft2" else whole, half if case.kind == "rfft2" else whole


def dtype(case: Transform) -> str:
    """Return the type of what comes out."""
    return "float32" if case.kind == "irfft2" else "complex64"


def cufft(case: Transform) -> Callable[[Any, Any], None]:
    """Return cuFFT's transform of CuPy arrays; irfft2 destroys its input."""
    from cupy.cuda import cufft as library

    code, direction = {
        "fft2": (library.CUFFT_C2C, library.CUFFT_FORWARD),
        "ifft2": (library.CUFFT_C2C, library.CUFFT_INVERSE),
        "rfft2": (library.CUFFT_R2C, library.CUFFT_FORWARD),
        "irfft2": (library.CUFFT_C2R, library.CUFFT_INVERSE),
    }[case.kind]
    given, made = sizes(case)
    plan = library.PlanNd(
        (case.height, case.width), given, 1, given[0] * given[1], made, 1, made[0] * made[1], code,
        case.batch, "C", 1, made[1],
    )  # fmt: skip
    return lambda array, out: plan.fft(array, out, direction)
