"""compute-sanitizer over the tests of marker `sanitize`: `python -m benchmarks.sanitize`.

The tools run side by side, each over its tests (tests/support/sanitize.py), after one run without
a tool that compiles all kernels. The record, benchmarks/gpu-sanitizer.json, has for each tool what
it found, which tests and kernels ran and how long it took. `make release-check` reads it. A tool
that is not through within `--limit` seconds is ended, and its entry says so. With `--tools` only
some run, and the record keeps the others' entries if they are of the same source.

initcheck, the slowest, is split over several processes. CuPy's own kernels are left out but for
initcheck, which must see what they write.

How findings are read: memcheck reports no errors of CUDA's calls, since cuda.core makes requests
that drivers refuse, and goes on. Nothing else is left out: racecheck watches shared memory, and
what blocks of a cluster send each other by st.async is ordered by mbarriers. Where racecheck calls
such a pair a hazard although an mbarrier orders it, an entry in EXPLAINED may name the two places
and give the reason; the hazard is listed then, and not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.digest import ROOT, digest

sys.path.insert(0, str(ROOT / "tests"))

from support.sanitize import PLAIN, TOOLS, chosen, functions, tools
from support.sanitize import TESTS as FILES

RECORD = ROOT / "benchmarks" / "gpu-sanitizer.json"
LIMIT = 240
"""Seconds for the tools, which run side by side."""
FOUND = 9
"""Exit status of compute-sanitizer where it has found something."""
PARTS = {"initcheck": 4}
"""Processes of a tool, where it has several."""
KEPT = 40
"""Lines of a report that the record keeps."""


def only_between(one: str, other: str) -> str:
    """Return the pattern of a hazard of which all accesses but the first are of the other place."""
    return (
        rf"^=+ Error: Race reported between {one}.*(?:\n=+ +and {other}.*)+(?!\n=+ +and )(?:\n|$)"
    )


ROWS_THEN_COLUMNS = (
    "square_fft of {0}², a cluster, APART, rows first: columns are exchanged after `await`, which "
    "waits for what every row of the block sends it, and a row sends after its warp has read all "
    "that it exchanged; racecheck does not follow st.async to the mbarrier"
)
CLUSTERS = ((64, 8, 8, 0), (128, 8, 8, 0), (128, 8, 8, 1), (128, 8, 4, 0), (256, 16, 8, 0))
"""Side, values of a lane, columns side by side and direction of the kernels that it reports so."""


def rows_and_columns(side: int, values: int, beside: int, inverse: int) -> tuple[str, str]:
    """Return the patterns of what an exchange of rows does, and of how that of columns begins."""
    line = rf"Line<\(int\){side}, \(int\){values}, \(int\)"
    rows = rf"(?:Write|Read) access at void {line}1>::\w+<\(bool\){inverse}, Rows, "
    return rows, rf"Write access at void {line}{beside}>::begin<\(bool\){inverse}, Columns, "


EXPLAINED = {
    only_between(*places): ROWS_THEN_COLUMNS.format(one[0])
    for one in CLUSTERS
    for places in (rows_and_columns(*one), rows_and_columns(*one)[::-1])
}
"""Hazards that are none: a pattern of the report's text, and why."""
OPTIONS = {
    "memcheck": ("--report-api-errors", "no"),
    "initcheck": ("--report-api-errors", "no"),
    "racecheck": ("--racecheck-report", "analysis"),
    "synccheck": (),
}


