"""Tables of docs/performance.md: stages, steps of PyTorch's line, model sizes, what was checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from snellen.bench import floor
from snellen.bench.cases import GPU_CASES
from snellen.bench.fft.table import PLACE as FFT
from snellen.bench.fft.table import detail as fft_detail
from snellen.bench.mad.detail import detail as mad_detail
from snellen.bench.mad.table import PLACE as MAD
from snellen.bench.mad.table import part as mad_part
from snellen.bench.mia.detail import detail as mia_detail
from snellen.bench.mia.table import PLACE as MIA
from snellen.bench.mia.table import part as mia_part
from snellen.bench.stages import STAGES
from snellen.bench.table import Report, between, part, rewrite, rows

NAMES = (*STAGES[:2], "settle", *STAGES[2:])
FLOOR = "<!-- floor:begin -->", "<!-- floor:end -->"


def pages(folder: Path, results: Sequence[Path]) -> dict[Path, str]:
    """Return the pages of a checkout as the results want them."""
    readme, performance = folder / "README.md", folder / "docs" / "performance.md"
    first = rewrite(readme.read_text(encoding="utf-8"), results, part)
    told = rewrite(performance.read_text(encoding="utf-8"), results, detail)
    second = between(told, FLOOR, floor.table())
    for make, place in ((mad_part, MAD), (mia_part, MIA)):
        first = rewrite(first, results, make, *place)
    for make, place in ((mad_detail, MAD), (mia_detail, MIA), (fft_detail, FFT)):
        second = rewrite(second, results, make, *place)
    return {readme: first, performance: second}


def detail(report: Report, link: str) -> str:
    """Return the tables of one run on a GPU; nothing for one on the CPU."""
    if "gpu_cases" not in report:
        return ""
    parts = [
        f"From [{link.rpartition('/')[2]}](../{link}), on {', '.join(report['machine']['gpu'])}."
    ]
    parts += [stages(report), rates(report), stock(report), sizes(report), checks(report)]
    return "\n\n".join(part for part in parts if part)


def stages(report: Report) -> str:
    """Return milliseconds of each stage and case."""
    body = []
    for case in report["gpu_cases"]:
        taken = [case["stages"].get(name) for name in NAMES]
        told = ["–" if one is None else f"{one['median']:.3f}" for one in taken]
        body.append([case["case"], *told, f"{sum(one['median'] for one in taken if one):.3f}"])
    return rows(["ms of each stage, medians", *NAMES, "sum"], body)


def rates(report: Report) -> str:
    """Return how fast each stage moves what it must, beside a copy on the same card."""
    known = {case.name: case for case in GPU_CASES}
    copy = report["copy_gb_s"]
    body = []
    for row in report["gpu_cases"]:
        if row["case"] not in known:
            continue
        needs = floor.needs(known[row["case"]], row["rescored"])
        taken = {name: row["stages"].get(name) for name in NAMES}
        shares = [
            f"{100 * needs[name].bytes / 1e6 / one['median'] / copy:.0f} %" if one else "–"
            for name, one in taken.items()
        ]
        at_least = sum(need.bytes for need in needs.values()) / 1e6 / copy
        body.append([row["case"], *shares, f"{at_least:.3f}"])
    head = [f"bytes at least, as a share of a copy's {copy / 1e3:.2f} TB/s", *NAMES,
            "all at that rate, ms"]  # fmt: skip
    return rows(head, body)


def stock(report: Report) -> str:
    """Return milliseconds of each step of PyTorch's line."""
    found = [case for case in report["gpu_cases"] if "stock" in case]
    if not found:
        return ""
    names = list(found[0]["stock"]["steps"])
    body = [
        [case["case"], *(f"{case['stock']['steps'][name]['median']:.2f}" for name in names),
         f"{case['stock']['whole']['median']:.2f}"] for case in found
    ]  # fmt: skip
    return rows([f"PyTorch {found[0]['stock']['torch']}, ms", *names, "whole"], body)


def sizes(report: Report) -> str:
    """Return milliseconds and shares for random models of other sizes."""
    body = [
        [str(row["dims"]), str(row["anchors"]), f"{row['ms']['median']:.2f}",
         f"{100 * row['rescored']:.2f} %"] for row in report["sizes"]
    ]  # fmt: skip
    head = ["dimensions", "anchors (random models, 1080p ×2)", "ms", "re-scored in float32"]
    return rows(head, body)


def checks(report: Report) -> str:
    """Return what was found before any time was taken."""
    body = []
    for row in report["exactness"]:
        size = f"{row['width']}×{row['height']} {row['case'].partition(' ')[2]}"
        if row["bits"]:
            off = f"{row['off_by_one']:.1e}"
        else:
            decibels = (row["psnr_db"], row["psnr_decided_db"])
            off = " / ".join("identical" if dB is None else f"{dB:.0f} dB" for dB in decibels)
        body.append([
            f"{row['picture']}, {size}, {row['bits'] or 'float'}", row["against"],
            f"{row['feature_error']:.1e}", f"{row['other_anchor']} of {row['patches']:,}",
            f"{row['largest_loss']:.1e}", f"{100 * row['rescored']:.2f} %", off,
        ])  # fmt: skip
    head = ["picture", "against", "features off, of white", "other anchors than float64",
            "largest loss", "re-scored", "pixels off by one; dB with / beside ties"]  # fmt: skip
    return rows(head, body)
