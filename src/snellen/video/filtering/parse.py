"""Chains of filters as users write them: "hflip,crop=w=iw/2:h=ih", by FFmpeg's own rules.

Every character behind a backslash, and all between two single quotes, loses its meaning here (see
"Notes on filtergraph escaping" of ffmpeg-filters; what a filter reads from its options is quoted
once more). Commas end a filter, an equals sign its name. Labels and several chains are refused:
what a chain has here is one video in and one out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from snellen.errors import InputError, quoted
from snellen.video.filtering.graph import Filter

_SPACE = " \n\t\r"
_NAME = re.compile(r"([A-Za-z0-9_]+)(?:@([A-Za-z0-9_]+))?", re.ASCII)
_LONGEST = 100
"""Filters of a chain at most."""
OPENING = frozenset({"metadata", "removelogo"})
"""Filters that open what they are given by FFmpeg's protocols; others open files only."""
_READING = {
    "curves": ("psfile",), "fieldhint": ("hint",), "lut1d": (None, "file"), "lut3d": (None, "file"),
    "fsync": (None, "file", "f"), "removelogo": (None, "filename", "f"),
    "selectivecolor": ("psfile",), "sendcmd": ("filename", "f"),
}  # fmt: skip
"""Options that name files which are read; None: the first one, without a name."""
_PROTOCOL = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+[:,]|-$", re.ASCII)
"""The beginning of what is no file: "https:", "subfile,,…", and standard output."""


class _Text:
    """A text that is read from its beginning on."""

    def __init__(self, text: str, parameter: str) -> None:
        self.text, self.at, self._parameter = text, 0, parameter

    @property
    def next(self) -> str:
        """The next character; "": there is none."""
        return self.text[self.at : self.at + 1]

    def token(self, ends: str) -> str:
        """Return what stands before one of these characters, unquoted, without space around it."""
        self._skip()
        found: list[str] = []
        kept = 0  # characters that were quoted, which are no space
        while self.next and self.next not in ends:
            one, self.at = self.next, self.at + 1
            if one == "\\" and self.next:
                found.append(self.next)
                self.at += 1
                kept = len(found)
            elif one == "'":
                end = self.text.find("'", self.at)
                if end < 0:
                    raise self.wrong("a quote ' that does not end")
                found += self.text[self.at : end]
                self.at, kept = end + 1, len(found)
            else:
                found.append(one)
        while len(found) > kept and found[-1] in _SPACE:
            found.pop()
        return "".join(found)

    def _skip(self) -> None:
        while self.next and self.next in _SPACE:
            self.at += 1

    def wrong(self, what: str, advice: str | None = None) -> InputError:
        name = self._parameter
        return InputError(
            f"got `{name}`={quoted(self.text)}, which has {what}", parameter=name, advice=advice
        )


def parse(text: str, parameter: str) -> tuple[Filter, ...]:
    """Return the filters of a chain (InputError, about `parameter`: the text is none)."""
    rest = _Text(text, parameter)
    filters: list[Filter] = []
    while True:
        name = rest.token("=,;[]")
        found = _NAME.fullmatch(name)
        if rest.next and rest.next in "[]":
            raise rest.wrong("a label [ ]", "one video goes in and one comes out: leave labels out")
        if found is None:
            raise rest.wrong("no name of a filter" if not name else f"a filter {quoted(name)}")
        words = ""
        if rest.next == "=":
            rest.at += 1
            words = rest.token("[],;")
        if rest.next and rest.next in "[]":
            raise rest.wrong("a label [ ]", "brackets of a value are quoted: '[0]'")
        if rest.next == ";":
            raise rest.wrong("several chains, between which is a ;", "separate filters by commas")
        filters.append(one := Filter(found[1], words, found[2] and found[0]))
        if one.name in OPENING and any(_PROTOCOL.match(value) for _, value in options(one)):
            raise rest.wrong(f"a {one.name} that opens no file", "nothing here uses the network")
        if len(filters) > _LONGEST:
            raise rest.wrong(f"more than {_LONGEST} filters")
        if not rest.next:
            return tuple(filters)
        rest.at += 1


def options(filter: Filter) -> tuple[tuple[str | None, str], ...]:
    """Return the options of a filter: name (None: the value stands alone) and value of each."""
    rest = _Text(filter.arguments, filter.name)
    found: list[tuple[str | None, str]] = []
    while rest.next:
        begin = rest.at
        name: str | None = rest.token("=:")
        if rest.next == "=" and _NAME.fullmatch(name or ""):
            rest.at += 1
        else:
            rest.at, name = begin, None
        found.append((name, rest.token(":")))
        rest.at += 1
    return tuple(found)


def _values(one: Filter) -> Iterator[tuple[str, bool]]:
    """Yield the values of a filter's options, and whether each names a file that it reads."""
    reading = _READING.get(one.name, ())
    for number, (name, value) in enumerate(options(one)):
        if value:
            is_read = name in reading and (name is not None or not number)
            yield value.removeprefix("file:"), is_read


def written(filters: Sequence[Filter]) -> tuple[tuple[str, Path], ...]:
    """Return the filters with what might be a file that they write: all values but what is read."""
    return tuple(
        (one.name, Path(value)) for one in filters for value, is_read in _values(one) if not is_read
    )


def files(filters: Sequence[Filter]) -> tuple[Path, ...]:
    """Return the files that filters read."""
    found = [value for one in filters for value, is_read in _values(one) if is_read]
    return tuple(map(Path, dict.fromkeys(found)))
