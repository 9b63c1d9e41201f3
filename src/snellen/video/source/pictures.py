"""Image files as one film: a stream of raw pictures, with times, that a Reader takes."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.container import OutputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.frames.still_value import Still
from snellen.stills import still
from snellen.video.pixels import eight_bits

FORMAT = "nut"
"""FFmpeg's container of the stream: any pixel format, and exact times."""
_LAYOUTS = {
    (1, 8): "gray", (1, 16): "gray16le", (3, 8): "rgb24", (3, 16): "rgb48le", (4, 8): "rgba",
    (4, 16): "rgba64le",
}  # fmt: skip
"""FFmpeg's pixel formats by channels and bits."""
_UNREAD, _HARMED = "could not be read, and left out", "damaged"
_CHANGED = "changed, or exchanged, while the film was read"
_ROUNDED = "of 16 bits, rounded to 8 as the first one"
_GREYED = "in colour, made grey as the first one"
_TOLD = 3
"""Pictures that are named for each kind of damage."""


class Pictures:
    """A binary stream made of image files, which are read one by one.

    All pictures are given the depth and the channels of the first one; a picture of another size
    ends the stream. One that cannot be read leaves a gap of its duration.

    `rate` is pictures a second, `name` that of the sequence in messages. Of the `count` pictures
    the first one stands for all: `lost` is what of it does not go into a film. InputError: it
    cannot be read, or has float samples.
    """

    def __init__(self, files: Sequence[Path], rate: Fraction, name: str) -> None:
        self.name, self.rate, self.count = name, rate, len(files)
        self._files = files
        self._states = [_state(file) for file in files]
        first = _ordinary(files[0])
        if first.pixels.dtype.kind == "f":
            raise InputError(f"{files[0]} has float samples; a film has 8 or 16 bits")
        self._first: Still | None = first
        self.lost = _losses(first)
        # Black pictures at the beginning of a film in colour are often stored as grey.
        ends = [first, *(_readable(files[i]) for i in {len(files) // 2, len(files) - 1} - {0})]
        channels = max(_channels(one) for one in ends if one is not None)
        self._layout = (max(channels, _channels(first)), 8 * first.pixels.dtype.itemsize)
        self._size = first.pixels.shape[:2]
        self._number, self._ended = 0, False
        self._damaged: dict[str, list[str]] = {what: [] for what in (_UNREAD, _HARMED, _CHANGED)}
        self._late: dict[str, list[str]] = {_ROUNDED: [], _GREYED: []}  # and what else is lost
        self._other: str | None = None
        self._data = bytearray()
        self._out, self._stream = self._begin()

    def seekable(self) -> bool:
        """Return False: what was read is gone."""
        return False

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; none at the end."""
        while not self._data and not self._ended:
            self._next()
        part = bytes(self._data[:size])
        del self._data[:size]
        return part

    def write(self, data: bytes) -> int:
        """Take what the muxer writes."""
        self._data += data
        return len(data)

    def writable(self) -> bool:
        """Return True, as PyAV requires."""
        return True

    def damage(self) -> tuple[str, ...]:
        """Return a sentence for each kind of damage so far."""
        other = () if self._other is None else (self._other,)
        return (*self._counted(self._damaged), *other)

    def losses(self) -> tuple[str, ...]:
        """Return a sentence for each kind of loss so far that later pictures brought."""
        return tuple(self._counted(self._late))

    def _counted(self, kinds: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """Yield a sentence about the pictures of each kind, if there are any."""
        for what, names in kinds.items():
            more = len(names) - _TOLD
            text = ", ".join(names[:_TOLD]) + (f" and {more} more" if more > 0 else "")
            if names:
                yield f"{len(names)} of {self.count} pictures {what} ({text})"

    def _begin(self) -> tuple[OutputContainer, VideoStream]:
        target: Any = self
        out = av.open(target, "w", format=FORMAT)
        stream = out.add_stream("rawvideo", rate=self.rate)
        stream.height, stream.width = self._size
        stream.pix_fmt = _LAYOUTS[self._layout]
        stream.time_base = stream.codec_context.time_base = 1 / self.rate
        out.start_encoding()
        return out, stream

    def _next(self) -> None:
        """Write the next picture, or the end."""
        if self._number == self.count or self._other is not None:
            self._ended = True
            self._out.close()
            return
        number, self._number = self._number, self._number + 1
        file = self._files[number]
        try:
            picture = self._first or self._read(number)
            self._first = None
        except InputError as error:
            self._damaged[_UNREAD].append(str(error))
            return
        if picture.pixels.shape[:2] != self._size:
            (height, width), (h, w) = self._size, picture.pixels.shape[:2]
            self._other = (
                f"{file} has {w}×{h} pixels, and those before it {width}×{height}: it and what "
                "follows are left out"
            )
            return
        for what in _losses(picture):
            if what not in self.lost:
                self._late.setdefault(f"have what is lost: {what}", []).append(str(file))
        if picture.damage:
            self._damaged[_HARMED].append(f"{file}: {'; '.join(picture.damage)}")
        samples = self._alike(picture.pixels, file)
        packet: Packet[Any] = Packet(samples.tobytes())
        packet.stream = self._stream
        packet.pts = packet.dts = number
        packet.duration = 1
        packet.time_base = 1 / self.rate
        packet.is_keyframe = True
        self._out.mux(packet)

    def _read(self, number: int) -> Still:
        """Return a picture; note one that is another file than when reading began."""
        file = self._files[number]
        picture = _ordinary(file)
        if _state(file) != self._states[number]:
            self._damaged[_CHANGED].append(str(file))
        return picture

    def _alike(self, pixels: npt.NDArray[Any], file: Path) -> npt.NDArray[Any]:
        """Return samples with the channels and the depth of the stream."""
        channels, bits = self._layout
        if pixels.dtype.kind == "f":
            pixels = np.round(np.clip(pixels, 0, 1) * 65535).astype(np.uint16)
        if pixels.ndim == 2 and channels > 1:
            pixels = np.repeat(pixels[..., None], 3, 2)
        elif pixels.ndim == 3 and channels == 1:
            self._late[_GREYED].append(str(file))
            pixels = np.round(pixels[..., :3] @ np.array((0.2126, 0.7152, 0.0722))).astype(
                pixels.dtype
            )
        if channels == 4 and pixels.shape[2] == 3:
            white = np.full_like(pixels[..., :1], np.iinfo(pixels.dtype).max)
            pixels = np.concatenate((pixels, white), 2)
        elif channels == 3:
            pixels = pixels[..., :3]
        if bits == 16 and pixels.dtype == np.uint8:
            return pixels.astype(np.uint16) * 257
        if bits == 8 and pixels.dtype == np.uint16:
            self._late[_ROUNDED].append(str(file))
            return eight_bits(pixels)
        return pixels


def _state(file: Path) -> tuple[bool, int, int] | None:
    """Return whether a file is ordinary, its size and its time, which differ in another one."""
    try:
        found = file.stat()
    except OSError:
        return None
    return stat.S_ISREG(found.st_mode), found.st_size, found.st_mtime_ns


def _channels(picture: Still) -> int:
    return 1 if picture.pixels.ndim == 2 else int(picture.pixels.shape[2])


def _ordinary(file: Path) -> Still:
    """Return a picture (InputError: it cannot be read, or is a pipe, into which nobody writes)."""
    state = _state(file)
    if state is not None and not state[0]:
        raise InputError(f"{file} is no file")
    return still.read(file)


def _readable(file: Path) -> Still | None:
    try:
        return _ordinary(file)
    except InputError:
        return None


def _losses(picture: Still) -> tuple[str, ...]:
    """Return what of a picture does not go into a film."""
    kept = {"EXIF": picture.exif, "XMP": picture.xmp, "IPTC": picture.iptc, "texts": picture.texts}
    there = [name for name, value in kept.items() if value]
    found = list(picture.lost)
    if there:
        found.append(f"{', '.join(there)} of the pictures: a film cannot hold it")
    if picture.profile is not None:
        found.append("colour profile of the pictures: a film cannot hold it, they count as sRGB")
    return tuple(found)
