"""Files that filters write beside the film, as the text of `metadata=print:file=…`.

FFmpeg opens and empties such a file when a filter is set up, and passes over errors of writing, as
on a full disk. So no filter gets the name of the file. Checks, dry runs and previews give it the
null device; a film gives it a file in memory, which becomes that of the user when the film is
complete.
"""

from __future__ import annotations

import gc
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from snellen.errors import OutputError
from snellen.files import atomic, temporary
from snellen.video.filtering.graph import Filter, escaped
from snellen.video.filtering.parse import OPENING, options

_STATISTICS = (("stats_file", "f"), 0)
_WRITING: dict[str, tuple[tuple[str, ...], int | None]] = {
    "ametadata": (("file",), 5), "curves": (("plot",), 7), "deshake": (("filename",), 10),
    "libvmaf": (("log_path",), None), "metadata": (("file",), 5), "paletteuse":
    (("debug_kdtree",), None), "psnr": _STATISTICS, "signature": (("filename",), 2),
    "ssim": _STATISTICS, "ssim360": _STATISTICS, "vidstabdetect": (("result",), 0),
    "vmafmotion": _STATISTICS, "xpsnr": _STATISTICS,
}  # fmt: skip
"""By filter: names of the option that says which file it writes, and the option's place."""


def outputs(filters: Iterable[Filter]) -> tuple[Path, ...]:
    """Return the files that filters write."""
    found: list[Path] = []

    def note(path: Path) -> str:
        found.append(path)
        return os.devnull

    _redirected(filters, note)
    return tuple(found)


def silent(filters: Iterable[Filter]) -> tuple[Filter, ...]:
    """Return filters that write into the null device instead."""
    return _redirected(filters, lambda path: os.devnull)


def _redirected(filters: Iterable[Filter], where: Callable[[Path], str]) -> tuple[Filter, ...]:
    """Return filters that write where `where` says for each of their files."""
    made: list[Filter] = []
    for one in filters:
        names, place = _WRITING.get(one.name, ((), None))
        words: list[str] = []
        changed = False
        for number, (name, given) in enumerate(options(one) if names else ()):
            value = given
            if given and (name in names or (name is None and number == place)):
                file = given.removeprefix("file:") if one.name in OPENING else given
                value, changed = where(Path(file)), True
            words.append(escaped(value) if name is None else f"{name}={escaped(value)}")
        made.append(replace(one, arguments=":".join(words)) if changed else one)
    return tuple(made)


def written(filters: Sequence[Filter]) -> str:
    """Return a chain as users write it, with all that has a meaning there behind backslashes."""
    texts = []
    for one in filters:
        words = "".join(f"\\{c}" if c in "\\'[],; \t\r\n" else c for c in one.arguments)
        texts.append((one.instance or one.name) + (words and f"={words}"))
    return ",".join(texts)


class SideFiles:
    """Files that the filters of a film write, in memory until it is complete; a context manager.

    Where the system has no files in memory, they are in its folder for temporary files.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._kept: dict[Path, str] = {}

    def __enter__(self) -> SideFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def redirected(self, filters: Sequence[Filter]) -> tuple[Filter, ...]:
        """Return filters that write into memory; what earlier ones wrote counts no more."""
        return _redirected(filters, self._new)

    def _new(self, path: Path) -> str:
        self._kept[path] = found = self._memory() or str(
            self._stack.enter_context(temporary.folder()) / "file"
        )
        return found

    def _memory(self) -> str | None:
        """Return the name of a new file in memory; None: the system has none."""
        try:
            descriptor = os.memfd_create("snellen")
        except (AttributeError, OSError):
            return None
        self._stack.callback(os.close, descriptor)
        name = f"/proc/self/fd/{descriptor}"
        return name if os.access(name, os.W_OK) else None

    def finish(self) -> None:
        """Write the files, when the filters have had all frames and are gone.

        OutputError: one cannot be written. A file that was there before is as it was.
        """
        if self._kept:
            gc.collect()  # a graph writes its last text when it is freed
        for path, kept in self._kept.items():
            with Path(kept).open("rb") as file:
                if _is_replaceable(path):
                    with atomic.writing(path, overwrite=True) as out:
                        shutil.copyfileobj(file, out)
                    continue
                try:
                    with path.open("wb") as device:
                        shutil.copyfileobj(file, device)
                except OSError as error:
                    raise OutputError(f"{path}: {error.strerror or error}") from error


def check(path: Path) -> None:
    """Refuse (InputError, OutputError) a file that cannot be written."""
    if _is_replaceable(path):
        atomic.check_target(path, None, overwrite=True)


def _is_replaceable(path: Path) -> bool:
    """Return whether a path is no device and no pipe."""
    try:
        found = path.stat().st_mode
    except (OSError, ValueError):
        return True
    return stat.S_ISREG(found) or stat.S_ISDIR(found)
