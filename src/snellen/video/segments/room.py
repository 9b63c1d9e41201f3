"""Watches over the room on the disk while a film is worked on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from fractions import Fraction
from pathlib import Path

from snellen.errors import OutputError
from snellen.files.opening import size_of
from snellen.video.segments.values import Record

_MIB = 1 << 20
_SPARE = Fraction(11, 10)
"""How much more room than was measured there should be."""
_ADVICE = "make room and run the same command again: it goes on with the finished segments"


class Room:
    """Refuses to go on where the disk of a folder is full soon.

    Before, `say` receives once that a film of so many frames in all will not fit.
    """

    def __init__(
        self, folder: Path, source: Path | None, frames: int, say: Callable[[str], None]
    ) -> None:
        self._folder, self._source, self._frames = folder, source, frames
        self._say: Callable[[str], None] | None = say

    def check(self, size: int, known: int, frames: int) -> None:
        """Look before the next segment, which has so many frames; OutputError: it will not fit.

        Those that are finished have `size` bytes, of `known` frames.
        """
        free = self._free()
        if not known:
            whole = 0 if self._source is None else size_of(self._source)
            if free < 2 * whole:
                self._warn(
                    free, f"segments and result as large as the input take {words(2 * whole)}"
                )
            return
        rate = Fraction(size, known)
        if free < rate * frames * _SPARE + _MIB:
            raise OutputError(
                f"{self._folder}: the disk has {words(free)} left, and the next segment takes "
                f"about {words(rate * frames)}",
                advice=_ADVICE,
            )
        rest = rate * max(0, self._frames - known) + rate * self._frames
        if free < rest:
            self._warn(free, f"the other segments and the result take about {words(rest)}")

    def check_join(self, done: Collection[Record]) -> None:
        """Look before all segments are joined; OutputError: the output will not fit."""
        free, size = self._free(), sum(one.size for one in done)
        if free < size:
            raise OutputError(
                f"{self._folder}: the disk has {words(free)} left, and the result takes "
                f"{words(size)}",
                advice=_ADVICE,
            )

    def _free(self) -> int:
        return shutil.disk_usage(self._folder).free

    def _warn(self, free: int, text: str) -> None:
        if self._say is not None:
            self._say(f"{self._folder}: the disk has {words(free)} left; {text}")
        self._say = None


def words(count: Fraction | int) -> str:
    """Return bytes in words: "1.5 GiB"."""
    value = float(count) / _MIB
    return f"{value:.3g} MiB" if value < 1024 else f"{value / 1024:.3g} GiB"
