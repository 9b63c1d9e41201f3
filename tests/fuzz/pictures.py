"""Small pictures of every format that is read, and some that are not."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

import numpy as np
from PIL import Image

from fuzz.case import Random
from snellen.stills import tiff_write
from support import stills


def drawn(random: Random, size: tuple[int, int] | None = None) -> tuple[str, bytes]:
    """Return suffix and bytes of a picture of a random kind."""
    width, height = size or (random.randrange(8, 65), random.randrange(8, 49))
    suffix, make = random.choice(KINDS)
    return suffix, make(random, width, height)


def _samples(random: Random, width: int, height: int, channels: int = 3, bits: int = 8):
    noise = np.random.default_rng(random.randrange(1 << 30))
    steps = noise.integers(0, 1 << bits, (height // 4 + 1, width // 4 + 1, channels))
    large = steps.repeat(4, 0).repeat(4, 1)[:height, :width]
    return large.astype(np.uint8 if bits == 8 else np.uint16).squeeze()


def _pillow(format: str, mode: str = "RGB", **options):
    def make(random: Random, width: int, height: int) -> bytes:
        channels = {"RGB": 3, "RGBA": 4, "L": 1, "P": 3, "1": 1, "F": 1, "I;16": 1, "LA": 1,
                    "CMYK": 3}[mode]  # fmt: skip
        pixels = _samples(random, width, height, channels, 16 if mode == "I;16" else 8)
        if mode in ("P", "1", "LA", "CMYK"):
            image = Image.fromarray(pixels).convert(mode)
        else:
            image = Image.fromarray(pixels.astype(np.float32) if mode == "F" else pixels)
        further = dict(options)
        if random.random() < 0.3 and format in ("JPEG", "PNG", "TIFF", "WEBP"):
            exif = Image.Exif()
            exif[274] = random.randrange(1, 9)  # orientation
            exif[270] = "a description \x1b[31m"
            exif[282] = exif[283] = 72.5
            if format != "TIFF":  # Pillow writes no folders of tags there
                exif[0x8769] = {36867: "2026:11:22 21:30:00", 33434: 0.01, 37500: bytes(40)}
                exif[0x8825] = {1: "N", 2: (1.0, 2.0, 3.0)}
            further["exif"] = exif
        if random.random() < 0.2:
            further["icc_profile"] = bytes(128) + b"no profile at all"
        if random.random() < 0.3 and format != "WEBP":
            further["dpi"] = random.choice(((72, 300), (1e-3, 1e5), (0, 0), (72.5, 1 / 3)))
        if format == "TIFF" and random.random() < 0.3:
            further["big_tiff"] = True
        out = BytesIO()
        image.save(out, format, **further)
        return out.getvalue()

    return make


def _mpo(random: Random, width: int, height: int) -> bytes:
    out = BytesIO()
    one, two = (Image.fromarray(_samples(random, width, height)) for _ in range(2))
    one.save(out, "MPO", save_all=True, append_images=[two])
    return out.getvalue()


def png(width: int, height: int, bits: int, colour: int, interlace: int, raw: bytes) -> bytes:
    """Return a PNG of these raw scan lines; the header may say anything."""
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(raw)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def grey(random: Random, width: int, height: int) -> bytes:
    """Return a PNG of noise, 8 bit."""
    rows = (b"\0" + random.randbytes(width) for _ in range(height))
    return png(width, height, 8, 0, 0, b"".join(rows))


def _png16(random: Random, width: int, height: int) -> bytes:
    pixels = _samples(random, width, height, 3, 16).astype(">u2")
    return png(width, height, 16, 2, 0, b"".join(b"\0" + row.tobytes() for row in pixels))


def _png_interlaced(random: Random, width: int, height: int) -> bytes:
    pixels = _samples(random, width, height, 1)
    passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
              (0, 1, 1, 2))  # fmt: skip
    parts = [pixels[y::down, x::across] for x, y, across, down in passes]
    raw = b"".join(b"\0" + row.tobytes() for part in parts if part.size for row in part)
    return png(width, height, 8, 0, 1, raw)


def tiff(random: Random, width: int, height: int) -> bytes:
    """Return a TIFF of ours: classic or big, strips or tiles, 8 or 16 bit, grey or RGB."""
    big, bits, channels = random.random() < 0.3, random.choice((8, 16)), random.choice((1, 3))
    tiled, order = random.random() < 0.5, "<" if big else random.choice("<>")
    pixels = _samples(random, width, height, channels, bits).reshape(height, width, channels)
    pixels = pixels.astype(f"{order}u{bits // 8}")
    if tiled:
        padded = np.zeros((-(-height // 16) * 16, -(-width // 16) * 16, channels), pixels.dtype)
        padded[:height, :width] = pixels
        blocks = [padded[y : y + 16, x : x + 16].tobytes() for y in range(0, len(padded), 16)
                  for x in range(0, padded.shape[1], 16)]  # fmt: skip
    else:
        blocks = [pixels[y : y + 8].tobytes() for y in range(0, height, 8)]
    head = 16 if big else 8
    places = [head + sum(map(len, blocks[:k])) for k in range(len(blocks))]
    where = [(322, [16]), (323, [16]), (324, places), (325, [len(b) for b in blocks])]
    if not tiled:
        where = [(273, places), (278, [8]), (279, [len(b) for b in blocks])]
    entries = [(256, [width]), (257, [height]), (258, [bits] * channels), (259, [1]),
               (262, [2 if channels == 3 else 1]), (277, [channels]), *where]  # fmt: skip
    return _directory(order, big, head, b"".join(blocks), sorted(entries))


def _directory(order: str, big: bool, head: int, data: bytes, entries: list) -> bytes:
    data += b"\0" * (-len(data) % 2)
    count, offset, inline = ("Q", "Q", 8) if big else ("H", "I", 4)
    size = struct.calcsize(order + count) + len(entries) * (20 if big else 12) + inline
    table, beyond, start = b"", b"", head + len(data)
    for tag, values in entries:
        packed = struct.pack(f"{order}{len(values)}I", *values)
        if len(packed) > inline:
            place = struct.pack(order + offset, start + size + len(beyond))
            beyond += packed
        else:
            place = packed.ljust(inline, b"\0")
        table += struct.pack(f"{order}HH{offset}", tag, 4, len(values)) + place
    magic = b"II" if order == "<" else b"MM"
    front = struct.pack(order + "HHHQ", 43, 8, 0, start) if big else struct.pack(
        order + "HI", 42, start
    )  # fmt: skip
    table = struct.pack(order + count, len(entries)) + table + bytes(inline)
    return magic + front + data + table + beyond


def _ascii(random: Random, width: int, height: int) -> bytes:
    pixels = _samples(random, width, height, 1)
    return f"P2\n# a comment\n{width} {height}\n255\n".encode() + b"\n".join(
        b" ".join(b"%d" % value for value in row) for row in pixels
    )


def _pgm16(random: Random, width: int, height: int) -> bytes:
    pixels = _samples(random, width, height, 1, 16).astype(">u2")
    return f"P5 {width} {height} 65535\n".encode() + pixels.tobytes()


def _several(format: str, **options):
    def make(random: Random, width: int, height: int) -> bytes:
        out = BytesIO()
        one, two = (Image.fromarray(_samples(random, width, height)) for _ in range(2))
        one.save(out, format, save_all=True, append_images=[two], **options)
        return out.getvalue()

    return make


def _tiled(random: Random, width: int, height: int) -> bytes:
    pixels = _samples(random, width, height, random.choice((3, 4)), 16)
    if random.random() < 0.3:
        pixels = (pixels[..., :3] / 65535).astype(np.float32)
    return stills.tiled(pixels, random.choice(tiff_write.WRITTEN))


def _heic(random: Random, width: int, height: int) -> bytes:
    return stills.heic(_samples(random, max(96, width), max(96, height)))


def _dng(random: Random, width: int, height: int) -> bytes:
    return stills.dng(_samples(random, width & ~1, height & ~1, 1, 16) >> 2)


KINDS = (
    (".png", _pillow("PNG")), (".png", _pillow("PNG", "RGBA")), (".png", _pillow("PNG", "P")),
    (".png", _pillow("PNG", "1")), (".png", _pillow("PNG", "I;16")), (".png", _png16),
    (".png", _png_interlaced), (".png", _pillow("PNG", "LA")),
    (".jpg", _pillow("JPEG")), (".jpg", _pillow("JPEG", progressive=True)),
    (".jpeg", _pillow("JPEG", "L")), (".jpg", _mpo),
    (".tif", _pillow("TIFF")), (".tif", _pillow("TIFF", compression="tiff_lzw")),
    (".tif", _pillow("TIFF", "F")), (".tif", _pillow("TIFF", compression="jpeg")),
    (".tif", _pillow("TIFF", compression="tiff_adobe_deflate")), (".tiff", tiff), (".tif", tiff),
    (".webp", _pillow("WEBP")), (".webp", _pillow("WEBP", "RGBA", lossless=True)),
    (".bmp", _pillow("BMP")), (".bmp", _pillow("BMP", "P")),
    (".ppm", _pillow("PPM")), (".pgm", _pillow("PPM", "L")), (".pgm", _pgm16), (".pnm", _ascii),
    (".avif", _pillow("AVIF")), (".avif", _pillow("AVIF", "RGBA")), (".avif", _several("AVIF")),
    (".jp2", _pillow("JPEG2000")), (".jp2", _pillow("JPEG2000", "I;16")),
    (".j2k", _pillow("JPEG2000", "L", no_jp2=True)), (".jpg", _pillow("JPEG", "CMYK")),
    (".tif", _pillow("TIFF", "CMYK")), (".tif", _several("TIFF", compression="tiff_lzw")),
    (".webp", _several("WEBP")), (".png", _several("PNG")), (".png", _several("GIF")),
    (".tif", _tiled), (".tif", _tiled), (".heic", _heic), (".dng", _dng),
)  # fmt: skip
"""Suffix and maker of each kind."""
