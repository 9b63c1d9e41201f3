"""Animated GIF, PNG and WebP as files: how often they are played, how long pictures are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from snellen.video.media import MediaInfo

FOR_EVER = 0
"""Plays of an animation that is repeated without an end."""
HEAD = 1 << 20
"""Bytes within which a file states its plays; colour profiles and texts may come before."""

GIF_EXTENSION, GIF_IMAGE, GIF_TRAILER = 0x21, 0x2C, 0x3B
_GIF_HEAD = 13
_DELAY, _APPLICATION = 0xF9, 0xFF
"""Labels of the extensions that state a picture's delay, and whatever a program has to say."""
_LOOPING = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
"""Programs whose extension states how often the pictures are repeated."""
_ZEROS = 4096
"""Bytes in which zeros between blocks are skipped at once."""
_RIFF_HEAD = 12


class GifBlock(NamedTuple):
    """A block of a GIF (GIF89a, sections 15 to 27)."""

    kind: int
    """Its first byte; zeros between blocks are skipped."""
    at: int
    """Position in the file."""
    whole: bool
    """True: all of its bytes are there."""


def gif_blocks(file: BinaryIO) -> Iterator[GifBlock]:
    """Yield the blocks of a GIF up to its trailer, or to the first one that is not whole."""
    file.seek(0)
    at = _GIF_HEAD + _table(file.read(_GIF_HEAD)[-3])
    while True:
        file.seek(at)
        kind = file.read(1)
        if not kind:
            return
        if kind == b"\0":
            piece = file.read(_ZEROS)
            at += 1 + len(piece) - len(piece.lstrip(b"\0"))
            continue
        whole = True
        if kind[0] == GIF_EXTENSION:
            file.seek(1, 1)
            whole = _skipped(file)
        elif kind[0] == GIF_IMAGE:
            head = file.read(9)
            file.seek(_table(head[8]) + 1 if len(head) == 9 else 0, 1)
            whole = _skipped(file)
        following = file.tell()
        yield GifBlock(kind[0], at, whole)
        if not whole or kind[0] not in (GIF_EXTENSION, GIF_IMAGE):
            return
        at = following


def _table(packed: int) -> int:
    """Return how many bytes a colour table has, by the byte that announces it."""
    return 3 << ((packed & 7) + 1) if packed & 0x80 else 0


def _skipped(file: BinaryIO) -> bool:
    """Skip sub-blocks up to the empty one; return whether they are complete."""
    while length := file.read(1):
        if not length[0]:
            return True
        file.seek(length[0], 1)
    return False


def plays(file: BinaryIO, container: str) -> int | None:
    """Return how often an animation is played in all; None: it is no animation, or damaged.

    `FOR_EVER`: without an end. The first `HEAD` bytes of the file are enough; `container` is
    FFmpeg's name of its format.
    """
    try:
        return _PLAYS[container](file) if container in _PLAYS else None
    except (IndexError, ValueError):  # it ends early
        return None


def set_end(file: BinaryIO, container: str, end: int) -> None:
    """Let the last picture of a complete GIF or WebP last until a time.

    FFmpeg's encoders give it the duration of another one, or the mean of all. `file` is open for
    reading and writing, `container` "gif" or "webp", and `end` counts from the beginning of the
    film in the format's ticks: 1/100 s or 1/1000 s.
    """
    if container == "gif":
        places, size = [one.at + 4 for one in gif_blocks(file) if _is_delay(file, one)], 2
    else:
        places, size = [at + 12 for name, at in _riff_chunks(file) if name == b"ANMF"], 3
    if not places:
        return  # a single picture
    for place in places[:-1]:
        file.seek(place)
        end -= int.from_bytes(file.read(size), "little")
    file.seek(places[-1])
    file.write(min(max(1, end), 256**size - 1).to_bytes(size, "little"))


def _is_delay(file: BinaryIO, block: GifBlock) -> bool:
    if block.kind != GIF_EXTENSION:
        return False
    file.seek(block.at + 1)
    return file.read(1)[0] == _DELAY


def _gif_plays(file: BinaryIO) -> int | None:
    """Return the plays of a GIF: one, and the repetitions that an extension states."""
    for block in gif_blocks(file):
        if block.kind != GIF_EXTENSION:
            break
        file.seek(block.at + 1)
        label, length = file.read(2)
        if label == _APPLICATION and file.read(length) in _LOOPING:
            size, kind, low, high = file.read(4)
            if size >= 3 and kind & 7 == 1:
                repetitions = low | high << 8
                return repetitions + 1 if repetitions else FOR_EVER
    return 1


def _png_plays(file: BinaryIO) -> int | None:
    """Return the plays that the chunk acTL states (PNG, third edition, 11.3.6)."""
    at = 8
    while True:
        file.seek(at)
        head = file.read(16)
        if len(head) < 16 or head[4:8] == b"IDAT":
            return None
        if head[4:8] == b"acTL":
            return int.from_bytes(head[12:16], "big")
        at += 12 + int.from_bytes(head[:4], "big")


def _webp_plays(file: BinaryIO) -> int | None:
    """Return the plays that the chunk ANIM states (RFC 9649, 2.7.1.1)."""
    for name, at in _riff_chunks(file):
        if name == b"ANIM":
            file.seek(at + 4)
            low, high = file.read(2)
            return int(low | high << 8)
        if name == b"ANMF":
            break
    return None


_PLAYS: dict[str, Callable[[BinaryIO], int | None]] = {
    "gif": _gif_plays, "apng": _png_plays, "webp_anim": _webp_plays,
}  # fmt: skip
CONTAINERS = tuple(_PLAYS)
"""FFmpeg's names of animations that are read."""


def _riff_chunks(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield the names of a WebP's chunks, and where their contents are."""
    at = _RIFF_HEAD
    while True:
        file.seek(at)
        head = file.read(8)
        if len(head) < 8:
            return
        yield head[:4], at + 8
        size = int.from_bytes(head[4:], "little")
        at += 8 + size + (size & 1)


_MOST_PLAYS = {"gif": 65536, "webp": 65535, "avif": 2**31 - 1}
"""Most plays that the formats state, beside those without an end."""
UNREPEATED = "holds no repetitions"
"""The warning about formats without them."""


def lost_plays(info: MediaInfo, muxer: str, suffix: str) -> tuple[str, ...]:
    """Return what an output does not hold of how often an animation is played."""
    plays, most = info.plays, _MOST_PLAYS.get(muxer, 1)
    if plays is None or plays == 1 or (most > 1 and plays <= most):
        return ()
    if most > 1:
        return (f"it is played {plays:,} times, of which {suffix} states {most:,}",)
    often = "for ever" if plays == FOR_EVER else f"{plays:,} times"
    return (f"it is played {often}: {suffix} {UNREPEATED}",)


def loop(plays: int | None, muxer: str) -> str:
    """Return the option "loop" of FFmpeg's muxers of GIF, WebP and AVIF.

    `plays`: as of `MediaInfo`; a film without them is played for ever.
    """
    plays = min(plays or FOR_EVER, _MOST_PLAYS[muxer])
    if muxer == "gif" and plays != FOR_EVER:
        return str(plays - 1 or -1)  # repetitions; -1: none
    return str(plays)
