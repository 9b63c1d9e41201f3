"""README's tables, made from the results that `snellen bench` wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import fill
from typing import Any

from snellen.bench.truth import PAPER
from snellen.errors import InputError

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
METHODS = ("aplus", "mad", "mia", "fft")

Report = dict[str, Any]
Rows = list[list[str]]
Make = Callable[[Report, str], str]
"""Text from a report and a link to it."""


def rewrite(
    text: str,
    results: Iterable[Path],
    make: Make,
    method: str = METHODS[0],
    markers: tuple[str, str] = (BEGIN, END),
) -> str:
    """Return a text with what `make` makes of a method's results between markers.

    A page without the markers stays as it is where there is nothing to tell.

    Raises
    ------
    InputError
        The markers are missing, or a file is no result.
    """
    reports = {f"benchmarks/results/{path.name}": _read(path) for path in results}
    parts = [make(report, link) for link, report in reports.items()
             if report["benchmark"] == method]  # fmt: skip
    told = "\n\n".join(made for made in parts if made)
    if not told and markers[0] not in text:
        return text
    return between(text, markers, told)


def between(text: str, markers: tuple[str, str], told: str) -> str:
    """Return a text with `told` between two markers."""
    before, begin, rest = text.partition(markers[0])
    _, end, after = rest.partition(markers[1])
    if not begin or not end:
        raise InputError(f"the markers {' and '.join(markers)} are missing: put them in the page")
    return before + "\n".join([begin, *([told] if told else []), end]) + after


def _read(path: Path) -> Report:
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(report, dict) or report.get("benchmark") not in METHODS:
        commands = " or ".join(f"`snellen bench {method}`" for method in METHODS)
        raise InputError(f"{path} is no result of {commands}")
    return report


def part(report: Report, link: str) -> str:
    """Return what README says of one run."""
    sections: tuple[tuple[str, Make], ...] = (
        ("cases", on_cpu), ("gpu_cases", on_gpu), ("seven_steps", seven_steps),
        ("truth", second_table), ("throughput", throughput), ("video", video),
    )  # fmt: skip
    # The CPU's run has a second table too, but only its figures of speed are told.
    wanted = [(key, make) for key, make in sections if key != "truth" or "gpu_cases" in report]
    return "\n\n".join(make(report, link) for key, make in wanted if key in report)


def rows(head: list[str], body: Rows) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def on_cpu(report: Report, link: str) -> str:
    """Return the CPU's lines."""
    machine = report["machine"]
    others = list(dict.fromkeys(
        name for case in report["cases"] for name in case["lines"] if name != "snellen"
    ))  # fmt: skip
    head = ["input, scale", "Snellen, median (min … max)",
            *(name.replace("plain NumPy", "plain NumPy port") for name in others),
            "peak memory of a process of its own"]  # fmt: skip
    body = []
    for case in report["cases"]:
        ours = case["lines"]["snellen"]
        ratios = [case["lines"].get(name, {}).get("ratio") for name in others]
        body.append([
            case["case"],
            f"{ours['median']:.2f} s ({ours['min']:.2f} … {ours['max']:.2f})",
            *("–" if ratio is None else f"{significant(ratio)} ×" for ratio in ratios),
            f"{case['peak_memory_mb']:.0f} MB",
        ])  # fmt: skip
    told = prose(
        f"One luma plane, all seven steps, on {machine['cpu']} with {machine['threads']} cores "
        f"(matrix product {report['sgemm_gflops']:.0f} GFLOP/s); ratios against the same run's "
        "time of Snellen, so the first column is only for scale. The paper's CPU took 47.3 s for "
        "the first row."
    )
    return "\n\n".join([told, rows(head, body), source(link)])


def on_gpu(report: Report, link: str) -> str:
    """Return the GPU's cases, and how right they are."""
    body = []
    for case in report["gpu_cases"]:
        best = case.get("graph", case["launches"])
        stock = case.get("stock")
        body.append([
            case["case"],
            f"{best['median']:.2f} ms ({best['min']:.2f} … {best['max']:.2f})",
            f"{case['launches']['median']:.2f} ms", f"{case['sustained']:.2f} ms",
            "–" if stock is None else f"{stock['whole']['median']:.1f} ms",
            "–" if stock is None else f"{stock['whole']['median'] / best['median']:.1f} ×",
        ])  # fmt: skip
    head = ["input, scale", "Snellen, CUDA graph: median (min … max)", "launch by launch",
            "back to back, a frame", "PyTorch's operators", "ratio"]  # fmt: skip
    told = prose(
        f"One luma plane, 8 bit, all seven steps, on {', '.join(report['machine']['gpu'])}; "
        "PyTorch's own operators (float32 unfold, products, gather, fold) in the same run:"
    )
    return "\n\n".join([told, rows(head, body), exactness(report), source(link)])


