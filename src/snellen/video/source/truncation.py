"""A file may be less than its boxes, tags, pages or packets state, which FFmpeg ignores."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from snellen.files.opening import raw
from snellen.files.remote import Remote
from snellen.video.source.ends import (
    apng,
    asf,
    avi,
    dv,
    flv,
    gif,
    ivf,
    matroska,
    mp4,
    mpeg,
    mxf,
    nut,
    ogg,
)
from snellen.video.source.unwrapped import headerless

_WALKS: dict[str, Callable[[BinaryIO, int], str | None]] = {
    "apng": apng.chunks,
    "asf": asf.packets,
    "avi": avi.lists,
    "dv": dv.frames,
    "flv": flv.tags,
    "live_flv": flv.tags,
    "gif": gif.blocks,
    "ivf": ivf.frames,
    "matroska,webm": matroska.elements,
    "mpeg": mpeg.program,
    "mpegts": mpeg.transport,
    "mxf": mxf.klv,
    "nut": nut.frames,
    "ogg": ogg.pages,
}
"""By FFmpeg's name of the container. Others give no means, as raw streams."""

_JOINS = 100
"""Packets that are looked at: no more files are joined."""
_MOST = 4_000_000
"""Reads after which a walk is given up, some seconds: more parts than films have."""


@dataclass(frozen=True, slots=True)
class Torn:
    """A packet that the demuxer marks as damaged."""

    stream: int
    """Index."""
    position: int | None
    times: list[int] = field(default_factory=list)
    """Times of this packet and of the next two of the stream, in ticks."""


class _Walked(BufferedReader):
    """A file that is walked; a file of endless tiny parts does not hold us up."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        if self.reads > _MOST:
            raise ValueError
        return super().read(size)


def cut_short(path: Path, format: str, whole: bool) -> str | None:
    """Return a sentence if the file is shorter than it states, or has lost its header; None: not.

    Parameters
    ----------
    path : Path
    format : str
        FFmpeg's name of the container.
    whole : bool
        Whether all of it was read; False: only a cut through the index counts. Of an address none
        but the boxes of mp4 are walked, as that would read all of it once more.
    """
    try:
        with _Walked(raw(path)) as file:
            size = file.seek(0, 2)
            if format.startswith("mov"):
                return mp4.boxes(file, size, whole)
            if (harmed := headerless(file, path, format)) is not None:
                return harmed
            walk = _WALKS.get(format) if whole and not isinstance(path, Remote) else None
            return None if walk is None else walk(file, size)
    except (IndexError, OverflowError, ValueError):
        return None  # the file shrinks meanwhile, or its parts cannot be what they say
    except OSError as error:
        return f"the end of the input cannot be read ({error.strerror or error})"


def joins(path: Path, torn: list[Torn]) -> list[Torn]:
    """Return the packets of a transport stream that are whole, the last ones of a joined file."""
    found = []
    with suppress(OSError, IndexError), BufferedReader(raw(path)) as file:
        for one in torn[:_JOINS]:
            back = min(one.times) < one.times[0]
            if (one.position or 0) > 0 and mpeg.joined(file, one.position or 0, back):
                found.append(one)
    return found


def samples_short(path: Path, format: str, track: int, packets: int) -> str | None:
    """Return a sentence if an mp4 states more samples of a track than were read.

    Its fragments do, or its index, with times that cannot be: an edit list may well leave some out.
    """
    if not format.startswith("mov"):
        return None
    with suppress(OSError, ValueError), _Walked(raw(path)) as file:
        samples = mp4.fragment_samples(file, file.seek(0, 2), track)
        if samples > packets:
            lost = samples - packets
            return f"{lost} of {samples} video packets in the input's fragments are missing"
        return None if samples else mp4.unshown(file, file.seek(0, 2), track, packets)
    return None
