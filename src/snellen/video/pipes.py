"""Pipes whose waits are short and can be ended from another thread.

A thread that waits inside a buffered stream of Python holds that stream's lock, and Python aborts
if it exits meanwhile. So this module polls a pipe, and reads or writes only what does not block.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from typing import Any, BinaryIO

from snellen.files.containers import Y4M
from snellen.files.signatures import HEAD
from snellen.files.waiting import waiting

_PATIENCE_MS = 100
"""Milliseconds between two checks whether to go on waiting."""
_AT_ONCE = getattr(select, "PIPE_BUF", 512)
"""Bytes that a pipe with any room takes without blocking (POSIX)."""


class _Pipe:
    """A stream that FFmpeg uses, and that `stop` ends.

    An interrupt that arrives inside a call of FFmpeg would become an error of FFmpeg's. So it is
    kept, the stream ends, and `check` raises it.
    """

    _other = ""
    """Who is at the other end."""

    def __init__(self, stream: BinaryIO, event: str) -> None:
        self._stream = stream
        self.name = self.title = str(getattr(stream, "name", "the stream"))
        self._stopped = False
        self._interrupt: KeyboardInterrupt | None = None
        self._descriptor = _descriptor(stream)
        self._poll: Any = None
        if self._descriptor is not None:
            self._poll = select.poll()
            self._poll.register(self._descriptor, getattr(select, event))

    def stop(self) -> None:
        """End all waits here, in whatever thread."""
        self._stopped = True

    @property
    def interrupted(self) -> bool:
        """Return whether `check` will raise."""
        return self._interrupt is not None

    def check(self) -> None:
        """Raise the interrupt that arrived meanwhile, if one did."""
        if self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            raise interrupt

    def _wait(self) -> bool:
        """Wait until the stream can be used; False: it was stopped."""
        try:
            if self._is_ready():
                return True
            with waiting(self.title, self._other):
                while not self._stopped:
                    if self._is_ready():
                        return True
        except KeyboardInterrupt as interrupt:
            self._take(interrupt)
        return False

    def _is_ready(self) -> bool:
        """Return whether the stream can be used, after a short wait if it cannot."""
        return not self._stopped and (self._poll is None or bool(self._poll.poll(_PATIENCE_MS)))

    def _take(self, interrupt: KeyboardInterrupt) -> None:
        self._interrupt = interrupt
        self._stopped = True


def _descriptor(stream: BinaryIO) -> int | None:
    """Return the descriptor of a pipe, socket or terminal; None: a file, or it cannot be polled."""
    if not hasattr(select, "poll"):
        return None
    try:
        number = stream.fileno()
        return None if stream.seekable() else number
    except (AttributeError, OSError, ValueError):
        return None


def _reopened(descriptor: int) -> int | None:
    """Open a pipe once more without blocking; None: that is not possible."""
    # Setting O_NONBLOCK on the descriptor itself would set it for all processes that share it: the
    # shell, or standard error. With `_AT_ONCE` bytes at a time a 4K frame would need 3,000 calls.
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        pass  # not Linux, or a pipe of another user
    return None


class Incoming(_Pipe):
    """A binary stream to read from, which counts its bytes (`size`).

    `format` is FFmpeg's name of its format (None: it is found by the contents), `title` what
    messages call it (None: its name), and `name` what FFmpeg gets, which takes a name for more than
    that. `header` is the first line and `head` the beginning, which says what kind of file comes,
    as far as they have come.
    """

    _other = "its writer"

    def __init__(
        self, stream: BinaryIO, format: str | None = Y4M, title: str | None = None
    ) -> None:
        super().__init__(stream, "POLLIN")
        self.format = format
        self.title = title or self.title
        self.name = "input" if format is not None else self.name
        self.size = 0
        self.header = self.head = b""
        # read1 returns what the buffer holds, or makes one system call at most.
        once = getattr(stream, "read1", stream.read)
        self._read = once if self._descriptor is not None else stream.read

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; none at the end, and when it was stopped."""
        if not self._wait():
            return b""
        try:
            data: bytes = self._read(size) or b""
        except KeyboardInterrupt as interrupt:
            self._take(interrupt)
            return b""
        self.size += len(data)
        if len(self.head) < HEAD:
            self.head += data[: HEAD - len(self.head)]
        if not self.header.endswith(b"\n"):
            line, feed, _ = data.partition(b"\n")
            self.header += line + feed
        return data


class Outgoing(_Pipe):
    """A binary stream to write to, for a pipe without a buffer. Close it at the end."""

    _other = "its reader"

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream, "POLLOUT")
        self._own: int | None = None
        if self._descriptor is not None:
            stream.flush()  # bytes written before come first
            self._own = _reopened(self._descriptor)

    def close(self) -> None:
        """Close our own descriptor; the stream itself stays open."""
        own, self._own = self._own, None
        if own is not None:
            os.close(own)

    def write(self, data: memoryview) -> int | None:
        """Write some of `data`; return how much."""
        if not self._wait():
            raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))
        try:
            if self._descriptor is None:
                return self._stream.write(data)
            if self._own is not None:
                return os.write(self._own, data)
            return os.write(self._descriptor, data[:_AT_ONCE])
        except BlockingIOError:
            return 0  # another process has filled it meanwhile
        except KeyboardInterrupt as interrupt:
            self._take(interrupt)
            raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED)) from None
