"""Opens each file that is read: that file and no other, whatever its name looks like.

FFmpeg finds protocols (``http:``), patterns (``%03d``) and lists in names, and opens what they say.
So no library gets a name: FFmpeg, Pillow and NumPy get an open file, which is called "input".
Addresses that the user typed are opened here, too: see remote.py.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
from functools import partial
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO

from snellen.addresses import shown
from snellen.errors import InputError
from snellen.files import transfer
from snellen.files.remote import Remote
from snellen.files.transfer import RemoteFile, RemoteFilm
from snellen.files.waiting import waiting

_PATIENCE_MS = 100
"""Milliseconds of a wait after which Python looks for signals."""
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer opens at once
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""How an address begins; a Path has made one slash of two. One letter: a drive of Windows."""
_SLASH = re.compile(r"(?<=[A-Za-z0-9+.-]):/(?=[^/])")
_PLAIN = re.compile(r"\.[A-Za-z0-9]{1,8}")
_PIECE = 1 << 20
"""Bytes of one read of a pipe."""


class InputFile(FileIO):
    """An open file, read without a buffer.

    A named pipe is waited for until it has data; Ctrl-C ends the wait. InputError: there is no such
    file, it is a folder, or it must not be read.

    Attributes
    ----------
    name : str
        "input" and the suffix of the path, where that is plain. Not the path: libraries take a
        file's name for more than a name.
    regular : bool
        Whether it is an ordinary file, which can be opened once more and read anywhere.
    """

    def __init__(self, path: Path) -> None:
        try:
            descriptor, self.regular = _opened(path)
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from error
        super().__init__(descriptor, "rb")
        self.name = neutral(path)

    @property
    def state(self) -> tuple[int, int]:
        """Bytes, and when somebody has written into it."""
        about = os.fstat(self.fileno())
        return about.st_size, about.st_mtime_ns


class FFmpegFile:
    """An ordinary file for FFmpeg, closed by `close` or with its last reference; as `InputFile`.

    `read` is a function of the system, which no signal of Python interrupts: FFmpeg would take an
    interrupt for an error and forget it. It returns up to so many bytes. `first` is what is
    compared, whether the file has changed.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = -1
        with InputFile(path) as file:
            self.name = file.name
            self._descriptor = os.dup(file.fileno())
        self.read = partial(os.read, self._descriptor)
        self.first: object = self._size_and_time()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to `offset`; return the place, or a negative error number.

        FFmpeg tries places that no file has, and goes on after an error.
        """
        try:
            return os.lseek(self._descriptor, offset, whence)
        except OSError as error:
            return -(error.errno or errno.EINVAL)
        except OverflowError:
            return -errno.EINVAL

    def tell(self) -> int:
        """Return the place in the file."""
        return self.seek(0, os.SEEK_CUR)

    @property
    def changed(self) -> bool:
        """Return whether somebody has written into the file since it was opened."""
        return self._descriptor >= 0 and self._size_and_time() != self.first

    def check(self) -> None:
        """Do nothing: FFmpeg reports all errors of a file, unlike those of an address."""

    def _size_and_time(self) -> tuple[int, int]:
        about = os.fstat(self._descriptor)
        return about.st_size, about.st_mtime_ns

    def close(self) -> None:
        """Close the file; FFmpeg must have let go of it."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


def raw(path: Path) -> InputFile | RemoteFile:
    """Open a file without a buffer; an address, whose bytes are read by ranges, where it is one.

    Errors are those of `InputFile` and `RemoteFile`.
    """
    return RemoteFile(path) if isinstance(path, Remote) else InputFile(path)


def for_ffmpeg(path: Path) -> FFmpegFile | RemoteFilm:
    """Open a file, or an address, for FFmpeg; as `raw`.

    It counts as changed, too, if it is not what it was when the run first opened it.
    """
    from snellen.files import protection  # imports NumPy, which --help does not need

    file = RemoteFilm(path) if isinstance(path, Remote) else FFmpegFile(path)
    file.first = protection.first_state(path, file.first)
    return file


def opened(path: Path, limit: int) -> BinaryIO:
    """Open a file for reading anywhere in it.

    Of a pipe, and of an address, all is read first, at most `limit` bytes. InputError: as
    `InputFile`, or a pipe gives more.
    """
    if isinstance(path, Remote):
        return BytesIO(contents(path, limit))
    file = InputFile(path)
    if file.regular:
        return BufferedReader(file)
    with file:
        return BytesIO(_all(file, path, limit))


def contents(path: Path, limit: int) -> bytes:
    """Return the bytes of a file (InputError: as `InputFile`, or there are more than `limit`)."""
    if isinstance(path, Remote):
        found = transfer.contents(path, limit)
        if found is None:
            raise _too_long(path, limit)
        return found
    with InputFile(path) as file:
        try:
            return _all(file, path, limit)
        except OSError as error:  # of the disk, or of the network that the file lies behind
            raise unreadable(path, error) from error


def size_of(path: Path) -> int:
    """Return the bytes of a file (OSError: there is none), or at an address."""
    return transfer.status(path)[0] or 0 if isinstance(path, Remote) else path.stat().st_size


def is_stream(path: Path) -> bool:
    """Return whether this is a pipe, a terminal or such, which can be read only once."""
    if isinstance(path, Remote):
        return False
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


def neutral(path: Path) -> str:
    """Return "input" with the suffix of a path, if it has nothing but letters and digits."""
    return "input" + (path.suffix if _PLAIN.fullmatch(path.suffix) else "")


def unreadable(path: Path, error: OSError | ValueError) -> InputError:
    """Return the error that says why a file cannot be opened."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return missing(path)
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path} is a folder; expected a file")
    if isinstance(error, PermissionError):
        return InputError(f"{path}: no permission to read it")
    why = getattr(error, "strerror", None) or str(error)
    return InputError(f"{path} cannot be read ({why})")


def missing(path: Path, what: str = "file") -> InputError:
    """Return the error that says that there is no such file, or that this is an address."""
    if is_address(path):
        return InputError(
            f"{shown(_SLASH.sub('://', str(path), count=1))} is an address; expected the name of a "
            "file",
            advice="addresses count only where they are typed as an argument, in Python as text",
        )
    return InputError(f"{path}: no such {what}")


def is_address(path: Path) -> bool:
    """Return whether a path that does not exist looks like ``scheme://…``."""
    found = _ADDRESS.match(str(path))
    return found is not None and not os.path.lexists(found[0][:-1])


def _opened(path: Path) -> tuple[int, bool]:
    """Return the descriptor of a file, and whether that is an ordinary file."""
    descriptor = os.open(path, _FLAGS)
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(kind) and hasattr(select, "poll"):
            _wait(descriptor, path)
            os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, stat.S_ISREG(kind)


def _wait(descriptor: int, path: Path) -> None:
    """Wait until there is something to read, or its writer has gone; signals end the wait."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if poll.poll(_PATIENCE_MS):
        return
    with waiting(path, "its writer"):
        while not poll.poll(_PATIENCE_MS):
            pass


def _all(file: InputFile, path: Path, limit: int) -> bytes:
    if file.regular and os.fstat(file.fileno()).st_size > limit:
        raise _too_long(path, limit)
    parts: list[bytes] = []
    size = 0
    while True:
        if not file.regular and hasattr(select, "poll"):
            _wait(file.fileno(), path)
        part = file.read(min(_PIECE, limit + 1 - size))
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > limit:
            raise _too_long(path, limit)


def _too_long(path: Path, limit: int) -> InputError:
    return InputError(f"{path} has more than {limit:,} bytes, which no such file needs")
