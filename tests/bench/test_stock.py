"""PyTorch's line: it computes what ours does, where it predicts."""

from __future__ import annotations

import pytest

from snellen.aplus.model import load
from snellen.bench import stock
from snellen.errors import SnellenError


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_it_is_right(scale):
    pytest.importorskip("torch")
    assert stock.check(load(None, scale), "cpu") < stock.AGREE


@pytest.mark.parametrize("name", ["bicubic", "differences", "pca", "match", "regress", "overlap"])
def test_a_wrong_step_is_not_timed(monkeypatch, name):
    pytest.importorskip("torch")
    step = getattr(stock.Stock, name)

    def wrong(self, *arguments):
        made = step(self, *arguments)
        return made * 0 if name == "match" else made * 1.01

    monkeypatch.setattr(stock.Stock, name, wrong)
    with pytest.raises(SnellenError, match="nothing is timed"):
        stock.check(load(None, 2), "cpu")
