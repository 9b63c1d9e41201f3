"""A film in segments: from the plan over what is finished to the joined output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import av

from snellen.errors import OutputError
from snellen.video.clip import Clip
from snellen.video.ffmpeg import reason
from snellen.video.media import MediaInfo, SourceReport
from snellen.video.messages import counted
from snellen.video.passthrough.streams import Copier
from snellen.video.progress import Meter
from snellen.video.segments.encode import encode_segment
from snellen.video.segments.join import join
from snellen.video.segments.room import Room
from snellen.video.segments.store import Cuts, Store
from snellen.video.segments.values import Cut, DifferentFrameError, Record, SegmentTask
from snellen.video.sink.encode import Plan
from snellen.video.sink.output import Output
from snellen.video.source.decode import LEAD
from snellen.video.step import RateStep, Step
from snellen.video.threads import Written


@dataclass(frozen=True, slots=True)
class Segments:
    """How a long film is cut into segments, which outlive a run that is killed."""

    folder: Path
    """Where they are until the output is complete."""
    job: Mapping[str, Any]
    """What must be the same for a run to go on: names and values, as JSON has them."""
    say: Callable[[str], None]
    """Receives what is good to know."""
    keep: bool = False
    """Whether they stay when the output is complete."""
    discard: bool = False
    """Whether those of an earlier run are removed before."""


class Film:
    """A film that is worked on segment by segment; a context manager, which holds their folder.

    Parameters
    ----------
    how : Segments
    store : Store
        Opened, with a plan.
    info : MediaInfo
        Of the input.
    plan : Plan
        Of the video stream.
    output : Output
    """

    def __init__(
        self, how: Segments, store: Store, info: MediaInfo, plan: Plan, output: Output
    ) -> None:
        self._how, self._store, self._info = how, store, info
        self._plan, self._output = plan, output
        frames = sum(cut.frames for cut in self._cuts.cuts)
        self._room = Room(store.folder, info.path, frames, how.say)
        self.notes: list[str] = []

    def __enter__(self) -> Film:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        done, cuts = len(self._store.records), self._cuts.cuts
        if error is not None and done:
            self._how.say(
                f"{done} of {counted(len(cuts), 'segment')} are kept in {self._store.folder}: the "
                "same command goes on with them"
            )
        elif error is None and not self._how.keep:
            self._store.remove()
        self._store.close()

    @property
    def _cuts(self) -> Cuts:
        assert self._store.plan is not None
        return self._store.plan

    def encode(self, step: Step | RateStep, meter: Meter) -> None:
        """Encode all segments that are not finished, or no longer as they were written."""
        assert not isinstance(step, RateStep)
        known = len(self._store.records)
        whole = self._store.whole()
        if known:
            total = counted(len(self._cuts.cuts), "segment")
            lost = known - len(whole)
            spoilt = f"; {lost} more are damaged, and are made again" if lost else ""
            self._how.say(f"goes on: {len(whole)} of {total} are finished{spoilt}")
        meter.skip(sum(one.frames for one in self._store.records.values()))
        while missing := [one for one in self._wanted() if one.number not in whole]:
            for cut in missing:
                if cut.number in {one.number for one in self._wanted()}:
                    self._room.check(self._store.records.values(), cut.frames)
                    self._store.add(self._encoded(cut, step, meter))
            whole = self._store.whole()

    def join(self, file: Path, copier: Copier) -> Written:
        """Write the output of all segments, which are finished."""
        records = [self._store.records[cut.number] for cut in self._wanted()]
        last = records[-1]
        copier.end = self._cuts.end if last.ended is None else last.ended
        self._room.check_join(records)
        try:
            sink = join(
                self._store, records, file, self._output.muxer, self._plan, self._info, copier
            )
        except (av.FFmpegError, OSError) as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(
                f"{self._output.name} could not be written: {reason(error)}"
            ) from error
        self._store.joined(None if self._how.keep else file)
        report = SourceReport(
            self._damage(records),
            sum(one.moved for one in records),
            any(one.variable_rate for one in records),
            self._info.fields_notice,
            tuple(dict.fromkeys(loss for one in records for loss in one.losses)),
            sum(one.transparent for one in records),
        )
        devices = dict.fromkeys(one.device for one in records)
        if len(devices) > 1:
            self.notes.append(
                f"segments were made on {' and '.join(devices)}, which may differ by one code"
            )
        return Written(sink.written, sink.refused, sink.damage, report)

    def _wanted(self) -> list[Cut]:
        """Return the segments up to where the film ends for good, if that is known."""
        found = []
        for cut in self._cuts.cuts:
            found.append(cut)
            record = self._store.records.get(cut.number)
            if record is not None and record.ended is not None:
                break
        return found

    def _encoded(self, cut: Cut, step: Step, meter: Meter) -> Record:
        """Encode a segment; begin to decode further back until its first frame is the right one."""
        before = self._store.records.get(cut.number - 1)
        expected = None if before is None else before.after
        leads = [LEAD] if before is None else [LEAD, LEAD + self._seconds(cut.number - 1)]
        empty = None
        for lead in leads:
            task = replace(self._task(cut, lead), expected=expected)
            try:
                record = encode_segment(task, step, meter, self._output)
            except DifferentFrameError:
                continue
            if record.frames or record.ended is not None:
                return record
            empty = record  # in a damaged film, seeking may have missed what reading finds
        if empty is not None:
            return empty
        self.notes.append(
            f"the frame at {_clock(self._begin(cut))} decodes differently from two places of the "
            "input"
        )
        return encode_segment(replace(task, expected=None), step, meter, self._output)

    def _task(self, cut: Cut, lead: Fraction) -> SegmentTask:
        info, base, start = self._info, self._cuts.time_base, self._cuts.start
        stop = self._cuts.end if cut.stop is None else cut.stop * base
        if cut.begin is None:
            first = info.clip.start
            begin = info.zero if first is None else start + first
        else:
            begin = cut.begin * base
            first = begin - start
        clip = Clip(
            first, None if stop is None else stop - begin, map=info.clip.map,
            interlaced="ignore" if info.fields_notice is not None else info.clip.interlaced,
        )  # fmt: skip
        end = None if cut.end is None else round((cut.end * base - info.zero) / info.time_base)
        assert info.path is not None
        return SegmentTask(
            number=cut.number, source=info.path, clip=clip,
            decoder=info.decoder, lead=lead, zero=info.zero,
            end=end, stop=stop, expected=None, given=info.picture.format, plan=self._plan,
            muxer=self._output.muxer, suffix=self._output.suffix, threads=self._cuts.threads,
            file=self._store.file(cut.number),
        )  # fmt: skip

    def _begin(self, cut: Cut) -> Fraction:
        """Return where a segment begins, in seconds of the output."""
        if cut.begin is None:
            return Fraction(0)
        return cut.begin * self._cuts.time_base - self._info.zero

    def _seconds(self, number: int) -> Fraction:
        """Return how long a segment is that is not the last one."""
        cuts = self._cuts.cuts
        return self._begin(cuts[number]) - self._begin(cuts[number - 1])

    def _damage(self, records: list[Record]) -> tuple[str, ...]:
        """Return what the input lacks as a whole, and in each segment, with its time."""
        short = self._cuts.short
        found = [] if short is None else [short]
        for cut, record in zip(self._cuts.cuts, records, strict=False):
            where = f"in the part from {_clock(self._begin(cut))}"
            found += [f"{text} ({where})" for text in record.lost if text != short]
        return tuple(found)


def _clock(seconds: Fraction) -> str:
    minutes, rest = divmod(float(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:06.3f}".removesuffix(".000")
