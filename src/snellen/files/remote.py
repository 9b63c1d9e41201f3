"""Addresses that a user typed: http, https, s3 and gs. transfer.py reads and writes there.

Only `typed` makes one, of an argument. A name that is found in a folder or a file never becomes
one: it is a Path like any other, and no Path is opened as an address.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path, PurePath
from string import punctuation
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from snellen.addresses import HOST, SCHEME, STORES, secrets, shown
from snellen.errors import InputError, quoted

if TYPE_CHECKING:
    from pathlib import Path as _Path
else:
    _Path = type(Path())

EXTRAS = {"http": "urls", "https": "urls", "s3": "s3", "gs": "gcs"}
"""Schemes that are allowed, and the extra that each needs."""
_CHAIN = re.compile(r"([A-Za-z0-9+.-]+)::.*://")
"""fsspec's way of opening one address through another."""


class Remote(_Path):
    """An address as a path, of a `url` as it was typed, which `typed` has checked.

    Its text has neither user name nor password nor query. Files "beside" it are those in the
    current folder.
    """

    def __new__(cls, url: str) -> Remote:  # noqa: D102
        return super().__new__(cls, shown(url))

    def __init__(self, url: str) -> None:
        if sys.version_info >= (3, 12):
            super().__init__(shown(url))
        self.url = url

    def __str__(self) -> str:
        return shown(self.url)

    def __fspath__(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"Remote({str(self)!r})"

    def __reduce__(self) -> Any:
        return Remote, (self.url,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __truediv__(self, name: Any) -> Remote:
        return Remote("/".join((self.url.rstrip("/"), *PurePath(name).parts)))

    @property
    def scheme(self) -> str:
        """The scheme, in small letters."""
        return self.url.partition(":")[0]

    @property
    def is_store(self) -> bool:
        """Return whether it is in a store, s3 or gs, to which outputs may go."""
        return self.scheme in STORES

    @property
    def is_secret(self) -> bool:
        """Return whether it has what must not be shown: a user name, a password or a query."""
        return bool(secrets(self.url))

    @property
    def parent(self) -> Any:
        """The current folder."""
        return Path()

    def with_name(self, name: str) -> Any:
        """Return a file in the current folder."""
        return Path(name)

    def with_suffix(self, suffix: str) -> Any:
        """Return a file in the current folder."""
        return Path(self.name).with_suffix(suffix)

    def absolute(self) -> Remote:
        """Return itself, as `resolve` does."""
        return self

    def resolve(self, strict: bool = False) -> Remote:  # noqa: D102
        return self

    def is_absolute(self) -> bool:  # noqa: D102
        return True

    def is_file(self, **how: Any) -> bool:
        """Return True: whether it is there, is known when it is opened."""
        return True

    def exists(self, **how: Any) -> bool:
        """Return True, as `is_file`."""
        return True

    def is_dir(self, **how: Any) -> bool:  # noqa: D102
        return False

    def is_symlink(self) -> bool:  # noqa: D102
        return False


def typed(text: str) -> Path:
    """Return the path that an argument means; an address only if no file has that very name.

    InputError: an address that is none of `EXTRAS`, or none at all.
    """
    found = SCHEME.match(text) or _CHAIN.match(text)
    if found is None or os.path.lexists(text):
        return Path(text)
    scheme = found[1].lower()
    what, why = quoted(shown(text), str), None
    if "::" in HOST.sub("", text):
        why = "got several addresses, with :: between; expected one"
    elif scheme not in EXTRAS:
        why = f"got the scheme {quoted(found[1], str)}; expected {', '.join(EXTRAS)}"
    elif any(ord(one) < 32 for one in text):
        why = "got a control character"
    elif what.endswith("://…"):
        why = "got no port behind the host; in a password / ? # are written %2F %3F %23"
    elif not _host(text):
        why = "got no host"
    elif scheme in STORES and "@" in text.split("/")[2]:
        why = "got more than a bucket before the first /; credentials come from the environment"
    if why is not None:
        raise InputError(f"{what}: {why}")
    if scheme not in STORES:
        text = quote(text, safe=punctuation)  # letters and spaces that no request may have
    return Remote(f"{scheme}{text[len(scheme) :]}")


def check_local(path: Path, parameter: str | None = None) -> None:
    """Refuse (InputError) an address where only a file can be."""
    if isinstance(path, Remote):
        raise InputError(f"{path} is an address; expected the name of a file", parameter=parameter)


def _host(text: str) -> str | None:
    try:
        return urlsplit(text).hostname
    except ValueError:
        return None
