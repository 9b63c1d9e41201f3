"""Image files: depth, colour, profile, orientation; refusals; nothing left after an error."""

from __future__ import annotations

import struct
import subprocess
import sys
import threading
import warnings
import zlib
from contextlib import nullcontext
from io import BytesIO

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image, ImageCms, ImageOps

from snellen.errors import InputError, OutputError
from snellen.stills import image_file
from snellen.stills import still_write as module
from snellen.stills.still import WRITTEN, Still, header, read, write

PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
LOSSLESS = [".png", ".tif", ".tiff", ".webp", ".bmp", ".ppm", ".pnm"]


@pytest.fixture(autouse=True)
def resource_use():
    """Pillow's and FFmpeg's own warnings about odd files are no concern of these tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def drawn(random, shape, dtype=np.uint8):
    if dtype == np.float32:
        return random.normal(size=shape).astype(np.float32)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def png(array, bit_depth, colour_type, *chunks):
    """A PNG file by hand, for what Pillow cannot write."""

    def chunk(name, body):
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    height, width = array.shape[:2]
    head = struct.pack(">IIBBBBB", width, height, bit_depth, colour_type, 0, 0, 0)
    rows = b"".join(
        b"\0" + row.astype(">u2" if bit_depth == 16 else "u1").tobytes() for row in array
    )
    parts = [chunk(b"IHDR", head), *(chunk(*c) for c in chunks)]
    parts += [chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("suffix", [*LOSSLESS, ".PNG", ".TIFF"])
@pytest.mark.parametrize("shape", [(1, 1), (9, 13), (9, 13, 3), (1, 7, 3)])
def test_eight_bits_there_and_back(random, tmp_path, suffix, shape):
    path = tmp_path / f"a{suffix}"
    pixels = drawn(random, shape)
    write(path, Still(pixels))
    back = read(path).pixels
    if suffix == ".webp" and len(shape) == 2:  # WebP knows no grey
        back = back[..., 1]
    assert back.dtype == np.uint8 and (back == pixels).all()
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".pgm", ".pnm"])
def test_grey_maps(random, tmp_path, suffix):
    pixels = drawn(random, (5, 6))
    write(tmp_path / f"a{suffix}", Still(pixels))
    assert (read(tmp_path / f"a{suffix}").pixels == pixels).all()
    assert (tmp_path / f"a{suffix}").read_bytes().startswith(b"P5")


@pytest.mark.parametrize("suffix", [".png", ".tif", ".tiff", ".webp"])
def test_alpha_there_and_back_hidden_colours_too(random, tmp_path, suffix):
    pixels = drawn(random, (9, 13, 4))
    pixels[2:5, 3:9, 3] = 0
    write(tmp_path / f"a{suffix}", Still(pixels))
    back = read(tmp_path / f"a{suffix}")
    assert (back.pixels == pixels).all() and not back.grey_alpha


@pytest.mark.parametrize("suffix", [".png", ".tif"])
@pytest.mark.parametrize("shape", [(1, 1), (9, 13), (1, 1, 3), (9, 13, 3), (33, 64, 3), (9, 13, 4)])
def test_sixteen_bits_are_bit_exact(random, tmp_path, suffix, shape):
    path = tmp_path / f"a{suffix}"
    pixels = drawn(random, shape, np.uint16)
    write(path, Still(pixels))
    back = read(path).pixels
    assert back.dtype == np.uint16 and back.dtype.isnative and (back == pixels).all()
    with Image.open(path) as image:  # another reader sees the high bytes, at least
        high = np.asarray(image) if len(shape) == 3 else np.asarray(image) >> 8
    assert np.abs(high.astype(int) - (pixels >> 8)).max() <= 1


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: a[::-1, ::-1]])
@pytest.mark.parametrize("shape", [(9, 13, 3), (9, 13, 4), (9, 13)])
def test_sixteen_bits_of_other_layouts(random, tmp_path, layout, shape):
    pixels = layout(drawn(random, shape, np.uint16))
    write(tmp_path / "a.png", Still(pixels))
    assert (read(tmp_path / "a.png").pixels == pixels).all()


@pytest.mark.parametrize("suffix", [".tif", ".tiff"])
def test_float_there_and_back(random, tmp_path, suffix):
    pixels = drawn(random, (5, 8), np.float32)
    write(tmp_path / f"a{suffix}", Still(pixels))
    back = read(tmp_path / f"a{suffix}").pixels
    assert back.dtype == np.float32 and (back == pixels).all()


def test_sixteen_bit_grey_with_alpha_keeps_its_depth(random, tmp_path):
    pixels = drawn(random, (6, 7, 2), np.uint16)
    (tmp_path / "a.png").write_bytes(png(pixels, 16, 4))
    back = read(tmp_path / "a.png").pixels
    assert back.dtype == np.uint16
    assert (back == pixels[..., [0, 0, 0, 1]]).all()


@pytest.mark.parametrize("most", [65535, 1023])
def test_deep_maps(random, tmp_path, most):
    grey = random.integers(0, most, (4, 5), np.uint16, endpoint=True)
    colour = random.integers(0, most, (4, 5, 3), np.uint16, endpoint=True)
    for name, kind, pixels in [("a.pgm", "P5", grey), ("a.ppm", "P6", colour)]:
        head = f"{kind}\n5 4\n{most}\n".encode()
        (tmp_path / name).write_bytes(head + pixels.astype(">u2").tobytes())
        back = read(tmp_path / name).pixels
        assert back.dtype == np.uint16
        # Samples are scaled to 16 bits, and rounded or cut there.
        assert np.abs(back - pixels * (65535.0 / most)).max() <= (most != 65535)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("1", 2), ("L", 2), ("LA", 4), ("P", 3), ("PA", 4), ("RGB", 3), ("RGBA", 4), ("I;16", 2)],
)
def test_modes_of_png(random, tmp_path, mode, kind):
    if mode == "I;16":
        image = Image.fromarray(drawn(random, (8, 9), np.uint16))
    else:
        source = Image.fromarray(drawn(random, (8, 9, 4 if "A" in mode else 3)))
        image = source.convert("LA" if mode == "PA" else mode)
    image.save(tmp_path / "a.png")
    back = read(tmp_path / "a.png")
    wanted = {2: "L", 3: "RGB", 4: "RGBA"}[kind]
    pixels = np.asarray(image if mode == "I;16" else image.convert(wanted))
    assert back.pixels.shape == ((8, 9) if kind == 2 else (8, 9, kind))
    assert (back.pixels == pixels).all()
    assert back.grey_alpha == (mode in ("LA", "PA"))


@pytest.mark.parametrize("suffix", [".png", ".tif", ".webp"])
def test_grey_with_alpha_stays_so_where_the_format_can(random, tmp_path, suffix):
    Image.fromarray(drawn(random, (8, 9, 2)), "LA").save(tmp_path / "in.png")
    back = read(tmp_path / "in.png")
    write(tmp_path / f"out{suffix}", back)
    again = read(tmp_path / f"out{suffix}")
    assert (again.pixels == back.pixels).all()
    assert again.grey_alpha == (suffix != ".webp")


@pytest.mark.parametrize(
    ("mode", "key"), [("L", 5), ("RGB", (1, 2, 3)), ("P", 3), ("P", bytes(range(256))), ("1", 1)]
)
def test_a_transparent_colour_becomes_alpha(random, tmp_path, mode, key):
    image = Image.fromarray(drawn(random, (20, 30, 3))).convert(mode)
    image.putpixel((2, 3), 0 if isinstance(key, bytes) else key)
    image.save(tmp_path / "a.png", transparency=key)
    back = read(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as opened:
        wanted = np.asarray(opened.convert("RGBA"))
    assert (back.pixels == wanted).all() and wanted[..., 3].min() == 0
    assert back.grey_alpha == (mode in ("1", "L"))


def test_a_transparent_colour_of_sixteen_bits(random, tmp_path):
    pixels = drawn(random, (6, 7, 3), np.uint16)
    key = pixels[2, 3].astype(">u2").tobytes()
    (tmp_path / "a.png").write_bytes(png(pixels, 16, 2, (b"tRNS", key)))
    back = read(tmp_path / "a.png").pixels
    assert back.shape == (6, 7, 4) and (back[..., :3] == pixels).all()
    assert back[2, 3, 3] == 0 and (back[..., 3] == 0).sum() == 1


@pytest.mark.cases
@pytest.mark.parametrize(
    ("tag", "value", "said"),
    [
        (529, (0.2126, 0.7152, 0.0722), "coefficients"),
        (530, (2, 2), "subsampled"),
        (532, (16.0, 235.0, 128.0, 240.0, 128.0, 240.0), "black and white"),
    ],
)
def test_ycc_that_pillow_reads_wrong_is_refused(random, tmp_path, tag, value, said):
    path = tmp_path / "a.tif"
    Image.fromarray(drawn(random, (8, 8, 3)), "YCbCr").save(path, tiffinfo={tag: value})
    with pytest.raises(InputError, match=rf"a\.tif: got YCbCr of TIFF with .*{said}"):
        read(path)


@pytest.mark.parametrize("extreme", [-1, 65536, 65535, 255])
@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_deeper_than_sixteen_bits_is_refused(tmp_path, extreme, compression):
    """Small values too: which of them is white is not known."""
    pixels = np.array([[0, extreme]], np.int32)
    Image.fromarray(pixels).save(tmp_path / "a.tif", compression=compression)
    with pytest.raises(InputError, match="32-bit samples"):
        read(tmp_path / "a.tif")


@pytest.mark.cases
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".webp"])
@pytest.mark.parametrize("orientation", [1, 3, 6])
def test_the_header_has_the_size(random, tmp_path, suffix, orientation):
    path = tmp_path / f"a{suffix}"
    Image.fromarray(drawn(random, (12, 10, 3))).save(path, exif=with_exif(orientation).tobytes())
    found = header(path)
    assert (found.height, found.width) == read(path).pixels.shape[:2]
    assert not found.floats


def test_the_header_tells_floats_and_what_is_refused(random, tmp_path):
    write(tmp_path / "float.tif", Still(drawn(random, (5, 8), np.float32)))
    assert header(tmp_path / "float.tif").floats
    Image.fromarray(np.array([[0, 9]], np.int32)).save(tmp_path / "deep.tif")
    (tmp_path / "text.png").write_text("no image\n" * 50)
    for name, said in (("deep.tif", "32-bit"), ("text.png", "not an image"), ("no.png", "no such")):
        with pytest.raises(InputError, match=said):
            header(tmp_path / name)


def test_the_header_needs_no_pixels(random, tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(drawn(random, (40, 50, 3))).save(path)
    path.write_bytes(path.read_bytes()[:200])
    assert (header(path).width, header(path).height) == (50, 40)


@pytest.mark.parametrize("suffix", [".png", ".webp", ".tif"])
def test_of_several_pictures_the_first_is_taken(random, tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    pictures = [Image.fromarray(drawn(random, (8, 9, 3))) for _ in range(3)]
    options = {"lossless": True} if suffix == ".webp" else {}
    pictures[0].save(path, save_all=True, append_images=pictures[1:], **options)
    still = read(path)
    assert still.lost == ("it holds several pictures: the first one is taken",)
    assert (still.pixels == np.asarray(pictures[0])).all()


def test_what_is_no_image(tmp_path):
    (tmp_path / "text.png").write_text("no image\n" * 50)
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "zeros.jpg").write_bytes(bytes(2000))
    for name in ("text.png", "empty.png", "zeros.jpg"):
        with pytest.raises(InputError, match=rf"{name}: not an image that can be read"):
            read(tmp_path / name)
    with pytest.raises(InputError, match=r"none\.png: no such file"):
        read(tmp_path / "none.png")
    with pytest.raises(InputError, match="is a folder; expected a file"):
        read(tmp_path)
    with pytest.raises(InputError, match="too long"):
        read(tmp_path / ("x" * 300 + ".png"))


def encoded(random, suffix, dtype=np.uint8):
    stream = BytesIO()
    pixels = drawn(random, (40, 50, 3) if dtype == np.uint8 else (40, 50), dtype)
    Image.fromarray(pixels).save(
        stream, {".jpg": "JPEG", ".tif": "TIFF", ".jp2": "JPEG2000"}.get(suffix, suffix[1:])
    )
    return stream.getvalue()


@pytest.mark.cases
@pytest.mark.parametrize("suffix", [".png", ".tif", ".webp", ".bmp", ".ppm", ".avif", ".jp2"])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.7, 0.95])
def test_truncated(random, tmp_path, suffix, part):
    whole = encoded(random, suffix)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(InputError, match=rf"a\{suffix}: not an image that can be read"):
        read(path)


@pytest.mark.parametrize("part", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_truncated_sixteen_bit_colour(random, tmp_path, suffix, part):
    path = tmp_path / f"a{suffix}"
    write(path, Still(drawn(random, (40, 50, 3), np.uint16)))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(InputError, match="not an image that can be read"):
        read(path)


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), suffix=st.sampled_from([".png", ".jpg", ".tif", ".webp", ".bmp", ".ppm"]))
def test_damage_is_an_input_error_or_harmless(tmp_path, data, suffix):
    whole = bytearray(encoded(np.random.default_rng(1), suffix))
    for _ in range(data.draw(st.integers(1, 4))):
        offset = data.draw(st.integers(0, min(len(whole), 300) - 1))
        whole[offset] = data.draw(st.integers(0, 255))
    (tmp_path / f"a{suffix}").write_bytes(whole)
    try:
        with pytest.MonkeyPatch.context() as patch:
            # A damaged size may demand any amount of memory: here Pillow's guard stays on.
            patch.setattr(image_file, "without_size_limit", nullcontext)
            patch.setattr(Image, "MAX_IMAGE_PIXELS", 10**6)
            back = read(tmp_path / f"a{suffix}")
    except InputError as error:
        assert f"a{suffix}" in str(error)
    else:
        assert back.pixels.dtype in (np.uint8, np.uint16, np.float32)


def with_exif(orientation=None):
    exif = Image.Exif()
    exif[ExifTags.Base.Artist] = "Hermann Snellen"
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.FNumber] = 2.8
    if orientation:
        exif[ExifTags.Base.Orientation] = orientation
    return exif


@pytest.mark.parametrize("orientation", [None, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
@pytest.mark.parametrize(
    ("suffix", "deep"),
    [
        (".png", False),
        (".jpg", False),
        (".webp", False),
        (".tif", False),
        (".png", True),
        (".tif", True),
    ],
)
def test_orientation(random, tmp_path, orientation, suffix, deep):
    pixels = drawn(random, (8, 13), np.uint16) if deep else drawn(random, (8, 13, 3))
    image = Image.fromarray(pixels)
    image.save(tmp_path / f"a{suffix}", exif=with_exif(orientation))
    # Of a file that it maps into memory, Pillow 13 does not turn 16-bit grey in TIFF.
    with Image.open(BytesIO((tmp_path / f"a{suffix}").read_bytes())) as opened:
        wanted = np.asarray(ImageOps.exif_transpose(opened))
    back = read(tmp_path / f"a{suffix}")
    assert back.pixels.flags.c_contiguous and (back.pixels == wanted).all()
    exif = Image.Exif()
    exif.load(back.exif)
    assert ExifTags.Base.Orientation not in exif
    assert exif[ExifTags.Base.Artist] == "Hermann Snellen"


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_of_sixteen_bit_colour(random, tmp_path, orientation):
    pixels = drawn(random, (5, 6, 3), np.uint16)
    body = with_exif(orientation).tobytes().removeprefix(b"Exif\0\0")
    (tmp_path / "a.png").write_bytes(png(pixels, 16, 2, (b"eXIf", body)))
    found = read(tmp_path / "a.png").pixels
    for channel in range(3):  # Pillow applies the orientation to 16-bit grey
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = orientation
        image = Image.fromarray(np.ascontiguousarray(pixels[..., channel]))
        image.getexif()[ExifTags.Base.Orientation] = orientation
        assert (found[..., channel] == np.asarray(ImageOps.exif_transpose(image))).all()


@pytest.mark.parametrize("suffix", [".tif", ".png", ".jpg", ".webp"])
def test_tags_of_a_big_tiff_are_kept(random, tmp_path, suffix):
    """Its tags have offsets of 64 bits, but those of EXIF have 32."""
    source, target = tmp_path / "a.tif", tmp_path / f"b{suffix}"
    Image.fromarray(drawn(random, (9, 7, 3))).save(source, big_tiff=True, description="a title")
    write(target, read(source))
    with Image.open(target) as image:
        assert image.getexif()[270] == "a title"


def test_tags_that_cannot_be_written_are_damage(random, tmp_path, monkeypatch):
    def broken(exif, offset=8):
        raise struct.error("too large")

    source = tmp_path / "a.tif"
    Image.fromarray(drawn(random, (9, 7, 3))).save(source, description="a title")
    monkeypatch.setattr(Image.Exif, "tobytes", broken)
    still = read(source)
    assert still.exif is None and still.damage == ("its EXIF cannot be read (too large)",)


@pytest.mark.cases(4)
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".webp"])
@pytest.mark.parametrize("source", [".png", ".jpg", ".tif", ".webp"])
def test_profile_and_exif_are_kept(random, tmp_path, source, suffix):
    before = Image.fromarray(drawn(random, (12, 10, 3)))
    options = {"exif": with_exif(6).tobytes(), "icc_profile": PROFILE, "dpi": (300, 300)}
    before.save(tmp_path / f"in{source}", **options)
    first = read(tmp_path / f"in{source}")
    large = Still(
        first.pixels.repeat(2, 0).repeat(2, 1), False, first.profile, first.exif, first.dpi
    )
    write(tmp_path / f"out{suffix}", large)
    with Image.open(tmp_path / f"out{suffix}") as after:
        after.load()
        assert after.size == (24, 20)
        assert after.info["icc_profile"] == PROFILE
        exif = after.getexif()
        assert exif[ExifTags.Base.Artist] == "Hermann Snellen"
        assert exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.FNumber] == pytest.approx(2.8)
        assert exif.get(ExifTags.Base.Orientation, 1) == 1
        if ".webp" not in (source, suffix):  # WebP holds no resolution
            assert after.info["dpi"] == pytest.approx((300, 300), abs=0.01)
    if suffix != ".jpg":
        assert (read(tmp_path / f"out{suffix}").pixels == large.pixels).all()


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_deflate", "packbits", "jpeg"])
@pytest.mark.parametrize("suffix", [".tif", ".png", ".jpg"])
def test_how_a_tiff_is_stored_is_not_carried(random, tmp_path, compression, suffix):
    """Tags of strips and compression stand among a TIFF file's EXIF; they are no longer true."""
    image = Image.fromarray(drawn(random, (30, 21, 3)))
    image.save(tmp_path / "in.tif", compression=compression)
    first = read(tmp_path / "in.tif")
    large = first.pixels.repeat(2, 0).repeat(2, 1)
    write(tmp_path / f"out{suffix}", Still(large, False, first.profile, first.exif, first.dpi))
    with Image.open(tmp_path / f"out{suffix}") as after:
        assert after.size == (42, 60)
        if suffix != ".jpg":
            assert (np.asarray(after) == large).all()
        if suffix != ".tif":
            assert not {256, 257, 258, 259, 273, 279} & set(after.getexif())


