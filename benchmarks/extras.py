"""Tables of what other commands of this folder measure: throughput, latency, quality and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks import quality_tables

Rows = list[list[str]]


class Section(NamedTuple):
    """One part of a report and its table."""

    keys: tuple[str, ...]
    """The keys of a report under which it is; the second is that of older files."""
    head: list[str]
    rows: Callable[[Any], Rows]


def throughput(found: list[dict[str, Any]]) -> Rows:
    """Return frames a second of each format."""
    return [
        [f"{row['model'] + ', ' if 'model' in row else ''}{row['planes']}, chroma {row['chroma']}",
         spread(row["fps"]), str(row.get("slots", row.get("lanes")))] for row in found
    ]  # fmt: skip


def video(found: dict[str, Any]) -> Rows:
    """Return whole conversions beside their encoders."""
    return [
        [f"{row['codec']} {row['preset']}, {found['frames']} frames",
         f"{row['whole_s']['median']:.2f} s", f"{row['encoder_s']['median']:.2f} s",
         f"{row['ratio']:.3f} ×", f"{row['fps']:.1f}"] for row in found["encoders"]
    ]  # fmt: skip


def latency(found: dict[str, Any]) -> Rows:
    """Return milliseconds a frame of a stream."""
    return [[f"{name}, {found['case']}", *(f"{row[key]:.3f}" for key in ("p50", "p99", "max"))]
            for name, row in found["lines"].items()]  # fmt: skip


def levin(found: dict[str, Any]) -> Rows:
    """Return the quality of each way to restore Levin's pictures."""
    return [
        [row["name"], f"{row['psnr_db']:.2f} dB", f"{row['ratio']:.2f}",
         f"{row['within']} of {found['pictures']}"] for row in found["rows"]
    ]  # fmt: skip


def quality(found: dict[str, Any]) -> Rows:
    """Return PSNR of A+."""
    names = {"truth_bicubic": "truth, bicubic", "truth_cpu": "truth, CPU",
             "truth_gpu": "truth, GPU", "cpu_gpu": "CPU, GPU: least"}  # fmt: skip
    return [
        [f"{name}, {found['count']} pictures",
         "identical" if found[key] is None else f"{found[key]:.2f} dB"]
        for key, name in names.items() if key in found
    ]  # fmt: skip


def sizes(found: list[dict[str, Any]]) -> Rows:
    """Return times of random models."""
    return [[str(row["dims"]), str(row["anchors"]), f"{row['ms']['median']:.2f}"] for row in found]


def several(found: list[dict[str, Any]]) -> Rows:
    """Return times on several GPUs; older files have medians alone."""
    return [
        [row["what"], str(row["gpus"]),
         f"{row['ms']['median'] if isinstance(row['ms'], dict) else row['ms']:.2f}",
         f"{row['ratio']:.2f} ×"] for row in found
    ]  # fmt: skip


def spread(found: dict[str, float]) -> str:
    """Return median, least and greatest."""
    return f"{found['median']:.0f} ({found['min']:.0f} … {found['max']:.0f})"


SECTIONS = (
    Section(("throughput",), ["1080p → 4K, host to host", "frames/s", "in flight"], throughput),
    Section(("video",), ["1080p → 4K", "conversion", "encoder alone", "ratio", "frames/s"], video),
    Section(("latency",), ["frames of a stream, ms", "median", "99th percentile", "most"], latency),
    Section(("quality", "truth"), ["PSNR, ×2", ""], quality),
    Section(("levin",), ["pictures of Levin et al. 2009", "PSNR", "error ratio", "≤ 2"], levin),
    Section(("sizes",), ["dimensions", "anchors (random models, 1080p ×2)", "ms"], sizes),
    Section(("several",), ["MAD on several GPUs", "GPUs", "ms", "faster"], several),
)


def scale(report: dict[str, Any]) -> Rows:
    """Return frames a second of each kind of work by each number of workers."""
    found = []
    for cell in report["cells"]:
        if "fps" in cell:
            alone = cell["fps"]["median"] / cell["alone"]["median"] if "alone" in cell else None
            beside = "–" if alone is None else f"{alone:.2f} of the {cell['beside']} alone"
            counts = [str(cell["workers"]), str(cell["cores"])]
            found.append([cell["kind"], *counts, spread(cell["fps"]), beside])
    return found


def tables(report: dict[str, Any]) -> list[tuple[list[str], Rows]]:
    """Return head and rows of each table that a report has."""
    if report.get("benchmark") == "quality":
        return quality_tables.tables(report)
    if report.get("benchmark") == "scale":
        return [(["work", "workers", "cores", "frames/s", "share"], scale(report))]
    return [
        (section.head, section.rows(report[key]))
        for section in SECTIONS
        for key in section.keys
        if key in report
    ]
