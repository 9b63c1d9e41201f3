"""Image files are written: what their formats cannot hold is refused, or said."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from PIL import Image

from snellen.errors import InputError
from snellen.files import atomic
from snellen.files.containers import container
from snellen.files.still_formats import FORMATS, READ_ONLY, TIFF, WRITTEN, ImageFormat
from snellen.frames.still_value import Mapping, Still, narrowed
from snellen.stills import exif_places, png, tiff_write, xmp
from snellen.stills.still_metadata import png_info, segment


def write(
    path: Path,
    still: Still,
    overwrite: bool = False,
    quality: int | None = None,
    before: Callable[[], object] | None = None,
) -> None:
    """Write an image file in the format of its suffix; it appears only when it is complete.

    `quality` is 1 … 100, for formats with loss; 100 of WebP is lossless. None: 95 for JPEG, 90 for
    AVIF, lossless for WebP. Other formats ignore it. `before` is called when the file is complete,
    before it gets its name: it writes what goes with it.

    InputError: the format is unknown or cannot hold the pixels. OutputError: the disk is full or
    not writable, or the file exists and `overwrite` is False.
    """
    check(path, still)
    still = _described(still)
    format = FORMATS[path.suffix.lower()]
    if still.pixels.dtype == np.uint16 and not format.deep:
        still = replace(still, pixels=narrowed(still.pixels))
    with atomic.writing(path, overwrite) as file:
        if format.name == TIFF:
            tiff_write.write(file, still)
        elif still.is_deep_colour:
            png.write(file, still.pixels, _chunks(still))
        else:
            _save(file, path.suffix.lower(), still, quality)
        if before is not None:
            before()


def write_pages(path: Path, stills: Iterable[Still], count: int, overwrite: bool = False) -> None:
    """Write a TIFF file of several pages, one by one; it appears only when it is complete.

    Errors of `stills` end the writing, and nothing is left. `count` pages will come, about as large
    as the first one. OutputError: as of `write`.
    """
    with atomic.writing(path, overwrite) as file:
        big: bool | None = None
        behind: int | None = None
        for still in stills:
            big = count * still.pixels.nbytes > tiff_write.BIG if big is None else big
            behind = tiff_write.write(file, _described(still), big, behind)


def _described(still: Still) -> Still:
    """Return a picture whose EXIF and XMP speak of its pixels, not of those of its file."""
    if still.origin is None or not (still.exif or still.xmp):
        return still
    mapping = Mapping(still.origin, still.pixels.shape[1], still.pixels.shape[0])
    return replace(
        still,
        exif=still.exif and exif_places.mended(still.exif, mapping),
        xmp=still.xmp and xmp.mended(still.xmp, mapping),
        origin=None,
    )


def check(path: Path, still: Still) -> None:
    """Refuse (InputError) a file name whose format cannot hold the pixels.

    Its suffix is none of a format that we write, or the format cannot store floats, the
    transparency or the size.
    """
    suffix, pixels = path.suffix.lower(), still.pixels
    if suffix not in WRITTEN:
        known = suffix in READ_ONLY or container(suffix).either
        what = f"{suffix} is read only" if known else f"no image format {suffix!r}"
        raise InputError(f"{path}: {what}", advice=f"use one of {', '.join(WRITTEN)}")
    format = FORMATS[suffix]
    alpha = pixels.ndim == 3 and pixels.shape[2] == 4
    if pixels.dtype == np.float32 and (alpha or format.name != TIFF):
        raise InputError(
            f"{path}: the image has float samples, which need .tif, and no transparency",
            parameter="target", advice=f"name the result {path.with_suffix('.tif').name}",
        )  # fmt: skip
    if not format.colour and pixels.ndim == 3:
        raise InputError(f"{path}: {suffix} holds grey only", advice="use .ppm")
    if alpha and not format.alpha:
        holders = [one for one, about in FORMATS.items() if about.alpha]
        raise InputError(f"{path}: transparency needs {', '.join(holders[:-1])} or {holders[-1]}")
    if format.side is not None and max(pixels.shape[:2]) > format.side:
        raise InputError(
            f"{path}: {suffix} holds at most {format.side} pixels a side", advice="use .png"
        )


def losses(path: Path, still: Still) -> list[str]:
    """Return a sentence about each piece of metadata that the format of `path` cannot hold."""
    suffix = path.suffix.lower()
    format, kept = FORMATS[suffix], _kept(FORMATS[suffix], still)
    sentences = []
    if still.pixels.dtype == np.uint16 and not format.deep:
        sentences.append(f"{suffix} holds 8 bits a sample: the 16 bits are rounded")
    for name, what in _PARTS.items():
        value = getattr(still, name)
        if value and name not in kept:
            long = " so long" if getattr(format, name) else ""
            sentences.append(f"{suffix} holds no {what}{long}: it is lost")
    left = [key for key, _ in still.texts if key not in dict(kept["texts"])]
    if left:
        sentences.append(
            f"{suffix} does not hold the texts {', '.join(dict.fromkeys(left))}: they are lost"
        )
    return sentences


_PARTS = {"profile": "colour profile", "exif": "EXIF", "xmp": "XMP", "iptc": "IPTC data"}


def _kept(format: ImageFormat, still: Still) -> dict[str, Any]:
    """Return what of profile, EXIF, XMP, IPTC and texts a file of this format gets."""
    kept: dict[str, Any] = {}
    for name in _PARTS:
        value = getattr(still, name)
        too_long = name != "profile" and len(value or b"") > (format.segment or 1 << 62)
        if value and getattr(format, name) and not too_long:
            kept[name] = value
    kept["texts"] = tuple(
        (key, text)
        for key, text in still.texts
        if (format.texts is None or key in format.texts)
        and len(text.encode()) <= (format.segment or 1 << 62)
    )
    return kept


def _save(file: IO[bytes], suffix: str, still: Still, quality: int | None) -> None:
    """Write a file by Pillow: all but TIFF and 16-bit colour."""
    format = FORMATS[suffix]
    kept = _kept(format, still)
    image = Image.fromarray(still.pixels)
    if still.grey_alpha and format.name != "AVIF":
        image = image.convert("LA")
    options: dict[str, Any] = {"icc_profile": kept.get("profile"), "exif": kept.get("exif"),
                               "dpi": still.dpi}  # fmt: skip
    wanted = format.quality if quality is None else quality
    if format.name == "PNG":
        options["pnginfo"] = png_info(kept.get("xmp"), kept["texts"])
    else:
        options["xmp"] = kept.get("xmp")
    if format.name == "JPEG":
        options |= {
            "quality": wanted,
            "subsampling": 0,
            "comment": dict(kept["texts"]).get("Comment"),
        }
        options["extra"] = segment(kept["iptc"]) if "iptc" in kept else None
    elif format.name == "WEBP":  # exact: preserve the colours of transparent pixels, too
        lossless = wanted in (0, 100)
        options |= {"lossless": lossless, "exact": True, "quality": 80 if lossless else wanted}
    elif format.name == "AVIF":
        options |= {"quality": wanted, "subsampling": "4:0:0" if image.mode == "L" else "4:4:4"}
    elif format.name == "JPEG2000":
        options["no_jp2"] = suffix == ".j2k"
    given = {key: one for key, one in options.items() if one is not None}
    if format.name != "JPEG2000":
        image.save(file, format.name, **given)
        return
    coded = BytesIO()  # without a name, which Pillow would take apart as UTF-8
    image.save(coded, format.name, **given)
    file.write(coded.getbuffer())


def _chunks(still: Still) -> Iterator[tuple[bytes, bytes]]:
    """Yield what belongs to the pixels of a PNG file (PNG specification, 11.3)."""
    if still.profile:
        yield b"iCCP", b"profile\0\0" + zlib.compress(still.profile)
    if still.dpi:
        metre = [float(value) / 0.0254 for value in still.dpi]
        if all(0 < value < 1 << 31 for value in metre):  # and no NaN
            yield b"pHYs", struct.pack(">IIB", *(round(value) for value in metre), 1)
    if still.exif:
        yield b"eXIf", still.exif.removeprefix(b"Exif\0\0")
    for name, body, *_ in png_info(still.xmp, still.texts).chunks:
        yield name, body
