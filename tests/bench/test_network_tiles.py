"""The sweep over tiles of the network kernel."""

from __future__ import annotations

import pytest

from benchmarks import network_tiles
from snellen.bench import cnn
from snellen.cnn.cuda.layout import MEMORY
from snellen.frames.frame import Format


@pytest.mark.parametrize("limit", MEMORY.values())
@pytest.mark.parametrize("arch", ["", "sm_90"])
@pytest.mark.parametrize("known", [False, True])
def test_every_candidate_fits(limit, arch, known):
    for network in ("fast", "fine", (6, 32)):
        model, format = cnn.drawn(network, 2), Format(64, 48)
        found = list(network_tiles.candidates(model, format, limit, arch, known))
        assert found and len(set(found)) == len(found)
        for one in found:
            across, down = one.tile
            assert one.shared <= limit and across * down % 16 == 0 and one.warps * 32 <= 1024
        wide = arch == "sm_90" and network != "fast" and limit == MEMORY["sm_90"]
        assert any(one.warpgroups for one in found) >= wide


def test_networks_of_a_size():
    assert network_tiles.network("6x32") == (6, 32)


@pytest.mark.gpu
def test_on_a_gpu(monkeypatch):
    monkeypatch.setattr(network_tiles, "TILES", ((16, 16), (32, 16)))
    monkeypatch.setattr(network_tiles, "SIZES", ((2, 90, 70),))
    sizes = [(4, 16), (6, 32)]
    rows = network_tiles.measure("cuda:0", sizes, True, False, 1, lambda line: None)
    assert [row["network"] for row in rows] == ["4 × 16", "6 × 32"]
    assert all(len(row["tiles"]) > 1 and not row["wrong"] for row in rows)
