"""Write the tables of docs/damage.md: ``python -m benchmarks.damage_tables``.

They come from benchmarks/results/damage/: stills.json by ``python -m benchmarks.damage_stills``,
ends.json by ``python -m benchmarks.damage_ends``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.damage_ends import NOTHING, REFUSED, SAID, UNSAID
from benchmarks.damage_stills import HITS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "damage"
PAGE = ROOT / "docs" / "damage.md"


def stills(found: dict[str, Any]) -> Iterable[str]:
    """Yield the rows of the table of images: of each kind of hit what was not said."""
    yield (
        f"| of {found['hits']} hits each, visible and not said | "
        + " | ".join(
            {"bit": "one bit", "zeros": "zeroed bytes", "removed": "removed bytes", "cut": "cut"}[
                kind
            ]
            for kind in HITS
        )
        + " |"
    )
    yield "|---" * (1 + len(HITS)) + "|"
    for name, kinds in found["images"].items():
        yield f"| {name} | " + " | ".join(str(kinds[kind]["unsaid"]) for kind in HITS) + " |"


def ends(found: dict[str, Any]) -> Iterable[str]:
    """Yield the rows of the table of films that are cut."""
    yield (
        f"| of {found['cuts']} cuts each | within packets: said or refused | not said "
        "| where the data of packets begin: said or refused | not said |"
    )
    yield "|---|---|---|---|---|"
    for name, kinds in found["films"].items():
        cells = []
        for place in ("within", "between"):
            counts = kinds[place]
            none = f" ({counts[NOTHING]} cost no frame)" if counts[NOTHING] else ""
            cells += [f"{counts[SAID] + counts[REFUSED]}{none}", str(counts[UNSAID])]
        yield f"| {name} | " + " | ".join(cells) + " |"


def filled(text: str, name: str, rows: Iterable[str]) -> str:
    """Return the page with rows between the marks of a table."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, _, rest = text.partition(begin)
    return before + begin + "\n" + "\n".join(rows) + "\n\n" + end + rest.partition(end)[2]


def main() -> None:
    """Fill the tables whose results are there."""
    text = PAGE.read_text(encoding="utf-8")
    for table in (stills, ends):
        path = RESULTS / f"{table.__name__}.json"
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            text = filled(text, table.__name__, table(found))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
