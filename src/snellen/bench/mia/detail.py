"""MIA's tables of docs/performance.md: options, rates, the kernel's layout, what was checked."""

from __future__ import annotations

from snellen.bench.mia import floor, gpu
from snellen.bench.table import Report, rows


def detail(report: Report, link: str) -> str:
    """Return the tables of one run on a GPU; nothing for one on the CPU."""
    if "gpu_cases" not in report:
        return ""
    head = f"From [{link.rpartition('/')[2]}](../{link}), on {report['machine']['gpu'][0]}."
    parts = [head, rates(report), options(report), stream(report), checks(report)]
    return "\n\n".join(part for part in parts if part)


def rates(report: Report) -> str:
    """Return operations a second, how the kernel lies on the GPU, and the other lines' times."""
    names = [name for name in (gpu.STOCK, gpu.HAND, gpu.TORCH, gpu.EAGER)
             if any(name in case["lines"] for case in report["gpu_cases"])]  # fmt: skip
    body = []
    for case in report["gpu_cases"]:
        ours, batch, layout = case["lines"][gpu.OURS], case["batch"], case["layout"]
        rate = batch * floor.operations(case["side"]) / ours["median"] / 1e9
        others = [case["lines"].get(name) for name in names]
        body.append([
            f"{case['case']}, {batch}", f"{ours['median']:.3f}", f"{rate:.2f}",
            f"{layout['cluster']} of {layout['threads']}", str(layout["registers"]),
            str(layout["local_bytes"]), f"{layout['shared_bytes'] / 1024:.0f}",
            "on chip" if layout["on_chip"] else "L2",
            *(f"{other['median']:.2f} ({other['ratio']['min']:.1f} … {other['ratio']['max']:.1f} ×)"
              if other else "–" for other in others),
        ])  # fmt: skip
    head = ["period, at once", "ms", "TFLOP/s of the transforms", "blocks a picture of threads",
            "registers", "local memory, bytes", "shared, KiB a block", "spectra",
            *(f"{name}, ms (ratios)" for name in names)]  # fmt: skip
    return rows(head, body)


def options(report: Report) -> str:
    """Return milliseconds of each option, and against the default."""
    found = [("GPU", one) for one in report["options"]]
    found += [("CPU", one) for one in report["cpu_options"]]
    body = []
    for name in found[0][1]["lines"]:
        line = [name]
        for _, one in found:
            taken = one["lines"][name]
            line += [f"{taken['median']:.3f} ({taken['ratio']['median']:.2f} ×)"]
        body.append(line)
    case = found[0][1]["case"]
    head = [f"option, {case}, 200 iterations; ms (against Poisson)",
            *(f"{where}, {one['batch']} at once" for where, one in found)]  # fmt: skip
    return rows(head, body)


def stream(report: Report) -> str:
    """Return milliseconds a frame of a stream."""
    found = report["latency"]
    body = [[name, *(f"{row[key]:.3f}" for key in ("p50", "p99", "min", "max"))]
            for name, row in found["lines"].items()]  # fmt: skip
    what = f"{found['frames']:,} frames of {found['case']}, from and to"
    head = [what, "p50, ms", "p99", "least", "most"]
    return rows(head, body)


def checks(report: Report) -> str:
    """Return what was found before any time was taken."""
    body = [
        [f"{row['option']}, {row['case']}, {row['batch']} at once", row["arm"], row["dtype"],
         str(row["iterations"]), f"{100 * row['max']:.1e} %", f"{100 * row['mean']:.1e} %",
         f"{100 * row['psf']:.1e} %"] for row in report["exactness"]
    ]  # fmt: skip
    head = ["picture", "by", "precision", "iterations", "off float64, of the peak, at most",
            "on average", "PSF, at most"]  # fmt: skip
    return rows(head, body)
