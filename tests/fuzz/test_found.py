"""Every finding stays found: the cases of tests/fuzz/found run without a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.case import Case
from fuzz.runner import Fuzzer

FOUND = sorted((Path(__file__).parent / "found").glob("*.json"))


@pytest.fixture(scope="module")
def fuzzer():
    one = Fuzzer()
    yield one
    one.close()


@pytest.mark.slow
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_found(path, fuzzer):
    assert path.stat().st_size <= 20_000
    outcome, found = fuzzer.run(Case.from_json(path.read_text()))
    assert found == [], f"exit code {outcome.code}: {outcome.text}"
