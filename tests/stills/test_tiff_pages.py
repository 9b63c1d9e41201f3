"""TIFF files of several pages: found, read and written page by page."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from snellen import upscale_file
from snellen.errors import IncompleteError, InputError
from snellen.stills import tiff_write
from snellen.stills.still import Still, pages, read_page, write_pages
from snellen.stills.tiff_pages import pages as pages_in

DTYPES = (np.uint8, np.uint16, np.float32)


def samples(random, dtype, shape):
    if dtype == np.float32:
        return random.random(shape, np.float32)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype)


@pytest.mark.parametrize("big", [False, True])
def test_pages_come_back(tmp_path, random, monkeypatch, big):
    """Of every kind that we write, in one file; others read it, too."""
    if big:
        monkeypatch.setattr(tiff_write, "BIG", 10)
    stills = [
        Still(samples(random, dtype, shape), compression=compression, dpi=(72, 72))
        for dtype in (DTYPES[::-1] if big else DTYPES)
        for shape in ((13, 17), (12, 9, 3))
        for compression in ("tiff_lzw", None)
    ]
    file = tmp_path / "a.tif"
    write_pages(file, iter(stills), len(stills))
    assert file.read_bytes()[2] == (43 if big else 42)
    found = pages(file)
    assert [one.number for one in found] == list(range(len(stills)))
    for page, still in zip(found, stills, strict=True):
        again = read_page(file, page)
        assert again.pixels.dtype == still.pixels.dtype and not again.damage and not again.lost
        assert np.array_equal(again.pixels, still.pixels)
    if not big:  # Pillow does not know the others
        with Image.open(file) as image:
            image.seek(2)
            assert np.array_equal(np.asarray(image), stills[2].pixels)


def test_previews_are_no_pages_and_loops_end(random):
    file = BytesIO()
    image = Image.fromarray(samples(random, np.uint8, (8, 8)))
    other = image.resize((4, 4))
    other.encoderinfo = {"tiffinfo": {254: 1}}
    image.save(file, "TIFF", save_all=True, append_images=[other, image])
    assert [one.number for one in pages_in(file)] == [0, 2]
    data = bytearray(file.getvalue())
    (first, *_, last) = pages_in(file)
    count = int.from_bytes(data[last.offset : last.offset + 2], "little")
    place = last.offset + 2 + 12 * count
    data[place : place + 4] = first.offset.to_bytes(4, "little")
    assert [one.number for one in pages_in(BytesIO(data))] == [0, 2]
    for end in range(0, len(data), 7):
        pages_in(BytesIO(data[:end]))
    assert pages_in(BytesIO(b"\x89PNG")) == ()


@pytest.fixture
def three(tmp_path, random):
    shapes = (24, 16), (20, 12, 3), (24, 16, 3)
    found = [Image.fromarray(samples(random, np.uint8, shape)) for shape in shapes]
    found[0].save(tmp_path / "in.tif", save_all=True, append_images=found[1:])
    return tmp_path / "in.tif", found


def test_each_page_is_enlarged(three, tmp_path, small_model):
    source, images = three
    how = {"model": small_model, "device": "cpu"}
    result = upscale_file(source, tmp_path / "out.tif", strict=True, **how)
    assert result.pages == 3 and result.warnings == ()
    for page, image in zip(pages(tmp_path / "out.tif"), images, strict=True):
        image.save(tmp_path / "one.png")
        upscale_file(tmp_path / "one.png", tmp_path / "x2.png", overwrite=True, **how)
        with Image.open(tmp_path / "x2.png") as wanted:
            assert np.array_equal(read_page(tmp_path / "out.tif", page).pixels, np.asarray(wanted))
    first = upscale_file(source, tmp_path / "out.png", **how)
    assert first.pages == 1
    assert first.warnings == ("it holds several pictures: the first one is taken",)


def test_a_page_that_cannot_be_read_leaves_nothing(three, tmp_path, small_model):
    source, _ = three
    data = bytearray(source.read_bytes())
    last = pages(source)[-1]
    data[last.offset + 2 :: 12] = b"\xff" * len(data[last.offset + 2 :: 12])
    source.write_bytes(data)
    with pytest.raises((InputError, IncompleteError)):
        upscale_file(source, tmp_path / "out.tif", model=small_model, device="cpu")
    assert not (tmp_path / "out.tif").exists()
