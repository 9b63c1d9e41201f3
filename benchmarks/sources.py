"""Make coded training material of stills: `python -m benchmarks.sources STILLS -o FILE`.

Every parameter, the seed and the versions of the encoders are in the file's header. Sources in a
list (`--without held_out.txt`: names that crops begin with) are left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from snellen.frames import protocol
from snellen.sources import material, pairs
from snellen.sources.coder import libraries
from snellen.sources.degrade import Bytes


def stills(folder: Path, without: Path | None = None, only: Path | None = None) -> dict[str, Bytes]:
    """Read the luma of pictures, without those whose names a list begins, or only these."""
    refused, wanted = names(without), names(only)
    found = {}
    for path in protocol.pictures(folder):
        if path.name.startswith(refused) or (wanted and not path.name.startswith(wanted)):
            continue
        found[path.name] = np.rint(255 * protocol.luma(path)).astype(np.uint8)
    return found


def names(path: Path | None) -> tuple[str, ...]:
    """Return the lines of a list but comments."""
    lines = path.read_text(encoding="utf-8").splitlines() if path else []
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def main() -> int:
    """Make the material; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="stills")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--without", type=Path, help="list of sources that are left out")
    parser.add_argument("--kind", choices=material.KINDS, default="film")
    parser.add_argument("--scale", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2, help="clips of each still")
    parser.add_argument("--side", type=int, default=material.SIDE, help="of high planes, at most")
    parser.add_argument("--most", type=float, default=33.0, help="megabytes of the file, at most")
    parser.add_argument("--overwrite", action="store_true")
    given = parser.parse_args()
    found = stills(given.folder, given.without)
    made = material.pairs(found, given.kind, given.scale, given.seed, given.rounds, given.side)
    about = {
        "kind": given.kind, "scale": str(given.scale), "seed": str(given.seed),
        "rounds": str(given.rounds), "side": str(given.side), "stills": str(len(found)),
        **libraries(),
    }  # fmt: skip
    count = pairs.write(given.output, made, about, 1e6 * given.most, given.overwrite)
    print(f"{given.output}: {count} pairs, {given.output.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
