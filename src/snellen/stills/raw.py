"""DNG files, developed by LibRaw in the package rawpy, of the extra `snellen[stills]`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from snellen import process
from snellen.files.still_formats import DNG
from snellen.frames import limits
from snellen.frames.still_value import Header, Still, origin_of
from snellen.stills import tiff
from snellen.stills.image_file import WHOLE, check_whole
from snellen.stills.still_metadata import XMP, stripped, upright

_TURNED = (5, 6)
"""LibRaw's turns by 90°."""
_KEPT = {270, 271, 272, 305, 306, 315, 33432, 34665, 34853}
"""Tags that are kept: description, camera, software, time, artist, copyright, EXIF, GPS."""
_GAMMA = (2.4, 12.92)
"""sRGB's: power, and slope of the straight part."""
_ERROR = 2
"""Descriptor of standard error."""
_SAYS = b"unknown file: "
"""How LibRaw begins what it says of damaged samples."""
_SAID = 1 << 16
"""Bytes of standard error that are looked at."""
_lock = process.lock()


def is_taken(file: BinaryIO) -> bool:
    """Return whether a file is a DNG file."""
    tags = tiff.directory(file)
    return tags is not None and tiff.DNG_VERSION in tags


def read(path: Path, file: BinaryIO, said: list[str]) -> Still:
    """Return an image; see `still.read`.

    It is sRGB of 16 bits, with the white balance of the camera and without automatic brightness.
    """
    rawpy = _package(path)
    with _heard(said), _opened(rawpy, path, file) as image:
        pixels = image.postprocess(
            use_camera_wb=True,
            no_auto_bright=True,
            output_bps=16,
            gamma=_GAMMA,
            output_color=rawpy.ColorSpace.sRGB,
        )
    if pixels.ndim == 3 and pixels.shape[2] == 1:  # of a camera without colours
        pixels = pixels[..., 0]
    block, damage, xmp, orientation = _metadata(file)
    note = "it is developed: sRGB, with the camera's white balance, without corrections of the lens"
    harm = tuple(dict.fromkeys(said))
    return Still(
        pixels=pixels, exif=block, damage=(*harm, *damage), xmp=xmp, notes=(note,),
        origin=origin_of(pixels, orientation),
    )  # fmt: skip


def _metadata(file: BinaryIO) -> tuple[bytes | None, tuple[str, ...], bytes | None, int]:
    """Return the EXIF block, what is wrong with it, the XMP packet, and the orientation."""
    exif = tiff.exif_of(file)
    xmp: Any = exif.get(XMP)
    orientation = exif.get(tiff.ORIENTATION, 1)
    for tag in set(exif) - _KEPT:
        del exif[tag]
    block, _, damage = stripped(exif)
    return block, damage, upright(xmp) if isinstance(xmp, bytes) else None, orientation


def header(path: Path, file: BinaryIO) -> Header:
    """Return the header of an image; see `still.header`."""
    with _heard([]), _opened(_package(path), path, file) as image:
        sizes = image.sizes
        width, height = sizes.width, sizes.height
        if sizes.flip in _TURNED:
            width, height = height, width
        return Header(width, height, False)


@contextmanager
def _heard(said: list[str]) -> Iterator[None]:
    """Add to a list what LibRaw says on standard error while the block runs."""
    # It has no other means that rawpy leaves open. What others write meanwhile is passed on.
    try:
        heard = TemporaryFile()  # noqa: SIM115  closed below
        kept = os.dup(_ERROR)
    except OSError:  # there is no place for it, or no standard error
        yield
        return
    with _lock, heard as file:
        os.dup2(file.fileno(), _ERROR)
        try:
            yield
        finally:
            os.dup2(kept, _ERROR)
            os.close(kept)
            file.seek(0)
            for line in file.read(_SAID).splitlines(keepends=True):
                if line.startswith(_SAYS):
                    text = line.removeprefix(_SAYS).decode("ascii", "replace").strip()
                    said.append(f"LibRaw: {text}")
                else:
                    os.write(_ERROR, line)


def _package(path: Path) -> Any:
    try:
        import rawpy
    except ImportError as error:
        raise DNG.missing(path) from error
    return rawpy


def _opened(rawpy: Any, path: Path, file: BinaryIO) -> Any:
    """Return a file whose header has been read, and its size checked."""
    check_whole(path, file)  # which LibRaw gets
    file.seek(0)
    data = file.read(WHOLE)
    image = rawpy.RawPy()
    try:
        image.open_buffer(BytesIO(data))
        sizes = image.sizes
        limits.check_size(
            path, max(sizes.raw_width, sizes.width), max(sizes.raw_height, sizes.height)
        )
    except BaseException:
        image.close()
        raise
    return image
