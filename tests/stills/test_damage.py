"""What is said of damaged image files, and that nothing is said of sound ones."""

from __future__ import annotations

import io
import random
import struct
import threading
import zlib

import numpy as np
import pytest
from PIL import Image

from benchmarks.damage_stills import IMAGES as HITS
from benchmarks.damage_stills import measure
from benchmarks.sound_images import IMAGES, alarms
from snellen.errors import InputError
from snellen.stills.still import Still, read, write


def picture(mode="RGB", size=(96, 80)):
    """A picture with detail, so that its compressed data are long."""
    noise = np.random.default_rng(5).integers(0, 60, (size[1], size[0], 3))
    slope = np.linspace(0, 190, size[0])[None, :, None]
    return Image.fromarray((noise + slope).astype(np.uint8)).convert(mode)


def encoded(kind, mode="RGB", **options):
    data = io.BytesIO()
    picture(mode).save(data, kind, **options)
    return data.getvalue()


def of(tmp_path, data, suffix):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(data)
    return read(path)


def chunk(name, body):
    crc = struct.pack(">I", zlib.crc32(name + body))
    return struct.pack(">I", len(body)) + name + body + crc


END = chunk(b"IEND", b"")


def png(rows, *, between=b"", end=END):
    """A grey PNG of 4×4 pixels from its filtered rows, compressed by the caller."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + between + chunk(b"IDAT", rows) + end


ROWS = zlib.compress(bytes(20))


class TestJpeg:
    @pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
    @pytest.mark.parametrize("progressive", [False, True])
    def test_zeroed_bytes(self, tmp_path, mode, progressive):
        whole = encoded("JPEG", mode, quality=95, progressive=progressive)
        assert of(tmp_path, whole, ".jpg").damage == ()
        middle = len(whole) // 2
        still = of(tmp_path, whole[:middle] + bytes(200) + whole[middle + 200 :], ".jpg")
        assert len(still.damage) == 1 and "libjpeg: Corrupt JPEG data" in still.damage[0]

    def test_what_follows_the_picture_does_not_matter(self, tmp_path):
        """Telephones append films and their own records."""
        whole = encoded("JPEG")
        for behind in (b"\0" * 5000, encoded("JPEG")[100:], b"SEFH" + bytes(50) + b"SEFT"):
            assert of(tmp_path, whole + behind, ".jpg").damage == ()

    def test_what_no_scaled_grey_can_be_made_of(self, tmp_path):
        options = {"subsampling": "4:1:1"}, {"keep_rgb": True}, {"restart_marker_rows": 1}
        for one in options:
            assert of(tmp_path, encoded("JPEG", **one), ".jpg").damage == ()


class TestPng:
    @pytest.mark.cases
    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (png(ROWS), None),
            (png(ROWS) + b"what an editor adds", None),
            (png(ROWS, between=chunk(b"tEXt", b"a\0b")), None),
            (png(ROWS, between=chunk(b"tEXt", b"a\0b")[:-1] + b"?"), "checksum of its chunk tEXt"),
            (png(ROWS, end=b""), "ends before its last chunk, IEND"),
            (png(ROWS, end=END[:-1]), "ends within a chunk IEND"),
            (png(ROWS, end=END[:-1] + b"?"), "checksum of its chunk IEND"),
            (png(ROWS, end=b"\0\0\0\1\0\0\0\0"), "bytes that are no chunk"),
            (png(ROWS[:-1] + b"?"), "incorrect data check"),
            (png(ROWS[:-2]), "compressed pixel data end early"),
            (png(ROWS + b"?"), "bytes follow"),
            (png(zlib.compress(bytes(40))), "more data than pixels"),
        ],
    )
    def test_chunks(self, tmp_path, data, said):
        try:
            damage = "; ".join(of(tmp_path, data, ".png").damage)
        except InputError as error:
            damage = str(error)
        assert (said is None and not damage) or said in damage or "not an image" in damage

    @pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "I;16"])
    def test_every_kind_is_whole(self, tmp_path, mode):
        image = Image.fromarray(np.arange(99 * 77, dtype=np.uint16).reshape(99, 77))
        data = io.BytesIO()
        (image if mode == "I;16" else picture(mode, (99, 77))).save(data, "PNG")
        assert of(tmp_path, data.getvalue(), ".png").damage == ()

    @pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 1), (9, 9), (33, 7)])
    def test_interlaced(self, tmp_path, size):
        """Pillow writes none: an interlaced image of zeros, its rows counted pixel by pixel."""
        width, height = size
        passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4),
                  (1, 0, 2, 2), (0, 1, 1, 2))  # fmt: skip
        rows = b""
        for x, y, across, down in passes:
            columns = len(range(x, width, across))
            rows += len(range(y, height, down)) * bytes(1 + 3 * columns) if columns else b""
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1))
        data = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows))
        assert of(tmp_path, data + END, ".png").damage == ()

    def test_16_bit_colour_that_ends_early_is_refused(self, tmp_path):
        path = tmp_path / "deep.png"
        write(path, Still(np.random.default_rng(1).integers(0, 65536, (40, 50, 3), np.uint16)))
        assert read(path).damage == ()
        path.write_bytes(path.read_bytes()[:-3000])
        with pytest.raises(InputError, match="truncated"):
            read(path)


class TestTiff:
    @pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits",
                                             "jpeg", "zstd", "lzma"])  # fmt: skip
    def test_whole(self, tmp_path, compression):
        for options in ({}, {"big_tiff": True}):
            data = encoded("TIFF", compression=compression, **options)
            assert of(tmp_path, data, ".tif").damage == ()

    def test_strips_of_deflate_that_libtiff_accepts(self, tmp_path):
        data = bytearray(encoded("TIFF", compression="tiff_adobe_deflate"))
        data[6000:6200] = bytes(200)
        assert "incorrect data check" in "".join(of(tmp_path, bytes(data), ".tif").damage)

    def test_strips_of_jpeg(self, tmp_path):
        data = bytearray(encoded("TIFF", compression="jpeg"))
        data[2000:2100] = bytes(100)
        assert "libjpeg: Corrupt JPEG data" in "".join(of(tmp_path, bytes(data), ".tif").damage)

    @pytest.mark.filterwarnings("ignore:Corrupt EXIF data")  # Pillow's
    def test_end_of_the_directory(self, tmp_path):
        data = encoded("TIFF", "1", compression="group4")
        damage = of(tmp_path, data[:-1], ".tif").damage
        assert damage == ("it ends within its directory of tags, or within their values",)

    def test_libtiff_is_heard_and_standard_error_stays_empty(self, tmp_path, capfd):
        data = bytearray(encoded("TIFF", "1", compression="group4"))
        data[300:330] = random.Random(3).randbytes(30)
        assert any("Fax4Decode: " in text for text in of(tmp_path, bytes(data), ".tif").damage)
        lzw = bytearray(encoded("TIFF", compression="tiff_lzw"))
        lzw[3000:3100] = bytes(100)
        with pytest.raises(InputError, match=r"LZWDecode|tempfile"):
            of(tmp_path, bytes(lzw), ".tif")
        assert capfd.readouterr().err == ""

    @pytest.mark.slow
    def test_threads_hear_their_own(self, tmp_path):
        whole = encoded("TIFF", "1", compression="group4")
        broken = bytearray(whole)
        broken[300:330] = random.Random(3).randbytes(30)
        (tmp_path / "a.tif").write_bytes(whole)
        (tmp_path / "b.tif").write_bytes(broken)
        found = {"a": set(), "b": set()}

        def work(name):
            for _ in range(30):
                found[name].add(read(tmp_path / f"{name}.tif").damage)

        threads = [threading.Thread(target=work, args=(name,)) for name in "aabb"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found["a"] == {()} and len(found["b"]) == 1 and () not in found["b"]


def test_sound_images_of_many_kinds(tmp_path):
    assert list(alarms(1, tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", IMAGES)
def test_sound_images_of_many_seeds(tmp_path, name):
    for seed in range(2, 12):
        assert list(alarms(seed, tmp_path, (name,))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", HITS)
def test_images_with_checksums_are_never_wrong_in_silence(tmp_path, name):
    found = measure(tmp_path, name, 20, 5)
    for kind, outcomes in found.items():
        if "PNG" in name or "Deflate" in name or kind == "cut":
            assert outcomes["unsaid"] == 0, (kind, found)
