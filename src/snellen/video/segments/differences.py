"""Says in words how a job differs from the one whose segments lie beside the output."""

from __future__ import annotations

from typing import Any

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
