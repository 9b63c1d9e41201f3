"""MAD's tables of docs/performance.md: stages, roofline, transfers, several GPUs, checks."""

from __future__ import annotations

from collections import Counter
from typing import Any

from snellen.bench.mad import floor, steps
from snellen.bench.mad.cases import CASES
from snellen.bench.mad.stages import REST, STAGES
from snellen.bench.table import Report, rows

PAPER: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("lightness, error", ("lightness",), ("lightness",)),
    ("FFT, CSF, inverse FFT", ("FFT of lightness", "inverse FFT of lightness"),
     ("FFT of lightness", "csf", "inverse FFT of lightness")),
    ("statistics, visibility", ("masking",), ("block statistics", "visibility")),
    ("local MSE, product", ("local MSE",), ("seen",)),
    ("FFT", ("FFT",), ("grey", "FFT")),
    ("filter, product", ("filter",), ("bank",)),
    ("inverse FFT", ("inverse FFTs",), ("inverse FFTs",)),
    ("magnitude, statistics, difference", ("statistics", "difference"),
     ("statistics", "difference")),
    ("collapse, score", ("score",), ("looks", "score")),
    ("what lies between", (steps.REST,), (REST,)),
)  # fmt: skip
"""The CUDA paper's kernels (detection D0 to D10, then appearance A0 to A6), and our stages on the
CPU and on the GPU that do their work. The CPU's products by the CSF and of maps are between."""

ROOFLINE = ("statistics", "difference")


def detail(report: Report, link: str) -> str:
    """Return the tables of one run on a GPU; nothing for one on the CPU."""
    if "gpu_cases" not in report:
        return ""
    alike = Counter(report["machine"]["gpu"]).items()
    gpus = ", ".join(name if count == 1 else f"{count} × {name}" for name, count in alike)
    parts = [f"From [{link.rpartition('/')[2]}](../{link}), on {gpus}."]
    parts += [paper(report), stages(report), roofline(report), transfers(report), stock(report),
              several(report), checks(report)]  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def paper(report: Report) -> str:
    """Return the paper's kernels, CPU beside GPU, with the transfers and their share."""
    made = []
    on_gpu = {case["case"]: case for case in report["gpu_cases"]}
    for one in report["cpu_steps"]:
        cpu, case = one["steps"], on_gpu[one["case"]]
        body = []
        for name, ours, theirs in PAPER:
            left = sum(cpu[step]["median"] for step in ours)
            right = sum(case["stages"][s]["median"] for s in theirs if s in case["stages"])
            body.append([name, *_row(left, right)])
        whole = [sum(float(step["median"]) for step in part.values())
                 for part in (cpu, case["stages"])]  # fmt: skip
        body.append(["all", *_row(*whole)])
        ends = case["ends"]
        moved = ends["upload"]["median"] + ends["download"]["median"]
        share = f"{100 * case['transfers_share']:.0f} % of a pair from host memory"
        body.append(["transfers: both pictures up, 24 bytes down", "–", f"{moved:.3f}", share])
        threads = report["machine"]["threads"]
        head = [f"the paper's kernels, {one['case']}", f"CPU, {threads} cores, {one['dtype']}, ms",
                "GPU, ms", "ratio"]  # fmt: skip
        made.append(rows(head, body))
    return "\n\n".join(made)


def _row(cpu: float, gpu: float) -> list[str]:
    ratio = f"{cpu / gpu:.0f} ×" if gpu > 1e-3 else "–"  # less than a microsecond is no time
    return [f"{cpu:.2f}", f"{max(gpu, 0):.3f}", ratio]


def stages(report: Report) -> str:
    """Return milliseconds of each stage, and how much of a copy's rate its bytes go at."""
    cases = report["gpu_cases"]
    needs = [needed(case) for case in cases]
    body = []
    for name in STAGES:
        line = [name]
        for case, need in zip(cases, needs, strict=True):
            taken = case["stages"].get(name)
            line += [f"{taken['median']:.3f}" if taken else "–",
                     _share(need[name], taken["median"], report) if taken and name in need else "–",
                     ]  # fmt: skip
        body.append(line)
    total = ["all, one after another"]
    for case, need in zip(cases, needs, strict=True):
        ms = sum(taken["median"] for taken in case["stages"].values())
        total += [f"{ms:.3f}", _share(sum(need.values()), ms, report)]
    body.append(total)
    head = [f"stage; bytes at least, of a copy's {report['copy_gb_s'] / 1e3:.2f} TB/s"]
    for case in cases:
        head += [f"{case['case']}, ms", "share"]
    return rows(head, body)