def findings(text: str) -> int | None:
    """Return how many errors and hazards a report counts; None where it has no summary."""
    counts = re.findall(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", text)
    return max(int(a or b) for a, b in counts) if counts else None


def hazards(text: str) -> list[str]:
    """Return the texts of a report's hazards."""
    return re.split(r"(?=^========= (?:Error|Warning): )", text, flags=re.MULTILINE)[1:]


def explained(text: str) -> list[str]:
    """Return the reasons why some of a report's hazards are none, one for each such hazard."""
    return [why for one in hazards(text) for what, why in EXPLAINED.items() if re.search(what, one)]


def unexplained(text: str) -> list[str]:
    """Return the lines of a report without the hazards that are none."""
    before = re.split(r"^========= (?:Error|Warning): ", text, maxsplit=1, flags=re.MULTILINE)[0]
    left = [one for one in hazards(text) if not explained(one)]
    return "".join([before, *left]).splitlines()


@dataclass
class Run:
    """One tool over its tests, as a process of its own."""

    tool: str
    name: str
    command: list[str]
    folder: Path
    limit: float
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.finished = True
        with (self.folder / f"{self.name}.txt").open("wb") as out:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": _path(), "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self) -> dict[str, Any]:
        """Return the entry of the record, once the tool is through or its time is over."""
        try:
            self.process.wait(max(1, self.started + self.limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.finished = False
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        seconds = time.monotonic() - self.started
        tests = [json.loads(line) for line in self._text("jsonl").splitlines()]
        report = self._text("log")
        reasons, count = explained(report), findings(report) if self.finished else None
        wanted = [file for file in FILES if self.tool in tools(file)]
        return {
            "tool": self.tool,
            "finished": self.finished,
            "exit_status": self.process.returncode,
            "errors": None if count is None else max(0, count - len(reasons)),
            "explained": reasons,
            "seconds": round(seconds, 1),
            "tests": dict(Counter(test["outcome"] for test in tests)),
            "slowest": {t["test"]: t["seconds"] for t in sorted(tests, key=_seconds)[-3:]},
            "kernels": sorted({name for test in tests for name in test["kernels"]}),
            "wanted": sorted(f"{file}:{name}" for file in wanted for name in functions(file)),
            "report": [] if findings(report) == 0 else unexplained(report)[:KEPT],
            "output": []
            if self.process.returncode == 0
            else self._text("txt").splitlines()[-KEPT:],
        }

    def _text(self, kind: str) -> str:
        path = self.folder / f"{self.name}.{kind}"
        return path.read_text("utf-8", "replace") if path.exists() else ""


def _seconds(test: dict[str, Any]) -> float:
    return float(test["seconds"])


def _path() -> str:
    """Return the folders that Python looks into first: the checkout's, then the caller's."""
    return os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))


def test_command(tool: str, folder: Path, part: int = 0) -> list[str]:
    """Return the command of the tests of a tool, or of a part of them."""
    names = sorted(n for n, those in chosen().items() if tool == PLAIN or tool in those)
    files = sorted({name.split("::")[0] for name in names})
    return [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:benchmark",
        "-m", "sanitize",
        "-W", "ignore::pytest.PytestUnraisableExceptionWarning",
        "--sanitize", tool, "--sanitize-part", f"{part}/{PARTS.get(tool, 1)}",
        "--sanitize-record", str(folder / f"{name_of(tool, part)}.jsonl"), *files,
    ]  # fmt: skip


def name_of(tool: str, part: int) -> str:
    """Return the name of the files of a part of a tool's tests."""
    return f"{tool}-{part}" if part else tool


def tool_command(
    tool: str, sanitizer: str, folder: Path, exclude: list[str], part: int = 0
) -> list[str]:
    """Return the same under a tool."""
    exclude = [] if tool == "initcheck" else exclude
    return [
        sanitizer, "--tool", tool, "--error-exitcode", str(FOUND), *OPTIONS[tool], *exclude,
        "--log-file", str(folder / f"{name_of(tool, part)}.log"),
        *test_command(tool, folder, part),
    ]  # fmt: skip


