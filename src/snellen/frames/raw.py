"""DNG files, developed by LibRaw in the package rawpy, of the extra `snellen[stills]`."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from snellen.errors import InputError
from snellen.frames import limits, tiff
from snellen.frames.still_metadata import XMP, stripped, upright
from snellen.frames.still_value import Header, Still

_TURNED = (5, 6)
"""LibRaw's turns by 90°."""
_KEPT = {270, 271, 272, 305, 306, 315, 33432, 34665, 34853}
"""Tags that are kept: description, camera, software, time, artist, copyright, EXIF, GPS."""
_BYTES = 1 << 31
"""Most bytes of a file."""
_GAMMA = (2.4, 12.92)
"""sRGB's: power, and slope of the straight part."""


def is_taken(file: BinaryIO) -> bool:
    """Return whether a file is a DNG file."""
    tags = tiff.directory(file)
    return tags is not None and tiff.DNG_VERSION in tags


def read(path: Path, file: BinaryIO, said: list[str]) -> Still:
    """Return an image; see `still.read`.

    It is sRGB of 16 bits, with the white balance of the camera and without automatic brightness.
    """
    rawpy = _package(path)
    with _opened(rawpy, path, file) as image:
        pixels = image.postprocess(
            use_camera_wb=True,
            no_auto_bright=True,
            output_bps=16,
            gamma=_GAMMA,
            output_color=rawpy.ColorSpace.sRGB,
        )
    if pixels.ndim == 3 and pixels.shape[2] == 1:  # of a camera without colours
        pixels = pixels[..., 0]
    block, damage, xmp = _metadata(file)
    note = "it is developed: sRGB, with the camera's white balance, without corrections of the lens"
    return Still(pixels=pixels, exif=block, damage=damage, xmp=xmp, notes=(note,))


def _metadata(file: BinaryIO) -> tuple[bytes | None, tuple[str, ...], bytes | None]:
    """Return the EXIF block, what is wrong with it, and the XMP packet."""
    exif = tiff.exif_of(file)
    xmp: Any = exif.get(XMP)
    for tag in set(exif) - _KEPT:
        del exif[tag]
    block, _, damage = stripped(exif)
    return block, damage, upright(xmp) if isinstance(xmp, bytes) else None


def header(path: Path, file: BinaryIO) -> Header:
    """Return the header of an image; see `still.header`."""
    with _opened(_package(path), path, file) as image:
        sizes = image.sizes
        width, height = sizes.width, sizes.height
        if sizes.flip in _TURNED:
            width, height = height, width
        return Header(width, height, False)


def _package(path: Path) -> Any:
    try:
        import rawpy
    except ImportError as error:
        raise InputError(
            f"{path}: DNG is read by the package rawpy, which is not installed",
            advice='pip install "snellen[stills]"',
        ) from error
    return rawpy


def _opened(rawpy: Any, path: Path, file: BinaryIO) -> Any:
    """Return a file whose header has been read, and its size checked."""
    file.seek(0)
    data = file.read(_BYTES + 1)
    if len(data) > _BYTES:
        raise InputError(f"{path} has more than {_BYTES:,} bytes")
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
