"""Pictures of Pillow given to functions for arrays: each mode is what its file is read as."""

from __future__ import annotations

import warnings
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageCms

import snellen
from snellen.errors import InputError
from snellen.frames import arrays
from snellen.stills.still import read

SRGB = ImageCms.createProfile("sRGB")


def colours(height=12, width=16):
    y, x = np.mgrid[:height, :width]
    return np.stack([x * 4 + 40, y * 4 + 50, 200 - x * 3], -1).astype(np.uint8)


def picture(mode, height=12, width=16):
    """A picture of a mode that shows `colours`, or its grey."""
    rgb = Image.fromarray(colours(height, width))
    if mode == "LAB":
        return ImageCms.profileToProfile(rgb, SRGB, ImageCms.createProfile("LAB"), outputMode=mode)
    if mode in ("LA", "La", "PA", "RGBA", "RGBa"):
        straight = rgb.convert("RGBA")
        straight.putalpha(Image.linear_gradient("L").resize(rgb.size))
        if mode == "PA":
            paletted = rgb.quantize(32).convert("PA")
            paletted.putalpha(straight.getchannel("A"))
            return paletted
        return straight.convert("LA").convert(mode) if "L" in mode else straight.convert(mode)
    if mode.startswith("I"):
        deep = np.asarray(rgb.convert("L")).astype(np.uint16) * 257
        return Image.frombytes(
            mode, rgb.size, deep.astype({"I;16B": ">u2"}.get(mode, "<u2")).tobytes()
        )
    if mode == "F":
        return Image.fromarray(np.asarray(rgb.convert("L"), np.float32) / 255)
    if mode == "P":
        return rgb.quantize(64)
    return rgb.convert(mode)


def with_transparency(mode):
    image = picture(mode)
    image.info["transparency"] = image.getpixel((3, 2))
    return image


def with_profile():
    """CMYK with a profile, which need not be one of CMYK to be looked at."""
    image = picture("CMYK")
    image.info["icc_profile"] = ImageCms.ImageCmsProfile(SRGB).tobytes()
    return image


def transparent_palette():
    rgba = picture("RGBA")
    return rgba.quantize(16, method=Image.Quantize.FASTOCTREE)


def as_given(image):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return arrays.read(image)


CASES = {
    "1": (picture("1"), "png"), "L": (picture("L"), "png"), "LA": (picture("LA"), "png"),
    "P": (picture("P"), "png"), "P-key": (with_transparency("P"), "png"),
    "P-alpha": (transparent_palette(), "png"), "RGB": (picture("RGB"), "png"),
    "RGB-key": (with_transparency("RGB"), "png"), "L-key": (with_transparency("L"), "png"),
    "RGBA": (picture("RGBA"), "png"), "I;16": (picture("I;16"), "png"),
    "I;16B": (picture("I;16B"), "tif"),
    "F": (picture("F"), "tif"), "CMYK": (picture("CMYK"), "tif"),
    "CMYK-profile": (with_profile(), "tif"), "YCbCr": (picture("YCbCr"), "tif"),
    "LAB": (picture("LAB"), "tif"), "PA": (picture("PA"), "tif"),
}  # fmt: skip


@pytest.mark.cases
@pytest.mark.parametrize("case", CASES)
def test_a_picture_is_what_its_file_is_read_as(tmp_path, case):
    image, suffix = CASES[case]
    path = tmp_path / f"a.{suffix}"
    image.save(path)
    wanted = read(path).pixels
    found = as_given(image)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert (found == wanted).all()
    with Image.open(path) as opened:  # not loaded yet
        again = as_given(opened)
    assert again.dtype == wanted.dtype and (again == wanted).all()


@pytest.mark.cases
@pytest.mark.parametrize(
    ("mode", "most"),
    # 64 colours, components of 8 bits, hues of 256 steps, a* and b* of whole units
    [("RGB", 0), ("RGBX", 0), ("CMYK", 0), ("YCbCr", 3), ("HSV", 8), ("LAB", 8), ("P", 12)],
)
def test_the_colours_are_those_that_the_picture_shows(mode, most):
    found = as_given(picture(mode)).astype(int)
    assert found.shape == (12, 16, 3)
    assert abs(found - colours()).max() <= most


