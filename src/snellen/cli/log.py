"""The file of --log: what a command reports, line by line with the time; runs follow each other."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from snellen._version import __version__
from snellen.cli import terminal
from snellen.errors import InputError, OutputError
from snellen.files.kinds import names_picture
from snellen.files.protection import place
from snellen.files.remote import check_local
from snellen.jobs.inputs import folders

_PARAMETERS = {"output": "target", "inputs": "source"}
_FIRST = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d snellen ")
"""How each log begins: nothing is appended to another file."""


class Log:
    """A log that lines are appended to, each at once; it begins with a command.

    The file is a log of before, or new or empty; its folder is made where it is missing.
    InputError: it is something else, or has the name of a picture or film. OutputError: it cannot
    be opened.
    """

    def __init__(self, path: Path, command: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._file: IO[bytes] | None = _opened(path)
        except OSError as error:
            reason = error.strerror or error
            raise OutputError(f"the log {path} cannot be written: {reason}") from error
        self.write(f"snellen {__version__}: {command}")

    def write(self, *lines: str) -> None:
        """Append lines; where that fails, say so once, and write no more."""
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        text = "".join(f"{now} {terminal.shown(line)}\n" for line in lines)
        with self._lock:
            if self._file is None:
                return
            try:
                self._file.write(text.encode("utf-8", "backslashreplace"))
                self._file.flush()
                return
            except OSError as error:
                self._file, reason = None, error.strerror or error
        terminal.err(f"warning: the log {self.path} ends here: {reason}")

    def close(self) -> None:
        """Write no more."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()


def check_names(path: Path, others: Mapping[str, Any]) -> None:
    """Refuse (InputError) a log that is called as another file of the command, before it is made.

    `others` are the command's parameters, by name; those that are paths count.
    """
    for name, value in others.items():
        for one in value if name == "inputs" else [value]:
            named = getattr(one, "path", one)  # of -o
            if name != "log" and isinstance(named, Path) and place(named) == place(path):
                raise InputError(
                    f"`log` and `{_PARAMETERS.get(name, name)}` name one file, {path}",
                    parameter="log", advice="name another file for the log",
                )  # fmt: skip


def _opened(path: Path) -> IO[bytes]:
    check_local(path, "log")
    if names_picture(path):
        raise InputError(
            f"the log {path} has the name of an image or a video", parameter="log",
            advice="name it as text: run.log",
        )  # fmt: skip
    with folders.made([path]):
        return _open(path)


def _open(path: Path) -> IO[bytes]:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    file = os.fdopen(handle, "r+b", buffering=0)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"the log {path} is not an ordinary file", parameter="log")
        begin = file.read(64)
        if begin and not _FIRST.match(begin):
            raise InputError(
                f"{path} is there, and is no log of Snellen's", parameter="log",
                advice="name another file",
            )  # fmt: skip
    except BaseException:
        file.close()
        raise
    return file