@pytest.mark.parametrize("channels", [(), (3,), (4,)])
def test_sixteen_bit_png_keeps_everything(random, tmp_path, channels):
    pixels = drawn(random, (6, 7, *channels), np.uint16)
    exif = with_exif().tobytes()
    write(tmp_path / "a.png", Still(pixels, False, PROFILE, exif, (300, 150)))
    back = read(tmp_path / "a.png")
    assert (back.pixels == pixels).all() and back.profile == PROFILE
    assert back.dpi == pytest.approx((300, 150), abs=0.02)  # PNG counts whole pixels a metre
    found = Image.Exif()
    found.load(back.exif)
    assert found[ExifTags.Base.Artist] == "Hermann Snellen"


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("name", "shape", "dtype", "words"),
    [
        ("a.xyz", (4, 5), np.uint8, r"no image format '\.xyz'; use one of \.png"),
        ("a.gif", (4, 5), np.uint8, r"\.gif is read only; use one of \.png"),
        ("a.heic", (4, 5), np.uint8, r"\.heic is read only; use one of \.png"),
        ("a", (4, 5), np.uint8, "no image format ''"),
        (
            "a.jpg",
            (4, 5),
            np.float32,
            r"float samples, which need \.tif, .* name the result a\.tif",
        ),
        ("a.tif", (4, 5, 4), np.float32, "no transparency"),
        ("a.jpg", (4, 5, 4), np.uint8, "transparency needs"),
        ("a.bmp", (4, 5, 4), np.uint8, "transparency needs"),
        ("a.ppm", (4, 5, 4), np.uint8, "transparency needs"),
        ("a.pgm", (4, 5, 3), np.uint8, r"use \.ppm"),
        ("a.webp", (1, 16384, 3), np.uint8, "at most 16383"),
        ("a.jpeg", (65501, 1), np.uint8, "at most 65500"),
    ],
)
def test_what_a_format_cannot_hold(tmp_path, name, shape, dtype, words):
    with pytest.raises(InputError, match=words):
        write(tmp_path / name, Still(np.zeros(shape, dtype)), overwrite=True)
    assert names(tmp_path) == []


