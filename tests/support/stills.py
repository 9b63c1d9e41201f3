"""Image files that Pillow does not write, made by code."""

from __future__ import annotations

import re
import struct
from fractions import Fraction
from io import BytesIO

import av
import numpy as np
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from snellen.stills import tiff, tiff_write


def heic(pixels, *, deep=False, exif=b""):
    """A HEIC file of RGB `pixels`, coded by HEVC (ISO/IEC 23008-12).

    x265 writes wherever it likes where a side has less than 96 pixels.
    """
    assert min(pixels.shape[:2]) >= 96
    encoder = av.CodecContext.create("libx265", "w")
    encoder.height, encoder.width = pixels.shape[:2]
    encoder.pix_fmt, encoder.time_base = "yuv444p10le" if deep else "yuv444p", Fraction(1, 25)
    encoder.options = {"crf": "4", "x265-params": "log-level=none:info=0"}
    frame = av.VideoFrame.from_ndarray(pixels, "rgb24")
    kind = {"dst_colorspace": "ITU601", "dst_color_range": "MPEG"}
    frame = frame.reformat(format=encoder.pix_fmt, **kind)
    packets = [*encoder.encode(frame), *encoder.encode(None)]
    units = re.split(b"\0\0\0?\1", b"".join(map(bytes, packets)))[1:]
    sets = {number: [u for u in units if u[0] >> 1 == number] for number in (32, 33, 34)}
    about = sets[33][0].replace(b"\0\0\3", b"\0\0")[3:15]  # profile, tier and level
    depth = 0xFA if deep else 0xF8
    body = struct.pack(">B12sHBBBBHBB", 1, about, 0xF000, 0xFC, 0xFF, depth, depth, 0, 0x0F, 3)
    for number, found in sets.items():
        body += struct.pack(">BH", 0x80 | number, len(found)) + _prefixed(found, ">H")
    coded = _prefixed([u for u in units if u[0] >> 1 not in sets], ">I")
    return _heif(_box(b"hvcC", body), coded, pixels.shape[1], pixels.shape[0], exif)


def _prefixed(units, form):
    return b"".join(struct.pack(form, len(unit)) + unit for unit in units)


def _box(kind, *parts, version=None, flags=0):
    head = b"" if version is None else struct.pack(">I", version << 24 | flags)
    body = head + b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def _heif(configuration, coded, width, height, exif):
    items = [(1, b"hvc1", coded)]
    if exif:
        items.append((2, b"Exif", struct.pack(">I", 0) + exif))

    def meta(start):
        places, at = b"", start
        for number, _, body in items:
            places += struct.pack(">HHHII", number, 0, 1, at, len(body))
            at += len(body)
        entries = [
            _box(b"infe", struct.pack(">HH4s", number, 0, kind), b"\0", version=2)
            for number, kind, _ in items
        ]
        about = [
            _box(b"hdlr", bytes(4), b"pict", bytes(13), version=0),
            _box(b"pitm", struct.pack(">H", 1), version=0),
            _box(b"iinf", struct.pack(">H", len(items)), *entries, version=0),
            _box(b"iloc", b"\x44\0", struct.pack(">H", len(items)), places, version=0),
            _box(
                b"iprp",
                _box(b"ipco", configuration,
                     _box(b"ispe", struct.pack(">II", width, height), version=0)),
                _box(b"ipma", struct.pack(">IHBBB", 1, 1, 2, 0x81, 0x82), version=0),
            ),
        ]  # fmt: skip
        if exif:
            about.append(_box(b"iref", _box(b"cdsc", struct.pack(">HHH", 2, 1, 1)), version=0))
        return _box(b"meta", *about, version=0)

    head = _box(b"ftyp", b"heic", bytes(4), b"mif1heic")
    start = len(head) + len(meta(0)) + 8
    return head + meta(start) + _box(b"mdat", *(body for _, _, body in items))


def dng(mosaic):
    """A DNG file of an RGGB `mosaic`, (H, W) uint16 of 14 bits, with 16383 as white."""
    height, width = mosaic.shape
    samples = np.ascontiguousarray(mosaic, "<u2").tobytes()

    def shorts(*values):
        return 3, struct.pack(f"<{len(values)}H", *values)

    def longs(*values):
        return 4, struct.pack(f"<{len(values)}I", *values)

    def ratios(kind, *values):
        return kind, b"".join(struct.pack("<iI" if kind == 10 else "<II", round(v * 10000), 10000)
                              for v in values)  # fmt: skip

    matrix = (3.2406, -1.5372, -0.4986, -0.9689, 1.8758, 0.0415, 0.0557, -0.2040, 1.0570)
    tags = {
        254: longs(0), 256: longs(width), 257: longs(height), 258: shorts(16), 259: shorts(1),
        262: shorts(32803), 271: (2, b"Snellen\0"), 272: (2, b"Test\0"), 273: longs(8),
        274: shorts(1), 277: shorts(1), 278: longs(height), 279: longs(len(samples)),
        33421: shorts(2, 2), 33422: (1, bytes([0, 1, 1, 2])), 50706: (1, bytes([1, 4, 0, 0])),
        50707: (1, bytes([1, 1, 0, 0])), 50708: (2, b"Snellen Test\0"), 50714: shorts(0),
        50717: shorts(16383), 50721: ratios(10, *matrix), 50728: ratios(5, 1, 1, 1),
        50778: shorts(21),
    }  # fmt: skip
    return _tiff(tags, samples)


