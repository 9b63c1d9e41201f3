"""An address is shown without its secrets: neither user name nor password nor query."""

from __future__ import annotations

import re
from collections.abc import Iterable

STORES = ("s3", "gs")
"""Those of outputs; their addresses have no query, and names in them any character."""
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
HOST = re.compile(r"\[[0-9A-Fa-f:.]+\]")
"""A host by its number, in IPv6."""
_IN_WORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://.+", re.DOTALL)  # limited, to be quick
_QUERY = re.compile(r"[?#]")
_PLACE = re.compile(rf"(?:{HOST.pattern}|[^:\[\]]+)(?::\d*)?|arn:.+")
"""A host with its port, or a bucket; Amazon's names of access points have colons."""


def shown(url: str) -> str:
    """Return what may be shown of an address: no user name, no password and no query."""
    head, _, rest = url.partition("://")
    if head.lower() not in STORES:  # of which a name may have any character
        rest = _QUERY.split(rest, maxsplit=1)[0]
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2]
    if ":" in host and not _PLACE.fullmatch(host):  # a password with one of / ? #
        return f"{head}://…"
    return f"{head}://{host}{slash}{path}"


def without_secrets(word: str) -> str:
    """Return a word of a command line, with the address in it as it may be shown."""
    return _IN_WORD.sub(lambda found: shown(found[0]), word) if "://" in word else word


def with_secrets(words: Iterable[str]) -> dict[str, str]:
    """Return the addresses in a command line that have secrets, and how each may be shown."""
    found = (one[0] for word in words if (one := _IN_WORD.search(word)))
    return {url: shown(url) for url in found if shown(url) != url}


def secrets(url: str) -> set[str]:
    """Return the parts of an address that must not be shown."""
    from urllib.parse import unquote

    head, _, rest = url.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    found = {host.rpartition("@")[0]}
    if head.lower() not in STORES:
        found |= set(_QUERY.split(rest, maxsplit=1)[1:])
    found |= {part for one in found for part in re.split("[:&]", one)}
    found |= {one.partition("=")[2] for one in found}
    return {text for one in found for text in (one, unquote(one)) if text}
