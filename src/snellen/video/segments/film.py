"""A film in segments: from the plan over what is finished to the joined output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import av

from snellen.errors import InputError, OutputError
from snellen.frames.step import Step
from snellen.video.ffmpeg import reason
from snellen.video.media import Change, MediaInfo, SourceReport, Written
from snellen.video.messages import clock, counted, parts, spans
from snellen.video.passthrough.streams import Copier
from snellen.video.progress import Meter
from snellen.video.quality.values import Choice
from snellen.video.segments.encode import encode_segment
from snellen.video.segments.executor import Executor, Here
from snellen.video.segments.join import join
from snellen.video.segments.room import Room
from snellen.video.segments.store import Store
from snellen.video.segments.tasks import Tasks
from snellen.video.segments.values import Cut, Record, SegmentTask
from snellen.video.sink.encode import Plan
from snellen.video.sink.output import Output

SegmentExecutor = Executor[SegmentTask, Record]
Workers = Callable[[str, MediaInfo, int | None, Meter], AbstractContextManager[SegmentExecutor]]
"""Called with the name of the prepared step's device, the description of the input as it is, the
depth of results (see `Step.prepare`), and what counts the frames."""


ROUNDS = 3
"""How often segments are made whose files do not stay as they were written."""


@dataclass(frozen=True, slots=True)
class Segments:
    """How a long film is cut into segments, which outlive a run that is killed."""

    folder: Path
    """Where they are until the output is complete."""
    job: Mapping[str, Any]
    """A run goes on only if these names and values are the same, as JSON has them."""
    say: Callable[[str], None]
    """Receives what is good to know."""
    keep: bool = False
    """True: they stay when the output is complete."""
    discard: bool = False
    """True: those of an earlier run are removed before."""
    workers: Workers | None = None
    """Returns what encodes segments elsewhere; None: they are encoded here."""
    notes: Callable[[Iterable[bytes]], None] | None = None
    """Receives what the step has noted of each segment, b"" for one without, when all are done."""
    numbers: range | None = None
    """Which segments this run makes, while other runs make others: it does not join them. Without
    any it writes the plan only. None: all, and it joins them."""
    only_join: bool = False
    """True: all segments have been made, so that one that is missing is an error."""


class Film:
    """A film that is worked on segment by segment; a context manager, which holds their folder.

    The store is open, with a plan.
    """

    def __init__(
        self, how: Segments, store: Store, info: MediaInfo, plan: Plan, output: Output
    ) -> None:
        self._how, self._store, self._info = how, store, info
        self._plan, self._output = plan, output
        assert store.plan is not None
        self._cuts = store.plan
        self._tasks = Tasks(self._cuts, info, plan, output, store.file)
        frames = sum(cut.frames for cut in self.cuts)
        self._settled = 0
        self._room = Room(store.folder, info.path, frames, how.say)
        self.notes: list[str] = []

    def __enter__(self) -> Film:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        done, cuts = len(self._store.records), self.cuts
        if error is not None and done and not self._how.only_join:
            self._how.say(
                f"{done} of {counted(len(cuts), 'segment')} are kept in {self._store.folder}: the "
                "same command goes on with them"
            )
        elif error is None and not self._how.keep and self._how.numbers is None:
            self._store.remove()
        if self._how.numbers is None and not self._how.only_join:
            self._store.close()
        self._store.leave()

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """All segments of the film."""
        return self._cuts.cuts

    @property
    def choice(self) -> Choice | None:
        """The encoder's quality that was chosen for a target; None: there is no target."""
        return self._cuts.choice

    def encode(self, step: Step, meter: Meter, given: MediaInfo) -> None:
        """Encode all segments that are not finished, or no longer as they were written.

        The step is prepared; it was made from `given`, the input as it is. InputError: segments are
        missing that other runs were to make. OutputError: one could not be written, or is changed
        by something else again and again.
        """
        known = len(self._store.records)
        whole = self._whole()
        if self._how.only_join:
            self._check_all(whole)
        elif known and self._how.numbers is None:
            total = counted(len(self.cuts), "segment")
            lost = known - len(whole)
            spoilt = f"; {lost} more are damaged, and are made again" if lost else ""
            self._how.say(f"goes on: {len(whole)} of {total} are finished{spoilt}")
        if self._how.numbers is None:
            meter.skip(sum(one.frames for one in self._store.records.values()))
        with self._executor(step, meter, given) as executor:
            for rounds in count():
                if (task := self._next(())) is None:
                    break
                if rounds == ROUNDS:
                    raise self._changed(task.number)
                self._run(executor)
                self._whole()
        done = [one for one in self._store.records.values() if self._is_mine(one.number)]
        step.add_tally(sum(one.clipped for one in done), sum(one.pixels for one in done))

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
        if self._how.notes is not None:
            self._how.notes(
                self._store.notes(one.number).read_bytes() if one.notes else b"" for one in records
            )
        self._store.joined(None if self._how.keep else file)
        report = SourceReport(
            self._damage(records),
            sum(one.moved for one in records),
            any(one.variable_rate for one in records),
            next((one.fields_notice for one in records if one.fields_notice is not None), None),
            tuple(dict.fromkeys(loss for one in records for loss in one.losses)),
            sum(one.transparent for one in records),
            _first_changes(records),
        )
        for cut, before, record in zip(self.cuts[1:], records, records[1:], strict=False):
            if record.frames and before.after not in (None, record.first):
                self.notes.append(
                    f"the frame at {clock(self._tasks.begin(cut))} decodes differently from two "
                    "places of the input"
                )
        devices = dict.fromkeys(one.device for one in records)
        if len(devices) > 1:
            self.notes.append(
                f"segments were made on {' and '.join(devices)}, which may differ by one code"
            )
        return Written(sink.written, sink.refused, sink.damage, report)

    def _executor(
        self, step: Step, meter: Meter, given: MediaInfo
    ) -> AbstractContextManager[SegmentExecutor]:
        if self._how.workers is None:
            return nullcontext(Here(partial(encode_segment, step=step, meter=meter)))
        return self._how.workers(step.traits.device_name, given, self._plan.encoder.bits, meter)

    def _check_all(self, whole: Collection[int]) -> None:
        """Refuse (InputError) to join segments of which some are not made."""
        missing = [cut.number for cut in self._wanted() if cut.number not in whole]
        if missing:
            total = counted(len(self.cuts), "segment")
            raise InputError(
                f"{self._store.folder}: of {total} these are not there, or not whole: "
                f"{spans(missing)}",
                advice="make these first",
            )

    def _changed(self, number: int) -> OutputError:
        return OutputError(
            f"{self._output.name}: segment {number} was made {ROUNDS} times, and its files in "
            f"{self._store.folder} were changed each time by something else",
            advice="find out what else writes into that folder, and give the same command again",
        )

    def _run(self, executor: SegmentExecutor) -> None:
        """Encode all segments that are due; note each that is finished, in any order."""
        working: set[int] = set()
        cuts, done = self.cuts, self._store.records
        known = sum(cuts[number - 1].frames for number in done)
        size = sum(one.size for one in done.values())
        while True:
            while len(working) < executor.slots and (task := self._next(working)) is not None:
                self._room.check(size, known, cuts[task.number - 1].frames)
                working.add(task.number)
                executor.submit(task)
            if not working:
                return
            record = executor.wait()
            working.remove(record.number)
            before = done.get(record.number)
            known += 0 if before else cuts[record.number - 1].frames
            size += record.size - (before.size if before else 0)
            self._store.add(record)

    def _whole(self) -> set[int]:
        """Forget the segments that are no longer as they were written; return the others."""
        self._settled = 0
        return self._store.whole(self._how.numbers)

    def _next(self, working: Collection[int]) -> SegmentTask | None:
        """Return the first segment that is due: missing, or not what the one before it expects."""
        # What it expects is known where all before are finished. Those that are finished for good,
        # as are all before them, are not looked at again.
        records = self._store.records
        before = records.get(self._settled)
        final = True
        for cut in self.cuts[self._settled :]:
            record = records.get(cut.number)
            if not self._is_mine(cut.number):
                final = final and record is not None
            elif cut.number in working:
                final = False
            elif record is None:
                return self._tasks.task(cut, before if final else None)
            elif final and before is not None and not _follows(record, before):
                return self._tasks.task(cut, before)
            if record is not None and record.ended is not None:
                return None
            if final:
                self._settled = cut.number
            before = record
        return None

    def _is_mine(self, number: int) -> bool:
        return self._how.numbers is None or number in self._how.numbers

    def _wanted(self) -> list[Cut]:
        """Return the segments up to where the film ends for good, if that is known."""
        found = []
        for cut in self.cuts:
            found.append(cut)
            record = self._store.records.get(cut.number)
            if record is not None and record.ended is not None:
                break
        return found

    def _damage(self, records: list[Record]) -> tuple[str, ...]:
        """Return what the input lacks as a whole, and in each segment, with its time."""
        short = self._cuts.short
        found = [] if short is None else [short]
        places: dict[str, list[str]] = {}
        for cut, record in zip(self.cuts, records, strict=False):
            for text in record.lost:
                if text != short:
                    places.setdefault(text, []).append(clock(self._tasks.begin(cut)))
        return (*found, *(f"{text} ({parts(where)})" for text, where in places.items()))


def _first_changes(records: Iterable[Record]) -> tuple[Change, ...]:
    """Return the changes that segments saw, each where the film has it first."""
    found: dict[Change, Fraction] = {}
    for one in (change for record in records for change in record.changes):
        kind = replace(one, since=Fraction(0))
        found[kind] = min(one.since, found.get(kind, one.since))
    return tuple(replace(kind, since=since) for kind, since in found.items())


def _follows(record: Record, before: Record) -> bool:
    """Return whether a segment is as it stays after the one before it: see `encode_segment`."""
    if record.sought:
        return True
    if not record.frames:
        return record.ended is not None
    return before.after in (None, record.first)
