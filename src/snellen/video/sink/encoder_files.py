"""Files that encoders write beside the film, as x264's statistics for a second pass.

An encoder empties them when it is opened. That of the film itself may: encoders that are opened for
checks, estimates, probes and previews get options without them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from snellen.video.sink.encode import Plan
from snellen.video.sink.registry import parameter_options

_STATISTICS = frozenset(("stats", "passlogfile", "x265-stats"))
"""Options, and parameters in others, that name the file which the first pass writes."""
_DUMPS = frozenset(("dump-yuv", "csv", "recon", "analysis-save", "analysis-reuse-file"))
"""Parameters that name files which are written in any pass."""
_FIRST = re.compile(r"pass=[13]")
"""Passes that write statistics; 2 only reads them."""
_FLAG = re.compile(r"[+-]?\bpass1\b")
_PASSES = re.compile(r"\bpass[12]\b")


def silent(options: Mapping[str, str]) -> dict[str, str]:
    """Return an encoder's options without those by which it writes files."""
    inner = _parameters(options)
    first = any(_FIRST.fullmatch(word) for words in inner.values() for word in words)
    first = first or _FLAG.search(options.get("flags", "")) is not None
    found: dict[str, str] = {}
    for key, value in options.items():
        text = value
        if key in inner:
            text = ":".join(word for word in inner[key] if not _writes(word, first))
        elif key == "flags":
            text = _FLAG.sub("", value)
        elif key in _STATISTICS and first:
            text = ""
        if text or not value:
            found[key] = text
    return found


def of_whole_film(options: Mapping[str, str]) -> bool:
    """Return whether an encoder reads or writes files about the whole film: passes, statistics."""
    words = [*options, *(word for words in _parameters(options).values() for word in words)]
    flags = _PASSES.search(options.get("flags", "")) is not None
    return flags or any(_writes(word, first=True) for word in words)


def _parameters(options: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the options that hold an encoder's own parameters, and these, key=value each."""
    own = options.keys() & set(parameter_options())
    return {key: re.split(r"(?<!\\):", options[key]) for key in own}


def _writes(word: str, first: bool) -> bool:
    """Return whether a parameter makes an encoder write a file."""
    name = word.partition("=")[0].replace("_", "-")
    return name in _DUMPS or (first and name in ("pass", *_STATISTICS))


def rehearsed(plan: Plan) -> Plan:
    """Return a plan whose encoder writes no file beside the film."""
    return replace(plan, encoder=replace(plan.encoder, options=silent(plan.encoder.options)))
