"""Formats that need care: AVIF, JPEG 2000, HEIC, DNG, CMYK, deep TIFF, animations, cut JPEGs."""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial
from io import BytesIO
from types import ModuleType

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageCms, ImageFile

from snellen.errors import InputError
from snellen.files import still_formats
from snellen.files.kinds import kind_of, names_image
from snellen.files.still_formats import WRITTEN, ImageFormat
from snellen.frames import limits
from snellen.jobs.inputs.inputs import image_name
from snellen.stills import raw, tiff, tiff_write
from snellen.stills.still import Header, Still, header, losses, read, write
from snellen.video.sink.output import PICTURES, Output
from support import stills

PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


@pytest.fixture(autouse=True)
def odd_files():
    """Pillow's own warnings about odd files are no concern of these tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def smooth(height=40, width=56):
    """A picture without noise, which lossy formats keep well."""
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x * 4, y * 6, 255 - x * 4], -1).astype(np.uint8)


LARGE = np.stack([*np.mgrid[0:96, 0:128] * 2, np.full((96, 128), 90)], -1).astype(np.uint8)
"""As smooth, of a size that x265 codes."""


def saved(path, pixels, format, mode=None, **options):
    Image.fromarray(pixels, mode).save(path, format, **options)
    return path


def distance(one, other):
    return np.abs(one.astype(float) - other).max()


def exif_block():
    exif = Image.Exif()
    exif[ExifTags.Base.Artist] = "Hermann Snellen"
    return exif.tobytes()


class TestAvif:
    def test_there_and_back(self, tmp_path):
        still = Still(smooth(), profile=PROFILE, exif=exif_block(), xmp=b"<x/>")
        write(tmp_path / "a.avif", still)
        back = read(tmp_path / "a.avif")
        assert distance(back.pixels, still.pixels) < 8
        assert (back.profile, back.xmp) == (PROFILE, b"<x/>") and back.exif and not back.lost
        assert (header(tmp_path / "a.avif").width, header(tmp_path / "a.avif").height) == (56, 40)

    def test_the_first_of_several(self, tmp_path):
        frames = [Image.fromarray(smooth()), Image.fromarray(smooth()[::-1].copy())]
        frames[0].save(tmp_path / "a.avif", save_all=True, append_images=frames[1:])
        still = read(tmp_path / "a.avif")
        assert "several pictures" in still.lost[0] and distance(still.pixels, smooth()) < 30

    def test_more_bits_are_said(self, tmp_path):
        data = bytearray(saved(tmp_path / "a.avif", smooth(), "AVIF").read_bytes())
        data[data.index(b"av1C") + 6] |= 0x40
        (tmp_path / "a.avif").write_bytes(data)
        with pytest.raises(InputError):  # the pixels have no such bits
            read(tmp_path / "a.avif")
        from snellen.stills.boxes import avif_bits

        assert avif_bits(BytesIO(data)) == 10


class TestJpeg2000:
    @pytest.mark.parametrize("suffix", [".jp2", ".j2k"])
    def test_without_loss(self, random, tmp_path, suffix):
        for shape in ((20, 30, 3), (20, 30), (20, 30, 4)):
            pixels = random.integers(0, 256, shape, np.uint8)
            write(tmp_path / f"a{suffix}", Still(pixels), overwrite=True)
            assert (read(tmp_path / f"a{suffix}").pixels == pixels).all()

    def test_deep_colour_is_not_reduced(self, random, tmp_path):
        import av

        pixels = random.integers(0, 65536, (40, 50, 3), np.uint16)
        encoder = av.CodecContext.create("jpeg2000", "w")
        encoder.width, encoder.height, encoder.pix_fmt, encoder.time_base = 50, 40, "rgb48le", 1
        frame = av.VideoFrame.from_ndarray(pixels, "rgb48le")
        data = b"".join(map(bytes, [*encoder.encode(frame), *encoder.encode(None)]))
        (tmp_path / "a.jp2").write_bytes(data)
        found = read(tmp_path / "a.jp2").pixels
        assert found.dtype == np.uint16 and distance(found, pixels) < 20  # a lossy encoder

    def test_the_colour_profile_is_read(self, tmp_path):
        data = saved(tmp_path / "a.jp2", smooth(), "JPEG2000").read_bytes()
        at = data.index(b"colr") - 4
        size = int.from_bytes(data[at : at + 4], "big")
        header_at = data.index(b"jp2h") - 4
        box = (11 + len(PROFILE)).to_bytes(4, "big") + b"colr\2\0\0" + PROFILE
        long = int.from_bytes(data[header_at : header_at + 4], "big") + len(box) - size
        data = data[:at] + box + data[at + size :]
        data = data[:header_at] + long.to_bytes(4, "big") + data[header_at + 4 :]
        (tmp_path / "a.jp2").write_bytes(data)
        assert read(tmp_path / "a.jp2").profile == PROFILE


class TestHeic:
    @pytest.mark.parametrize("deep", [False, pytest.param(True, marks=pytest.mark.slow)])
    def test_read(self, tmp_path, deep):
        pytest.importorskip("pi_heif")
        block = exif_block().removeprefix(b"Exif\0\0")
        (tmp_path / "a.heic").write_bytes(stills.heic(LARGE, deep=deep, exif=block))
        still = read(tmp_path / "a.heic")
        scale = 257 if deep else 1
        assert still.pixels.dtype == (np.uint16 if deep else np.uint8)
        assert distance(still.pixels / scale, LARGE) < 8 and still.exif
        assert (header(tmp_path / "a.heic").width, header(tmp_path / "a.heic").height) == (128, 96)

    def test_size_is_checked_before_pixels(self, tmp_path):
        pytest.importorskip("pi_heif")
        data = stills.heic(LARGE).replace(
            (128).to_bytes(4, "big") + (96).to_bytes(4, "big"),
            (30000).to_bytes(4, "big") + (30000).to_bytes(4, "big"),
        )
        (tmp_path / "a.heic").write_bytes(data)
        with pytest.raises(InputError), limits.at_most(10**6):
            read(tmp_path / "a.heic")

    def test_a_cut_is_refused(self, tmp_path):
        pytest.importorskip("pi_heif")
        data = stills.heic(LARGE)
        for part in (0.1, 0.5, 0.9):
            (tmp_path / "a.heic").write_bytes(data[: int(len(data) * part)])
            with pytest.raises(InputError, match=r"a\.heic"):
                read(tmp_path / "a.heic")


class TestDng:
    def test_read(self, tmp_path):
        pytest.importorskip("rawpy")
        mosaic = np.full((48, 64), 4000, np.uint16)
        (tmp_path / "a.dng").write_bytes(stills.dng(mosaic))
        still = read(tmp_path / "a.dng")
        assert still.pixels.shape == (48, 64, 3) and still.pixels.dtype == np.uint16
        assert "developed" in still.notes[0] and not still.lost
        assert (header(tmp_path / "a.dng").width, header(tmp_path / "a.dng").height) == (64, 48)
        exif = Image.Exif()
        exif.load(still.exif)
        assert exif[ExifTags.Base.Make] == "Snellen" and tiff.DNG_VERSION not in exif
        with pytest.raises(InputError, match="max_pixels"), limits.at_most(100):
            read(tmp_path / "a.dng")

    def test_what_libraw_says_is_said_by_us(self, tmp_path, capfd, monkeypatch):
        pytest.importorskip("rawpy")
        data = bytearray(stills.dng(np.full((48, 64), 4000, np.uint16)))
        place = data.index(b"\x11\x01\x04\0") + 8  # StripOffsets
        data[place : place + 4] = (3000).to_bytes(4, "little")
        (tmp_path / "a.dng").write_bytes(data)
        with pytest.raises(InputError, match="LibRaw: Unexpected end of file"):
            read(tmp_path / "a.dng")
        assert capfd.readouterr().err == ""
        monkeypatch.setattr(raw, "TemporaryFile", partial(open, os.devnull, "w+b"))
        with pytest.raises(InputError, match=r"\(Input/output error\)"):
            read(tmp_path / "a.dng")

    def test_what_others_write_meanwhile_is_passed_on(self, capfd):
        said = []
        with raw._heard(said):
            os.write(2, b"a line of another\nunknown file: data corrupted at 5\n")
        assert said == ["LibRaw: data corrupted at 5"]
        assert capfd.readouterr().err == "a line of another\n"


@pytest.mark.parametrize(("suffix", "package"), [(".heic", "pi_heif"), (".dng", "rawpy")])
def test_a_missing_package_is_named(tmp_path, monkeypatch, suffix, package):
    monkeypatch.setitem(sys.modules, package, None)
    head = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" if suffix == ".heic" else None
    (tmp_path / f"a{suffix}").write_bytes(head or stills.dng(np.zeros((8, 8), np.uint16)))
    for work in (read, header):
        with pytest.raises(InputError, match=package.replace("_", "-")) as raised:
            work(tmp_path / f"a{suffix}")
        assert "snellen[stills]" in str(raised.value)


def test_jpeg_xl_by_a_plug_in(tmp_path, monkeypatch):
    """The plug-in here is one of ours: it reads a grey picture of 8 × 6 out of any file."""
    path = tmp_path / "a.jxl"
    path.write_bytes(b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(range(48)))
    for name in ("pillow_jxl", "jxlpy"):
        monkeypatch.setitem(sys.modules, name, None)
    for work in (read, header):
        with pytest.raises(InputError, match=r"JPEG XL is read by a plug-in .*not installed"):
            work(path)

    class Plain(ImageFile.ImageFile):
        format = "JXL"

        def _open(self):
            self._size, self._mode = (8, 6), "L"
            self.tile = [("raw", (0, 0, 8, 6), 12, ("L", 0, 1))]

    monkeypatch.setitem(sys.modules, "pillow_jxl", ModuleType("pillow_jxl"))
    monkeypatch.setitem(Image.OPEN, "JXL", (Plain, lambda head: head[4:8] == b"JXL "))
    assert (read(path).pixels == np.arange(48, dtype=np.uint8).reshape(6, 8)).all()
    assert header(path) == Header(8, 6, False)


@pytest.mark.cases
@pytest.mark.parametrize("suffix", [".avif", ".webp", ".heic", ".dng", ".jpg"])
def test_a_huge_file_with_holes(tmp_path, suffix):
    """Nobody reads it into memory as a whole, or byte by byte."""
    path = tmp_path / f"a{suffix}"
    if suffix == ".heic":
        path.write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")
    elif suffix == ".dng":
        path.write_bytes(stills.dng(np.zeros((8, 8), np.uint16)))
    else:
        write(path, Still(np.zeros((20, 20, 3), np.uint8)))
    if suffix == ".jpg":
        path.write_bytes(path.read_bytes()[:20])
    os.truncate(path, 1 << 40)
    for work in (read, header):
        with pytest.raises(InputError):
            work(path)


class TestCmyk:
    @pytest.mark.parametrize("suffix", [".jpg", ".tif"])
    def test_without_a_profile(self, tmp_path, suffix):
        image = Image.new("CMYK", (16, 16), (255, 0, 0, 0))
        image.save(tmp_path / f"a{suffix}")
        still = read(tmp_path / f"a{suffix}")
        assert still.lost == ("its CMYK is converted to RGB without a profile, since it has none",)
        assert distance(still.pixels, (0, 255, 255)) < 4

    def test_a_profile_that_cannot_be_used(self, tmp_path):
        image = Image.new("CMYK", (16, 16), (255, 0, 0, 0))
        image.save(tmp_path / "a.tif", icc_profile=PROFILE)  # one of RGB
        still = read(tmp_path / "a.tif")
        assert "cannot be used" in still.lost[0] and still.profile is None

    def test_by_its_profile(self, tmp_path, monkeypatch):
        """Pillow has no CMYK profile at hand: the call is what is tested."""
        seen = []

        def converted(image, source, target, intent, mode, flags):
            seen.append((image.mode, mode))
            return Image.new("RGB", image.size, (1, 2, 3))

        monkeypatch.setattr(ImageCms, "profileToProfile", converted)
        Image.new("CMYK", (16, 16)).save(tmp_path / "a.tif", icc_profile=PROFILE)
        still = read(tmp_path / "a.tif")
        assert seen == [("CMYK", "RGB")] and (still.pixels == (1, 2, 3)).all()
        assert still.profile is None and "to sRGB, by its profile sRGB" in still.lost[0]


class TestDeepTiff:
    @pytest.mark.cases(5)
    @pytest.mark.parametrize("compression", tiff_write.WRITTEN)
    @pytest.mark.parametrize("dtype", [np.uint16, np.float32])
    def test_tiles(self, random, tmp_path, compression, dtype):
        pixels = (random.random((37, 41, 3)) * (1 if dtype == np.float32 else 65535)).astype(dtype)
        plain = dtype == np.float32 or compression in ("raw", "packbits")
        data = stills.tiled(pixels, compression, predictor=1 if plain else 2)
        (tmp_path / "a.tif").write_bytes(data)
        still = read(tmp_path / "a.tif")
        assert (still.pixels == pixels).all() and still.pixels.dtype == dtype
        assert not still.damage and not still.lost and still.compression == compression
        assert header(tmp_path / "a.tif").floats == (dtype == np.float32)

    @pytest.mark.parametrize("part", [0.2, 0.6, 0.95])
    @pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate"])
    def test_a_cut_is_refused(self, random, tmp_path, part, compression):
        pixels = random.integers(0, 65536, (37, 41, 3), np.uint16)
        data = stills.tiled(pixels, compression)
        (tmp_path / "a.tif").write_bytes(data[: int(part * len(data))])
        with pytest.raises(InputError, match=r"a\.tif"):
            read(tmp_path / "a.tif")

    def test_claims_of_size(self, random, tmp_path):
        pixels = random.integers(0, 65536, (37, 41, 3), np.uint16)
        whole = stills.tiled(pixels)
        for tag, value in ((256, 10**6), (257, 10**9), (322, 10**9), (323, 0), (277, 5), (258, 7)):
            data = bytearray(whole)
            at = data.index(tag.to_bytes(2, "little") + b"\4\0", len(whole) - 600)
            data[at + 8 : at + 12] = value.to_bytes(4, "little")
            (tmp_path / "a.tif").write_bytes(data)
            with pytest.raises(InputError, match=r"a\.tif|strip or tile"):
                read(tmp_path / "a.tif")

    @pytest.mark.parametrize("compression", tiff_write.WRITTEN)
    @pytest.mark.parametrize(
        ("shape", "dtype"),
        [((30, 21), np.uint8), ((30, 21, 3), np.uint8), ((30, 21, 4), np.uint8),
         ((30, 21), np.uint16), ((30, 21, 3), np.uint16), ((30, 21, 4), np.uint16),
         ((30, 21), np.float32), ((30, 21, 3), np.float32)],
    )  # fmt: skip
    def test_written_as_the_source_was(self, random, tmp_path, compression, shape, dtype):
        pixels = (random.random(shape) * (1 if dtype == np.float32 else 200)).astype(dtype)
        still = Still(
            pixels, profile=PROFILE, exif=exif_block(), dpi=(300, 150), xmp=b"<x/>",
            iptc=b"\x1c\2\x05\0\1a", compression=compression,
        )  # fmt: skip
        write(tmp_path / "a.tif", still)
        back = read(tmp_path / "a.tif")
        assert (back.pixels == pixels).all() and back.pixels.dtype == dtype
        assert (back.profile, back.xmp, back.iptc) == (PROFILE, b"<x/>", b"\x1c\2\x05\0\1a")
        assert tuple(back.dpi) == (300, 150) and back.compression == compression
        exif = Image.Exif()
        exif.load(back.exif)
        assert exif[ExifTags.Base.Artist] == "Hermann Snellen"
        assert not back.damage and not back.lost

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_grey_with_alpha(self, random, tmp_path, dtype):
        two = random.integers(0, 200, (30, 21, 2)).astype(dtype)
        write(tmp_path / "a.tif", Still(two[..., [0, 0, 0, 1]], grey_alpha=True))
        back = read(tmp_path / "a.tif")
        assert back.grey_alpha and (back.pixels == two[..., [0, 0, 0, 1]]).all()

    def test_a_big_tiff(self, random, tmp_path, monkeypatch):
        monkeypatch.setattr(tiff_write, "BIG", 0)
        monkeypatch.setattr(tiff_write, "_STRIP", 1000)
        for dtype in (np.uint8, np.uint16):
            pixels = random.integers(0, 200, (30, 21, 3)).astype(dtype)
            write(tmp_path / "a.tif", Still(pixels, exif=exif_block()), overwrite=True)
            assert (tmp_path / "a.tif").read_bytes()[:4] == b"II+\0"
            back = read(tmp_path / "a.tif")
            assert (back.pixels == pixels).all() and back.exif and not back.damage

    def test_jpeg_and_fax_become_deflate(self, tmp_path):
        saved(tmp_path / "a.tif", smooth(), "TIFF", compression="jpeg")
        write(tmp_path / "b.tif", read(tmp_path / "a.tif"))
        assert read(tmp_path / "b.tif").compression == tiff.DEFLATE


class TestCutJpeg:
    @pytest.mark.parametrize("progressive", [False, True])
    def test_as_far_as_it_goes(self, tmp_path, progressive):
        path = saved(tmp_path / "a.jpg", smooth(160, 200), "JPEG", progressive=progressive)
        whole, data = read(path).pixels, path.read_bytes()
        path.write_bytes(data[: int(0.8 * len(data))])
        still = read(path)
        assert still.damage == ("libjpeg: Premature end of JPEG file",)
        if not progressive:
            assert (still.pixels[:64] == whole[:64]).all()

    def test_without_any_pixels_it_is_refused(self, tmp_path):
        path = saved(tmp_path / "a.jpg", smooth(160, 200), "JPEG")
        data = path.read_bytes()
        path.write_bytes(data[: data.index(b"\xff\xda") + 14])
        with pytest.raises(InputError, match="not an image that can be read"):
            read(path)


def test_an_animation_is_no_film_where_a_picture_is_wanted(tmp_path):
    frames = [Image.fromarray(smooth()), Image.fromarray(smooth()[::-1].copy())]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    still = read(tmp_path / "a.gif")
    assert still.lost == ("it holds several pictures: the first one is taken",)
    assert still.pixels.shape == (40, 56, 3)


def test_pages_that_are_previews_do_not_count(tmp_path):
    pages = [Image.fromarray(smooth()), Image.fromarray(smooth(8, 8))]
    pages[1].encoderinfo = {"tiffinfo": {254: 1}}
    pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:])
    assert read(tmp_path / "a.tif").lost == ()


@pytest.mark.parametrize("suffix", [".ppm", ".jp2", ".jpg"])
def test_sixteen_bits_are_rounded_where_a_format_has_eight(tmp_path, suffix):
    pixels = np.repeat(np.arange(0, 65536, 257, dtype=np.uint16)[None, :, None], 3, 2)
    still = Still(np.repeat(pixels + np.uint16(100) * (pixels < 65535), 8, 0))
    assert losses(tmp_path / f"a{suffix}", still) == [
        f"{suffix} holds 8 bits a sample: the 16 bits are rounded"
    ]
    write(tmp_path / f"a{suffix}", still)
    back = read(tmp_path / f"a{suffix}").pixels
    assert distance(back[0, :, 0], np.arange(256)) <= (3 if suffix == ".jpg" else 0)


@pytest.mark.skipif(os.name == "nt", reason="its names are text")
def test_a_made_up_suffix_is_known_everywhere(monkeypatch, tmp_path):
    monkeypatch.setitem(still_formats.FORMATS, ".pix", ImageFormat("BMP"))
    path, pixels = tmp_path / "a.pix", np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    write(path, Still(pixels))
    assert kind_of(path).name == "a BMP image" and (read(path).pixels == pixels).all()
    assert names_image(path) and image_name(path) == "a.pix"
    assert Output(tmp_path / "film-%03d.pix", None, overwrite=False).muxer == PICTURES
    with pytest.raises(InputError, match=r"use one of \.png, .*, \.pix"):
        write(tmp_path / "a.pax", Still(pixels))


@pytest.mark.parametrize("suffix", list(WRITTEN))
def test_a_name_that_is_no_utf_8(tmp_path, suffix):
    path = tmp_path / os.fsdecode(b"\x80" + suffix.encode())
    write(path, Still(np.zeros((8, 9), np.uint8)))
    assert read(path).pixels.shape[:2] == (8, 9)
