"""`python -m benchmarks.stock aplus|cnn|mad|mia|fft [--quick] [-o FILE]`: ours beside others."""

from __future__ import annotations

import sys
from functools import partial

from benchmarks.command import arguments, write
from benchmarks.stock.run import CASES, run


def main() -> int:
    """Measure, and write the report; return the exit status."""
    given = arguments(__doc__, lambda parser: parser.add_argument("method", choices=CASES))
    report = run(
        given.method, given.repeats, partial(print, flush=True), device=given.device,
        quick=given.quick,
    )  # fmt: skip
    write(report, given.output)
    return 1 if report["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