def test_existing_files_are_left(random, tmp_path):
    still = Still(drawn(random, (4, 5, 3)))
    (tmp_path / "a.png").write_bytes(b"mine")
    with pytest.raises(OutputError, match="come to exist"):
        write(tmp_path / "a.png", still)
    assert (tmp_path / "a.png").read_bytes() == b"mine"
    write(tmp_path / "a.png", still, overwrite=True)
    assert (read(tmp_path / "a.png").pixels == still.pixels).all()
    assert names(tmp_path) == ["a.png"]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_broken_write(tmp_path, monkeypatch, dtype, error):
    def half(*arguments):
        if dtype == np.uint8:
            arguments[0].write(b"half")
        raise error

    monkeypatch.setattr(module, "_save" if dtype == np.uint8 else "_chunks", half)
    wanted = OutputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(wanted) as caught:
        write(tmp_path / "a.png", Still(np.zeros((4, 5, 3), dtype)))
    if wanted is OutputError:
        assert "a.png could not be written: No space left on device" in str(caught.value)
    assert names(tmp_path) == []


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(OutputError, match="could not be written"):
        write(tmp_path / "no" / "a.png", Still(np.zeros((4, 5), np.uint8)))


def test_every_suffix_is_written_and_read(random, tmp_path):
    for suffix in WRITTEN:
        write(tmp_path / f"a{suffix}", Still(drawn(random, (6, 7))))
        assert read(tmp_path / f"a{suffix}").pixels.shape[:2] == (6, 7)


