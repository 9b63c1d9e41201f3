"""The list of mutations fits the source; `make mutants` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants.mutations import MUTATIONS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.cases
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.file)
def test_each_line_stands_once(mutation):
    text = (ROOT / "src" / "snellen" / mutation.file).read_text("utf-8")
    assert text.count(mutation.line) == 1
    assert mutation.line != mutation.wrong
    assert all((ROOT / name).exists() for name in mutation.tests.split())
