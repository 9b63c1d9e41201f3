"""The plan and the records of a film's segments as JSON has them, and how jobs differ."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar

from snellen.video.media import Change
from snellen.video.quality.values import Choice, Probe
from snellen.video.segments.folder import MANIFEST, is_regular
from snellen.video.segments.packets import MOST
from snellen.video.segments.values import Cut, Record
from snellen.video.sink.registry import WORST

VERSION = 2
"""The version of the manifest."""
_LARGEST = 1 << 28
"""Bytes of a manifest, or a record."""
_FRACTION = re.compile(r"-?\d{1,400}(/\d{1,400})?", re.ASCII)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,), "int | None": (int, NoneType), "str": (str,), "str | None": (str, NoneType),
    "bool": (bool,), "Fraction": (Fraction,), "Fraction | None": (Fraction, NoneType),
    "Mark | None": (tuple, NoneType), "tuple[Cut, ...]": (tuple,), "tuple[str, ...]": (tuple,),
    "float": (float,), "float | None": (float, NoneType), "Choice | None": (Choice, NoneType),
    "tuple[Probe, ...]": (tuple,), "tuple[Change, ...]": (tuple,),
}  # fmt: skip
"""The types that fields of a manifest may have, by their annotations."""
_TIMES = frozenset({"first", "begin", "end", "stop", "cycle"})
_T = TypeVar("_T", Cut, Record, "Cuts", Choice, Probe, Change)


@dataclass(frozen=True, slots=True)
class Cuts:
    """How a film is cut, decided before work starts."""

    time_base: Fraction
    """Seconds of a tick of the cuts."""
    start: Fraction
    """Seconds of the container's clock from which `Clip.start` counts."""
    end: Fraction | None
    """Seconds of the container's clock where the clip ends; None: with the input."""
    short: str | None
    """How much less the input has than it promises; None: nothing."""
    threads: int
    """The encoder has so many."""
    cuts: tuple[Cut, ...]
    choice: Choice | None = None
    """The encoder's quality that was chosen for a target; None: there is no target."""


def plain(value: Any) -> Any:
    """Return a value of dataclasses as JSON has it."""
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return value


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        if not _FRACTION.fullmatch(value["fraction"]):  # Fraction would compute 1e999999999
            raise ValueError("no fraction")
        return Fraction(value["fraction"])
    return tuple(_value(one) for one in value) if isinstance(value, list) else value


def cuts_of(found: dict[str, Any]) -> Cuts:
    """Return the plan that a manifest has (ValueError, KeyError, TypeError: it has none)."""
    cuts = tuple(_checked(Cut(**one)) for one in found["cuts"])
    others = {key: _value(one) for key, one in found.items() if key not in ("cuts", "choice")}
    plan = Cuts(**others, cuts=(), choice=_choice(found.get("choice")))
    _checked(plan)
    numbers = [one.number for one in cuts]
    if not numbers or numbers != list(range(1, len(cuts) + 1)) or plan.time_base <= 0:
        raise ValueError("no plan")
    return replace(plan, cuts=cuts)


def _choice(found: dict[str, Any] | None) -> Choice | None:
    if found is None:
        return None
    probes = tuple(_checked(Probe(**one)) for one in found["probes"])
    choice = _checked(Choice(**{**found, "probes": probes}))
    if not 0 <= choice.quality <= WORST:
        raise ValueError("no quality")
    return choice


def record_of(found: dict[str, Any]) -> Record:
    """Return a record that a manifest has (errors: as of `cuts_of`)."""
    values = {key: _value(one) for key, one in found.items() if key != "changes"}
    changes = tuple(
        _checked(Change(**{key: _value(value) for key, value in one.items()}))
        for one in found.get("changes", ())
    )
    return _checked(Record(**values, changes=changes))


