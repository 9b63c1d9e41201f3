"""What one case is: files, a command over them, and what must hold afterwards."""

from __future__ import annotations

import base64
import json
import os
import random
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

Random = random.Random
"""Every choice of a case comes from one of these, so that seed and number repeat the case."""


FOLDER = b"@FOLDER@"
TIME = 10**18
"""When the files of a case were changed, in nanoseconds since 1970."""


@dataclass
class Case:
    """One run of one command, in a folder of its own that holds `in/` and `out/`."""

    words: list[str]
    """The command's arguments; paths are relative to the folder. "job FILE" runs a job's JSON."""
    files: dict[str, bytes]
    """Name relative to the folder → content. A name may hold any byte (surrogateescape)."""
    outputs: tuple[str, ...] = ()
    """Files that the run may leave, relative to the folder; "out/maps/" means all in a folder."""
    note: str = ""
    """What was done to the files, for the reader of a finding."""
    whole: bool = False
    """Whether no file was harmed: then the run must succeed without a word of damage."""
    film: str | None = None
    """The mutated film whose damage must be said."""
    original: bytes | None = None
    """The same film before it was harmed."""
    stdin: str | None = None
    """The file that standard input reads."""
    twin: list[str] | None = None
    """A command over the same content under plain names: code and outputs must be the same."""
    twin_files: dict[str, bytes] = field(default_factory=dict)
    """The files of the twin."""
    pixels: int = 0
    """The most pixels that the files may honestly hold: memory may grow with them."""
    judged: bool = True
    """Whether a result must be readable. Otherwise its bytes are what the case has put there."""
    codes: tuple[int, ...] = (0, 1, 2, 3)
    """Exit codes that are right: 4 is a fault of ours, 130 needs a signal."""

    def place(self, folder: Path) -> None:
        """Write the files, and make the output folder.

        A plan or list may name the folder as `FOLDER`. All files are of one time, since segments
        are those of an input only as long as its time is the same.
        """
        for name, data in {**self.files, **self.twin_files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if name.endswith((".plan", ".csv")):
                data = data.replace(FOLDER, os.fsencode(folder))
            (folder / name).write_bytes(data)
            os.utime(folder / name, ns=(TIME, TIME))
        for name in ("in", "out"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def to_json(self) -> str:
        """Return the case as text, its files compressed: a file of tests/fuzz/found."""
        return json.dumps(_packed(asdict(self)), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the case that `to_json` wrote."""
        facts = json.loads(text)
        for name in ("files", "twin_files"):
            facts[name] = {key: _unpacked(data) for key, data in facts.get(name, {}).items()}
        if facts.get("original") is not None:
            facts["original"] = _unpacked(facts["original"])
        for name in ("outputs", "codes"):
            facts[name] = tuple(facts.get(name, ()))
        return cls(**facts)


def _packed(value: Any) -> Any:
    """Return bytes as text, those within others too; fields without a value are left out."""
    if isinstance(value, bytes):
        return base64.b85encode(zlib.compress(value, 9)).decode()
    if isinstance(value, dict):
        return {key: _packed(one) for key, one in value.items() if one or one == b""}
    return value


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b85decode(text))


Make = Callable[[Random], Case]
"""Makes a case of one kind from random numbers."""
