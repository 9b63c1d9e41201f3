"""Jobs as JSON: exact, versioned, readable, and without code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

from snellen.errors import InputError, quoted
from snellen.frames.brief import Brief
from snellen.schema import ordered

VERSION = 1
"""The version of the JSON rises when a job of before can no longer be read."""

_FRACTION = re.compile(r"-?\d{1,400}(/\d{1,400})?", re.ASCII)
_TYPES = frozenset(
    {"UpscaleJob", "DeblurJob", "ScoreJob", "CompareJob", "TrainJob", "VideoOptions",
     "Enhancement", "MiaSettings", "MadSettings", "Region", "Clip", "Encoding", "Settings",
     "NetworkSettings"}
)  # fmt: skip
"""Names in `snellen.jobs` of every type that JSON may hold."""


class Job(Brief):
    """Base of all jobs: frozen dataclasses that can be pickled, and written as JSON."""

    __slots__ = ()

    def to_json(self) -> str:
        """Return the job as one JSON object.

        Fractions, paths, tuples and floats come back exactly. Paths stand there as the job has
        them: a relative one means the folder of the process that runs the job. Of addresses, user
        name, password and query are left out; a job that had one cannot be read again.
        """
        import json

        return json.dumps({"snellen": VERSION, **_encoded(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the job that `to_json` wrote.

        `Job.from_json` reads any job, `UpscaleJob.from_json` one of that type.

        Raises
        ------
        InputError
            No JSON, no job of this type, another version, or values that a job refuses.
        """
        import json

        try:
            found = json.loads(text)
        except Exception as error:  # no text, no JSON, numbers too long, too deep …
            raise InputError(f"the job is no JSON ({quoted(error, str)})") from error
        version = found.pop("snellen", None) if isinstance(found, dict) else None
        if version != VERSION:
            raise InputError(
                f"got a job of version {quoted(version)}; expected JSON of version {VERSION}, as "
                "to_json writes it"
            )
        try:
            job = _decoded(found)
        except InputError:
            raise
        except Exception as error:  # whatever a constructor says of such fields
            raise InputError(
                f"the job's JSON has wrong fields or values ({quoted(error, str)})"
            ) from error
        if not isinstance(job, cls):
            raise InputError(f"got a {type(job).__name__} as JSON; expected {cls.__name__}")
        return job


def chosen(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return the fields of a job that differ from their defaults, nested ones as "video.codec"."""
    found: dict[str, Any] = {}
    for field in ordered(type(value)):
        held, name = getattr(value, field.name), prefix + field.name
        usual = field.default if field.default_factory is MISSING else field.default_factory()
        if is_dataclass(held) and type(held) is type(usual):
            found |= chosen(held, f"{name}.")
        elif held != usual:
            found[name] = held
    return found


def _encoded(value: Any) -> Any:
    """Return a value as what JSON has; what it has not becomes an object with a "$…" key."""
    from snellen.files.remote import Remote  # help does without

    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Remote):
        return {"$url": str(value), "secret": value.is_secret}
    if isinstance(value, Path):
        return {"$path": str(value)}
    if isinstance(value, Fraction):
        return {"$fraction": str(value)}
    if isinstance(value, Real):  # NumPy's
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, tuple | list):
        return [_encoded(one) for one in value]
    if isinstance(value, Mapping):
        return {"$mapping": {str(key): _encoded(one) for key, one in value.items()}}
    if is_dataclass(value) and type(value).__name__ in _TYPES:
        held = {field.name: _encoded(getattr(value, field.name)) for field in fields(value)}
        return {"$type": type(value).__name__, **held}
    raise InputError(f"a job cannot hold {type(value).__name__} in JSON")


def _decoded(value: Any) -> Any:
    """Return what `_encoded` was given; sequences come back as tuples."""
    if isinstance(value, list):
        return tuple(_decoded(one) for one in value)
    if not isinstance(value, dict):
        return value
    if "$path" in value:
        return Path(value["$path"])
    if "$url" in value:
        if value["secret"]:
            raise InputError(
                f"{value['$url']} was given with a password or a query, which JSON does not hold",
                advice="make the job anew",
            )
        from snellen.files.remote import typed

        return typed(value["$url"])
    if "$fraction" in value:
        if not _FRACTION.fullmatch(value["$fraction"]):  # Fraction would compute 1e999999999
            raise ValueError("no fraction")
        return Fraction(value["$fraction"])
    if "$mapping" in value:
        return {key: _decoded(one) for key, one in value["$mapping"].items()}
    name = value["$type"]
    if name not in _TYPES:
        raise ValueError(f"no type {quoted(name)}")
    kind = getattr(import_module("snellen.jobs"), name)
    return kind(**{key: _decoded(one) for key, one in value.items() if key != "$type"})
