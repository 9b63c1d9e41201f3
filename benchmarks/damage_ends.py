"""What is said of films that are cut at random bytes: by container, how often and whether.

``python -m benchmarks.damage_ends -o benchmarks/results/damage-ends.json``
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.command import write
from benchmarks.sound import FILMS, Film, make, read
from snellen.errors import InputError

REFUSED, SAID, UNSAID, NOTHING = "refused", "said", "unsaid", "no frame lost"


def outcomes(film: Film, folder: Path, seed: int, cuts: int) -> dict[str, Any]:
    """Cut a film at so many random bytes; return how often it was refused, said or unsaid."""
    path = make(film, folder, seed)
    data, chance = path.read_bytes(), random.Random(f"cut {film.name} {seed}")
    whole = read(path)[0]
    found: dict[str, Any] = dict.fromkeys((REFUSED, SAID, UNSAID, NOTHING), 0)
    found["at"] = []
    for _ in range(cuts):
        at = chance.randrange(len(data) // 20, len(data))
        path.write_bytes(data[:at])
        try:
            frames, said = read(path)
        except InputError:
            found[REFUSED] += 1
            continue
        kind = SAID if said else UNSAID if frames < whole else NOTHING
        found[kind] += 1
        if kind is UNSAID:
            found["at"].append([at, len(data), whole - frames])
    return found


def main() -> None:
    """Cut all films and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuts", type=int, default=30, help="of each film")
    parser.add_argument("--only", default="", help="part of the name of films")
    parser.add_argument("-o", "--output", type=Path, help="write JSON here")
    parsed = parser.parse_args()
    report: dict[str, Any] = {"seed": parsed.seed, "cuts": parsed.cuts, "films": {}}
    with tempfile.TemporaryDirectory() as folder:
        for film in FILMS:
            if parsed.only in film.name:
                found = outcomes(film, Path(folder), parsed.seed, parsed.cuts)
                report["films"][film.name] = found
                print(film.name, found, flush=True)
    write(report, parsed.output)


if __name__ == "__main__":
    main()
