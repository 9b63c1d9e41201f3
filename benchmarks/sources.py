"""Make coded training material of stills: `python -m benchmarks.sources STILLS -o film-x2.pack`.

Every parameter, the seed and the versions of the encoders are in the pack. With --trainset, a
folder like ../shared/data/trainset, the stills of held_out.txt are marked as kept for validation,
and attributions come from SOURCES.csv.
"""

from __future__ import annotations

import argparse
import sys
from itertools import chain
from pathlib import Path

import numpy as np

from snellen_lab import protocol
from snellen_lab.cnn.pictures import attribution, names
from snellen_lab.sources import material, pack
from snellen_lab.sources.coder import libraries
from snellen_lab.sources.degrade import Bytes


def stills(folder: Path) -> dict[str, Bytes]:
    """Read the luma of pictures as code values."""
    return {k: np.rint(255 * v).astype(np.uint8) for k, v in protocol.planes(folder).items()}


def main() -> int:
    """Make the material; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, action="append", default=[], help="stills")
    parser.add_argument("--trainset", type=Path, help="the freely licensed set, with its tables")
    parser.add_argument("--pack", type=Path, help="whose uncoded pictures of trainset are stills")
    parser.add_argument("--held", type=Path, help="a pack whose items for validation are taken")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--kind", choices=material.KINDS, default="film")
    parser.add_argument("--scale", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2, help="clips of each still")
    parser.add_argument("--versions", type=int, default=1, help="codings of each clip")
    parser.add_argument("--side", type=int, default=material.SIDE, help="of clips, at most")
    parser.add_argument("--part", type=int, default=material.PART, help="of items, at most")
    parser.add_argument("--most", type=float, default=33.0, help="megabytes of the pack, at most")
    given = parser.parse_args()
    about = {
        "source": given.kind, "scale": str(given.scale), "seed": str(given.seed),
        "rounds": str(given.rounds), "versions": str(given.versions), "side": str(given.side),
        "part": str(given.part), **libraries(),
    }  # fmt: skip
    found: dict[str, Bytes] = {}
    held: tuple[str, ...] = ()
    for folder in given.folder:
        found |= stills(folder)
    if given.trainset:
        found |= stills(given.trainset / "pictures")
        held = names(given.trainset / "held_out.txt")
        about["attribution"] = attribution(given.trainset / "SOURCES.csv")
    kept: list[pack.Item] = []
    if given.pack:
        clean = pack.read(given.pack)
        of_set = [item for item in clean.items if item.group == "trainset"]
        found |= {item.name: item.high for item in of_set}
        held = tuple(item.name for item in of_set if item.held_out)
        about |= {"stills": clean.digest, "attribution": clean.about["attribution"]}
    if given.held:
        found = {name: still for name, still in found.items() if not name.startswith(held)}
        kept = [item for item in pack.read(given.held).items if item.held_out]
    made = material.items(
        found, given.kind, given.scale, given.seed,
        rounds=given.rounds, versions=given.versions, side=given.side, part=given.part,
        held_out=held,
    )  # fmt: skip
    count = pack.write(given.output, chain(kept, made), about, 1e6 * given.most)
    print(f"{given.output}: {count} items, {given.output.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
