"""Which streams of an input are kept, in the words of FFmpeg's option -map."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from snellen.errors import InputError, quoted

_TYPES = {"v": "video", "V": "video", "a": "audio", "s": "subtitle", "d": "data", "t": "attachment"}
_FORM = re.compile(r"(-?)0(?::(.+?))?(\??)")
_LONGEST = 1000
"""Characters, of hostile values."""


class Described(NamedTuple):
    """Properties of a stream that can be asked for."""

    number: int
    """In the input, from 0."""
    type: str
    is_cover: bool
    tags: Mapping[str, str]


_Test = Callable[[Sequence[Described]], list[Described]]


def check(maps: Iterable[str]) -> None:
    """Refuse (InputError) what is no map of the one input, which is number 0."""
    for text in maps:
        _parsed(text)


def selected(maps: Sequence[str], streams: Sequence[Described], what: str) -> list[int] | None:
    """Return the indices of the streams that are kept, in the order of the maps; None: all are.

    A map is as "0:a:1", "0:s?", "0:m:language:eng" or "-0:d"; the first one of these begins with
    all streams if it takes some away. InputError, about the input `what`: a map, without ? behind
    it, is of no stream.
    """
    if not maps:
        return None
    kept = [one.number for one in streams] if maps[0].startswith("-") else []
    for text in maps:
        negative, tests, optional = _parsed(text)
        found = list(streams)
        for test in tests:
            found = test(found)
        indices = [one.number for one in found]
        if negative:
            kept = [index for index in kept if index not in indices]
        elif indices or optional:
            kept += [index for index in indices if index not in kept]
        else:
            raise InputError(
                f"got `map`={quoted(text)}, and {what} has no such stream",
                parameter="map",
                advice=f"put ? behind it, {text}?, where it may be missing",
            )
    return kept


def _parsed(text: str) -> tuple[bool, list[_Test], bool]:
    """Return whether streams are taken away, the tests that they pass, and whether none may."""
    form = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    tests = None if form is None else _tests(form[2])
    if form is None or tests is None:
        raise InputError(
            f"got `map`={quoted(text)}; expected [-]0[:TYPE][:NUMBER][?] or "
            "[-]0[:TYPE]:m:KEY[:VALUE][?], such as 0:a:1 (TYPE: v, a, s, d, t)",
            parameter="map",
        )
    return bool(form[1]), tests, bool(form[3])


def _tests(specifier: str | None) -> list[_Test] | None:
    """Return the tests of a stream specifier; None: it is none that is known here."""
    found: list[_Test] = []
    words = specifier.split(":") if specifier else []
    if words and words[0] in _TYPES:
        found.append(_of_type(words.pop(0)))
    if words[:1] == ["m"] and len(words) in (2, 3) and words[1]:
        found.append(_tagged(words[1], words[2] if len(words) == 3 else None))
        words = []
    if len(words) == 1 and re.fullmatch(r"[0-9]{1,6}", words[0]):
        number = int(words.pop())
        found.append(lambda streams: list(streams[number : number + 1]))
    return None if words else found


def _of_type(letter: str) -> _Test:
    def test(streams: Sequence[Described]) -> list[Described]:
        fit = [one for one in streams if one.type == _TYPES[letter]]
        return [one for one in fit if not (letter == "V" and one.is_cover)]

    return test


def _tagged(key: str, value: str | None) -> _Test:
    """Return a test of a tag; as in FFmpeg, the case of its name does not count."""

    def test(streams: Sequence[Described]) -> list[Described]:
        found = []
        for one in streams:
            values = [v for name, v in one.tags.items() if name.lower() == key.lower()]
            if values and value in (None, values[0]):
                found.append(one)
        return found

    return test
