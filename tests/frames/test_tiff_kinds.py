"""What TIFF files mean: white-is-zero, extra samples, CMYK, L*a*b*, every depth and layout."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.errors import InputError
from snellen.frames import arrays
from snellen.stills import tiff_write
from snellen.stills.still import header, pages, read, read_page, write
from snellen_lab.protocol import luma
from tests.support import stills

GREY, WHITE_IS_ZERO, RGB, CMYK, CIE_LAB, ICC_LAB = 1, 0, 2, 5, 8, 9


def drawn(random, shape, bits=8):
    return random.integers(0, 1 << bits, shape, np.uint8 if bits <= 8 else np.uint16)


def full(samples, bits):
    """Samples whose white is the greatest value of their type."""
    most = np.iinfo(samples.dtype).max
    return np.rint(samples / ((1 << bits) - 1) * most).astype(samples.dtype)


def stored(tmp_path, *pixels, **how):
    path = tmp_path / "a.tif"
    path.write_bytes(stills.tiff_of(*pixels, **how))
    return path


@pytest.mark.cases
@pytest.mark.parametrize("photometric", [GREY, WHITE_IS_ZERO])
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 7, 8, 10, 12, 14, 16])
def test_grey_of_every_depth(random, tmp_path, bits, photometric):
    samples = drawn(random, (9, 13), bits)
    still = read(stored(tmp_path, samples, photometric, bits=bits))
    wanted = full(samples, bits)
    if photometric == WHITE_IS_ZERO:
        wanted = np.iinfo(wanted.dtype).max - wanted
    assert still.pixels.dtype == wanted.dtype and (still.pixels == wanted).all()
    assert not still.lost and not still.damage and not still.notes


@pytest.mark.cases(6)
@pytest.mark.parametrize("compression", tiff_write.WRITTEN)
@pytest.mark.parametrize("order", ["<", ">"])
def test_white_is_zero_in_every_compression_and_order(random, tmp_path, compression, order):
    samples = drawn(random, (9, 13), 16)
    how = {"compression": compression, "order": order}
    assert (read(stored(tmp_path, 65535 - samples, WHITE_IS_ZERO, **how)).pixels == samples).all()
    narrow = samples >> 4
    how |= {"bits": 12}
    found = read(stored(tmp_path, 4095 - narrow, WHITE_IS_ZERO, **how)).pixels
    assert (found == full(narrow, 12)).all()


def test_white_is_zero_in_floats(random, tmp_path):
    samples = random.random((9, 13), np.float32)
    path = stored(tmp_path, samples, WHITE_IS_ZERO, form=3)
    assert np.array_equal(read(path).pixels, np.float32(1) - samples) and header(path).floats
    path = stored(tmp_path, samples * 200, WHITE_IS_ZERO, form=3)
    with pytest.raises(InputError, match=r"a\.tif: got floats from 0.* of which 0 is white"):
        read(path)


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_commands_see_white_is_zero(tmp_path, small_model, suffix):
    dark_left = np.add.outer(np.arange(40) * 150, np.arange(48) * 1100).astype(np.uint16)
    path = stored(tmp_path, 65535 - dark_left, WHITE_IS_ZERO)
    Image.fromarray(dark_left).save(tmp_path / "shown.png")
    how = {"device": "cpu", "strict": True}
    snellen.upscale_file(path, tmp_path / f"up{suffix}", model=small_model, **how)
    snellen.upscale_file(
        tmp_path / "shown.png", tmp_path / f"up2{suffix}", model=small_model, **how
    )
    one, other = (read(tmp_path / f"{name}{suffix}").pixels for name in ("up", "up2"))
    assert (one == other).all()
    assert snellen.score_files(path, tmp_path / "shown.png", device="cpu").table.rows[0].mad == 0
    if suffix == ".png":
        snellen.deblur_file(path, tmp_path / "de.png", psf_size=5, iterations=1, **how)
        restored = read(tmp_path / "de.png").pixels.astype(int)
        assert restored[:, :8].mean() < restored[:, -8:].mean()


@pytest.mark.cases(27)
@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("compression", ["raw", "tiff_lzw"])
@pytest.mark.parametrize("bits", [8, 12, 16])
@pytest.mark.parametrize(
    ("photometric", "colours", "extra", "alpha", "said"),
    [
        (GREY, 1, (0,), None, "1 sample beside grey, which is left out"),
        (WHITE_IS_ZERO, 1, (2,), 1, None),
        (GREY, 1, (0, 2), 2, "1 sample beside grey and alpha, which is left out"),
        (RGB, 3, (0,), None, "1 sample beside RGB, which is left out"),
        (RGB, 3, (2,), 3, None),
        (RGB, 3, (2, 0), 3, "1 sample beside RGB and alpha, which is left out"),
        (RGB, 3, (0, 0, 2), 5, "2 samples beside RGB and alpha, which are left out"),
        (RGB, 3, (0,) * 9, None, "9 samples beside RGB, which are left out"),
        (RGB, 3, (), None, None),
    ],
)
def test_extra_samples(
    random, tmp_path, bits, compression, planar, photometric, colours, extra, alpha, said
):
    samples = drawn(random, (9, 13, colours + len(extra)), bits)
    how = {"bits": bits, "compression": compression, "planar": planar}
    still = read(stored(tmp_path, samples, photometric, extra, **how))
    wanted = full(samples, bits)
    if photometric == WHITE_IS_ZERO:
        wanted[..., 0] = np.iinfo(wanted.dtype).max - wanted[..., 0]
    shown = wanted[..., :colours]
    if alpha is not None:
        shown = np.concatenate([shown[..., [0, 0, 0]] if colours == 1 else shown,
                                wanted[..., [alpha]]], -1)  # fmt: skip
    elif colours == 1:
        shown = shown[..., 0]
    assert still.pixels.shape == shown.shape and (still.pixels == shown).all()
    assert still.lost == (() if said is None else (f"its pixels have {said}",))
    assert still.grey_alpha == (colours == 1 and alpha is not None)


def test_a_sample_beside_a_palette(random, tmp_path):
    samples = drawn(random, (9, 13, 2))
    table = drawn(random, 3 * 256).astype(np.uint16) * 257
    still = read(stored(tmp_path, samples, 3, (0,), tags={320: tuple(table.tolist())}))
    assert (still.pixels == (table >> 8).reshape(3, 256).T[samples[..., 0]]).all()
    assert still.lost == ("its pixels have 1 sample beside a palette, which is left out",)


@pytest.mark.parametrize("bits", [8, 16])
def test_associated_alpha_is_divided_out(random, tmp_path, bits):
    most = (1 << bits) - 1
    straight = drawn(random, (9, 13, 3), bits)
    alpha = np.maximum(drawn(random, (9, 13, 1), bits), most // 2)
    colours = np.rint(straight / most * alpha).astype(straight.dtype)
    samples = np.concatenate([colours, alpha, alpha], -1)
    found = read(stored(tmp_path, samples, RGB, (1, 0))).pixels
    assert (found[..., 3:] == alpha).all()
    # a rounding of ½ of a sample, divided by an alpha of at least ½, and rounded once more
    assert abs(found[..., :3].astype(int) - straight).max() <= 2


def test_what_nobody_declares(random, tmp_path):
    """A fourth sample of RGB and a second of grey are alpha, as for libtiff; others are nothing."""
    for photometric, count, channels in ((RGB, 4, 4), (GREY, 2, 4), (RGB, 5, 3), (CMYK, 5, 3)):
        samples = drawn(random, (9, 13, count), 16)
        assert read(stored(tmp_path, samples, photometric)).pixels.shape == (9, 13, channels)
    samples = drawn(random, (9, 13), 16)
    path = stored(tmp_path, samples, None)
    assert (read(path).pixels == samples).all()


@pytest.mark.cases
@pytest.mark.parametrize("command", ["upscale", "deblur", "score"])
def test_commands_say_what_is_left_out(random, tmp_path, small_model, command):
    path = stored(tmp_path, drawn(random, (40, 44, 4), 16), RGB, (0,))
    if command == "upscale":
        how = {"model": small_model, "device": "cpu"}
        result = snellen.upscale_file(path, tmp_path / "b.png", **how)
        with pytest.raises(InputError, match="would be lost: its pixels have 1 sample beside RGB"):
            snellen.upscale_file(path, tmp_path / "c.png", strict=True, **how)
        assert not (tmp_path / "c.png").exists()
    elif command == "deblur":
        how = {"psf_size": 5, "iterations": 1, "device": "cpu"}
        result = snellen.deblur_file(path, tmp_path / "b.png", **how)
    else:
        result = snellen.score_files(path, path, device="cpu")
    assert any("1 sample beside RGB" in text for text in result.warnings)


def test_cmyk_with_alpha_and_inks(random, tmp_path):
    inks = drawn(random, (9, 13, 7))
    for extra, alpha in (((2,), 4), ((0, 2), 5), ((0, 0), None), ((1, 0, 0), 4)):
        samples = inks[..., : 4 + len(extra)].copy()
        if extra[0] == 1:
            samples[..., 4] = 255  # nothing to divide by
        still = read(stored(tmp_path, samples, CMYK, extra))
        image = Image.frombytes("CMYK", (13, 9), samples[..., :4].tobytes())
        assert (still.pixels[..., :3] == np.asarray(image.convert("RGB"))).all()
        assert still.pixels.shape[2] == (3 if alpha is None else 4)
        if alpha is not None:
            assert (still.pixels[..., 3] == samples[..., alpha]).all()
        assert any("CMYK is converted" in one for one in still.lost)
        more = len(extra) - (alpha is not None)
        assert any(f"{more} sample" in one for one in still.lost) == bool(more)
        write(tmp_path / "b.png", still, overwrite=True)


def test_deep_cmyk_is_as_flat_cmyk(random, tmp_path):
    flat = drawn(random, (9, 13, 5))
    wanted = read(stored(tmp_path, flat, CMYK, (2,)))
    still = read(stored(tmp_path, flat.astype(np.uint16) * 257, CMYK, (2,)))
    assert (still.pixels == wanted.pixels).all()
    assert still.lost == ("its 16 bits a sample are read as 8", *wanted.lost)


LAB_COLOURS = {  # L*, a*, b* relative to D50 of known sRGB: Lindbloom's tables
    (100, 0, 0): (1, 1, 1), (0, 0, 0): (0, 0, 0), (53.39, 0, 0): (0.5, 0.5, 0.5),
    (54.29, 80.81, 69.89): (1, 0, 0), (87.82, -79.27, 80.99): (0, 1, 0),
}  # fmt: skip


@pytest.mark.cases(8)
@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("compression", ["raw", "tiff_lzw"])
@pytest.mark.parametrize(
    ("photometric", "bits", "lightest"),
    [(CIE_LAB, 8, 255), (ICC_LAB, 8, 255), (CIE_LAB, 16, 65535), (ICC_LAB, 16, 65280)],
)
def test_lab(tmp_path, photometric, bits, lightest, compression, planar):
    step = 1 if bits == 8 else 256
    middle = 0 if photometric == CIE_LAB else 128 * step
    values = [[round(one / 100 * lightest), round(a * step) + middle, round(b * step) + middle]
              for one, a, b in LAB_COLOURS]  # fmt: skip
    samples = (np.array([values]) & ((1 << bits) - 1)).astype(np.uint8 if bits == 8 else np.uint16)
    still = read(stored(tmp_path, samples, photometric, compression=compression, planar=planar))
    assert still.pixels.dtype == samples.dtype
    assert still.lost == ("its L*a*b* is converted to sRGB",)
    found = still.pixels[0] / ((1 << bits) - 1)
    # See test_lab.py: 2 of 255 at 16 bits; whole units of a* and b* are up to 0.1 where it is dark.
    np.testing.assert_allclose(found, list(LAB_COLOURS.values()), atol=0.1 if bits == 8 else 0.008)


def test_lab_has_a_white_and_may_be_lightness_alone(tmp_path):
    lightness = np.arange(0, 65536, 4096, dtype=np.uint16)[None]
    grey = read(stored(tmp_path, lightness, CIE_LAB)).pixels.astype(int)
    assert grey.shape == (1, 16, 3) and (np.ptp(grey, axis=2) < 130).all()
    colour = np.stack([lightness, lightness * 0 + 5000, lightness * 0], -1)
    d50 = read(stored(tmp_path, colour, CIE_LAB)).pixels
    d65 = read(stored(tmp_path, colour, CIE_LAB, tags={318: (0.3127, 0.329)})).pixels
    again = read(stored(tmp_path, colour, CIE_LAB, tags={318: (0.3457, 0.3585)})).pixels
    assert (d50 == again).all() and (d50 != d65).any()


def test_lab_with_alpha(random, tmp_path):
    samples = drawn(random, (9, 13, 4), 16)
    found = read(stored(tmp_path, samples, ICC_LAB, (2,))).pixels
    assert found.shape == (9, 13, 4) and (found[..., 3] == samples[..., 3]).all()
    write(tmp_path / "b.png", read(tmp_path / "a.tif"))


@pytest.mark.cases
@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats(random, tmp_path, dtype, samples):
    pixels = random.random((9, 13, samples)).astype(dtype)
    still = read(stored(tmp_path, pixels, RGB if samples == 3 else GREY, form=3))
    assert still.pixels.dtype == np.float32
    assert (still.pixels == np.squeeze(pixels.astype(np.float32))).all()
    is_double = dtype == np.float64
    assert still.lost == (("its floats of 64 bits are read as 32",) if is_double else ())


@pytest.mark.cases(5)
@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate"])
@pytest.mark.parametrize(("shape", "bits"), [((9, 13), 16), ((9, 13, 3), 8), ((9, 13, 3), 12)])
def test_bits_in_the_other_order(random, tmp_path, shape, bits, compression):
    samples = drawn(random, shape, bits)
    how = {"bits": bits, "reverse": True, "compression": compression}
    found = read(stored(tmp_path, samples, RGB if len(shape) == 3 else GREY, **how)).pixels
    assert (found == full(samples, bits)).all()


UNUSABLE = {
    "complex": ((np.float32, 1), GREY, {"form": 6}, "grey with 1 complex sample a pixel, of 32"),
    "signed": ((np.uint8, 1), GREY, {"form": 2}, "grey with 1 signed sample a pixel, of 8 bits"),
    "uint32": ((np.uint32, 3), RGB, {}, "RGB with 3 samples a pixel, of 32 bits"),
    "inks": ((np.uint8, 4), CMYK, {"tags": {332: 2}}, "inks other than CMYK with 4 samples"),
    "itu": ((np.uint8, 3), 10, {}, r"ITU L\*a\*b\*"),
    "floats": ((np.float32, 4), CMYK, {"form": 3}, "CMYK with 4 float samples a pixel, of 32"),
    "mixed": ((np.uint8, 3), RGB, {"tags": {258: (5, 6, 5)}}, "of different numbers of bits"),
    "jpeg2000": ((np.uint8, 3), RGB, {"tags": {259: 34712}}, "8 bits in JPEG 2000"),
    "unknown": ((np.uint8, 3), RGB, {"tags": {259: 50999}}, "in compression 50999"),
    "jpeg": ((np.uint16, 3), RGB, {"tags": {259: 7}}, "of 16 bits in JPEG"),
    "ycc16": ((np.uint16, 3), 6, {}, "YCbCr with 3 samples a pixel, of 16 bits"),
    "mask": ((np.uint8, 1), 4, {}, "a mask with 1 sample"),
    "other": ((np.uint8, 1), 60000, {}, "colours of kind 60000"),
    "hyper": ((np.uint8, 300), GREY, {}, "300 samples a pixel, 299 extras among them"),
}  # fmt: skip


@pytest.mark.cases
@pytest.mark.parametrize("name", UNUSABLE)
def test_a_sound_tiff_that_cannot_be_used_is_named(random, tmp_path, name):
    (dtype, samples), photometric, how, said = UNUSABLE[name]
    pixels = np.zeros((9, 13, samples), dtype)
    path = stored(tmp_path, pixels, photometric, **how)
    for call in (read, header, luma):
        with pytest.raises(InputError, match=rf"a\.tif: got a TIFF of .*{said}") as caught:
            call(path)
        assert "not an image" not in str(caught.value) and "convert" in caught.value.advice


def test_masks_and_previews_in_directories_of_their_own(random, tmp_path):
    image = Image.fromarray(drawn(random, (16, 16, 3)))
    small, mask = image.resize((8, 8)), image.convert("L")
    small.encoderinfo, mask.encoderinfo = {"tiffinfo": {254: 1}}, {"tiffinfo": {254: 4}}
    path = tmp_path / "a.tif"
    image.save(path, save_all=True, append_images=[small])
    still = read(path)
    assert not still.lost and "smaller" in still.notes[0]
    image.save(path, save_all=True, append_images=[mask, image])
    still = read(path)
    assert still.lost == (
        "it holds several pictures: the first one is taken",
        "it holds a mask beside its picture, which is left out",
    )
    assert not still.notes
    first, second = pages(path)
    assert read_page(path, first).lost == still.lost[1:] and not read_page(path, second).lost
    data = stills.tiff_of(drawn(random, (9, 13, 3), 16), RGB, tags={330: 8})
    path.write_bytes(data)
    assert "smaller" in read(path).notes[0]


def test_pillows_own_pictures_of_such_files(random, tmp_path):
    """What Pillow leaves of a TIFF's meaning counts where a caller gives its pictures, too."""
    deep = drawn(random, (9, 13), 16)
    paths = [
        (stored(tmp_path, deep, WHITE_IS_ZERO), 65535 - deep),
        (stored(tmp_path, deep >> 4, GREY, bits=12), full(deep >> 4, 12)),
        (stored(tmp_path, deep / np.float32(65535), WHITE_IS_ZERO, form=3), None),
    ]
    for number, how in enumerate(({}, {"bits": 12}, {"form": 3})):
        samples = [deep, deep >> 4, deep / np.float32(65535)][number]
        photometric = GREY if number == 1 else WHITE_IS_ZERO
        path = stored(tmp_path, samples, photometric, **how)
        with Image.open(path) as opened:
            found = arrays.read(opened)
        assert np.array_equal(found, read(path).pixels)
        if paths[number][1] is not None:
            assert (found == paths[number][1]).all()
    path = stored(tmp_path, drawn(random, (9, 13, 4)), RGB, (0,))
    with Image.open(path) as opened, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert (arrays.read(opened) == read(path).pixels).all()
    assert "1 sample beside RGB" in str(said[0].message)
