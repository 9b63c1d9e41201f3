"""Makes the tasks of a film's segments, by the film's plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from snellen.video.media import MediaInfo
from snellen.video.segments.manifest import Cuts
from snellen.video.segments.values import Cut, Record, SegmentTask
from snellen.video.sink.encode import Plan
from snellen.video.sink.output import Output
from snellen.video.source.decode import LEAD


class Tasks:
    """The tasks of a film's segments; `file` returns where a segment's packets are, by number."""

    def __init__(
        self, cuts: Cuts, info: MediaInfo, plan: Plan, output: Output, file: Callable[[int], Path]
    ) -> None:
        self._cuts, self._info, self._plan = cuts, info, plan
        self._output, self._file = output, file

    def task(self, cut: Cut, before: Record | None) -> SegmentTask:
        """Return what a segment is made of; `before` is the record of the one before, if final."""
        info, base, start = self._info, self._cuts.time_base, self._cuts.start
        stop = self._cuts.end if cut.stop is None else cut.stop * base
        if cut.first is None:
            first = info.clip.start
            begin = info.zero if first is None else start + first
        else:
            begin = cut.first * base
            first = begin - start
        clip = replace(
            info.clip, start=first, duration=None if stop is None else stop - begin, frames=None
        )
        cycle = None if cut.cycle is None else cut.cycle * base
        after = next((one.first for one in self._cuts.cuts[cut.number :]), None)
        ticks = info.time_base / self._plan.time_base
        end = self._ticks(cut.end)
        further = None if before is None else LEAD + self._seconds(cut.number - 1)
        assert info.path is not None
        return SegmentTask(
            number=cut.number, source=info.path, clip=clip, looked=info.content, cycle=cycle,
            decoder=info.decoder, lead=LEAD, further=further, zero=info.zero,
            time_base=info.time_base,
            begin=_scaled(self._ticks(cut.begin), ticks), end=_scaled(end, ticks),
            until=end if after == cut.end else None, watched=self._ticks(after),
            stop=stop, expected=None if before is None else before.after,
            given=info.decoded, plan=self._plan,
            muxer=self._output.muxer, suffix=self._output.suffix, threads=self._cuts.threads,
            file=self._file(cut.number), output=self._output.name,
        )  # fmt: skip

    def _ticks(self, time: int | None) -> int | None:
        """Return a time of the input in ticks of decoded frames, from the output's beginning."""
        if time is None:
            return None
        return round((time * self._cuts.time_base - self._info.zero) / self._info.time_base)

    def begin(self, cut: Cut) -> Fraction:
        """Return where a segment begins, in seconds of the output."""
        if cut.begin is None:
            return Fraction(0)
        return cut.begin * self._cuts.time_base - self._info.zero

    def _seconds(self, number: int) -> Fraction:
        """Return how long a segment is that is not the last one."""
        cuts = self._cuts.cuts
        return self.begin(cuts[number]) - self.begin(cuts[number - 1])


def _scaled(time: int | None, ticks: Fraction) -> int | None:
    return None if time is None else round(time * ticks)
