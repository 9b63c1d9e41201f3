"""Result files, of both formats, as cells and comparisons; times in milliseconds.

Format 2 is what `snellen bench` and `python -m benchmarks.stock` write. Format 1, without a number,
is what `snellen bench` wrote before, ours and stock libraries in one file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

OURS = "Snellen"

Spread = dict[str, float]
"""Median, min and max."""


class Key(NamedTuple):
    """The subject of one cell."""

    method: str
    where: str
    """"cpu" or "cuda"."""
    size: str
    """The function that is called, for whole calls."""
    batch: int
    kind: str
    """The devices, for whole calls."""

    @property
    def name(self) -> str:
        """Name in tables."""
        many = f"{self.batch} at once, " if self.batch > 1 else ""
        return f"{self.method}, {self.where}: {self.size}, {many}{self.kind}"


@dataclass
class Cell:
    """Our times."""

    ms: Spread
    """Times of the computation alone."""
    call: dict[str, Any] | None = None
    """Times of the call from host memory to host memory: "cold", a number, and "warm", a spread."""
    stages: dict[str, Spread] = field(default_factory=dict)
    memory: float | None = None
    """Memory of a GPU for all arrays of the computation, MB."""


@dataclass
class Timed:
    """One line of a comparison."""

    ms: Spread
    ratio: float
    """Its median of ours, 1 for ours itself."""


@dataclass
class Result:
    """One result file."""

    path: Path
    report: dict[str, Any]
    cells: dict[Key, Cell] = field(default_factory=dict)
    comparisons: dict[Key, dict[str, Timed]] = field(default_factory=dict)
    """Ours and stock lines by their names, all of one run."""

    @property
    def method(self) -> str:
        """Which benchmark."""
        return str(self.report["benchmark"])

    @property
    def where(self) -> str:
        """The kind of device: "cpu" or "cuda"."""
        return "cpu" if self.report["device"] == "cpu" else "cuda"

    @property
    def device(self) -> str:
        """The name that the device gives itself."""
        machine = self.report["machine"]
        if self.where == "cpu":
            return f"{machine['cpu']}, {machine['threads']} cores"
        return str(machine["gpu"][0]).partition(" (")[0]

    def key(self, size: str, batch: int, kind: str, where: str = "") -> Key:
        """Return the key of a cell of this file."""
        return Key(self.method, where or self.where, size, batch, kind)


def read(path: Path) -> Result:
    """Read a result file of either format.

    Raises
    ------
    ValueError
        It is none.
    """
    report = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(report, dict) or report.get("benchmark") not in (*OLD, *NEW):
        raise ValueError(f"{path} is no result of `snellen bench` or `benchmarks.stock`")
    result = Result(path, report)
    if "format" in report:
        _current(result)
    else:
        OLD[report["benchmark"]](result)
    return result


def _current(result: Result) -> None:
    """Read format 2. Cells that were wrong have no times and are left out."""
    for row in result.report.get("cells", ()):
        if "call" in row and "ms" in row:
            result.cells[result.key(row["call"], 1, row["device"])] = Cell(row["ms"])
        if "kernel_ms" in row:
            key = result.key(row["size"], row["batch"], row["kind"])
            result.cells[key] = Cell(
                row["kernel_ms"], row.get("call_ms"), row.get("stages_ms", {}), row.get("memory_mb")
            )  # fmt: skip
    for row in result.report.get("rows", ()):
        if "lines" in row:
            key = result.key(row["size"], row["batch"], row["kind"])
            result.comparisons[key] = {
                name: Timed(line["ms"], line["ratio"]["median"])
                for name, line in row["lines"].items()
            }
            result.cells[key] = Cell(row["lines"][OURS]["ms"])


def _aplus(result: Result) -> None:
    for row in result.report.get("gpu_cases", ()):
        key = result.key(row["case"], 1, "luma")
        ours = row.get("graph", row["launches"])
        stages = dict(row["stages"])
        if "settle" in stages:  # since format 2 it is a part of match
            both = stages["match"], stages["settle"]
            stages["match"] = {name: sum(one[name] for one in both) for name in both[0]}
        result.cells[key] = Cell(_scaled(ours), stages=stages)
        if "stock" in row:
            _compare(result, key, ours, {"PyTorch": row["stock"]["whole"]})
    for row in result.report.get("cases", ()):
        key, lines = result.key(row["case"], 1, "luma"), dict(row["lines"])
        ours = lines.pop("snellen")
        result.cells[key] = Cell(_scaled(ours, 1e3))
        _compare(result, key, ours, lines, 1e3)


OLD_STAGES = {"seen": "local error", "bank": "filters", "looks": "sum of differences"}
"""Names that stages of MAD had in older files."""


def _mad(result: Result) -> None:
    names = {
        "2 FFTs and 40 inverse FFTs": "PyTorch, 2 FFTs and 40 inverse FFTs alone",
        "appearance stage, unfold statistics": "PyTorch, appearance stage alone",
        "whole MAD": "PyTorch",
    }
    for row in result.report.get("gpu_cases", ()):
        for name, kind in (("graph", "pair"), ("hold", "set reference"), ("against", "compare")):
            key = result.key(row["case"], 1, kind)
            result.cells[key] = Cell(_scaled(row[name]))
        pair = result.key(row["case"], 1, "pair")
        stages = {OLD_STAGES.get(name, name): ms for name, ms in row["stages"].items()}
        result.cells[pair].stages, result.cells[pair].memory = stages, row["memory_mb"]["pool"]
        if "stock" in row:
            lines = {names[name]: line for name, line in row["stock"]["lines"].items()}
            _compare(result, pair, row["graph"], lines)
    for row in result.report.get("cases", ()):
        lines = row["lines"]
        pair = result.key(row["case"], 1, "pair")
        result.cells[pair] = Cell(_scaled(lines["float64"], 1e3))
        comparison = lines["float64, the reference held"]
        result.cells[result.key(row["case"], 1, "compare")] = Cell(_scaled(comparison, 1e3))
        others = {name: lines[name] for name in ("plain NumPy",)}
        _compare(result, pair, lines["float64"], others, 1e3)


def _mia(result: Result) -> None:
    for section, where, name in (("gpu_cases", "cuda", OURS), ("cpu_cases", "cpu", "CPU, float32")):
        for row in result.report.get(section, ()):
            key, lines = result.key(row["case"], row["batch"], "Poisson", where), dict(row["lines"])
            ours = lines.pop(name)
            lines.pop("CPU, float64", None)
            result.cells[key] = Cell(_scaled(ours))
            _compare(result, key, ours, lines)
    for section, where in (("options", "cuda"), ("cpu_options", "cpu")):
        for row in result.report.get(section, ()):
            for kind, line in row["lines"].items():
                key = result.key(row["case"], row["batch"], kind, where)
                result.cells.setdefault(key, Cell(_scaled(line)))


def _fft(result: Result) -> None:
    for row in result.report.get("gpu_cases", ()):
        key, lines = result.key(row["case"], row["batch"], row["kind"]), dict(row["lines"])
        ours = lines.pop(OURS)
        result.cells[key] = Cell(_scaled(ours, 1e-3))
        _compare(result, key, ours, lines, 1e-3)


OLD = {"aplus": _aplus, "mad": _mad, "mia": _mia, "fft": _fft}
"""Readers of format 1, by method."""
NEW = ("cnn", "calls", "quality", "scale")
"""Methods that have format 2 only."""


def _compare(
    result: Result, key: Key, ours: Spread, others: dict[str, Any], factor: float = 1.0
) -> None:
    """Add a comparison: the ratio of medians, or the median of ratios where a file has these."""
    lines = {OURS: Timed(_scaled(ours, factor), 1.0)}
    for name, line in others.items():
        ratio = line.get("ratio", line["median"] / ours["median"])
        ratio = ratio["median"] if isinstance(ratio, dict) else ratio
        lines[name] = Timed(_scaled(line, factor), ratio)
    if len(lines) > 1:
        result.comparisons[key] = lines


def _scaled(spread: dict[str, Any], factor: float = 1.0) -> Spread:
    return {name: factor * spread[name] for name in ("median", "min", "max")}