def test_jpeg_keeps_full_chroma(random, tmp_path):
    write(tmp_path / "a.jpg", Still(drawn(random, (16, 16, 3))))
    with Image.open(tmp_path / "a.jpg") as image:
        assert [component[1:3] for component in image.layer] == [(1, 1)] * 3


def test_a_telephones_second_picture_is_no_obstacle(tmp_path):
    """MPO: a JPEG with a preview or depth map behind it."""
    first = Image.fromarray(np.full((5, 7, 3), 90, np.uint8))
    second = Image.fromarray(np.full((2, 2, 3), 10, np.uint8))
    first.save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=[second])
    pixels = read(tmp_path / "a.jpg").pixels
    assert pixels.shape == (5, 7, 3) and abs(pixels.astype(int) - 90).max() <= 2  # JPEG


def test_a_transparent_grey_of_sixteen_bits(tmp_path):
    """PNG's tRNS, which Pillow does not apply to 16-bit grey."""
    pixels = np.array([[0, 1000], [65535, 1000]], np.uint16)
    Image.fromarray(pixels).save(tmp_path / "a.png", transparency=1000)
    found = read(tmp_path / "a.png").pixels
    assert (found[..., :3] == pixels[..., None]).all()
    assert found[..., 3].tolist() == [[65535, 0], [65535, 0]]


