"""Check that the last runs on a GPU were of this very source: `make release-check`.

The records were written by `pytest -m gpu --gpu-record=benchmarks/gpu-tests.json` (in one word:
pytest takes an existing file for a place of tests) and by `python -m benchmarks.sanitize` on a
machine with a GPU. Exit status 1, with a line for each reason, where a release would ship what no
GPU has run, or what compute-sanitizer has not seen.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "gpu-tests.json"
SANITIZER = ROOT / "benchmarks" / "gpu-sanitizer.json"
TOOLS = ("memcheck", "initcheck", "racecheck", "synccheck")

sys.path.insert(0, str(ROOT))


def faults(record: dict, digest: str) -> list[str]:
    """Return what speaks against a release of the source with a digest."""
    run = f"the run of {record['date']} on {', '.join(record['gpu']) or 'no GPU'}"
    tests = record["tests"]
    found = []
    if record["digest"] != digest:
        found.append(f"src/ or tests/ differ from {run}: {digest} here, {record['digest']} there")
    if not record["unchanged"]:
        found.append(f"src/ or tests/ changed during {run}")
    if not record["complete"]:
        found.append(f"{run} was of some of the GPU tests only")
    if not record["gpu"] or not tests["passed"]:
        found.append(f"no test passed on a GPU in {run}")
    if record["exit_status"] or tests["failed"] or tests["error"]:
        found.append(
            f"{tests['failed']} tests failed, {tests['error']} had errors in {run}, "
            f"which ended with exit status {record['exit_status']}"
        )
    return found


def sanitizer_faults(record: dict, digest: str) -> list[str]:
    """Return what speaks against it in the record of compute-sanitizer."""
    run = f"compute-sanitizer's run of {record['date']} on {', '.join(record['gpu']) or 'no GPU'}"
    found = []
    if record["digest"] != digest:
        found.append(f"src/ or tests/ differ from {run}: {digest} here, {record['digest']} there")
    if not record["unchanged"]:
        found.append(f"src/ or tests/ changed during {run}")
    runs = {one["tool"]: one for one in record["tools"]}
    for tool in TOOLS:
        one = runs.get(tool)
        missing = set(one["wanted"]) - set(one["kernels"]) if one else ()
        if one is None:
            found.append(f"{run} was without {tool}")
        elif not one["finished"]:
            found.append(f"{tool} did not finish in {run}")
        elif one["errors"] is None:
            found.append(f"{tool} wrote no summary in {run}")
        elif one["errors"]:
            found.append(f"{tool} found {one['errors']} errors in {run}")
        elif one["tests"].get("failed") or not one["tests"].get("passed"):
            found.append(f"under {tool} tests failed or no test passed in {run}: {one['tests']}")
        elif one["exit_status"] and not one["explained"]:
            found.append(f"{tool} ended with exit status {one['exit_status']} in {run}")
        elif missing:
            found.append(f"under {tool} no test launched {', '.join(sorted(missing))} in {run}")
    return found


def main() -> int:
    """Print the faults; return the exit status."""
    from benchmarks.digest import digest

    here, found = digest(ROOT), []
    for path, check in ((RECORD, faults), (SANITIZER, sanitizer_faults)):
        if path.exists():
            found += check(json.loads(path.read_text(encoding="utf-8")), here)
        else:
            found.append(f"no record of the GPU at {path.parent.name}/{path.name}")
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
