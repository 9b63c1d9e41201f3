"""What a file is: its content decides, its name only where that says nothing."""

from __future__ import annotations

import io
import os
import struct
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.files import kinds, signatures
from snellen.files.kinds import are_images, is_image, is_known, kind_of
from snellen.files.signatures import Sort
from snellen.files.still_formats import READ_ONLY, Reader
from snellen.stills.still import read

PIXELS = np.add.outer(np.arange(12), np.arange(16)).astype(np.uint8)


def picture(form, **more):
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, form, **more)
    return file.getvalue()


def animated(form, **more):
    later = [Image.fromarray(PIXELS[::-1].copy())]
    return picture(form, save_all=True, append_images=later, duration=40, **more)


def box(kind, content=b""):
    return struct.pack(">I", 8 + len(content)) + kind + content


def archive():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("a.png", b"a")
    return file.getvalue()


def raw_photograph():
    """Return the beginning of a TIFF whose first picture is a preview beside others, as NEF has."""
    tags = [(254, 4, 1, 1), (256, 4, 1, 160), (330, 4, 1, 200)]
    entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(200)


IMAGES = {
    "jpe": picture("JPEG"), "insp": picture("JPEG"), "mpo": animated("MPO"), "thm": picture("JPEG"),
    "jpx": picture("JPEG2000"), "dib": picture("BMP"), "fil": picture("PNG"), "": picture("TIFF"),
    "data": picture("WEBP"), "mkv": picture("PNG"), "txt": picture("PPM"), "gif": picture("PNG"),
    "photo": picture("AVIF"), "apng": picture("PNG"),
}  # fmt: skip
FILMS = {
    "png": box(b"ftyp", b"isom\0\0\2\0isomiso2"), "jpg": b"\x1aE\xdf\xa3" + bytes(99),
    "": b"RIFF\x10\0\0\0AVI LIST", "mpg": b"\0\0\1\xba" + bytes(30), "wmv": bytes.fromhex(
        "3026b2758e66cf11") + bytes(50), "tif": (b"G" + bytes(187)) * 6,
    "m4v": box(b"ftyp", b"M4V \0\0\0\1M4V M4A mp42isom"), "mov": box(b"wide") + box(b"mdat"),
    "y4m": b"YUV4MPEG2 W8 H8 F25:1\nFRAME\n", "mts": (bytes(4) + b"G" + bytes(187)) * 5,
}  # fmt: skip
OTHERS = {
    "text": "Notes of a journey, naïve\n".encode(), "empty": b"", "nothing but zero": bytes(5000),
    "PDF": b"%PDF-1.7\n%\xe2\xe3", "ZIP archive": archive(), "gzip": b"\x1f\x8b\x08" + bytes(20),
    "sound": b"RIFF\x10\0\0\0WAVEfmt ", "sound (MP3)": b"ID3\4" + bytes(20),
    "sound (AAC": box(b"ftyp", b"M4A \0\0\0\0M4A isom"), "sound (Opus)": b"OggS" + bytes(
        24) + b"OpusHead", "raw file": raw_photograph(), "raw": box(b"ftyp", b"crx \0\0\0\1crx "),
    "SVG": b'<?xml version="1.0"?>\n<svg width="1">', "Photoshop": b"8BPS\0\1", "NumPy":
    b"\x93NUMPY\1\0", "tar": b"a" * 257 + b"ustar", "playlist": b"#EXTM3U\n",
}  # fmt: skip


@pytest.mark.parametrize("suffix", IMAGES)
def test_an_image_under_any_name(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}".rstrip(".")
    path.write_bytes(IMAGES[suffix])
    assert is_image(path) and is_image(path, film=True) and is_known(path)


@pytest.mark.parametrize("suffix", FILMS)
def test_a_film_under_any_name(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}".rstrip(".")
    path.write_bytes(FILMS[suffix])
    assert kind_of(path).sort is Sort.FILM
    assert not is_image(path) and not is_image(path, film=False) and is_known(path)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_neither_has_a_name_and_is_what_it_is_called(tmp_path, name):
    path = tmp_path / "a"
    path.write_bytes(OTHERS[name])
    found = kind_of(path)
    assert found.sort is Sort.OTHER and name in found.name
    assert not is_image(path) and not is_known(path)
    called = path.rename(tmp_path / "a.png")
    assert is_image(called) and is_known(called)  # why it cannot be read is said when it is opened


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"the free way", b"a wide road\n", b"BM is a brand\n", b"P1 is a plan\n", b"MZ\n",
     b"BZh, he said", b"ID3 is a tag", b"II* and so on"],
)  # fmt: skip
def test_text_that_begins_as_other_files_do(data):
    assert signatures.kind_of(data).sort in (Sort.OTHER, Sort.UNKNOWN)
    assert signatures.kind_of(data + b" of text\n" * 9).name == "text" or not data.strip(b"\0")


