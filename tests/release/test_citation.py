"""CITATION.cff is of this version."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from snellen import __version__

FILE = Path(__file__).parents[2] / "CITATION.cff"


def test_the_software_is_cited_as_it_is():
    head = FILE.read_text(encoding="utf-8").partition("\nreferences:")[0]
    found = dict(re.findall(r"^([a-z-]+): (.+)$", head, re.MULTILINE))
    assert found["title"] == "Snellen" and found["type"] == "software"
    assert found["version"] == __version__
    date.fromisoformat(found["date-released"])
