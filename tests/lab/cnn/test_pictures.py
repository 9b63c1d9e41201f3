"""Folders of pictures as items of packs, and the attribution of the free ones."""

from __future__ import annotations

import numpy as np
from PIL import Image

from snellen_lab.cnn.pictures import Folder, attribution, every, names


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
