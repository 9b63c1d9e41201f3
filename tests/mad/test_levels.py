"""docs/mad.md says what examples/mad_levels.py prints, and shows what it draws."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = ("mad-levels.png", "mad-maps.png")


def rows(text):
    """Each row of the tables in a text: words of the first cells, and numbers."""
    found = []
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            numbers = [float(c) for c in cells if re.fullmatch(r"[\d.]+(e[+]\d+)?", c)]
            found.append((cells[0], numbers))
    return found


@pytest.mark.slow
def test_the_tables_are_what_the_example_prints(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "mad_levels.py", tmp_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    page = (ROOT / "docs" / "mad.md").read_text(encoding="utf-8")
    tables = re.findall(r"<!-- (?:levels|versions):begin -->\n(.*?)<!--", page, re.DOTALL)
    listed, printed = rows("\n".join(tables)), rows(done.stdout)
    assert [name for name, _ in listed] == [name for name, _ in printed]
    # Another JPEG encoder may round a few coefficients otherwise.
    for (name, wanted), (_, found) in zip(listed, printed, strict=True):
        assert found == pytest.approx(wanted, rel=0.01), name
    for name in PICTURES:
        assert name in page and (ROOT / "docs" / name).stat().st_size < 300_000
        assert (tmp_path / name).stat().st_size > 10_000
