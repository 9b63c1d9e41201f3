"""Where the output goes, and in which container."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from snellen.errors import InputError, OutputError, SnellenError
from snellen.files.atomic import check_target, protected, replacing
from snellen.files.containers import Y4M, container, suffixes
from snellen.files.kinds import unsuitable
from snellen.files.numbering import is_pattern, there
from snellen.files.protection import check_stream
from snellen.files.still_formats import WRITTEN
from snellen.video.ffmpeg import name, reason
from snellen.video.sink import staging
from snellen.video.sink.staging import staged

PICTURES = "pictures"
"""The name in place of a muxer for image files with numbers in their names."""


class Output:
    """The output file, or a stream that is written directly; checked before work starts.

    It must not be the input, `source` (None: files that are protected already). Messages call it
    `name` and its container `suffix`, FFmpeg `muxer`. `notes` are complete at the end.
    """

    def __init__(
        self, target: Path | BinaryIO, source: Path | BinaryIO | None, overwrite: bool
    ) -> None:
        self.name, self.notes = name(target), list[str]()
        self._overwrite = overwrite
        self.target, self._source = target, source
        if not isinstance(target, Path):
            self.muxer, self.suffix = Y4M, "y4m"
            check_stream(target, f"the output {self.name}", source)
            return
        self.suffix = target.suffix.lower()
        if self.suffix in WRITTEN and is_pattern(target):
            self.muxer = PICTURES
            staging.check(target, overwrite)
            return
        muxer = container(self.suffix).muxer
        if muxer is None:
            if isinstance(source, Path) and (neither := unsuitable(source)):
                raise neither
            raise InputError(
                f"{target}: got {target.suffix or 'no suffix'} for a video; expected one of "
                f"{', '.join(suffixes(lambda one: one.muxer))}, or a pattern of pictures such as "
                "film-%05d.png",
                advice=None if target.suffix else f"{target}{os.sep} if it is to be a folder",
            )
        self.muxer = muxer
        check_target(target, source, overwrite)

    @property
    def is_rgb(self) -> bool:
        """Return whether frames are written as RGB: into pictures, or a GIF or WebP."""
        return self.muxer == PICTURES or container(self.suffix).rgb

    @property
    def pattern(self) -> str:
        """The name of the pictures."""
        assert isinstance(self.target, Path)
        return self.target.name

    @contextmanager
    def writing(self) -> Iterator[Path | BinaryIO]:
        """Yield the file or stream that the muxer writes to; complete when the block ends.

        A file gets its name only then; after an error there is no file. Of pictures it is a folder.
        """
        own_error = True  # whether an OSError is about the output; inside the block it is not
        try:
            if not isinstance(self.target, Path):
                own_error = False
                yield self.target
                own_error = True
                self.target.flush()
                return
            if self.muxer == PICTURES:
                old = set(there(self.target))
                with staged(self.target, self._overwrite) as folder:
                    own_error = False
                    yield folder
                    own_error = True
                    old -= {self.target.parent / one.name for one in there(folder / self.pattern)}
                if old:
                    more = f" and {len(old) - 1} more are" if len(old) > 1 else " is"
                    self.notes.append(
                        f"{min(old)}{more} of an earlier run, which had more pictures"
                    )
                return
            inputs = [] if self._source is None else [self._source]
            with protected(inputs), replacing(self.target, self._overwrite) as temporary:
                own_error = False
                yield temporary
                own_error = True
        except SnellenError:
            raise
        except OSError as error:
            if not own_error:
                raise
            raise OutputError(f"{self.name} could not be written: {reason(error)}") from error


class CompleteWriter:
    """A binary stream whose writes are always complete; FFmpeg ignores short ones."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.name = name(stream)

    def writable(self) -> bool:
        """Return True, as PyAV requires."""
        return True

    def write(self, data: bytes) -> int:
        """Write all of `data`, in as many calls as needed."""
        rest = memoryview(data)
        while rest:
            done = self._stream.write(rest)
            rest = rest[len(rest) if done is None else done :]
        return len(data)
