"""A+ on the GPU: checked, then timed between events, stage by stage and whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.aplus.model import Model, load
from snellen.aplus.upscaler import Upscaler
from snellen.bench import exact, stages, steps
from snellen.bench.cases import Case, codes, kinds, picture
from snellen.bench.clock import evented, sustained
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Frame, Plane
from snellen.gpu.graph import record

BITS = (8, 10, 0)
SMALL = (320, 180)  # width and height of what is compared with float64
PER_REPEAT = 4  # timed frames on the GPU for each of the CPU's

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Job:
    """One picture through the GPU arm."""

    model: Model
    plane: Plane
    """Codes or floats, on the host."""
    bits: int

    @property
    def source(self) -> Format:
        """Return the format of the plane."""
        return Format(self.plane.shape[1], self.plane.shape[0], self.bits)

    def ready(self) -> tuple[Any, Any, Any]:
        """Return the composer, the plane on the GPU, and room for the result."""
        import cupy

        from snellen.aplus.cuda.luma import Luma

        target = self.source.scaled(self.model.scale)
        out = cupy.empty((target.height, target.width), target.dtype)
        return Luma(self.model, self.source, target), cupy.asarray(self.plane), out


def free() -> None:
    """Give what CuPy keeps for later back to the driver."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()


def check(job: Job, against: str, what: str) -> dict[str, Any]:
    """Return the exactness figures of one picture against "cpu" or "float64".

    Raises
    ------
    SnellenError
        A check is red.
    """
    import cupy

    luma, _, out = job.ready()
    found = exact.examine(luma, job.model, job.source, job.plane, out, cupy)
    wanted = on_cpu(job) if against == "cpu" else exact.reference(job.plane, job.model)
    tied = exact.under(found.undecided, job.model)
    found.output = exact.pixels(out.get(), wanted, job.bits, tied)
    exact.refuse(found, job.bits, against, what)
    return {"bits": job.bits, "against": against, **found.json()}


def on_cpu(job: Job) -> Plane:
    """Return the result of the CPU arm."""
    with Upscaler(job.model.scale, job.model, "cpu") as upscaler:
        upscaler.prepare(job.source)
        return upscaler.run(Frame((job.plane,))).planes[0]


def exactness(case: Case, quick: bool, say: Say) -> list[dict[str, Any]]:
    """Check a case: float64 on a small picture, the CPU arm on a whole one; return the figures."""
    found = []
    model = load(None, case.scale)
    plans = [("cpu", (case.width, case.height)), ("float64", SMALL)]
    for against, (width, height) in plans if case.beside else plans[:1]:
        for kind, low in kinds(width, height).items():
            every = against == "float64" and not quick and kind != "flat"
            for depth in BITS if every else BITS[:1]:
                what = f"{width}×{height} ×{case.scale}, {kind}, {depth or 'float'}"
                figures = check(Job(model, codes(low, depth), depth), against, what)
                found.append({"case": case.name, "picture": kind, "width": width, "height": height}
                             | figures)  # fmt: skip
                say(f"  right: {what:<34} {told(figures)}")
                free()
    return found


def told(figures: dict[str, Any]) -> str:
    """Return one line of exactness figures."""
    off = figures.get("off_by_one")
    whole, decided = figures.get("psnr_db"), figures.get("psnr_decided_db")
    result = f"{whole:.1f} dB" if whole else "identical"
    if whole and decided:
        result += f", beside ties {decided:.1f}"
    if off is not None:
        result = f"{off:.1e} off by one"
        if figures["off_by_more"]:
            result += f", {figures['off_by_more']} by more at ties"
    return (f"{result} ({figures['against']}); features {figures['feature_error']:.1e}, "
            f"{figures['other_anchor']} other anchors (loss {figures['largest_loss']:.1e}), "
            f"{100 * figures['rescored']:.2f} % re-scored")  # fmt: skip


