"""Cuts films at random bytes, and counts by container how often the loss is reported.

``python -m benchmarks.damage_ends -o benchmarks/results/damage-ends.json``
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any

import av

from benchmarks.command import write
from benchmarks.sound import FILMS, Film, make, read
from snellen.errors import InputError

REFUSED, SAID, UNSAID, NOTHING = "refused", "said", "unsaid", "no frame lost"


def outcomes(film: Film, folder: Path, seed: int, cuts: int) -> dict[str, dict[str, int]]:
    """Cut a film so many times within packets, and where packets begin; count what is said.

    Returns
    -------
    dict
        "within" and "between": how many cuts were refused, said, unsaid, or cost no frame.
    """
    path = make(film, folder, seed)
    data, chance = path.read_bytes(), random.Random(f"cut {film.name} {seed}")
    whole = read(path)[0]
    with av.open(str(path)) as container:
        packets = [(p.pos, p.size) for p in container.demux(video=0) if p.size > 1 and p.pos][2:]
    between = [chance.choice(packets)[0] for _ in range(cuts)]
    within = [at + chance.randrange(1, size) for at, size in chance.choices(packets, k=cuts)]
    found = {}
    for name, cut in (("within", within), ("between", between)):
        found[name] = dict.fromkeys((REFUSED, SAID, UNSAID, NOTHING), 0)
        for at in cut:
            path.write_bytes(data[:at])
            found[name][_outcome(path, whole)] += 1
    path.unlink()
    return found


def _outcome(path: Path, whole: int) -> str:
    try:
        frames, said = read(path)
    except InputError:
        return REFUSED
    return SAID if said else UNSAID if frames < whole else NOTHING


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
