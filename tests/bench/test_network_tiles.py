"""The sweep over tiles of the network kernel."""

from __future__ import annotations

import pytest

from benchmarks import network_tiles
from snellen.bench import cnn
from snellen.cnn.cuda.layout import MEMORY
from snellen.frames.frame import Format


@pytest.mark.parametrize("limit", MEMORY.values())
def test_every_candidate_fits(limit):
    for network in ("fast", "fine"):
        found = list(network_tiles.candidates(cnn.drawn(network, 2), Format(64, 48), limit))
        assert found and len(set(found)) == len(found)
        for one in found:
            across, down = one.tile
            assert one.shared <= limit and across * down % 16 == 0 and one.warps * 32 <= 1024


@pytest.mark.gpu
def test_on_a_gpu(monkeypatch):
    monkeypatch.setattr(network_tiles, "TILES", ((16, 16), (32, 16)))
    monkeypatch.setattr(network_tiles, "SIZES", ((2, 90, 70),))
    rows = network_tiles.measure("cuda:0", True, 1, lambda line: None)
    assert [row["network"] for row in rows] == ["fast", "fine"]
    assert all(len(row["tiles"]) > 1 for row in rows)
