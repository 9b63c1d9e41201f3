"""Sound images of many kinds, made with a seed, and whether one of them is called damaged.

``python -m benchmarks.sound_images --seeds 3`` makes them in a temporary folder, reads each as a
job does, and names those that were refused or called damaged: none should be.
"""

from __future__ import annotations

import io
import random
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image, PngImagePlugin

from benchmarks.sound import judge
from snellen.errors import InputError
from snellen.stills.still import Still, read, write

Random = random.Random
Make = Callable[[Random], bytes]


def picture(chance: Random, mode: str = "RGB") -> Image.Image:
    """Return a picture of some size, with noise and slopes."""
    width, height = (chance.choice((1, 7, 17, 64, 131, 256)) for _ in range(2))
    shade = np.random.default_rng(chance.randrange(1 << 30))
    noise = shade.integers(0, chance.choice((2, 20, 90)), (height, width, 3))
    slope = np.linspace(0, 150, width)[None, :, None]
    image = Image.fromarray((noise + slope).astype(np.uint8))
    if mode in ("LA", "RGBA"):
        image.putalpha(image.convert("L"))
    if mode == "I;16":
        return Image.fromarray((noise[..., 0] * 700).astype(np.uint16))
    if mode == "F":
        return Image.fromarray(noise[..., 0].astype(np.float32) / 90)
    return image.convert(mode)


def saved(kind: str, mode: str = "RGB", **options: Any) -> Make:
    """Return what writes a picture by Pillow."""

    def make(chance: Random) -> bytes:
        data = io.BytesIO()
        picture(chance, mode).save(data, kind, **options)
        return data.getvalue()

    return make


def behind(make: Make, extra: bytes) -> Make:
    """Return what appends bytes, as telephones and editors do."""
    return lambda chance: make(chance) + extra


def _mpo(chance: Random) -> bytes:
    """Return a stereo picture: two JPEGs and their index."""
    data, image = io.BytesIO(), picture(chance)
    image.save(data, "MPO", save_all=True, append_images=[image])
    return data.getvalue()


def _ffmpeg(codec: str, pix_fmt: str) -> Make:
    def make(chance: Random) -> bytes:
        image = picture(chance).resize((64, 48))
        encoder: Any = av.CodecContext.create(codec, "w")
        encoder.width, encoder.height, encoder.pix_fmt = 64, 48, pix_fmt
        encoder.time_base = 1
        frame = av.VideoFrame.from_image(image).reformat(format=pix_fmt)
        return b"".join(bytes(one) for one in [*encoder.encode(frame), *encoder.encode(None)])

    return make


def _deep(suffix: str) -> Make:
    """Return what writes 16-bit colour."""

    def make(chance: Random) -> bytes:
        pixels = np.asarray(picture(chance)).astype(np.uint16) * 257
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"x{suffix}"
            write(path, Still(pixels))
            return path.read_bytes()

    return make


# PNG: what Pillow does not write.