def measure(case: Case, repeats: int, say: Say) -> dict[str, Any]:
    """Return milliseconds of one case: launches, graph, back to back, stage by stage."""
    import cupy

    job = Job(load(None, case.scale), codes(picture(case.width, case.height), 8), 8)
    with cupy.cuda.Stream(non_blocking=True):
        luma, plane, out = job.ready()

        def line() -> None:
            luma(plane, out)

        figures = speed(line, out, PER_REPEAT * repeats)
        figures["stages"] = stages.times(luma, line, PER_REPEAT * repeats)
        figures["rescored"] = stages.rescored(luma, line)
    free()
    say(f"\n{case.name} luma, 8 bit\n  {lines(figures)}")
    for name, taken in figures["stages"].items():
        say(f"    {name:<10} {taken['median']:8.3f} ms  ({taken['min']:.3f} … {taken['max']:.3f})")
    return {"case": case.name, **figures}


def speed(line: Callable[[], None], out: Any, repeats: int) -> dict[str, Any]:
    """Return milliseconds a frame: as a stream of launches, as a graph, and one after another."""
    figures: dict[str, Any] = {"launches": evented(line, repeats)}
    wanted, best = out.get(), line
    try:
        captured = record(line)
    except Exception as error:  # what cannot be captured is told, not an error of the benchmark
        figures["no_graph"] = f"{type(error).__name__}: {error}"
    else:
        out.fill(0)
        best = captured
        figures["graph"] = evented(best, repeats)
        if not np.array_equal(out.get(), wanted):
            raise SnellenError("the graph's result is not that of the launches: nothing is timed")
    figures["sustained"] = sustained(best, 2 * repeats)
    return figures


def lines(figures: dict[str, Any]) -> str:
    """Return the whole frame's figures on one line."""
    found = [
        f"{name} {figures[name]['median']:.3f} ms ({figures[name]['min']:.3f} … "
        f"{figures[name]['max']:.3f})"
        for name in ("launches", "graph")
        if name in figures
    ]
    return ", ".join([*found, f"back to back {figures['sustained']:.3f} ms"])


PAPER = {
    "bicubic": ("bicubic",),
    "differences": ("differences",),
    "collecting": ("collect",),
    "PCA": ("pca",),
    "ANR: match": ("match",),
    "ANR: regress": ("regress",),
    "add low frequency, overlap": ("overlap",),
}
"""The paper's steps and ours on the CPU."""

FUSED = (
    (("bicubic", "differences", "collecting", "PCA"), ("features",)),
    (("ANR: match",), ("match", "settle")),
    (("ANR: regress",), ("group", "regress")),
    (("add low frequency, overlap",), ("overlap",)),
)
"""The paper's steps, and the stages of the GPU that do them all at once. Our overlap does the
bicubic again instead of reading it."""


def seven_steps(measured: dict[str, Any], case: Case, repeats: int, say: Say) -> dict[str, Any]:
    """Return the paper's first table: CPU ms, GPU ms, ratio, for each group of fused steps."""
    plane = codes(picture(case.width, case.height), 8)
    cpu = steps.measure(plane, load(None, case.scale), min(3, repeats))
    say(f"\nSeven steps of {case.name}, ms")
    rows = []
    for names, ours in FUSED:
        on_cpu_ms = sum(cpu[step]["median"] for name in names for step in PAPER[name])
        on_gpu_ms = sum(measured["stages"][s]["median"] for s in ours if s in measured["stages"])
        rows.append({"steps": list(names), "stages": list(ours), "cpu_ms": on_cpu_ms,
                     "gpu_ms": on_gpu_ms, "ratio": on_cpu_ms / on_gpu_ms})  # fmt: skip
        say(
            f"  {', '.join(names):<44} {on_cpu_ms:9.1f} {on_gpu_ms:8.3f} {rows[-1]['ratio']:7.0f} ×"
        )
    whole = np.array([[row["cpu_ms"], row["gpu_ms"]] for row in rows]).sum(axis=0)
    say(f"  {'whole':<44} {whole[0]:9.1f} {whole[1]:8.3f} {whole[0] / whole[1]:7.0f} ×")
    return {
        "case": case.name, "cpu": cpu, "rows": rows,
        "cpu_ms": float(whole[0]), "gpu_ms": float(whole[1]), "ratio": float(whole[0] / whole[1]),
    }  # fmt: skip
