"""No output may replace what a run reads, or what it has written so far."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from snellen import process
from snellen.errors import InputError
from snellen.files.remote import Remote

Identity = tuple[int, int]
"""Device and inode: what a file is, whatever it is called."""
File = Path | IO[Any]
Warn = Callable[[str, str], None]
"""Called with the name of an output, and a sentence about it."""
Naming = Callable[[Path, "Mark"], object]
"""Called with the absolute path that a complete file is about to get, and its mark."""


class Mark(NamedTuple):
    """A mark tells a complete file from any other one that comes to have its name."""

    device: int
    inode: int
    size: int
    """Bytes."""
    written: int
    """When its contents changed last, in nanoseconds; a rename leaves this as it is."""

    @classmethod
    def of(cls, found: os.stat_result) -> Mark:
        """Return the mark of a file with this status."""
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def identity(file: File | None) -> Identity | None:
    """Return what a regular file is; None: it is none, or the system does not say."""
    if isinstance(file, Remote):
        return None
    # Streams may be closed, missing (under pythonw), or without a descriptor.
    with suppress(OSError, ValueError, AttributeError, TypeError):
        found = file.stat() if isinstance(file, Path) else os.fstat(file.fileno())  # type: ignore[union-attr]
        if stat.S_ISREG(found.st_mode) and found.st_ino:  # some file systems number no file
            return found.st_dev, found.st_ino
    return None


def place(path: Path) -> str:
    """Return where a path leads: absolute, all links followed, as the system compares names."""
    return path.url if isinstance(path, Remote) else os.path.normcase(os.path.realpath(path))


class _Inputs:
    """The files that are being read in this process, counted, since several jobs may share one."""

    def __init__(self) -> None:
        self._lock = process.lock()
        self._counts: dict[Identity | str, tuple[int, str]] = {}

    def add(self, files: Iterable[File]) -> list[Identity | str]:
        """Add files; return the keys under which they are counted."""
        # What finds the files may fail, and then nothing is counted.
        named = [(key, file) for file in files for key in _keys(file)]
        with self._lock:
            for key, file in named:
                count, name = self._counts.get(key, (0, _name(file)))
                self._counts[key] = count + 1, name
        return [key for key, _ in named]

    def remove(self, keys: Iterable[Identity | str]) -> None:
        """Take away what `add` returned."""
        with self._lock:
            for key in keys:
                count, name = self._counts[key]
                if count == 1:
                    del self._counts[key]
                else:
                    self._counts[key] = count - 1, name

    def at(self, file: File) -> str | None:
        """Return the name of the input that this file is; None: it is none."""
        for key in _keys(file):
            if (found := self._counts.get(key)) is not None:
                return found[1]
        return None


def _keys(file: File) -> list[Identity | str]:
    """Return a file's identity and place; nothing of what is no regular file."""
    what = identity(file)
    if not isinstance(file, Path):
        return [] if what is None else [what]
    try:
        if what is None and not file.is_file():
            return []
        return [*([] if what is None else [what]), place(file)]
    except (OSError, ValueError):
        return []


def _name(file: File) -> str:
    if isinstance(file, Path):
        return str(file)
    return "standard input" if file.fileno() == 0 else str(getattr(file, "name", "a stream"))


@dataclass(frozen=True, slots=True)
class Run:
    """A run's outputs share this."""

    outputs: dict[Identity, str] = field(default_factory=dict)
    """Files that have got their names, and these."""
    listings: dict[Path, list[str]] = field(default_factory=dict)
    """Hidden files of earlier runs in each folder, as the run found them."""
    states: dict[str, object] = field(default_factory=dict)
    """The state of each film among the inputs when the run first opened it, by its place."""
    warn: Warn | None = None
    """Receives what users should know of outputs."""
    naming: Naming | None = None
    """Called before a complete file gets its name."""


_INPUTS = _Inputs()
_RUN: ContextVar[Run | None] = ContextVar("run", default=None)


@contextmanager
def protected(
    files: Iterable[File], warn: Warn | None = None, naming: Naming | None = None
) -> Iterator[None]:
    """Protect files that are read from every output of this process, until the block ends.

    Blocks may be nested, and several threads may have theirs. The outputs of one outermost block
    are those of one run: none of them replaces another one. Files that do not exist, pipes and
    devices are ignored.

    Parameters
    ----------
    warn : callable, optional
        Called with an output's name and a sentence: which files of a killed run were removed.
    naming : callable, optional
        Called before a complete file gets its name, with its path and its mark.
    """
    outer = _RUN.get() or Run()
    keys = _INPUTS.add(files)
    try:
        token = _RUN.set(
            Run(
                outer.outputs,
                outer.listings,
                outer.states,
                warn or outer.warn,
                naming or outer.naming,
            )
        )
        try:
            yield
        finally:
            _RUN.reset(token)
    finally:
        _INPUTS.remove(keys)


def current() -> Run:
    """Return the run of the innermost block; outside of any a new one."""
    return _RUN.get() or Run()


def is_input(file: File) -> bool:
    """Return whether a file is being read, by whatever name."""
    return _INPUTS.at(file) is not None


def first_state(file: Path, state: object) -> object:
    """Return what an input was when the current run first opened it: `state`, if that is now."""
    if not isinstance(file, Remote) and not is_input(file):
        return state  # it may be made anew, as an excerpt is
    return current().states.setdefault(place(file), state)


def refusal(target: Path) -> str | None:
    """Return why a file must not be replaced, as a sentence that begins with its name."""
    name = _INPUTS.at(target)
    if name is not None:
        return f"{target} is the input itself" + ("" if name == str(target) else f", {name}")
    what = identity(target)
    if what is None:
        return None
    if (other := current().outputs.get(what)) is not None:
        return f"{target} is an output of this run already, {other}"
    for stream, words in _streams():
        if identity(stream) == what:
            return f"{target} is the file that {words} goes to"
    return None


def check_streams() -> None:
    """Refuse (InputError) standard output and standard error that go into a file that is read."""
    for stream, words in _streams():
        check_stream(stream, words)


def check_stream(stream: IO[Any] | None, words: str, source: File | None = None) -> None:
    """Refuse (InputError) a stream that goes into a file that is read; `source` is a further one.

    Messages call the stream by `words`.
    """
    what = identity(stream)
    if what is None or stream is None:
        return
    name = _INPUTS.at(stream)
    if name is None and source is not None and identity(source) == what:
        name = _name(source)
    if name is not None:
        raise InputError(
            f"{words} goes into an input, {name}",
            advice="the shell may have emptied it already; send the output elsewhere",
        )


def _streams() -> list[tuple[IO[Any] | None, str]]:
    return [(sys.stdout, "standard output"), (sys.stderr, "standard error")]