def joined(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one entry of the parts of a tool."""
    errors = [one["errors"] for one in entries]
    slowest = [item for one in entries for item in one["slowest"].items()]
    return {
        **entries[0],
        "finished": all(one["finished"] for one in entries),
        "exit_status": max((one["exit_status"] for one in entries), key=abs),
        "errors": None if None in errors else sum(errors),
        "seconds": max(one["seconds"] for one in entries),
        "tests": dict(sum((Counter(one["tests"]) for one in entries), Counter())),
        "slowest": dict(sorted(slowest, key=lambda item: float(item[1]))[-3:]),
        "kernels": sorted({name for one in entries for name in one["kernels"]}),
        **{k: [x for one in entries for x in one[k]] for k in ("explained", "report", "output")},
    }


def _asked(sanitizer: str, option: str) -> str:
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([sanitizer, option], capture_output=True, text=True, timeout=30)
        return done.stdout + done.stderr
    return ""


def _exclusion(sanitizer: str) -> list[str]:
    """Return the option that leaves out CuPy's own kernels, under its name in this version."""
    text = _asked(sanitizer, "--help")
    for option in ("--kernel-name-exclude", "--kernel-regex-exclude"):
        if option in text:
            return [option, "kns=cupy_"]
    return []


def _machine() -> dict[str, Any]:
    from snellen.jobs import machine

    cuda = machine.cuda()
    return {"gpu": machine.gpus(), **{n: cuda.get(n, "") for n in ("driver", "runtime", "nvrtc")}}


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sanitize", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for the tools")
    parser.add_argument("--out", type=Path, default=RECORD, help="the record")
    parser.add_argument("--sanitizer", default="compute-sanitizer", help="its command")
    parser.add_argument("--keep", type=Path, help="a folder for the tools' full reports")
    parser.add_argument("--no-warm-up", action="store_true", help="all kernels are compiled")
    parser.add_argument("--dry-run", action="store_true", help="say what would run")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Run the tools and write the record; 0 where nothing was found and all ran."""
    given = _arguments(words)
    if given.dry_run:
        count = Counter(tool for those in chosen().values() for tool in those)
        for tool in given.tools:
            print(f"{count[tool]} tests:")
            for part in range(PARTS.get(tool, 1)):
                print(shlex.join(tool_command(tool, given.sanitizer, Path("FOLDER"), [], part)))
        return 0
    before = digest(ROOT)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.jsonl"):
            path.unlink()
        if not given.no_warm_up:
            command = [*test_command(PLAIN, folder), "-n", "8"]
            plain = Run(PLAIN, PLAIN, command, folder, given.limit).wait()
            print(f"{PLAIN}: {plain['tests']}, {plain['seconds']} s", *plain["output"], sep="\n")
        exclude = _exclusion(given.sanitizer)
        version = re.search(r"[Vv]ersion (\S+)", _asked(given.sanitizer, "--version"))
        runs = [
            Run(
                tool,
                name_of(tool, part),
                tool_command(tool, given.sanitizer, folder, exclude, part),
                folder,
                given.limit,
            )
            for tool in given.tools
            for part in range(PARTS.get(tool, 1))
        ]
        done = [run.wait() for run in runs]
        entries = {tool: joined([d for d in done if d["tool"] == tool]) for tool in given.tools}
    kept = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
    if kept.get("digest") == before:
        entries = {run["tool"]: run for run in kept["tools"]} | entries
    record = {
        "digest": before,
        "unchanged": digest(ROOT) == before,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **_machine(),
        "sanitizer": version[1] if version else "",
        "left_out": exclude,
        "tools": [entries[tool] for tool in TOOLS if tool in entries],
    }
    given.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    good = True
    for run in record["tools"]:
        missing = sorted(set(run["wanted"]) - set(run["kernels"]))
        through = run["exit_status"] in ((0, FOUND) if run["explained"] else (0,))
        clean = run["finished"] and run["errors"] == 0 and through and not missing
        good = good and clean
        print(
            f"{run['tool']}: {'clean' if clean else 'NOT clean'}; errors {run['errors']}, "
            f"exit status {run['exit_status']}, {run['tests']}, {run['seconds']} s"
            + f"; not launched: {', '.join(missing)}"
            * bool(missing)
        )
        print(*run["report"], *run["output"], sep="\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
