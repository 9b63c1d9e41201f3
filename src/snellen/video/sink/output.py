"""Where the output goes and in which container."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from snellen.errors import InputError, OutputError, SnellenError
from snellen.frames.atomic import check_target, replacing
from snellen.video.source.open import name, reason

MUXERS = {".mp4": "mp4", ".m4v": "mp4", ".mkv": "matroska", ".mov": "mov", ".y4m": "yuv4mpegpipe"}


class Place:
    """A file to be, or a stream that is written as it comes; checked before work starts.

    Attributes
    ----------
    name : what to call the output in messages
    muxer : FFmpeg's name of the container
    suffix : what to call the container in messages
    """

    def __init__(self, target: Path | BinaryIO, source: Path | BinaryIO, overwrite: bool) -> None:
        self.name = name(target)
        self._overwrite = overwrite
        self._target = target
        if not isinstance(target, Path):
            self.muxer, self.suffix = "yuv4mpegpipe", "y4m"
            return
        self.suffix = target.suffix.lower()
        if self.suffix not in MUXERS:
            raise InputError(
                f"{target}: the output's name ends in one of {', '.join(MUXERS)}, "
                f"not {target.suffix or 'nothing'!r}"
            )
        self.muxer = MUXERS[self.suffix]
        try:
            check_target(target, source if isinstance(source, Path) else None, overwrite)
            if target.exists() and not target.is_file():
                raise InputError(f"{target} is not a file that can be replaced; name another")
        except OSError as error:  # a name too long, a folder that may not be looked into
            raise InputError(f"{target} cannot be an output: {reason(error)}") from None

    @contextmanager
    def writing(self) -> Iterator[Path | BinaryIO]:
        """Yield what the muxer is to write to; at the end of the block it is complete.

        A file gets its name only then; after an error there is none.
        """
        ours = True  # an OSError from inside the block is not about the output
        try:
            if not isinstance(self._target, Path):
                ours = False
                yield self._target
                ours = True
                self._target.flush()
                return
            with replacing(self._target, self._overwrite) as temporary:
                ours = False
                yield temporary
                ours = True
                with temporary.open("rb+") as file:
                    os.fsync(file.fileno())  # some file systems tell only now: no room
        except SnellenError:
            raise
        except OSError as error:
            if not ours:
                raise
            raise OutputError(f"{self.name} could not be written: {reason(error)}") from error


class Whole:
    """A binary stream whose writes are always complete; FFmpeg does not look at short ones."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.name = name(stream)

    def writable(self) -> bool:
        """Say yes, as PyAV asks."""
        return True

    def write(self, data: bytes) -> int:
        """Write all of `data`, however often that takes."""
        rest = memoryview(data)
        while rest:
            done = self._stream.write(rest)
            rest = rest[len(rest) if done is None else done :]
        return len(data)
