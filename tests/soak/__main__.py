"""`python -m soak`: see README.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from soak.meter import FEWEST, Meter
from soak.phases import PHASES


def main() -> int:
    """Run the phases; return 1 if anything grew."""
    parser = argparse.ArgumentParser("soak", description="Nothing grows in long runs.")
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    counts = {
        "stream": given.frames, "film": given.frames, "calls": given.calls, "jobs": given.jobs,
    }  # fmt: skip
    if 0 < min(counts.values()) < FEWEST:
        parser.error(f"got {min(counts.values())}; expected 0 or at least {FEWEST} of each")
    grown = []
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # what is left there is counted
        for name, phase in PHASES.items():
            if not counts[name]:
                continue
            began = time.monotonic()
            meter = Meter(name, counts[name], given.device != "cpu")
            place = Path(folder) / name
            place.mkdir()
            phase(meter, given.device, place)
            meter.end()
            print(meter.line(), f"· {time.monotonic() - began:.0f} s", flush=True)
            grown += meter.grown()
        tempfile.tempdir = None
    return bool(grown)


if __name__ == "__main__":
    sys.exit(main())