@pytest.mark.cases
@pytest.mark.parametrize("mode", ["LA", "La", "PA", "RGBA", "RGBa"])
def test_transparency_is_straight_and_last(mode):
    found = as_given(picture(mode))
    straight = np.asarray(picture("RGBA"))
    assert found.shape == (12, 16, 4) and (found[..., 3] == straight[..., 3]).all()
    visible = straight[..., 3] > 200
    shown = straight[..., :3]
    if mode in ("LA", "La"):
        shown = np.repeat(np.asarray(picture("L"))[..., None], 3, -1)
    # premultiplied ones are rounded to 1/200; a palette has 32 colours
    most = {"PA": 40}.get(mode, 3)
    assert abs(found[..., :3].astype(int) - shown)[visible].max() <= most


def test_integers_of_a_file_of_sixteen_bits(tmp_path):
    """Pillow reads such maps as integers of 32 bits."""
    (tmp_path / "a.pgm").write_bytes(b"P5 2 1 65535\n\x12\x34\xff\xff")
    with Image.open(tmp_path / "a.pgm") as opened:
        assert opened.mode == "I"
        found = as_given(opened)
    assert found.dtype == np.uint16 and (found == read(tmp_path / "a.pgm").pixels).all()
    assert found.tolist() == [[0x1234, 0xFFFF]]


def test_integers_whose_white_is_unknown_are_refused():
    with pytest.raises(InputError, match="got 32-bit samples") as caught:
        arrays.read(Image.fromarray(np.array([[0, 255]], np.int32)))
    assert "uint16" in caught.value.advice
    file = BytesIO()
    Image.fromarray(np.array([[3, 7]], np.int32)).save(file, "TIFF")
    with pytest.raises(InputError, match="got 32-bit samples"):
        arrays.read(Image.open(file))


def test_a_picture_that_cannot_be_decoded():
    file = BytesIO()
    Image.fromarray(colours(200, 200)).save(file, "PNG")
    cut = Image.open(BytesIO(file.getvalue()[: len(file.getvalue()) // 2]))
    with pytest.raises(InputError, match="the picture cannot be decoded"):
        arrays.read(cut)


def test_lists_of_pictures_are_batches():
    one, array = picture("P"), colours()
    for given in ([one, array], (array, one), [[one], [array]]):
        found = as_given(given)
        assert found.shape[-3:] == (12, 16, 3) and found.size == 2 * array.size
    assert (as_given([one, one])[1] == as_given(one)).all()
    assert as_given([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 2)
    with pytest.raises(InputError, match="cannot be read"):
        as_given([picture("L"), picture("RGB")])


def calls():
    def upscaled(a, b):
        return snellen.upscale(a, method="cnn-fast", device="cpu")

    def scored(a, b):
        return snellen.score(a, b, device="cpu").mad

    def deblurred(a, b):
        return snellen.deblur(a, psf_size=5, iterations=2, prior=None, device="cpu").image

    return {"upscale": upscaled, "score": scored, "deblur": deblurred}


@pytest.mark.cases
@pytest.mark.parametrize("name", calls())
@pytest.mark.parametrize("mode", ["P", "CMYK", "LAB"])
def test_every_function_takes_them_and_says_once_what_is_lost(name, mode):
    call = calls()[name]
    pair = picture(mode, 40, 48), picture(mode, 40, 48).transpose(Image.Transpose.ROTATE_180)
    wanted = call(*(as_given(one) for one in pair))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = call(*pair)
    assert np.array_equal(found, wanted)
    texts = [str(one.message) for one in said if "Pillow" in str(one.message)]
    lossless, pictures = mode == "P", 2 if name == "score" else 1
    assert len(texts) == (0 if lossless else pictures)
    assert all(one.filename == __file__ for one in said)