def chunk(name: bytes, body: bytes) -> bytes:
    """Return a chunk: length, name, body, CRC."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _chunked(chance: Random) -> bytes:
    """Return a PNG whose pixel data are in chunks of few bytes, some of them empty."""
    pixels = np.asarray(picture(chance, "L"))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    data = zlib.compress(rows, chance.choice((0, 1, 9)))
    step = max(1, len(data) // 9)
    parts = [data[at : at + step] for at in range(0, len(data), step)]
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 0)
    body = b"".join(chunk(b"IDAT", part) for part in (b"", *parts, b""))
    text = chunk(b"tEXt", b"Comment\0here")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + text + body + text + chunk(b"IEND", b"")


def _interlaced(depth: int, colour: int, channels: int) -> Make:
    def make(chance: Random) -> bytes:
        width, height = chance.randrange(1, 40), chance.randrange(1, 40)
        rows = b""
        for x, y, across, down in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4),
                                   (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):  # fmt: skip
            if columns := len(range(x, width, across)):
                row = 1 + (columns * depth * channels + 7) // 8
                rows += len(range(y, height, down)) * bytes(row)
        head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 1)
        data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + data

    return make


def _text() -> PngImagePlugin.PngInfo:
    info = PngImagePlugin.PngInfo()
    info.add_text("Title", "a title", zip=True)
    info.add_itxt("Author", "ein Name", "de")
    info.add_text("Comment", "behind the pixels", after_idat=True) if hasattr(
        info, "after_idat"
    ) else None
    return info


def _exif(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[274], exif[271], exif[306] = orientation, "A maker", "2026:01:02 03:04:05"
    return exif.tobytes()


def _plain(head: str) -> Make:
    """Return what writes a small picture of the PNM family as text."""
    return lambda chance: (head + " ".join(str(chance.randrange(2)) for _ in range(12))).encode()


_SEF = b"\0\0\x01\x0aImage_UTC_Data1700000000000SEFH" + bytes(24) + b"SEFT"
_FILM = b"\0\0\0\x18ftypmp42" + bytes(12) + b"\0\0\1\0mdat" + bytes(248)
ICC = bytes(random.Random(1).randbytes(150_000))

IMAGES: dict[str, Make] = {
    "420.jpg": saved("JPEG", quality=75),
    "444.jpg": saved("JPEG", quality=98, subsampling=0),
    "422.jpg": saved("JPEG", subsampling="4:2:2"),
    "411.jpg": saved("JPEG", subsampling="4:1:1"),
    "poor.jpg": saved("JPEG", quality=3),
    "progressive.jpg": saved("JPEG", progressive=True, quality=90),
    "optimised.jpg": saved("JPEG", optimize=True),
    "restarts.jpg": saved("JPEG", restart_marker_rows=1),
    "restart-blocks.jpg": saved("JPEG", restart_marker_blocks=1),
    "grey.jpg": saved("JPEG", "L"),
    "grey-progressive.jpg": saved("JPEG", "L", progressive=True),
    "rgb.jpg": saved("JPEG", keep_rgb=True),
    "comment.jpg": saved("JPEG", comment=b"x" * 60_000),
    "exif.jpg": saved("JPEG", exif=_exif(6)),
    "icc.jpg": saved("JPEG", icc_profile=ICC),
    "xmp.jpg": saved("JPEG", xmp=b"<x:xmpmeta/>"),
    "mpo.jpg": _mpo,
    "samsung.jpg": behind(saved("JPEG"), _SEF),
    "motion.jpg": behind(saved("JPEG", exif=_exif(1)), _FILM),
    "zeros.jpg": behind(saved("JPEG", progressive=True), bytes(100_000)),
    "another.jpg": behind(saved("JPEG"), b"\xff\xd8\xff\xe0" + bytes(500)),
    "ffmpeg-420.jpg": _ffmpeg("mjpeg", "yuvj420p"),
    "ffmpeg-444.jpg": _ffmpeg("mjpeg", "yuvj444p"),
    "1.png": saved("PNG", "1"),
    "l.png": saved("PNG", "L"),
    "p.png": saved("PNG", "P"),
    "la.png": saved("PNG", "LA"),
    "rgb.png": saved("PNG"),
    "rgba.png": saved("PNG", "RGBA"),
    "i16.png": saved("PNG", "I;16"),
    "deep.png": _deep(".png"),
    "stored.png": saved("PNG", compress_level=0),
    "best.png": saved("PNG", optimize=True),
    "p4.png": saved("PNG", "P", bits=4),
    "transparent.png": saved("PNG", "P", transparency=3),
    "text.png": saved("PNG", pnginfo=_text()),
    "exif.png": saved("PNG", exif=_exif(3)),
    "icc.png": saved("PNG", icc_profile=ICC),
    "dpi.png": saved("PNG", dpi=(300, 300)),
    "chunked.png": _chunked,
    "behind.png": behind(saved("PNG"), b"what an editor adds"),
    "zeros.png": behind(saved("PNG"), bytes(70_000)),
    "animated.png": saved("PNG", save_all=True, default_image=False),
    "ffmpeg.png": _ffmpeg("png", "rgb24"),
    "interlaced-1.png": _interlaced(1, 0, 1),
    "interlaced-4.png": _interlaced(4, 0, 1),
    "interlaced-8.png": _interlaced(8, 2, 3),
    "interlaced-16.png": _interlaced(16, 6, 4),
    "raw.tif": saved("TIFF"),
    "lzw.tif": saved("TIFF", compression="tiff_lzw"),
    "deflate.tif": saved("TIFF", compression="tiff_adobe_deflate"),
    "old-deflate.tif": saved("TIFF", compression="tiff_deflate"),
    "predictor.tif": saved("TIFF", compression="tiff_lzw", tiffinfo={317: 2}),
    "strips.tif": saved("TIFF", compression="tiff_adobe_deflate", tiffinfo={278: 3}),
    "strips-jpeg.tif": saved("TIFF", compression="jpeg", tiffinfo={278: 16}),
    "packbits.tif": saved("TIFF", compression="packbits"),
    "jpeg.tif": saved("TIFF", compression="jpeg", quality=90),
    "zstd.tif": saved("TIFF", compression="zstd"),
    "lzma.tif": saved("TIFF", compression="lzma"),
    "g3.tif": saved("TIFF", "1", compression="group3"),
    "g4.tif": saved("TIFF", "1", compression="group4"),
    "ccitt.tif": saved("TIFF", "1", compression="tiff_ccitt"),
    "big.tif": saved("TIFF", big_tiff=True),
    "big-deflate.tif": saved("TIFF", big_tiff=True, compression="tiff_adobe_deflate"),
    "i16.tif": saved("TIFF", "I;16"),
    "float.tif": saved("TIFF", "F"),
    "rgba.tif": saved("TIFF", "RGBA", compression="tiff_lzw"),
    "p.tif": saved("TIFF", "P"),
    "exif.tif": saved("TIFF", exif=_exif(8), dpi=(72, 72), description="a picture"),
    "icc.tif": saved("TIFF", icc_profile=ICC),
    "behind.tif": behind(saved("TIFF"), bytes(5000)),
    "deep.tif": _deep(".tif"),
    "ffmpeg.tif": _ffmpeg("tiff", "rgb24"),
    "lossy.webp": saved("WEBP", quality=70),
    "lossless.webp": saved("WEBP", lossless=True),
    "alpha.webp": saved("WEBP", "RGBA"),
    "extended.webp": saved("WEBP", exif=_exif(1), icc_profile=ICC, xmp=b"<x/>"),
    "behind.webp": behind(saved("WEBP"), bytes(100)),
    "1.bmp": saved("BMP", "1"),
    "p.bmp": saved("BMP", "P"),
    "rgb.bmp": saved("BMP"),
    "rgba.bmp": saved("BMP", "RGBA"),
    "behind.bmp": behind(saved("BMP"), bytes(100)),
    "rgb.ppm": saved("PPM"),
    "l.pgm": saved("PPM", "L"),
    "i16.pgm": saved("PPM", "I;16"),
    "1.pnm": saved("PPM", "1"),
    "plain.pnm": _plain("P1\n# a comment\n4 3\n"),
    "plain.pgm": _plain("P2\n4 3\n255\n"),
    "behind.ppm": behind(saved("PPM"), b"\n"),
}


def alarms(seed: int, folder: Path, names: tuple[str, ...] = tuple(IMAGES)) -> Iterator[str]:
    """Make images and read them; yield a line for each that is refused or called damaged."""
    for name in names:
        path = folder / f"{seed}-{name}"
        path.write_bytes(IMAGES[name](Random(f"{name} {seed}")))
        try:
            said = read(path).damage
        except InputError as error:
            said = (str(error),)
        path.unlink()
        if said:
            yield f"{path.name}: {'; '.join(said)}"


if __name__ == "__main__":
    sys.exit(judge(__doc__, "images", len(IMAGES), alarms))