def exactness(report: Report) -> str:
    """Return one sentence on what was checked before."""
    found = report["exactness"]
    patches = sum(row["patches"] for row in found)
    other = sum(row["other_anchor"] for row in found)
    rescored = [100 * row["rescored"] for row in found]
    exact = [row for row in found if row["against"] == "float64"]
    shares = {
        bits: max((row["off_by_one"] for row in exact if row["bits"] == bits), default=None)
        for bits in (8, 10)
    }
    decibels = [row["psnr_decided_db"] for row in exact if row.get("psnr_decided_db") is not None]
    told = [f"{share:.1e} at {bits} bit" for bits, share in shares.items() if share is not None]
    whole = [row["psnr_db"] for row in exact if row.get("psnr_db") is not None]
    more = sum(row["off_by_more"] for row in found if row.get("off_by_more"))
    floats = f"; {more} in all, beside such ties, are off by more" if more else ""
    if decibels:
        floats += (
            f"; float results are within {min(decibels):.0f} dB, and within {min(whole):.0f} dB "
            "where pixels count for which two anchors tie"
        )
    return prose(
        f"Checked before: of {patches:,} patches {other} took another anchor than float64 "
        f"arithmetic on the same features, each within float32 rounding (largest loss "
        f"{max(row['largest_loss'] for row in found):.1e}); {min(rescored):.2f} to "
        f"{max(rescored):.2f} % were scored again in float32. Against float64, at most "
        f"{' and '.join(told) or 'none'} of the pixels are off by one code value{floats}."
    )


def seven_steps(report: Report, link: str) -> str:
    """Return the paper's first table."""
    table = report["seven_steps"]
    body = [[", ".join(row["steps"]), f"{row['cpu_ms']:.0f}", f"{row['gpu_ms']:.3f}",
             f"{row['ratio']:.0f} ×"] for row in table["rows"]]  # fmt: skip
    body.append(["whole", f"{table['cpu_ms']:.0f}", f"{table['gpu_ms']:.3f}",
                 f"{table['ratio']:.0f} ×"])  # fmt: skip
    threads = report["machine"]["threads"]
    head = [f"step, {table['case']}", f"CPU, {threads} cores, ms", "GPU, ms", "ratio"]
    return rows(head, body)


def second_table(report: Report, link: str) -> str:
    """Return the paper's second table: dB."""
    table = report["truth"]
    names = {"cpu_gpu": "CPU – GPU", "truth_cpu": "truth – CPU", "truth_gpu": "truth – GPU",
             "truth_bicubic": "truth – bicubic"}  # fmt: skip
    among = table["pictures"]
    if table["count"] > 1:
        among += f", mean of {table['count']}; CPU – GPU, as floats: the least"
    head = [f"PSNR in dB ({among}; ×{table['scale']})", *names.values()]
    ours = ["identical" if table[name] is None else f"{table[name]:.2f}" for name in names]
    theirs = [f"{PAPER[name]:.2f}" for name in names]
    return rows(head, [["Snellen", *ours], ["Zhao, Song et al., their picture", *theirs]])


def throughput(report: Report, link: str) -> str:
    """Return frames a second from host memory to host memory."""
    body = [
        [row["planes"] + ("" if row["planes"] == "luma" else f", chroma {row['chroma']}"),
         f"{row['fps']['median']:.0f} ({row['fps']['min']:.0f} … {row['fps']['max']:.0f})",
         str(row["lanes"]), f"{row['device_mb']:.0f} MB"] for row in report["throughput"]
    ]  # fmt: skip
    head = ["1080p → 4K, 8 bit, host to host", "frames/s", "in flight", "GPU memory"]
    return rows(head, body)


def video(report: Report, link: str) -> str:
    """Return whole conversions beside their encoders."""
    table = report["video"]
    body = [
        [f"{row['codec']} {row['preset']}", f"{row['whole_s']['median']:.2f} s",
         f"{row['encoder_s']['median']:.2f} s", f"{row['ratio']:.3f} ×", f"{row['fps']:.1f}"]
        for row in table["encoders"]
    ]  # fmt: skip
    drained = f"{table['drain_fps']['median']:.0f}"
    body.append(["none: decode, upscale, let go", "–", "–", "–", drained])
    head = [f"1080p → 4K, {table['frames']} frames of {table['clip']}", "whole conversion",
            "encoder alone", "ratio", "frames/s"]  # fmt: skip
    return rows(head, body)


def source(link: str) -> str:
    """Return where the figures come from."""
    return prose(
        "`snellen bench aplus` prints this for your machine, after it has checked the result; "
        f"[{link.rpartition('/')[2]}]({link}) is this run, with versions, date and commit."
    )


def prose(text: str) -> str:
    """Return a paragraph in lines."""
    return fill(text, 108, break_long_words=False, break_on_hyphens=False)


def significant(ratio: float) -> str:
    """Return a ratio with two digits that count."""
    return f"{ratio:.1f}" if ratio >= 1 else f"{float(f'{ratio:.2g}')}"
