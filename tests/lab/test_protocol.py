"""The evaluation protocol: reading, cropping, shrinking, PSNR."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from snellen.errors import InputError
from snellen_lab import protocol
from support.aplus import training_reference as reference


@pytest.mark.parametrize("factor", [1 / 2, 1 / 3, 1 / 4, 0.98, 0.98**11, 0.5001])
@pytest.mark.parametrize("shape", [(24, 36), (12, 12), (37, 13)])
def test_shrink_is_imresize(random, factor, shape):
    plane = random.random(shape, np.float32)
    found = protocol.shrink(plane, factor)
    wanted = reference.shrink(plane, factor)
    assert found.dtype == np.float32 and found.flags.c_contiguous
    # Two roundings to float32 of values up to about 1.3: 2 × 2⁻²⁴ × 1.3 × the weights' sum 1.3.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2.5e-7)


def test_shrink_keeps_a_constant_and_the_whole(random):
    flat = np.full((30, 21), 0.3, np.float32)
    # Weights are divided by their sum in double, so one rounding to float32 is all there is.
    np.testing.assert_allclose(protocol.shrink(flat, 1 / 3), 0.3, rtol=1.2e-7)
    plane = random.random((5, 6), np.float32)
    assert protocol.shrink(plane, 1) is plane


@pytest.mark.parametrize("name", ["bird_GT", "butterfly_GT", "woman_GT"])
def test_shrink_is_the_authors(shared_data, name):
    with np.load(shared_data / "aplus" / f"{name}_x2.npz") as case:
        # Values in 0…1: the authors' weights differ in the last bit of double, ours of float32.
        np.testing.assert_allclose(protocol.shrink(case["hr"], 0.5), case["lr"], rtol=0, atol=2e-7)


def test_luma_is_rounded_bt601(tmp_path, random):
    pixels = random.integers(0, 256, (7, 9, 3), np.uint8)
    pixels[0, 0], pixels[0, 1] = 255, 0
    Image.fromarray(pixels).save(tmp_path / "a.png")
    r, g, b = np.moveaxis(pixels.astype(np.float64), -1, 0)
    wanted = np.floor(16 + (65.481 * r + 128.553 * g + 24.966 * b) / 255 + 0.5)
    found = protocol.luma(tmp_path / "a.png")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found * 255, (wanted / 255).astype(np.float32) * 255)
    assert found[0, 0] == np.float32(235 / 255) and found[0, 1] == np.float32(16 / 255)


@pytest.mark.parametrize("mode", ["L", "LA", "1"])
def test_grey_is_used_as_it_is(tmp_path, random, mode):
    pixels = random.integers(0, 256, (6, 5), np.uint8)
    image = Image.fromarray(pixels).convert(mode)
    image.save(tmp_path / "a.png")
    wanted = np.asarray(image.convert("L"))
    np.testing.assert_array_equal(
        protocol.luma(tmp_path / "a.png"), (wanted / 255).astype(np.float32)
    )


@pytest.mark.parametrize("mode", ["P", "RGBA", "CMYK"])
def test_colour_of_any_kind_is_read(tmp_path, mode):
    image = Image.new("RGB", (4, 3), (200, 30, 90))
    image = image.quantize(4) if mode == "P" else image.convert(mode)
    image.save(tmp_path / "a.tif")
    grey = round(16 + (65.481 * 200 + 128.553 * 30 + 24.966 * 90) / 255) / 255
    # One grey level: CMYK may quantise.
    np.testing.assert_allclose(protocol.luma(tmp_path / "a.tif"), grey, atol=1 / 255)


def test_deep_and_broken_images_are_refused(tmp_path):
    Image.fromarray(np.zeros((4, 4), np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(InputError, match=r"deep\.png.*8-bit"):
        protocol.luma(tmp_path / "deep.png")
    (tmp_path / "broken.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"broken\.png"):
        protocol.luma(tmp_path / "broken.png")


def test_folders_without_images_are_refused(tmp_path):
    with pytest.raises(InputError, match="no folder"):
        protocol.pictures(tmp_path / "none")
    (tmp_path / "notes.txt").write_text("no image")
    with pytest.raises(InputError, match="no image"):
        protocol.planes(tmp_path)


def test_pictures_come_by_name(tmp_path):
    for name in ("b.png", "a.BMP", "c.jpg"):
        Image.new("L", (3, 3)).save(tmp_path / name)
    assert list(protocol.planes(tmp_path)) == ["a.BMP", "b.png", "c.jpg"]


def test_crop():
    plane = np.zeros((17, 11), np.float32)
    assert protocol.crop(plane, 4).shape == (16, 8)
    assert protocol.crop(plane, 1).shape == (17, 11)


@pytest.mark.parametrize("border", [0, 2, 3])
def test_psnr(random, border):
    truth = random.random((20, 14), np.float32)
    estimate = truth + random.normal(0, 0.02, truth.shape).astype(np.float32)
    found = protocol.psnr(truth, estimate, border)
    # The same double arithmetic in another order.
    assert found == pytest.approx(reference.psnr(truth, estimate, border), abs=1e-9)


def test_psnr_of_equals_is_infinite():
    plane = np.full((8, 8), 0.5, np.float32)
    assert protocol.psnr(plane, plane + np.float32(0.001), 2) == float("inf")