def test_any_bytes_are_some_kind(random):
    for size in range(0, 400, 7):
        assert signatures.kind_of(random.bytes(size)).sort in Sort
    cut = "é".encode() * signatures.HEAD
    assert signatures.kind_of(cut[: signatures.HEAD]).name == "text"
    assert signatures.kind_of(b"a" + cut[: signatures.HEAD - 1]).name == "text"


@pytest.mark.parametrize("before", [b"<!---->" * 26, b" " * 4000])
def test_comments_before_what_is_no_drawing_are_read_once(before):
    begin = time.process_time()
    assert signatures.kind_of(before + b"<html>").name == "text"
    assert signatures.kind_of(before + b"<svg>").name == "an SVG drawing"
    assert time.process_time() - begin < 0.1


@pytest.mark.parametrize("suffix", ["gif", "apng", "png", "webp", "avif"])
def test_an_animation_is_what_is_wanted(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(animated({"apng": "PNG"}.get(suffix, suffix.upper())))
    assert kind_of(path).sort is Sort.MOVING
    assert is_image(path, film=False) and not is_image(path, film=True)
    assert is_image(path) == (suffix not in ("gif", "apng"))
    still, film, other = tmp_path / "b.png", tmp_path / "c.mkv", tmp_path / "d.webp"
    still.write_bytes(picture("PNG"))
    film.write_bytes(FILMS["jpg"])
    other.write_bytes(animated("WEBP"))
    assert are_images(path, still) == are_images(still, path)[::-1] == (True, True)
    assert are_images(path, film) == are_images(film, path)[::-1] == (False, False)
    both = are_images(path, other)
    assert both == are_images(other, path) == (is_image(path),) * 2


def test_metadata_before_the_mark_of_an_animated_png(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(animated("PNG", icc_profile=os.urandom(50_000)))
    assert kind_of(path).sort is Sort.MOVING


def test_a_raw_stream_of_jpegs_is_a_film_by_its_name(tmp_path):
    for name in ("a.mjpeg", "a.avi"):
        (tmp_path / name).write_bytes(picture("JPEG") * 2)
        assert not is_image(tmp_path / name)


def test_without_content_the_name_decides(tmp_path):
    assert is_image(Path("a.PNG")) and not is_image(Path("a.mkv"))
    assert not is_image(Path("a.gif")) and is_image(Path("a.gif"), film=False)
    unknown = tmp_path / "a.jpg"
    unknown.write_bytes(b"\x01\x02\x03\xfe" * 100)
    assert is_image(unknown)
    assert not is_image(tmp_path) and kind_of(tmp_path) is signatures.UNKNOWN


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert kind_of(tmp_path / "pipe") is signatures.UNKNOWN  # and does not wait for a writer


def test_a_file_that_has_become_another_one_is_looked_at_again(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(picture("PNG"))
    assert is_image(path)
    path.write_bytes(OTHERS["text"])
    assert kind_of(path).name == "text"


def test_only_the_first_bytes_are_read(tmp_path, monkeypatch):
    path, seen = tmp_path / "a", []
    path.write_bytes(picture("BMP") + bytes(1 << 20))

    class Counted(kinds.InputFile):
        def read(self, size=-1):
            seen.append(size)
            return super().read(size)

    monkeypatch.setattr(kinds, "InputFile", Counted)
    assert is_image(path) and is_image(path)
    assert seen == [signatures.HEAD]


@pytest.mark.parametrize("suffix", READ_ONLY)
@pytest.mark.parametrize("data", [bytes(range(1, 256)) * 9, picture("PNG")[:30], b""])
def test_the_name_alone_says_which_package_is_missing(tmp_path, monkeypatch, suffix, data):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data)
    monkeypatch.setattr(Reader, "is_there", lambda self: False)
    with pytest.raises(Exception, match="not an image that can be read") as caught:
        read(path)
    reader = READ_ONLY[suffix]
    assert reader.format in str(caught.value) and caught.value.advice == reader.advice
    monkeypatch.setattr(Reader, "is_there", lambda self: True)
    with pytest.raises(Exception, match="not an image that can be read") as caught:
        read(path)
    assert "not installed" not in str(caught.value)


def test_an_image_by_content_needs_no_package_of_its_name(tmp_path):
    (tmp_path / "a.heic").write_bytes(picture("PNG"))
    assert (read(tmp_path / "a.heic").pixels == PIXELS).all()
