"""Why what is at an address could not be read or written: errors of libraries, in words."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from http import HTTPStatus

from snellen.addresses import secrets
from snellen.errors import ENDED, has_ended, quoted
from snellen.files.remote import Remote

_PASSING = frozenset(
    {"ClientConnectionError", "ClientPayloadError", "TimeoutError", "ConnectionError",
     "HTTPClientError", "FSTimeoutError"}
)  # fmt: skip
"""Names of exceptions, of the libraries below fsspec, that another try may not meet."""
_BUSY = (408, 429)
_BROKEN = frozenset({"HttpProcessingError", "PayloadEncodingError"})
"""Names of exceptions of aiohttp, about an answer that is not HTTP; they have the number 400."""
_UNREACHED = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH)
"""Numbers of errors whose text in asyncio is "Connect call failed" and a tuple."""
_NOTHING = "there is nothing at this address"
_SHORT = 2
"""Letters of what is in any word, as a user's name may be."""


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status_of(error: Exception) -> tuple[int, str] | None:
    """Return the answer of a web server that an error is about; None: it has none."""
    if _broken(error) is not None:
        return None
    for one in causes(error):
        number = getattr(one, "status", None)
        if isinstance(number, int):
            return number, quoted(getattr(one, "message", ""), str)
    return None


def _broken(error: Exception) -> str | None:
    """Return what is wrong with a server's answer, as a library says it; None: it is none such."""
    for one in causes(error):
        if {kind.__name__ for kind in type(one).__mro__} & _BROKEN:
            lines = quoted(getattr(one, "message", ""), str).splitlines()
            return lines[0].rstrip(" .:^") if lines else ""
    return None


def is_passing(error: Exception) -> bool:
    """Return whether a network or a server has failed, which another try may not meet."""
    answer = _status_of(error)
    if answer is not None:
        return answer[0] >= 500 or answer[0] in _BUSY
    names = {kind.__name__ for one in causes(error) for kind in type(one).__mro__}
    return bool(names & _PASSING)


def reason(path: Remote, error: Exception) -> str:
    """Return why, in one line that has nothing of an address that must not be shown."""
    if has_ended(error):
        return ENDED
    answer = _status_of(error)
    if answer is not None and answer[0] == HTTPStatus.NOT_FOUND:
        return _NOTHING
    if answer is not None and answer[0]:
        return f"HTTP {answer[0]} {hidden(path, answer[1])}".rstrip()
    broken = _broken(error)
    if broken is not None:
        said = hidden(path, broken)
        return f"the server's answer is broken{f': {said}' if said else ''}"
    chain = list(causes(error))
    names = {kind.__name__ for one in chain for kind in type(one).__mro__}
    if "InvalidUrlRedirectClientError" in names or "NonHttpUrlClientError" in names:
        return "it redirects to what is no http address"
    if "TooManyRedirects" in names:
        return "it redirects again and again"
    if "TimeoutError" in names:
        return "no answer in time"
    for one in reversed(chain):
        if isinstance(one, OSError) and one.strerror:
            return os.strerror(one.errno) if one.errno in _UNREACHED else str(one.strerror)
    if isinstance(error, FileNotFoundError) and not is_passing(error):
        return _NOTHING
    return hidden(path, quoted(chain[-1], str)) or type(chain[-1]).__name__


def hidden(path: Remote, text: str) -> str:
    """Return words of a library, or of a server that repeats what it was asked, as of `shown`."""
    for secret in sorted(secrets(path.url), key=len, reverse=True):
        if len(secret) > _SHORT:
            text = text.replace(secret, "…")
    return text
