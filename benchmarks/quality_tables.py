"""Tables of the quality of enlarged pictures, which `snellen bench quality` has measured."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any

Rows = list[list[str]]
Table = tuple[list[str], Rows]
Row = dict[str, Any]

PER_CLIP = "x264 23"
"""Source whose clips are listed one by one."""
OF_CLIPS = (
    ("PSNR, dB", "psnr", statistics.median, "median", ".2f"),
    ("PSNR, dB", "psnr", statistics.fmean, "mean", ".2f"),
    ("SSIM", "ssim", statistics.median, "median", ".4f"),
    ("MAD, 0 is best", "mad", statistics.median, "median", ".2f"),
    ("coding noise in flat areas, bicubic = 1", "flat_gain", statistics.median, "median", ".2f"),
    ("change by coding everywhere, bicubic = 1", "gain", statistics.median, "median", ".2f"),
    ("error in flat areas, codes", "flat", statistics.median, "median", ".2f"),
)
"""Title, figure, average over clips, its name, digits."""


def tables(report: dict[str, Any]) -> list[Table]:
    """Return head and rows of each table."""
    found = [pictures(report)] if report["pictures"] else []
    if report["clips"]:
        found += [clips(report, *one) for one in OF_CLIPS]
        found.append(per_clip(report))
    return [table for table in found if table[1]]


def pictures(report: dict[str, Any]) -> Table:
    """Return PSNR, SSIM and MAD of each method on each set of pictures: means."""
    sets = unique(report["pictures"], "set")
    scored = any("mad" in one for one in report["pictures"])  # not with --quick
    figures = (("psnr", ".2f"), ("ssim", ".4f"), ("mad", ".2f"))[: 2 + scored]
    rows = []
    for method in report["methods"]:
        cells = []
        for name in sets:
            own = [
                one for one in report["pictures"] if (one["set"], one["method"]) == (name, method)
            ]
            cells.append(
                " / ".join(average(own, key, statistics.fmean, digits) for key, digits in figures)
            )
        rows.append([method, *cells])
    return [f"×{report['scale']}: PSNR, dB / SSIM" + " / MAD" * scored, *sets], rows


def clips(
    report: dict[str, Any],
    title: str,
    key: str,
    by: Callable[[Iterable[float]], float],
    name: str,
    digits: str,
) -> Table:
    """Return a figure of each method on each source."""
    sources = [
        source
        for source in unique(report["clips"], "source")
        if any(one["source"] == source and one.get(key) is not None for one in report["clips"])
    ]
    count = len(unique(report["clips"], "clip"))
    rows = [
        [
            method,
            *(
                average(
                    [o for o in report["clips"] if (o["source"], o["method"]) == (s, method)],
                    key, by, digits,
                )
                for s in sources
            ),
        ]
        for method in report["methods"]
    ]  # fmt: skip
    return [f"{title}, {name} of {count} clips", *sources], rows if sources else []


def per_clip(report: dict[str, Any]) -> Table:
    """Return PSNR and MAD of each clip of one source."""
    own = [one for one in report["clips"] if one["source"] == PER_CLIP]
    keys = ("psnr", "mad") if any("mad" in one for one in own) else ("psnr",)
    rows = []
    for clip in unique(own, "clip"):
        found = {one["method"]: one for one in own if one["clip"] == clip}
        cells = (
            " / ".join(
                average([found[method]] if method in found else [], key, statistics.fmean, ".2f")
                for key in keys
            )
            for method in report["methods"]
        )
        bits = next(iter(found.values()))["bits"]
        rows.append([clip, f"{bits:.2f}", *cells])
    return [
        f"{PER_CLIP}: PSNR, dB" + " / MAD" * (len(keys) > 1),
        "bits a pixel",
        *report["methods"],
    ], rows


def average(rows: list[Row], key: str, by: Callable[[Iterable[float]], float], digits: str) -> str:
    """Return an average of what there is of a figure."""
    values = [one[key] for one in rows if one.get(key) is not None]
    return format(by(values), digits) if values else "–"


def unique(rows: list[Row], key: str) -> list[str]:
    """Return the values of a field, in their order."""
    return list(dict.fromkeys(one[key] for one in rows))