def tiled(pixels, compression="raw", side=16, predictor=1):
    """A TIFF file of (H, W, C) `pixels` in tiles, little-endian."""
    height, width, samples = pixels.shape
    data, offsets, counts = b"", [], []
    for top in range(0, height, side):
        for left in range(0, width, side):
            piece = pixels[top : top + side, left : left + side]
            edges = [(0, side - piece.shape[0]), (0, side - piece.shape[1]), (0, 0)]
            tile = np.pad(piece, edges, mode="edge").astype(pixels.dtype.newbyteorder("<"))
            if predictor == 2:
                tile[:, 1:] = np.diff(tile, axis=1)
            rows = tile.reshape(side, -1).view(np.uint8)
            coded = rows.tobytes() if compression == "raw" else tiff_write.packed(rows, compression)
            offsets.append(8 + len(data))
            counts.append(len(coded))
            data += coded
    kind = 3 if pixels.dtype.kind == "f" else 1

    def numbers(*values):
        return 4, struct.pack(f"<{len(values)}I", *values)

    tags = {
        256: numbers(width), 257: numbers(height), 258: numbers(*[8 * pixels.itemsize] * samples),
        259: numbers(tiff.NUMBERS[compression]), 262: numbers(2 if samples > 2 else 1),
        277: numbers(samples), 284: numbers(1), 317: numbers(predictor), 322: numbers(side),
        323: numbers(side), 324: numbers(*offsets), 325: numbers(*counts),
        339: numbers(*[kind] * samples),
    }  # fmt: skip
    if samples in (2, 4):
        tags[338] = numbers(2)
    return _tiff(tags, data)


def _tiff(tags, data):
    """A TIFF file: `data` begins at byte 8, the directory is behind it."""
    sizes = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 10: 8}
    data += bytes(len(data) & 1)
    place = 8 + len(data)
    behind = place + 2 + 12 * len(tags) + 4
    entries, values = b"", b""
    for tag, (kind, body) in sorted(tags.items()):
        count = len(body) // sizes[kind]
        if len(body) > 4:
            entries += struct.pack("<HHII", tag, kind, count, behind + len(values))
            values += body + bytes(len(body) & 1)
        else:
            entries += struct.pack("<HHI", tag, kind, count) + body.ljust(4, b"\0")
    head = struct.pack("<2sHI", b"II", 42, place)
    return head + data + struct.pack("<H", len(tags)) + entries + bytes(4) + values


def tiff_of(
    pixels, photometric, extra=(), *, form=1, bits=None, planar=False, compression="raw",
    order="<", reverse=False, tags=None,
):  # fmt: skip
    """A TIFF file of (H, W) or (H, W, C) samples as they are to be stored, a strip a plane.

    `bits` other than those of the array: samples are packed, each row into whole bytes.
    """
    pixels = pixels if pixels.ndim == 3 else pixels[..., None]
    height, width, samples = pixels.shape
    stored = 8 * pixels.itemsize
    strips = []
    for plane in np.moveaxis(pixels, -1, 0)[..., None] if planar else [pixels]:
        rows = np.ascontiguousarray(plane, plane.dtype.newbyteorder(order)).reshape(height, -1)
        if bits not in (None, stored):
            places = np.arange(bits)[::-1]
            rows = np.packbits((plane.reshape(height, -1, 1) >> places & 1).reshape(height, -1), 1)
        rows = rows.view(np.uint8)
        data = rows.tobytes() if compression == "raw" else tiff_write.packed(rows, compression)
        if reverse:
            flat = np.unpackbits(np.frombuffer(data, np.uint8)[:, None], axis=1)
            data = np.packbits(flat[:, ::-1], 1).tobytes()
        strips.append(data)
    starts = [sum(map(len, strips[:number])) for number in range(len(strips))]
    head = b"II*\0\x08\0\0\0" if order == "<" else b"MM\0*\0\0\0\x08"
    ifd = ImageFileDirectory_v2(head)
    numbers = {
        256: width, 257: height, 258: (bits or stored,) * samples,
        259: tiff.NUMBERS[compression], 262: photometric, 266: 1 + reverse, 273: tuple(starts),
        277: samples, 278: height, 279: tuple(map(len, strips)), 284: 1 + planar,
        338: extra or None, 339: (form,) * samples, **(tags or {}),
    }  # fmt: skip
    for tag, value in numbers.items():
        if value is not None:
            ifd[tag] = value
    file = BytesIO()
    ifd.save(file)
    return file.getvalue() + b"".join(strips)
