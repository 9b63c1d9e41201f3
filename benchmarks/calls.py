"""Tables of whole calls, which `snellen bench calls` has measured."""

from __future__ import annotations

from typing import Any

from benchmarks.results import Result

Rows = list[list[str]]

HEAD = ["call", "device", "time", "p99 between outputs", "first in a fresh process", "its CPU"]
README_HEAD = ["whole call", "time", "first in a fresh process"]
TEXT = (
    "Whole calls, from host memory to host memory; films are decoded and encoded (x264 ultrafast), "
    "and their times are those of a frame. Each result is first compared with that of the plain "
    "path. The first call counts from the start of a process whose caches of compiled code are "
    "empty."
)


def table(report: dict[str, Any]) -> Rows:
    """Return the rows of all calls that were right."""
    return [
        [
            cell["call"],
            cell["device"].replace(",", ", "),
            _spread(cell["ms"]) + _unit(cell),
            _ms(cell["p99_ms"]["median"]) if "p99_ms" in cell else "–",
            _seconds(cell["first"]["s"]),
            _cpu(cell),
        ]
        for cell in report["cells"]
        if "ms" in cell
    ]


def newest(results: list[Result]) -> list[Result]:
    """Return the newest report of calls of each kind of device, GPUs first."""
    found: dict[str, Result] = {}
    for result in sorted(results, key=lambda one: str(one.report["date"])):
        if result.method == "calls":
            found[result.where] = result
    return [found[where] for where in ("cuda", "cpu") if where in found]


def highlights(result: Result) -> Rows:
    """Return the rows for the README: calls on one device."""
    return [
        [cell["call"], _ms(cell["ms"]["median"]) + _unit(cell), _seconds(cell["first"]["s"])]
        for cell in result.report["cells"]
        if "ms" in cell and cell["device"] == result.report["device"]
    ]


def _unit(cell: dict[str, Any]) -> str:
    """Return what the time of a cell is of, where it is no call."""
    return " a frame" if cell["unit"] == "frame" else ""


def _cpu(cell: dict[str, Any]) -> str:
    """Return the CPU seconds of the first call, and of later ones where a process was new."""
    first = _seconds(cell["first"]["cpu_s"])
    return f"{first}; later {_seconds(cell['cpu_s'])}" if "cpu_s" in cell else first


def _seconds(value: Any) -> str:
    """Return seconds, or the median of a spread."""
    return f"{value['median'] if isinstance(value, dict) else value:.3g} s"


def _spread(ms: dict[str, float]) -> str:
    """Return median, least and greatest."""
    return f"{_ms(ms['median'])} ({_ms(ms['min'])} … {_ms(ms['max'])})"


def _ms(ms: float) -> str:
    """Return a time with three digits."""
    return f"{ms / 1e3:.3g} s" if ms >= 1e3 else f"{ms:.3g} ms"
