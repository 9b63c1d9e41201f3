"""Print our times of two result files beside each other: `python benchmarks/compare.py OLD NEW`.

Each file is of either format; measure both on one machine. The exit status is 1 where the time of a
cell that both have is more than 3 % longer in the new file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.results import Result, read

WORSE = 3.0
"""Percent by which a time may grow."""


def main(words: list[str] | None = None) -> int:
    """Compare two files; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--worse", type=float, default=WORSE, help="percent that are allowed")
    given = parser.parse_args(words)
    try:
        old, new = read(given.old), read(given.new)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return compare(old, new, given.worse)


def compare(old: Result, new: Result, allowed: float = WORSE) -> int:
    """Print each cell that both have, and what only one of them has; return the exit status."""
    if old.device != new.device:
        print(f"warning: {old.device} and {new.device} are different devices", file=sys.stderr)
    common = [key for key in old.cells if key in new.cells]
    if not common:
        print("error: the files have no cell in common", file=sys.stderr)
        return 2
    width = max(len(key.name) for key in common)
    print(f"{'time, ms':<{width}} {'old':>10} {'new':>10}  new / old")
    worse = 0
    for key in common:
        before, after = old.cells[key].ms["median"], new.cells[key].ms["median"]
        slower = after > before * (1 + allowed / 100)
        worse += slower
        print(f"{key.name:<{width}} {before:10.4g} {after:10.4g}  {after / before:9.3f}"
              f"{'  WORSE' if slower else ''}")  # fmt: skip
    for name, one, other in (("old", old, new), ("new", new, old)):
        alone = [key.name for key in one.cells if key not in other.cells]
        if alone:
            print(f"only in the {name} file: {'; '.join(alone)}")
    for cell in new.report.get("cells", ()):
        if "error" in cell:
            names = ("size", "batch", "kind", "call", "device")
            what = ", ".join(str(cell[name]) for name in names if name in cell)
            print(f"wrong in the new file: {what}")
            worse += 1
    print(f"{len(common)} cells, {worse} worse by more than {allowed:g} % or wrong")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
