"""Keeps the pictures of a report until it is written: in memory, or many of them on the disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from snellen.errors import OutputError
from snellen.files import temporary
from snellen.report.contents import Bytes, Moment

IN_MEMORY = 1 << 29
"""So many bytes of pictures are kept in memory; those beyond are in files."""


class Shelf:
    """A context manager, within which what it keeps can be read.

    Files are in a folder where the system has its temporary files, and are removed with it.
    """

    def __init__(self) -> None:
        self._used = self._files = 0
        self._context = temporary.folder()
        self._folder: Path | None = None

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, *error: object) -> None:
        if self._folder is not None:
            self._context.__exit__(None, None, None)

    def kept(self, moment: Moment) -> Moment:
        """Return a frame whose pictures and maps are kept.

        Raises
        ------
        OutputError
            The disk has no room for them.
        """
        arrays = [one.samples for one in moment.pictures]
        arrays += [one for maps in moment.maps for one in maps.values()]
        self._used += sum(one.nbytes for one in arrays)
        if self._used <= IN_MEMORY:
            return moment
        found = self._stored(arrays)
        return replace(
            moment,
            pictures=tuple(replace(one, samples=next(found)) for one in moment.pictures),
            maps=tuple({name: next(found) for name in maps} for maps in moment.maps),
        )

    def _stored(self, arrays: Sequence[Bytes]) -> Iterator[Bytes]:
        """Write arrays into one file, and yield views of it."""
        if self._folder is None:
            self._folder = self._context.__enter__()
        self._files += 1
        file = self._folder / f"{self._files}.raw"
        try:
            with file.open("wb") as out:
                for one in arrays:
                    out.write(np.ascontiguousarray(one).data)
        except OSError as error:
            raise OutputError(
                f"the pictures of the report do not fit into {self._folder.parent}: {error}",
                advice="give fewer `pictures`, or name a folder with more room by the environment "
                "variable TMPDIR",
            ) from error
        whole, begin = np.memmap(file, np.uint8, "r"), 0
        for one in arrays:
            yield whole[begin : begin + one.nbytes].reshape(one.shape)
            begin += one.nbytes
