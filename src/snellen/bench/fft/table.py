"""Tables of the small transforms, made from the results that `snellen bench fft` wrote."""

from __future__ import annotations

from typing import Any

from snellen.bench.fft import lines
from snellen.bench.fft.cases import Case
from snellen.bench.table import Report, prose, rows

PLACE = "fft", ("<!-- fft:begin -->", "<!-- fft:end -->")
"""Whose results, and between which markers of a page."""


def detail(report: Report, link: str) -> str:
    """Return the tables of one run on a GPU; nothing for one on the CPU."""
    if "gpu_cases" not in report:
        return ""
    told = prose(
        f"From [{link.rpartition('/')[2]}](../{link}), on {report['machine']['gpu'][0]}: "
        "transforms in CUDA graphs, so that no launch counts, in turns with cuFFT's; a copy moves "
        f"{report['copy_gb_s'] / 1e3:.2f} TB/s there. µs for the whole batch, how many times as "
        "long cuFFT takes (bare: no scaling), and bytes read and written once, for a second."
    )
    tables = [told, whole(report), exactness(report)]
    if "variants" in report:  # results of up to b25e786 have them
        tables.append(variants(report))
    return "\n\n".join(tables)


def whole(report: Report) -> str:
    """Return microseconds of each transform, beside cuFFT's."""
    kinds = list(dict.fromkeys(row["kind"] for row in report["gpu_cases"]))
    found = {(row["case"], row["batch"], row["kind"]): row for row in report["gpu_cases"]}
    body = []
    for case, batch in dict.fromkeys((key[0], key[1]) for key in found):
        line = [f"{case}, {batch}"]
        for kind in kinds:
            row = found[case, batch, kind]
            ours, theirs = (row["lines"][name] for name in (lines.OURS, lines.CUFFT))
            line += [f"{ours['median']:.2f}", f"{theirs['ratio']['median']:.2f} ×", _rate(row)]
        body.append(line)
    head = ["size, at once"]
    for kind in kinds:
        head += [f"{kind}, µs", "cuFFT", "TB/s"]
    return rows(head, body)


def exactness(report: Report) -> str:
    """Return one sentence on what was checked before."""
    off = {name: max(row["errors"][name] for row in report["gpu_cases"])
           for name in (lines.OURS, lines.CUFFT)}  # fmt: skip
    mixed = report["mixed"]
    names = ", ".join(dict.fromkeys(row["case"] for row in mixed))
    return prose(
        "Checked before, every plane of each batch against float64: relative L2 errors are at "
        f"most {off[lines.OURS]:.1e}, cuFFT's {off[lines.CUFFT]:.1e}; of unlike sides ({names}) "
        f"{max(row['error'] for row in mixed):.1e}."
    )


def variants(report: Report) -> str:
    """Return what each choice brings."""
    found = report["variants"]
    names = list(found[0]["lines"])
    body = []
    for name in names:
        line, off = [name], 0.0
        for row in found:
            taken = row["lines"][name]
            off = max(off, row["errors"][name])
            line.append(f"{taken['median']:.2f} ({taken['ratio']['median']:.2f} ×)")
        body.append([*line, f"{off:.1e}"])
    head = ["fft2, µs (against ours)", *(f"{row['case']}, {row['batch']}" for row in found),
            "off at most"]  # fmt: skip
    return rows(head, body)


def _rate(row: dict[str, Any]) -> str:
    height, width = map(int, row["case"].split("×"))
    count = Case(row["kind"], (height, width), row["batch"]).bytes
    return f"{count / row['lines'][lines.OURS]['median'] / 1e6:.2f}"