def test_an_import_leaves_pillows_size_limit_alone():
    program = (
        "from PIL import Image; before = Image.MAX_IMAGE_PIXELS; assert before;"
        "import snellen.stills.still, snellen_lab.protocol;"
        "assert Image.MAX_IMAGE_PIXELS == before"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.fixture
def limit(monkeypatch):
    """A limit that the host program has set, so low that it would refuse every image here."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)
    return 4


@pytest.mark.parametrize("suffix", LOSSLESS)
def test_a_read_ignores_and_restores_the_hosts_size_limit(random, tmp_path, limit, suffix):
    path = tmp_path / f"a{suffix}"
    pixels = drawn(random, (5, 6, 3))
    write(path, Still(pixels))
    assert (read(path).pixels == pixels).all() and header(path).width == 6
    with pytest.raises(InputError):
        read(tmp_path / "missing.png")
    assert limit == Image.MAX_IMAGE_PIXELS
    with pytest.raises(Image.DecompressionBombError), Image.open(path):
        pass


def test_two_threads_share_the_size_limit(limit):
    """The second thread starts before the first one ends, and ends after it."""
    inside, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with image_file.without_size_limit():
            inside.set()
            assert leave.wait(60)
            seen.append(Image.MAX_IMAGE_PIXELS)

    thread = threading.Thread(target=other)
    with image_file.without_size_limit():
        thread.start()
        assert inside.wait(60)
        assert Image.MAX_IMAGE_PIXELS is None
    leave.set()
    thread.join(60)
    assert seen == [None] and limit == Image.MAX_IMAGE_PIXELS


def test_threads_that_read_restore_the_size_limit(random, tmp_path, limit):
    path, faults = tmp_path / "a.png", []
    write(path, Still(drawn(random, (5, 6, 3))))

    def reads():
        try:
            for _ in range(50):
                read(path)
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=reads) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and limit == Image.MAX_IMAGE_PIXELS


def test_a_limit_that_the_host_sets_meanwhile_stays(limit):
    with image_file.without_size_limit():
        Image.MAX_IMAGE_PIXELS = 9
    assert Image.MAX_IMAGE_PIXELS == 9
