"""Reads what is at an address, by ranges or as a whole, and writes to a store; through fsspec.

No error has the cause that a library gave: that might show what of an address must not be shown.
"""

from __future__ import annotations

import errno
import io
import os
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeVar

from snellen.errors import InputError, quoted
from snellen.files.failures import hidden, is_passing, reason
from snellen.files.remote import EXTRAS, Remote
from snellen.files.waiting import waiting

T = TypeVar("T")

BLOCK, BLOCKS = 1 << 21, 16
"""Bytes that are read of a film at once; so many blocks of them are kept."""
PAUSES = (0.3, 1.0, 3.0)
"""Seconds before each further try, where the network or the server fails; s3fs and gcsfs have
their own."""
_PATIENCE = 60
"""Seconds without a byte after which a connection has failed."""
_PIECE = 1 << 20
_PLAIN = {"Accept-Encoding": "identity"}
_REDIRECTS = (300, 301, 302, 303, 307, 308)
_VERSIONS = ("ETag", "etag", "Content-MD5", "LastModified", "Last-Modified", "updated")
"""Names in fsspec's systems of what changes with an object; the first that there is counts."""


class RemoteFile(io.RawIOBase):
    """The file at an address, open to be read anywhere in it by ranges.

    Its name is "input", as of `opening.InputFile`; `state` has the bytes, and what changes with the
    contents, and `first` is compared, whether that has changed. InputError: there is nothing, or
    the server sends neither length nor ranges. So may `read`.
    """

    regular = True

    def __init__(self, path: Remote) -> None:
        super().__init__()
        self._blocks: dict[int, bytes] = {}  # by number, the last used at the end; `close` needs it
        self.name = "input"
        self._path, self._place = path, 0
        size, version = status(path)
        if size is None:
            raise _whole(path, "does not say how long it is")
        self._size, self.state = size, (size, version)
        self.first: object = self.state

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move to `offset`; return the place, or a negative error number, as FFmpeg wants it."""
        base = {0: 0, 1: self._place, 2: self._size}.get(whence)
        if base is None or base + offset < 0:
            return -errno.EINVAL
        self._place = base + offset
        return self._place

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes; fewer only at the end."""
        left = max(0, self._size - self._place)
        wanted = left if size < 0 else min(size, left)
        if not wanted:
            return b""
        first, last = self._place // BLOCK, (self._place + wanted - 1) // BLOCK
        found = b"".join(self._block(number) for number in range(first, last + 1))
        data = found[self._place - first * BLOCK :][:wanted]
        self._place += wanted
        return data

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    @property
    def changed(self) -> bool:
        """Return whether there are other contents at the address than when it was opened."""
        try:
            return status(self._path) != self.first
        except InputError:
            return False

    def close(self) -> None:
        """Release the blocks."""
        self._blocks.clear()
        super().close()

    def _block(self, number: int) -> bytes:
        """Return a block, which is read if it is not there."""
        data = self._blocks.pop(number, None)
        if data is None:
            data = self._load(number)
        self._blocks[number] = data
        if len(self._blocks) > BLOCKS:
            del self._blocks[next(iter(self._blocks))]
        return data

    def _load(self, number: int) -> bytes:
        first = number * BLOCK
        end = min(first + BLOCK, self._size)
        data = tried(
            self._path, lambda: _part(self._path, first, end), f"send bytes {first:,} to {end:,}"
        )
        if len(data) != end - first:
            raise _failed(self._path, "it has become shorter")
        return data


