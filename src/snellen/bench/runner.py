"""The one runner of all benchmarks: a case is checked, then it is timed.

A case that is wrong gets no time. The others go on, and the report counts the wrong ones.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from time import perf_counter
from typing import Any

from snellen.bench import clock, digest
from snellen.bench.clock import Line, Work, spread
from snellen.errors import SnellenError
from snellen.gpu import device as devices
from snellen.gpu import profile
from snellen.jobs.machine import facts

METHODS = ("aplus", "cnn", "mad", "mia")
"""Modules of this package that have cases; each is the name of a command."""
FORMAT = 2
"""Format of the JSON report. Format 1, without this number, had other keys for each method."""
PER_REPEAT = 4
"""Timed rounds on a GPU for each of the CPU's."""
LONG = 2 * clock.BUSY
"""Side of the product that keeps a GPU busy while the host enqueues all stages."""
CALLS = 5
"""Timed calls from host memory to host memory."""

Figures = dict[str, Any]
Say = Callable[[str], None]


@dataclass
class Kernel:
    """The computation of a case on one device, without transfers."""

    run: Work
    """Enqueues the computation on CuPy's current stream, or does it on the CPU."""
    result: Callable[[], Any]
    """Returns what the last run computed, in host memory, as `Case.check` takes it."""
    before: Work = lambda: None
    """Runs before each timed run, outside of its time."""
    count: float = 1.0
    """The number of the case's computations that one run does: its time is divided by it."""
    facts: Figures = field(default_factory=dict)
    """Further facts, as registers and shared memory."""


class Case(ABC):
    """One cell of the results: inputs, a check and what is timed.

    Parameters
    ----------
    size : str
        Name of the size, as "1920×1080".
    kind : str
        What is computed, as "pair".
    batch : int
        How many pictures at once.
    """

    def __init__(self, size: str, kind: str, batch: int = 1):
        self.size, self.kind, self.batch = size, kind, batch
        many = f"{batch} at once, " if batch > 1 else ""
        self.name = f"{size}, {many}{kind}"

    @abstractmethod
    def check(self, result: Any, device: str) -> Figures:
        """Compare a result with an independent reference and return the differences.

        Raises
        ------
        SnellenError
            The result is wrong.
        """

    @abstractmethod
    def open(self, device: str) -> AbstractContextManager[Kernel]:
        """Prepare the computation, and give all back in the end."""

    def call(self, device: str) -> Callable[[], Any] | None:
        """Return the call as users write it, from host memory to host memory; None: there is none.

        Its inputs are made already; it returns what `check` takes.
        """
        return None


def run(
    method: str,
    repeats: int,
    say: Say,
    *,
    device: str = "auto",
    quick: bool = False,
    package: str = "snellen.bench",
    **more: Any,
) -> dict[str, Any]:
    """Check and time all cases of a method; return the report as a JSON object.

    Parameters
    ----------
    method : str
        The module of `package` that has the cases.
    repeats : int
        Timed rounds on the CPU; PER_REPEAT times as many on a GPU.
    say : callable
        Gets each line for the reader.
    device : str
        "auto", "cpu", "cuda" or "cuda:N".
    quick : bool
        Whether only some sizes are measured.
    **more
        What else the method's cases take.

    Raises
    ------
    DeviceError
        The device cannot be used.
    """
    chosen = devices.resolve(device)
    report = header(method, chosen, repeats, quick, say)
    cases: list[Case] = import_module(f"{package}.{method}").cases(chosen, quick, **more)
    with devices.using(chosen):
        if chosen != "cpu":
            report["copy_gb_s"] = clock.copy_rate()
        report["cells"] = [measure(case, chosen, repeats, say) for case in cases]
    report["failed"] = sum("error" in cell for cell in report["cells"])
    return report


