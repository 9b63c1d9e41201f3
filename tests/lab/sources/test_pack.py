"""Packs of training pictures: without loss, equal files for equal pictures."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import numpy as np
import pytest

from snellen.errors import InputError
from snellen_lab.sources import pack


def item(random, name, scales=(), **more):
    high = random.integers(0, 256, (31, 44), dtype=np.uint8)
    lows = {s: random.integers(0, 256, (31 // s, 44 // s), dtype=np.uint8) for s in scales}
    return pack.Item(name, high, lows, **more)


def test_round_trip(random, tmp_path):
    items = [
        item(random, "a", (2, 3), group="film", facts={"crf": 23}),
        item(random, "b", held_out=True),
    ]
    about = {"source": "film", "attribution": "Ærø (CC0)"}
    assert pack.write(tmp_path / "a.pack", items, about) == 2
    found = pack.read(tmp_path / "a.pack")
    assert found.about == about and len(found.items) == 2
    for one, wanted in zip(found.items, items, strict=True):
        assert (one.name, one.held_out, one.group) == (wanted.name, wanted.held_out, wanted.group)
        assert one.facts == wanted.facts
        np.testing.assert_array_equal(one.high, wanted.high)
        assert set(one.lows) == set(wanted.lows)
        for scale, low in wanted.lows.items():
            np.testing.assert_array_equal(one.lows[scale], low)
    pack.write(tmp_path / "b.pack", items, about)
    assert (tmp_path / "a.pack").read_bytes() == (tmp_path / "b.pack").read_bytes()
    size = (tmp_path / "a.pack").stat().st_size
    assert pack.write(tmp_path / "b.pack", items, about, most=size * 0.7) == 1
    assert len(pack.read(tmp_path / "b.pack").items) == 1
    items[0].high[3, 4] ^= 1
    pack.write(tmp_path / "b.pack", items, about)
    assert pack.read(tmp_path / "b.pack").digest != found.digest


def test_a_picture_in_several_codings_is_kept_once(random, tmp_path):
    first, other = item(random, "a", (2,)), item(random, "b", (2,))
    again = replace(first, name="a again", lows={2: first.lows[2] // 2})
    items = [first, again, other]
    pack.write(tmp_path / "a.pack", items, {"source": "film"})
    with zipfile.ZipFile(tmp_path / "a.pack") as file:
        assert sum(name.endswith(".high.webp") for name in file.namelist()) == 2
    found = pack.read(tmp_path / "a.pack")
    assert found.digest == pack.digest(items)
    assert found.items[0].high is found.items[1].high


def test_wrong_packs(random, tmp_path):
    with pytest.raises(InputError, match=r"a at ×2: got \(15, 21\); expected \(15, 22\)"):
        pack.Item("a", np.zeros((31, 44), np.uint8), {2: np.zeros((15, 21), np.uint8)})
    path = tmp_path / "a.pack"
    with pytest.raises(InputError, match="not a pack"):
        pack.read(path)
    path.write_bytes(b"no pack")
    with pytest.raises(InputError, match="not a pack"):
        pack.read(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("pack.json", '{"format": "other"}')
    with pytest.raises(InputError, match="format 'other'"):
        pack.read(path)
