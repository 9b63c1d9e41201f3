"""Our small transforms on the GPU beside cuFFT's, in turns, as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from snellen.bench.fft import exact, lines
from snellen.bench.fft.cases import MIXED, REPEATED, Case, batched, drawn
from snellen.bench.fft.exact import Transform
from snellen.bench.gpu import free
from snellen.bench.mia.turns import Line, Recorded, beside, gpu_clock, in_turns
from snellen.errors import SnellenError

PER_REPEAT = 2  # rounds on the GPU for each of the CPU's repeats

Say = Callable[[str], None]


def check(case: Case, transforms: Mapping[str, Transform]) -> dict[str, float]:
    """Return the relative L2 error of each line, every plane of the batch counted.

    Raises
    ------
    SnellenError
        Too much: nothing may be timed.
    """
    import cupy

    planes, wanted = cupy.asarray(drawn(case)), exact.truth(case)
    found = {}
    for name, transform in transforms.items():
        given = batched(planes, case.batch)  # anew: cuFFT's irfft2 destroys it
        out = cupy.full((case.batch, *case.made), cupy.nan, case.dtype)
        transform(given, out)
        found[name] = exact.error(out, wanted, lines.scale(name, case))
    return found


def measure(case: Case, rounds: int, say: Say) -> dict[str, Any]:
    """Return errors and microseconds of one transform of the batch, ours and cuFFT's."""
    transforms = {lines.OURS: lines.ours(case), lines.CUFFT: lines.cufft(case)}
    errors = check(case, transforms)
    for name, off in errors.items():
        exact.refuse(off, name, case)
    taken = beside(times(case, transforms, rounds), lines.OURS)
    row = {"kind": case.kind, "case": case.name, "batch": case.batch,
           "repeated": REPEATED[case.batch], "errors": errors, "lines": taken}  # fmt: skip
    say(told(row, case))
    return row


def mixed(say: Say) -> list[dict[str, Any]]:
    """Check periods of unlike sides."""
    found = []
    for shape in MIXED:
        for kind in ("fft2", "ifft2", "rfft2", "irfft2"):
            case = Case(kind, shape, 3)
            (off,) = check(case, {lines.OURS: lines.ours(case)}).values()
            exact.refuse(off, lines.OURS, case)
            found.append({"kind": kind, "case": case.name, "batch": case.batch, "error": off})
        most = max(row["error"] for row in found[-4:])
        say(f"  right: {case.name:<8} {most:.1e} off at most, all four")
    return found


def times(case: Case, transforms: Mapping[str, Transform], rounds: int) -> dict[str, list[float]]:
    """Return microseconds of one transform of the batch, round by round, each line's."""
    import cupy

    count = REPEATED[case.batch]
    with cupy.cuda.Stream(non_blocking=True):
        given = batched(cupy.asarray(drawn(case)), case.batch)
        # What numbers come after cuFFT's irfft2 has destroyed its input costs no time.
        arrays = {name: (given.copy(), cupy.empty((case.batch, *case.made), case.dtype))
                  for name in transforms}  # fmt: skip
        launches = {}
        for name, transform in transforms.items():
            once = partial(transform, *arrays[name])
            once()  # compiles
            launch = Recorded(partial(repeat, once, count))
            if (name, case.kind) != (lines.CUFFT, "irfft2"):
                same(launch, arrays[name][1], f"{name}, {case.kind}, {case.batch} × {case.name}")
            launches[name] = Line(lambda: None, launch)
        taken = in_turns(launches, rounds, gpu_clock())
        del launches
    del arrays, given
    free()
    return {name: [1e3 * ms / count for ms in found] for name, found in taken.items()}


def same(launch: Callable[[], object], out: Any, what: str) -> None:
    """Stop the report where a graph gives another result than the call before.

    Raises
    ------
    SnellenError
        It does.
    """
    wanted = out.copy()
    out.fill(0)
    launch()
    if not (out == wanted).all():
        raise SnellenError(f"{what}: the graph's result is not the call's: nothing is timed")


def repeat(once: Callable[[], object], count: int) -> None:
    """Do it so often."""
    for _ in range(count):
        once()


def told(row: dict[str, Any], case: Case) -> str:
    """Return one line of what was found."""
    ours, theirs = (row["lines"][name] for name in (lines.OURS, lines.CUFFT))
    rate = case.bytes / ours["median"] / 1e6
    errors = " and ".join(f"{off:.1e}" for off in row["errors"].values())
    return (
        f"  {case.kind:<6} {case.batch:>5} × {case.name:<8} {ours['median']:9.2f} µs ("
        f"{ours['min']:.2f} … {ours['max']:.2f}), cuFFT {theirs['median']:9.2f}, "
        f"{theirs['ratio']['median']:5.2f} × ours; {rate:.2f} TB/s; off {errors}"
    )
