"""The one way to standard output and standard error: whole lines, without control characters.

Names, tags and messages of libraries are foreign: a newline in one would forge a line of ours, an
escape sequence would command the terminal, and a bidirectional override would reorder the text.
"""

from __future__ import annotations

import codecs
import errno
import os
import sys
from contextlib import suppress
from typing import IO, Any

_INVISIBLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810),
     *range(0xE0000, 0xE1000)}
)  # fmt: skip
"""Characters that Unicode calls printable although nothing is seen of them."""
_SIMPLER = {"→": "->", "×": "x", "…": "...", "−": "-", "–": "-", "·": ".", "σ": "sigma", "’": "'"}
"""Stand-ins for characters of ours where an encoding lacks them."""
_SIMPLY = "snellen.simply"
_hidden: dict[str, str] = {}
"""Addresses in the command line that have secrets, and what stands for each."""
_GONE = (errno.EPIPE, errno.ESHUTDOWN, errno.ECONNRESET)
"""A system's errors where the reader of a pipe or socket has gone away."""


class Lost(BaseException):
    """Standard output cannot be written; not an Exception, since no job may go on after it."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error

    @property
    def is_pipe(self) -> bool:
        """Return whether the reader of a pipe has gone away, which is no error."""
        return self.error.errno in _GONE


def gone(error: BaseException) -> OSError | None:
    """Return what says, behind an error, that the reader of a pipe has gone away; None: nothing."""
    seen: set[int] = set()
    behind: BaseException | None = error
    while behind is not None and id(behind) not in seen:
        if isinstance(behind, OSError) and behind.errno in _GONE:
            return behind
        seen.add(id(behind))
        behind = behind.__cause__
    return None


def hide(words: list[str]) -> None:
    """Have addresses in a command line shown without their secrets, whatever message repeats it."""
    _hidden.clear()
    if any("://" in word for word in words):
        from snellen.addresses import with_secrets

        for given, instead in with_secrets(words).items():
            _hidden[given] = _hidden[given.replace("://", ":/", 1)] = instead


def shown(text: object) -> str:
    r"""Return a text in one line: what is no visible character stands there escaped.

    A control character is shown as ``\x1b``, a byte that is no UTF-8 as ``\xff``, any other
    character that cannot be seen as ``\u202e``. Spaces other than the plain one are escaped too.
    """
    text = str(text)
    for given, instead in _hidden.items():
        text = text.replace(given, instead)
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_character, text))


def counted(count: int, what: str) -> str:
    """Return e.g. "1 frame" or "2 frames"."""
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def out(*lines: str) -> None:
    """Write lines to standard output (Lost: that is not possible)."""
    stream = sys.stdout
    try:
        if stream is None:
            raise OSError(errno.EBADF, "it is closed")
        _write(stream, lines)
    except ValueError as error:  # closed meanwhile
        raise Lost(OSError(errno.EBADF, str(error))) from error
    except OSError as error:
        raise Lost(error) from error


def err(*lines: str) -> None:
    """Write lines to standard error, if anybody can read them."""
    try:
        if sys.stderr is not None:
            _write(sys.stderr, lines)
    except (OSError, ValueError):
        _forsake(sys.stderr)


def interactive() -> bool:
    """Return whether standard error is a terminal, on which a bar can be drawn."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (OSError, ValueError):
        return False


def prepare() -> None:
    """Get the streams of this process ready, whatever it was started with.

    Text of other writers (help) never fails for want of a character. The descriptors 0 to 2 are
    open: a file that is opened later never gets one of these numbers, to which libraries print.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            with suppress(OSError, ValueError):
                reconfigure(errors=_SIMPLY)
    with suppress(OSError):
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(number)


def finish() -> None:
    """Write what is buffered (Lost: that is not possible)."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except ValueError:
        pass  # closed
    except OSError as error:
        raise Lost(error) from error
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):
        _forsake(sys.stderr)


def abandon() -> None:
    """Let what is still buffered go nowhere: Python's own end neither fails nor waits for it."""
    for stream in (sys.stdout, sys.stderr):
        _forsake(stream)


def _forsake(stream: IO[str] | None) -> None:
    """Let what a stream still holds go nowhere: else Python fails at it, and ends with 120."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        finally:
            os.close(nowhere)


class _State:
    blocked = False


def blocked() -> None:
    """Note that a thread waits inside standard output for ever, and holds its lock."""
    _State.blocked = True


def is_blocked() -> bool:
    """Return whether Python must not end as usual, as it would wait for that thread."""
    return _State.blocked


def _write(stream: IO[str], lines: tuple[str, ...]) -> None:
    text = "".join(f"{shown(line)}\n" for line in lines)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if not text.isascii():
        text = text.encode(encoding, _SIMPLY).decode(encoding)
    stream.write(text)
    stream.flush()


def _character(character: str) -> str:
    code = ord(character)
    if character.isprintable() and code not in _INVISIBLE:
        return character
    if 0xDC80 <= code <= 0xDCFF:  # surrogateescape: a byte of a name that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _simply(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return what stands for characters that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    simple = "".join(
        _SIMPLER.get(one) or one.encode("ascii", "backslashreplace").decode() for one in part
    )
    return simple, error.end


codecs.register_error(_SIMPLY, _simply)
