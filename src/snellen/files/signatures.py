"""The first bytes of a file say what it is: an image, a film, sound, or something else."""

from __future__ import annotations

import re
import zlib
from enum import Enum
from typing import NamedTuple
from zipfile import BadZipFile

HEAD = 4096
"""Bytes that are looked at."""
UNREADABLE_ZIP = (
    OSError, EOFError, ValueError, KeyError, TypeError, RuntimeError, BadZipFile, zlib.error
)  # fmt: skip
"""Exceptions of zipfile, and NumPy with it, for a harmed file. RuntimeError: it claims a password
or a later version of the format (NotImplementedError)."""


class Sort(Enum):
    """The use of a file for a run."""

    IMAGE = "image"
    """It is read as a picture."""
    MOVING = "moving"
    """An animation: a film where a film is wanted, its first picture where a picture is."""
    FILM = "film"
    OTHER = "other"
    """It holds neither: text, sound, an archive …, or a picture of a type that is not read."""
    UNKNOWN = "unknown"
    """Nothing is known; the name of the file decides."""


class Kind(NamedTuple):
    """A kind of files."""

    sort: Sort
    name: str = ""
    """For messages, with an article: "a JPEG image", "text"; empty: unknown."""
    advice: str | None = None
    """Advice on a file that is neither image nor film."""


UNKNOWN = Kind(Sort.UNKNOWN)
EMPTY = Kind(Sort.OTHER, "empty", "get the file once more: nothing has arrived")
ZEROS = Kind(Sort.OTHER, "nothing but zero bytes", "get the file once more: nothing has arrived")
TEXT = Kind(Sort.OTHER, "text")
JPEG = Kind(Sort.IMAGE, "a JPEG image")
TIFF = Kind(Sort.IMAGE, "a TIFF image")
PNG = Kind(Sort.IMAGE, "a PNG image")
HEIC = Kind(Sort.IMAGE, "a HEIC image")
JPEG_XL = Kind(Sort.IMAGE, "a JPEG XL image")
RAW = Kind(Sort.OTHER, "a camera's raw file", "convert it to .dng first, or to .tif")

_BITMAPS = (12, 40, 52, 56, 64, 108, 124)
"""Bytes of the headers of bitmaps, by which BMP is told from text that begins with BM."""
_PACKET, _TIMED_PACKET = 188, 192
"""Bytes of a packet of a transport stream (ISO/IEC 13818-1), and with a time before it (.m2ts)."""
_UNPACK = "unpack it first"
_SOUND_ONLY = "name a file with pictures: it has sound only"
_NAME_THEM = "name these files themselves"
_CONVERT = "convert it to .png first"


def _sound(name: str) -> Kind:
    return Kind(Sort.OTHER, name, _SOUND_ONLY)


def _film(name: str) -> Kind:
    return Kind(Sort.FILM, name)


def _archive(name: str) -> Kind:
    return Kind(Sort.OTHER, name, _UNPACK)


def _unread(name: str) -> Kind:
    return Kind(Sort.OTHER, name, _CONVERT)


MP4 = _film("an MP4 or QuickTime film")

