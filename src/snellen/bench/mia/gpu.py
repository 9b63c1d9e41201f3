"""MIA on the GPU beside cuFFT, in turns and between events: data on the device, iterations only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from snellen.bench import stock as stocks
from snellen.bench.gpu import free
from snellen.bench.mia import arms, cases, exact, stock
from snellen.bench.mia.cases import BATCH, ITERATIONS, PLAIN, Case, Option, Problem
from snellen.bench.mia.turns import Clock, Line, beside, gpu_clock, in_turns

OURS = "Snellen"
STOCK = "cuFFT, CUDA graph"
HAND = "cuFFT, by hand, CUDA graph"
EAGER = "PyTorch, eager"
TORCH = "PyTorch, CUDA graph"
PER_REPEAT = 2  # rounds on the GPU for each of the CPU's repeats

Say = Callable[[str], None]


def check(case: Case, device: str, say: Say) -> dict[str, Any]:
    """Return by how much our arm is off float64; every picture of the batch counts.

    Raises
    ------
    SnellenError
        Too much: nothing may be timed.
    """
    with arms.made(case, device) as arm:
        row = exact.check(arm, ready(case, device), case, OURS)
    say(exact.told(row))
    return row


def ready(case: Case, device: str, option: Option = PLAIN) -> Problem:
    """Return a case's problem on the device."""
    return arms.placed(cases.shifted(cases.problem(case.side, option), case.batch), device)


def measure(case: Case, device: str, rounds: int, say: Say) -> tuple[list[Any], dict[str, Any]]:
    """Return by how much the other lines are off, and milliseconds of all lines in turns."""
    import cupy

    with ExitStack() as stack:
        stream = stack.enter_context(cupy.cuda.Stream(non_blocking=True))
        given, clock = ready(case, device), gpu_clock()
        lines: dict[str, Any] = {OURS: stack.enter_context(arms.made(case, device))}
        missing: dict[str, str] = {}
        makes: dict[str, Callable[[], Any]] = {STOCK: partial(stock.Loop, cupy), HAND: stock.ByHand}
        for name, make in makes.items():
            _add(lines, missing, name, partial(quicker, make, given, clock))
        if case.batch <= BATCH:  # larger ones take long, and tell nothing more of PyTorch
            stack.enter_context(_torch_on(stream, lines, missing, given))
        checked = [exact.check(line, given, case, name)
                   for name, line in lines.items() if name != OURS]  # fmt: skip
        taken = in_turns({name: timed(line, given) for name, line in lines.items()}, rounds, clock)
        layout = described(lines[OURS])
        graphs = {name: line.count for name, line in lines.items() if hasattr(line, "count")}
        lines.clear()
        cupy.fft.config.get_plan_cache().clear()
    free()
    row = {"case": case.name, "side": case.side, "batch": case.batch,
           "lines": beside(taken, OURS), "graphs": graphs, "layout": layout,
           "missing": missing}  # fmt: skip
    tell(row, say)
    return checked, row


def described(arm: Any) -> dict[str, Any]:
    """Return how our kernel lies on the GPU, and what it takes of it."""
    layout, usage = arm.layout, arm._kernel.attributes()
    return {
        "cluster": layout.cluster, "threads": layout.threads, "registers": usage.registers,
        "local_bytes": usage.local, "shared_bytes": layout.shared, "on_chip": layout.in_shared,
    }  # fmt: skip


def timed(arm: Any, given: Problem) -> Line:
    """Return what is timed of an arm: all iterations, begun anew each time."""
    return Line(partial(arm.start, given.y, given.f, given.h), partial(arm.iterate, ITERATIONS))


def quicker(make: Callable[[], Any], given: Problem, clock: Clock) -> stock.Graphed:
    """Return a line as a CUDA graph: of one iteration or of all, whichever is quicker."""
    line = make()
    line.start(given.y, given.f, given.h)
    both = {count: stock.Graphed(line, count) for count in (1, ITERATIONS)}
    taken = in_turns({str(n): timed(graph, given) for n, graph in both.items()}, 2, clock)
    return both[min(both, key=lambda count: min(taken[str(count)]))]


def _add(
    lines: dict[str, Any], missing: dict[str, str], name: str, make: Callable[[], Any]
) -> None:
    """Make a line; one that cannot be made is told, not an error of the benchmark."""
    try:
        lines[name] = make()
    except Exception as error:  # whatever another library raises
        missing[name] = f"{type(error).__name__}: {error}"


@contextmanager
def _torch_on(
    stream: Any, lines: dict[str, Any], missing: dict[str, str], given: Problem
) -> Iterator[None]:
    """Add PyTorch's lines, and let it work on CuPy's stream meanwhile."""
    try:
        torch = stocks.torch()
        if not torch.cuda.is_available():
            raise ImportError("PyTorch is here, but sees no GPU")
    except ImportError as error:
        missing[EAGER] = missing[TORCH] = str(error)
        yield
        return

    def started() -> stock.Loop:
        loop = stock.torch_loop()
        loop.start(given.y, given.f, given.h)
        return loop

    with torch.inference_mode(), torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
        _add(lines, missing, EAGER, started)
        _add(lines, missing, TORCH, lambda: stock.TorchGraphed(started(), ITERATIONS))
        yield
    torch.cuda.empty_cache()


def tell(row: dict[str, Any], say: Say) -> None:
    """Say what a case's lines take."""
    batch = row["batch"]
    say(f"\n{row['case']}, {batch} at once, {ITERATIONS} iterations, ms")
    for name, line in row["lines"].items():
        each = f", {line['median'] / batch:.4f} an image" if batch > 1 else ""
        ratio = "" if name == OURS else f"  {line['ratio']['median']:6.2f} × ours"
        graph = row["graphs"].get(name)
        told = f" ({graph} in a graph)" if graph else ""
        say(f"  {name + told:<44} {line['median']:9.3f} ({line['min']:.3f} … {line['max']:.3f})"
            f"{each}{ratio}")  # fmt: skip
    for name, why in row["missing"].items():
        say(f"  {name} is left out: {why}")