def _checked(value: _T) -> _T:
    """Return what a manifest says (ValueError: a field is of another type, or absurd)."""
    # Times may be negative; counts are not.
    for field in fields(value):
        found = getattr(value, field.name)
        texts = field.type == "tuple[str, ...]"
        if type(found) not in _TYPES[str(field.type)] or (
            texts and not all(isinstance(one, str) for one in found)
        ):
            raise ValueError(f"no {field.name}")
        if field.type in ("int", "int | None") and found is not None:
            least = -MOST if field.name in _TIMES else 0
            if not least <= found <= MOST:
                raise ValueError(f"no {field.name}")
        if field.type == "Mark | None" and found is not None:
            time, text = found
            if type(time) is not int or abs(time) > MOST or type(text) is not str:
                raise ValueError(f"no {field.name}")
    return value


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return what a folder's manifest says; None: it has none that is valid."""
    file = folder / MANIFEST
    try:
        found = json.loads(small_file(file))
        if found["snellen segments"] != VERSION or not isinstance(found["made by"], dict):
            return None
        numbers = {str(one.number) for one in cuts_of(found["plan"]).cuts}
        for key, one in found["segments"].items():
            if str(record_of(one).number) != key or key not in numbers:
                return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return dict(found)


def other_format(folder: Path) -> int | None:
    """Return the format of a folder's manifest where it is another one than ours; None: it is not.

    What is no manifest at all has none.
    """
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        format = json.loads(small_file(folder / MANIFEST))["snellen segments"]
        if type(format) is int and format != VERSION:
            return format
    return None


def small_file(file: Path) -> bytes:
    """Return what is in a small file (ValueError: it is none)."""
    if not is_regular(file) or file.stat().st_size > _LARGEST:
        raise ValueError("no manifest")
    return file.read_bytes()


_INPUT = "the input is another one, or has changed meanwhile"
_MODEL = "the model is another one"
_NONE = "not given"


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return what differs between two jobs, as users know it; nothing if they are the same.

    Only the first of these that differs is named, since the others follow from it: the input, the
    options, the models, other files; at last all else that a manifest holds (encoder, versions).
    """
    if old.get("input") != new.get("input"):
        return [_INPUT]
    options = _options(old.get("job"), new.get("job"))
    if options:
        return options
    if old.get("models") != new.get("models"):
        return [_MODEL]
    before, now = (one.get("files") or {} for one in (old, new))
    if before != now:
        changed = sorted({*before.items()} ^ {*now.items()})
        return [f"the file of `{name}` has changed" for name in dict(changed)]
    return _facts(old, new)


def _options(old: Any, new: Any, name: str = "") -> list[str]:
    """Return which options differ; their names stand in backticks, as `errors.worded` wants it."""
    if _is_group(old) or _is_group(new):
        before, now = (one if _is_group(one) else {} for one in (old, new))
        keys = [*before, *(key for key in now if key not in before)]
        return [text for key in keys for text in _options(before.get(key), now.get(key), key)]
    return [] if old == new else [f"`{name}` was {_word(old)}, and is {_word(new)}"]


def _is_group(value: Any) -> bool:
    """Return whether these are options, and not the value of one: {"$fraction": "1/3"}."""
    return isinstance(value, dict) and ("$type" in value or not any(k[:1] == "$" for k in value))


def _word(value: Any) -> str:
    if value is None or value in ({}, [], {"$mapping": {}}):
        return _NONE
    if isinstance(value, dict):
        inner = next(iter(value.values()))
        pairs = isinstance(inner, dict)
        return ",".join(f"{k}={v}" for k, v in inner.items()) if pairs else str(inner)
    if isinstance(value, list):
        return "rows of numbers" if isinstance(value[0], list) else ", ".join(map(str, value))
    return str(value)


def _facts(old: Any, new: Any, name: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        inner = f"{name}, " if name else ""
        keys = sorted({*old, *new})
        return [text for k in keys for text in _facts(old.get(k), new.get(k), f"{inner}{k}")]
    return [] if old == new else [f"{name} was {_word(old)}, and is {_word(new)}"]