_BEGINNINGS: tuple[tuple[bytes, Kind], ...] = (
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"\xff\xd8\xff", JPEG),
    (b"II*\0", TIFF), (b"MM\0*", TIFF), (b"II+\0", TIFF), (b"MM\0+", TIFF),
    (b"GIF87a", Kind(Sort.MOVING, "a GIF")), (b"GIF89a", Kind(Sort.MOVING, "a GIF")),
    (b"\0\0\0\x0cjP  \r\n\x87\n", Kind(Sort.IMAGE, "a JPEG 2000 image")),
    (b"\xff\x4f\xff\x51", Kind(Sort.IMAGE, "a JPEG 2000 image")),
    (b"\xff\x0a", JPEG_XL), (b"\0\0\0\x0cJXL \r\n\x87\n", JPEG_XL),  # ISO/IEC 18181
    (b"\x1aE\xdf\xa3", _film("a Matroska or WebM film")),
    (b"YUV4MPEG2", _film("y4m")), (b"FLV\1", _film("a Flash film")),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", _film("a Windows Media film")),
    (b"\0\0\1\xba", _film("an MPEG film")), (b"\0\0\1\xb3", _film("an MPEG film")),
    (b"\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02", _film("an MXF film")),
    (b"nut/multimedia container", _film("a NUT film")), (b"DKIF\0\0", _film("an IVF film")),
    (b"LUCAM-RECORDER", _film("an SER film")),
    *((bytes((*b"ID3", version)), _sound("sound (MP3)")) for version in (2, 3, 4)),
    (b"fLaC", _sound("sound (FLAC)")),
    (b"caff\0\1", _sound("sound (CAF)")), (b"#!AMR", _sound("sound (AMR)")),
    (b"MThd\0\0\0\6", _sound("music as notes (MIDI)")),
    (b"#EXTM3U", Kind(Sort.OTHER, "a playlist, which names other files", _NAME_THEM)),
    (b"ffconcat version", Kind(Sort.OTHER, "a list of other files for FFmpeg", _NAME_THEM)),
    (b"%PDF-", Kind(Sort.OTHER, "a PDF document", "save its pages as .png first")),
    (b"PK\3\4", _archive("a ZIP archive, or a document that is one")),
    (b"\x1f\x8b\x08", _archive("a gzip archive")),
    (b"7z\xbc\xaf\x27\x1c", _archive("a 7z archive")),
    (b"Rar!\x1a\7", _archive("a RAR archive")),
    *((b"BZh%d1AY&SY" % level, _archive("a bzip2 archive")) for level in range(1, 10)),
    (b"\xfd7zXZ\0", _archive("an xz archive")),
    (b"\x28\xb5\x2f\xfd", _archive("a Zstandard archive")),
    (b"\x93NUMPY", Kind(Sort.OTHER, "an array of NumPy", "give the array to snellen.upscale")),
    (b"\x7fELF", Kind(Sort.OTHER, "a program")),
    (b"SQLite format 3", Kind(Sort.OTHER, "a database")),
    (b"\x89HDF\r\n\x1a\n", Kind(Sort.OTHER, "an HDF5 file")),
    (b"8BPS\0", _unread("a Photoshop image")), (b"\x76\x2f\x31\x01", _unread("an OpenEXR image")),
    (b"SDPX", _unread("a DPX image")), (b"XPDS", _unread("a DPX image")),
    (b"#?RADIANCE", _unread("a Radiance HDR image")), (b"gimp xcf", _unread("a GIMP image")),
    (b"\0\0\1\0\1\0", _unread("an icon")), (b"DDS |\0\0\0", _unread("a DDS image")),
    (b"%!PS", _unread("PostScript")),
    (b"IIRO", RAW), (b"IIRS", RAW), (b"IIU\0", RAW), (b"FUJIFILMCCD-RAW", RAW),
)  # fmt: skip
"""How files begin, as their formats' specifications, or the file(1) command's tables, have it."""