def header(method: str, device: str, repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return what a report says of the machine, the source and the run."""
    machine = facts()
    say(f"{method}: {machine['cpu']}, {machine['threads']} threads; "
        f"{', '.join(machine['gpu']) or 'no GPU'}; device {device}")  # fmt: skip
    return {
        "benchmark": method, "format": FORMAT, "machine": machine, **digest.source(),
        "commit": None, "device": device, "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "repeats": repeats, "quick": quick,
    }  # fmt: skip


def measure(case: Case, device: str, repeats: int, say: Say) -> Figures:
    """Return the cell of a case: its check and times, or the error instead of times."""
    cell: Figures = {"size": case.size, "batch": case.batch, "kind": case.kind}
    try:
        times = _calls(case, device) | _kernel(case, device, repeats)
    except SnellenError as error:
        say(f"  {case.name}: WRONG, nothing is timed: {error}")
        return cell | {"error": str(error)}
    except Exception as error:  # of CUDA or another library: the other cases go on
        say(f"  {case.name}: FAILED, nothing is timed: {traceback.format_exc()}")
        return cell | {"error": f"{type(error).__name__}: {error}"}
    say(f"  {case.name}: {format_line(times)}")
    return cell | times


def _calls(case: Case, device: str) -> Figures:
    """Return the times of the call: of the first one, whose result is checked, and of others."""
    call = case.call(device)
    if call is None:
        return {}
    start = perf_counter()
    result = call()
    cold = 1e3 * (perf_counter() - start)
    figures = case.check(result, device)
    warm = [clock.host(call) for _ in range(CALLS)]
    return {"call_check": figures, "call_ms": {"cold": cold, "warm": spread(warm)}}


def _kernel(case: Case, device: str, repeats: int) -> Figures:
    """Return the times of the computation alone, and of its stages."""
    with ExitStack() as stack:
        if device != "cpu":
            stack.enter_context(clock.stream(device))
        used = clock.used(device)
        kernel = stack.enter_context(case.open(device))
        kernel.before()
        kernel.run()
        cell: Figures = {"check": case.check(kernel.result(), device)}
        if device != "cpu":
            cell["memory_mb"] = (clock.used(device) - used) / 1e6
        watch = clock.host if device == "cpu" else clock.events()
        rounds = repeats if device == "cpu" else PER_REPEAT * repeats
        timed = clock.in_rounds({"ours": Line(kernel.run, kernel.before)}, rounds, watch)["ours"]
        cell["kernel_ms"] = spread(ms / kernel.count for ms in timed)
        if stages := _stages(kernel, repeats, device):
            cell["stages_ms"] = stages
        return cell | kernel.facts


def _stages(kernel: Kernel, repeats: int, device: str) -> Figures:
    """Return the milliseconds of each stage in one run; on the CPU, of all threads together."""
    # A GPU is kept busy until the host has enqueued all kernels, so that no stage waits for it.
    found: dict[str, list[float]] = {}
    enqueue = None if device == "cpu" else clock.busy(LONG)
    for _ in range(repeats):
        kernel.before()
        if enqueue:
            enqueue()
        with profile.recording() as recorded:
            kernel.run()
        for name, times in recorded.table().items():
            found.setdefault(name, []).append(sum(times) / kernel.count)
    return {name: spread(times) for name, times in found.items()}


def format_line(cell: Figures) -> str:
    """Return the times of a cell as one line of text."""
    kernel = cell["kernel_ms"]
    text = f"{kernel['median']:.4g} ms ({kernel['min']:.4g} … {kernel['max']:.4g})"
    if "call_ms" in cell:
        call = cell["call_ms"]
        text += f"; a call {call['warm']['median']:.4g} ms, the first {call['cold']:.4g} ms"
    if "memory_mb" in cell:
        text += f"; {cell['memory_mb']:.0f} MB on the GPU"
    if "stages_ms" in cell:
        stages = (f"{name} {ms['median']:.3g}" for name, ms in cell["stages_ms"].items())
        text += f"; stages: {', '.join(stages)}"
    return text
