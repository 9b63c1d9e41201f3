"""Packs of training pictures: without loss, equal files for equal pictures."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from PIL import Image

from snellen.cnn.training import pack
from snellen.cnn.training.pictures import Folder, attribution, every, names
from snellen.errors import InputError


def item(random, name, scales=(), **more):
    high = random.integers(0, 256, (31, 44), dtype=np.uint8)
    lows = {s: random.integers(0, 256, (31 // s, 44 // s), dtype=np.uint8) for s in scales}
    return pack.Item(name, high, lows, **more)


def test_round_trip(random, tmp_path):
    items = [item(random, "a", (2, 3), group="film"), item(random, "b", held_out=True)]
    about = {"source": "film", "attribution": "Ærø (CC0)"}
    size = pack.write(tmp_path / "a.pack", items, about)
    assert size == (tmp_path / "a.pack").stat().st_size
    found = pack.read(tmp_path / "a.pack")
    assert found.about == about and len(found.items) == 2
    for one, wanted in zip(found.items, items, strict=True):
        assert (one.name, one.held_out, one.group) == (wanted.name, wanted.held_out, wanted.group)
        np.testing.assert_array_equal(one.high, wanted.high)
        assert set(one.lows) == set(wanted.lows)
        for scale, low in wanted.lows.items():
            np.testing.assert_array_equal(one.lows[scale], low)
    pack.write(tmp_path / "b.pack", items, about)
    assert (tmp_path / "a.pack").read_bytes() == (tmp_path / "b.pack").read_bytes()
    items[0].high[3, 4] ^= 1
    pack.write(tmp_path / "b.pack", items, about)
    assert pack.read(tmp_path / "b.pack").digest != found.digest


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


def test_folders(random, tmp_path):
    (tmp_path / "set").mkdir()
    drawn = random.integers(0, 256, (2, 40, 30), dtype=np.uint8)
    for name, plane in zip(("dog_1.png", "cat_1.png"), drawn, strict=True):
        Image.fromarray(plane).save(tmp_path / "set" / name)
    (tmp_path / "held.txt").write_text("# kept\ndog_1\n\n")
    folder = Folder(tmp_path / "set", 20, names(tmp_path / "held.txt"), "pets")
    cat, dog = every([folder])
    np.testing.assert_array_equal(dog.high, drawn[0][10:30, 5:25])
    assert (dog.name, dog.held_out, dog.group) == ("set/dog_1.png", True, "pets")
    assert not cat.held_out
    assert all(one.held_out for one in every([Folder(tmp_path / "set")], held_out=True))


def test_attribution(tmp_path):
    rows = ("source,author,licence", "b.org,Ann,CC0", "a.org,Ann,CC0", 'c.org,"Bo, C.",MIT')
    (tmp_path / "s.csv").write_text("\n".join(rows))
    assert attribution(tmp_path / "s.csv") == "Ann (CC0): a.org, b.org\nBo, C. (MIT): c.org"
