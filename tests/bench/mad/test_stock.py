"""PyTorch's lines: they compute what ours does."""

from __future__ import annotations

import pytest

from snellen.bench.mad import exact, stock
from snellen.bench.mad.cases import KINDS, SMALL, pair
from snellen.errors import SnellenError


@pytest.fixture
def line():
    pytest.importorskip("torch")
    return stock.Stock(SMALL.height, SMALL.width, "cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_right(line, kind):
    given = pair(SMALL, kind)
    ours = exact.scored(given, *exact.CPU)[0]
    assert stock.check(line, stock.tensors(given, "cpu"), ours) < 1e-5


@pytest.mark.parametrize("name", ["detection", "statistics", "local_mse", "spread"])
def test_a_wrong_step_is_not_timed(monkeypatch, line, name):
    given = pair(SMALL)
    step = getattr(stock.Stock, name)

    def wrong(self, *arguments):
        made = step(self, *arguments)
        return tuple(1.01 * part for part in made) if isinstance(made, tuple) else made * 1.01

    monkeypatch.setattr(stock.Stock, name, wrong)
    ours = exact.scored(given, *exact.CPU)[0]
    with pytest.raises(SnellenError, match="nothing is timed"):
        stock.check(line, stock.tensors(given, "cpu"), ours)