_RIFF = {
    b"WEBP": Kind(Sort.IMAGE, "a WebP image"), b"AVI ": _film("an AVI film"),
    b"WAVE": _sound("sound (WAV)"),
}  # fmt: skip
HEVC_BRANDS = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"))
"""Brands of HEIF files that are coded by HEVC (ISO/IEC 23008-12, annex B)."""
_BRANDS = (
    ({b"avis"}, Kind(Sort.MOVING, "an animated AVIF image")),
    ({b"avif"}, Kind(Sort.IMAGE, "an AVIF image")),
    (HEVC_BRANDS | {b"mif1"}, HEIC),
)
"""Brands of ISO base media files that are images (ISO/IEC 23008-12; mp4ra.org)."""
_SOUND = _sound("sound (AAC or ALAC)")
_MAJOR = {b"crx ": RAW, b"M4A ": _SOUND, b"M4B ": _SOUND, b"M4P ": _SOUND}
"""Those that say it as the first one only: films state them, too."""
_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
_FILLING = (b"wide", b"free", b"skip")
"""Short boxes, which text may seem to be: "the free …"."""
_OGG = (
    (b"\x80theora", _film("an Ogg film")), (b"\1vorbis", _sound("sound (Vorbis)")),
    (b"OpusHead", _sound("sound (Opus)")), (b"\x7fFLAC", _sound("sound (FLAC)")),
    (b"Speex  ", _sound("sound (Speex)")),
)  # fmt: skip
_PNM = re.compile(rb"P[1-6f]\s+(#[^\n]*\n\s*)*-?\d+\s+(#[^\n]*\n\s*)*\d+\s")
"""Netpbm's magic number, width and height, with comments between them."""
_SVG = re.compile(rb"(?:<\?xml[^>]*>|<!--.*?-->|<!DOCTYPE[^>]*>|\s)*+<svg[\s>]", re.DOTALL)
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
"""Bytes that no text has."""
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def kind_of(head: bytes) -> Kind:
    """Return what a file is that begins with these bytes: `HEAD` of them, or all that it has."""
    if not head.strip(b"\0"):
        return EMPTY if not head else ZEROS if len(head) == HEAD else UNKNOWN
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning):
            is_raw = kind is TIFF and head[8:10] == b"CR"  # of Canon, which begin as TIFF does
            return RAW if is_raw else kind
    found = _in_chunks(head) or _in_packets(head)
    if found is not None:
        return found
    if _PNM.match(head):
        return Kind(Sort.IMAGE, "a PPM image")
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BITMAPS:
        return Kind(Sort.IMAGE, "a BMP image")
    if head[257:262] == b"ustar":
        return _archive("a tar archive")
    if head[:2] == b"MZ" and b"This program cannot be run in DOS mode" in head:
        return Kind(Sort.OTHER, "a program")
    return _text(head)


def _in_chunks(head: bytes) -> Kind | None:
    """Return what a RIFF, IFF, Ogg or ISO base media file is; None: it is none of these."""
    if head[:4] == b"RIFF":
        found = _RIFF.get(head[8:12])
        # The flag of animation in VP8X (RFC 9649, 2.7.1).
        moves = head[8:16] == b"WEBPVP8X" and head[20:21] and head[20] & 2
        return Kind(Sort.MOVING, "an animated WebP image") if moves else found
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return _sound("sound (AIFF)")
    if head[:4] == b"OggS":
        return next((kind for mark, kind in _OGG if mark in head[:512]), None)
    if head[4:8] not in _BOXES or (head[4:8] in _FILLING and head[0]):
        return None
    length = int.from_bytes(head[:4], "big")
    if head[4:8] != b"ftyp":
        return MP4
    box = head[8 : min(length, HEAD)]
    brands = {box[i : i + 4] for i in range(0, len(box), 4) if i != 4}
    major = _MAJOR.get(box[:4])
    return major or next((kind for ones, kind in _BRANDS if ones & brands), MP4)


def _in_packets(head: bytes) -> Kind | None:
    """Return what a transport stream is; None: it is none."""
    for size, first in ((_PACKET, 0), (_TIMED_PACKET, 4)):
        starts = range(first, min(len(head), 5 * size + first), size)
        if len(starts) > 2 and all(head[i] == 0x47 for i in starts):
            return _film("an MPEG transport stream")
    return None


def _text(head: bytes) -> Kind:
    """Return what a file is of which no format is known: text, if it can be that."""
    if _SVG.match(head):
        return _unread("an SVG drawing")
    code = next((code for mark, code in _MARKS if head.startswith(mark)), None)
    if code is None and head.translate(None, _CONTROL) != head:
        return UNKNOWN
    try:
        head.decode(code or "utf-8")
    except UnicodeDecodeError as error:  # a character may be cut at the end of what was read
        if error.start < len(head) - 4:
            return UNKNOWN
    return TEXT
