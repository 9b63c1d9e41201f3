"""Types of arguments that commands share: names of files, numbers, and what -o names."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from snellen.errors import InputError

PIPE = Path("-")
"""Standard input, or standard output."""
LONGEST = 4096
"""Bytes of the name of a file, with its folders, as `frames.values` has it."""


class _Named(click.Path):
    """A path that a file can have: not empty, which would mean the current folder, and no NUL.

    Nor is it the file that standard output goes to: even an error of ``--json`` would spoil it.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("got an empty name; name a file, a folder or -", param, ctx)
        try:
            name = os.fsencode(value)
            unusable = b"\0" in name or len(name) >= LONGEST
        except ValueError:
            unusable = True
        if unusable:
            self.fail(f"got {value!r}; expected the name of a file, a folder or -", param, ctx)
        with suppress(OSError, ValueError, AttributeError):
            found, out = Path(value).stat(), os.fstat(sys.stdout.fileno())
            if stat.S_ISREG(out.st_mode) and os.path.samestat(found, out):
                self.fail(f"{value} is the file that standard output goes to", param, ctx)
        if isinstance(value, str) and "://" in value:
            from snellen.files.remote import typed

            try:
                return typed(value)
            except InputError as error:
                self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


NAMED = _Named(path_type=Path)


class Written(_Named):
    """The file or folder that an option has written; `groups.Command` takes such an option once."""


WRITTEN = Written(path_type=Path)


class _Number(click.types.FloatParamType):
    """A number; whole ones stay whole, so that messages say them as they were typed.

    Very large ones have an exponent.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        found = super().convert(value, param, ctx)
        return int(found) if found.is_integer() and abs(found) < 1e15 else found


NUMBER = _Number()


class Whole(click.IntRange):
    """A whole number in a range; its errors have the words of `frames.values.whole`."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number (BadParameter: it is none, or out of the range)."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            end = " or more" if self.max is None else f" to {self.max}"
            got = value if str(value).lstrip("-").isdecimal() else repr(value)
            self.fail(f"got {got}; expected a whole number, {self.min}{end}", param, ctx)


class Output(NamedTuple):
    """The output that -o names."""

    path: Path
    is_folder: bool
    """True: it ends as the name of a folder does: "large/"."""


class _Output(Written):
    """The file or folder that -o names."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, Output):
            return value
        ends = (os.sep, os.altsep or os.sep)
        return Output(super().convert(value, param, ctx), str(value).endswith(ends))


OUTPUT = _Output(path_type=Path)