class RemoteFilm(RemoteFile):
    """The file at an address, for FFmpeg, which would forget an interrupt during a read.

    After an error it is at its end: PyAV raises the first one only, and prints others.
    """

    _wrong: BaseException | None = None

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes; OSError: there was an interrupt, which `check` raises."""
        if self._wrong is not None:
            return b""
        try:
            return super().read(size)
        except Exception as error:
            self._wrong = error
            raise
        except BaseException as interrupt:
            self._wrong = interrupt
            raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED)) from None

    def check(self) -> None:
        """Raise the error or the interrupt of a read, if there was one."""
        if self._wrong is not None:
            raise self._wrong


def status(path: Remote) -> tuple[int | None, str]:
    """Return the bytes at an address (None: not known), and what changes with the contents.

    InputError: there is nothing, or no answer.
    """
    store = system(path)

    def look() -> dict[str, Any]:
        found: dict[str, Any] = store.info(key(path))
        return found

    found = tried(path, look, "answer")
    if not path.is_store and not found.get("size"):  # as of an answer that is no file
        tried(path, lambda: _stream(path, {}).close(), "answer")
    if found.get("type") == "directory":
        raise InputError(f"{path} is a folder; expected a file")
    version = next((str(found[name]) for name in _VERSIONS if found.get(name)), "")
    return found.get("size"), version


def contents(path: Remote, limit: int) -> bytes | None:
    """Return all bytes at an address (or InputError); None: there are more than `limit`."""
    store = system(path)

    def load() -> bytes | None:
        data = bytearray()
        with _stream(path, {}) if not path.is_store else store.open(path.url, "rb") as file:
            while part := file.read(_PIECE):
                data += part
                if len(data) > limit:
                    return None
        return bytes(data)

    return tried(path, load, "send all of it")


def _part(path: Remote, first: int, end: int) -> bytes:
    """Return bytes at an address; of a server that sends more, no more are read."""
    if path.is_store:
        data: bytes = system(path).cat_file(path.url, start=first, end=end)
        return data
    with _stream(path, {"Range": f"bytes={first}-{end - 1}"}) as file:
        said = file.r.headers.get("Content-Range", f"bytes {first}-" if not first else "")
        if not said.startswith(f"bytes {first}-"):
            raise _whole(path, "does not send parts of it")
        parts, left = [], end - first
        while left and (part := file.read(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


def _stream(path: Remote, headers: dict[str, str]) -> Any:
    """Return fsspec's stream of what a web server sends; given a size, it does not ask for it."""
    how = {"size": 1, "block_size": 0, "headers": _PLAIN | headers}
    file = system(path).open(key(path), "rb", **how)
    number = file.r.status
    if number not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        file.close()
        why = f"the server answers HTTP {number} {hidden(path, quoted(file.r.reason, str))}"
        if number in _REDIRECTS:
            why = f"it redirects without an address (HTTP {number})"
        raise _failed(path, why.rstrip())
    return file


def system(path: Remote) -> Any:
    """Return fsspec's file system for an address (InputError: it is not installed)."""
    web = not path.is_store
    try:
        import fsspec

        kind = fsspec.get_filesystem_class(path.scheme)
        if web:
            import aiohttp
    except ImportError as error:
        extra = EXTRAS[path.scheme]
        raise InputError(
            f"{path}: {path.scheme}:// needs another package ({quoted(error, str)})",
            advice=f'pip install "snellen[{extra}]"',
        ) from error
    if not web:
        return kind(use_listings_cache=False)
    # A film takes longer than aiohttp's five minutes; proxies and .netrc are the environment's.
    limits = aiohttp.ClientTimeout(total=None, sock_connect=_PATIENCE, sock_read=_PATIENCE)
    return kind(encoded=True, headers=_PLAIN, client_kwargs={"trust_env": True, "timeout": limits})


def key(path: Remote) -> str:
    """Return the address as fsspec gets it."""
    return path.url if path.is_store else path.url.partition("#")[0]


def tried(path: Remote, work: Callable[[], T], what: str, done: str = "read") -> T:
    """Return what a function returns, called again where another try may help.

    `what` is that which the other end is waited for to do; `done` is what cannot be done where it
    fails.

    The error has no cause: those of libraries name the whole address.
    """
    with waiting(path, f"the {'store' if path.is_store else 'server'} to {what}"):
        for pause in (*(() if path.is_store else PAUSES), None):
            try:
                return work()
            except Exception as error:
                if pause is None or not is_passing(error):
                    raise _error(path, error, done) from None
            time.sleep(pause)
    raise AssertionError


def _error(path: Remote, error: Exception, done: str) -> InputError:
    if isinstance(error, InputError):
        return error
    return _failed(path, reason(path, error), done)


def _failed(path: Remote, why: str, done: str = "read") -> InputError:
    return InputError(f"{path} cannot be {done}: {why}")


def _whole(path: Remote, why: str) -> InputError:
    return InputError(f"{path} cannot be read: the server {why}", advice="download it first")