def needed(case: Report) -> dict[str, int]:
    """Return the bytes of each stage of a row's case."""
    known = {one.name: one for one in CASES}
    return floor.needs(known[case["case"]], 1, case["real_bytes"])


def _share(count: float, ms: float, report: Report) -> str:
    return f"{100 * count / 1e6 / ms / report['copy_gb_s']:.0f} %"


def roofline(report: Report) -> str:
    """Return what the statistics kernels reach, and what they take of a multiprocessor."""
    body = []
    for case in report["gpu_cases"]:
        need = needed(case)
        for name in ROOFLINE:
            if name not in case["stages"]:
                continue
            ms, takes = case["stages"][name]["median"], case["kernels"][name]
            width, height = map(int, case["case"].split("×"))
            operations = floor.operations(width * height)
            body.append([
                f"{case['case']}, {name}", f"{ms:.3f}", f"{need[name] / 1e6:.0f} MB",
                f"{need[name] / 1e9 / ms:.2f} TB/s", _share(need[name], ms, report),
                f"{operations / need[name]:.1f}", f"{operations / 1e9 / ms:.1f} TFLOP/s",
                str(takes["registers"]), str(takes["local_bytes"]),
                f"{takes['warps']} of {takes['warps_at_most']}",
                f"{takes['blocks']} of {takes['threads']}",
            ])  # fmt: skip
    head = ["statistics kernel", "ms", "bytes at least", "rate", "of a copy's", "operations a byte",
            "operations", "registers", "local memory, bytes", "warps at once",
            "blocks of threads"]  # fmt: skip
    return rows(head, body)


def transfers(report: Report) -> str:
    """Return milliseconds by the host's clock, to a score in Python."""
    names = list(report["gpu_cases"][0]["ends"])
    body = [
        [case["case"], *(f"{case['ends'][name]['median']:.3f}" for name in names),
         f"{case['launches']['median']:.3f}", f"{case['graph']['median']:.3f}",
         f"{case['hold']['median']:.3f}", f"{case['against']['median']:.3f}",
         f"{case['memory_mb']['pool']:.0f} / {case['memory_mb']['driver']:.0f} MB"]
        for case in report["gpu_cases"]
    ]  # fmt: skip
    head = ["ms, by the host's clock to the score", *names, "on the GPU: launches", "graphs",
            "hold", "against", "GPU memory: arrays / with the driver's"]  # fmt: skip
    return rows(head, body)


def stock(report: Report) -> str:
    """Return milliseconds of PyTorch's lines, and ours beside them."""
    found = [case for case in report["gpu_cases"] if "stock" in case]
    if not found:
        return ""
    names = list(found[0]["stock"]["lines"])
    body = []
    for case in found:
        lines, ratios = case["stock"]["lines"], case["stock"]["ratios"]
        told = [f"{lines[name]['median']:.2f} ({ratios[name]:.1f} ×)" for name in names]
        body.append([case["case"], *told, f"{case['graph']['median']:.3f}"])
    head = [f"PyTorch {found[0]['stock']['torch']}, ms", *names, "Snellen, whole MAD"]
    return rows(head, body)


def several(report: Report) -> str:
    """Return times on more and more GPUs."""
    found: list[dict[str, Any]] = report.get("several", [])
    body = [[row["what"], str(row["gpus"]), f"{row['ms']:.2f}", f"{row['ratio']:.2f} ×"]
            for row in found]  # fmt: skip
    return rows(["several GPUs", "GPUs", "ms", "faster"], body) if body else ""


def checks(report: Report) -> str:
    """Return what was found before any time was taken."""
    body = [
        [f"{row['kind']}, {row['case']}, {row['bits'] or 'float'}", row["device"],
         row["dtype"] or "as chosen", row["against"], f"{row['mad']:.4f}", f"{row['scores']:.1e}",
         f"{row['detection']:.1e}", f"{row['appearance']:.1e}"] for row in report["exactness"]
    ]  # fmt: skip
    head = ["pair", "device", "precision", "against", "MAD", "MAD, HI, LO off at most",
            "detection map", "appearance map, off, of its greatest value"]  # fmt: skip
    return rows(head, body)
