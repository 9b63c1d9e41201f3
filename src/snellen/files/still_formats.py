"""Formats of image files: their suffixes, and what those that are written can hold."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from snellen.errors import InputError

TIFF = "TIFF"


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """Properties that are written into files of one format."""

    name: str
    """Pillow's name. To look the names up there loads all its plugins."""
    alpha: bool = False
    """It holds transparency."""
    deep: bool = False
    """It holds 16-bit samples."""
    colour: bool = True
    profile: bool = False
    """It is written with an ICC profile; likewise the next four."""
    exif: bool = False
    xmp: bool = False
    iptc: bool = False
    texts: tuple[str, ...] | None = ()
    """Keys of texts; None: any."""
    quality: int | None = None
    """Default of `quality`; 0: without loss."""
    side: int | None = None
    """Most pixels a side."""
    segment: int | None = None
    """Most bytes of EXIF, XMP or a comment."""


_PNG = ImageFormat("PNG", alpha=True, deep=True, profile=True, exif=True, xmp=True, texts=None)
_JPEG = ImageFormat(
    "JPEG", profile=True, exif=True, xmp=True, iptc=True, texts=("Comment",), quality=95,
    side=65500, segment=65000,
)  # fmt: skip
_TIFF = ImageFormat(TIFF, alpha=True, deep=True, profile=True, exif=True, xmp=True, iptc=True)
_WEBP = ImageFormat("WEBP", alpha=True, profile=True, exif=True, xmp=True, quality=0, side=16383)
_AVIF = ImageFormat("AVIF", alpha=True, profile=True, exif=True, xmp=True, quality=90, side=65536)
_JPEG2000 = ImageFormat("JPEG2000", alpha=True)
_BMP = ImageFormat("BMP")
_PPM = ImageFormat("PPM")

FORMATS = {
    ".png": _PNG, ".jpg": _JPEG, ".jpeg": _JPEG, ".jfif": _JPEG, ".tif": _TIFF, ".tiff": _TIFF,
    ".webp": _WEBP, ".avif": _AVIF, ".jp2": _JPEG2000, ".j2k": _JPEG2000, ".bmp": _BMP,
    ".ppm": _PPM, ".pgm": ImageFormat("PPM", colour=False), ".pnm": _PPM,
}  # fmt: skip
"""By suffix, lower case."""
WRITTEN = FORMATS.keys()
"""Suffixes of images that are written."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A package that reads files of a format, and may be missing."""

    format: str
    package: str
    """Its name in messages."""
    modules: tuple[str, ...]
    """Names of its modules, any of which will do."""
    advice: str = 'pip install "snellen[stills]"'

    def is_there(self) -> bool:
        """Return whether it is installed."""
        return any(find_spec(module) is not None for module in self.modules)

    def missing(self, path: Path) -> InputError:
        """Return the error that says that it is not installed."""
        return InputError(f"{path}: {self.said()}", advice=self.advice)

    def said(self) -> str:
        """Return the sentence that it is not installed."""
        return f"{self.format} is read by {self.package}, which is not installed"


HEIC = Reader("HEIC", "the package pi-heif", ("pi_heif",))
DNG = Reader("DNG", "the package rawpy", ("rawpy",))
JPEG_XL = Reader(
    "JPEG XL", "a plug-in of Pillow (pillow_jxl or jxlpy)", ("pillow_jxl", "jxlpy"),
    "convert the image first",
)  # fmt: skip
"""The plug-ins are no dependency of ours: the first is GPL."""
READ_ONLY = {".heic": HEIC, ".heif": HEIC, ".dng": DNG, ".jxl": JPEG_XL}
"""Suffixes of images that are read only; results of them become .png."""
SUFFIXES: Collection[str] = ChainMap[str, object](FORMATS, READ_ONLY)  # type: ignore[arg-type]
"""Suffixes of images. What a file is, its content says first: see kinds.py."""
UNREAD = (".ico", ".psd", ".svg", ".tga", ".exr", ".hdr", ".dpx")
"""Suffixes of images of types that are not read."""


def with_quality() -> str:
    """Return the suffixes of formats that have a quality, as a list in words."""
    return ", ".join(suffix for suffix, one in FORMATS.items() if one.quality is not None)
