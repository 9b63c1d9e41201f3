"""Check that the last run of the GPU tests was of this very source: `make release-check`.

The record was written by `pytest -m gpu --gpu-record benchmarks/gpu-tests.json` on a machine with
a GPU. Exit status 1, with a line for each reason, where a release would ship what no GPU has run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "gpu-tests.json"

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


def main() -> int:
    """Print the faults; return the exit status."""
    from benchmarks.digest import digest

    if not RECORD.exists():
        print(f"no record of the GPU tests at {RECORD.relative_to(ROOT)}", file=sys.stderr)
        return 1
    found = faults(json.loads(RECORD.read_text(encoding="utf-8")), digest(ROOT))
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
