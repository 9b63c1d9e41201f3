"""A scoring job in parts, which several workers share: images of two folders, frames of two films.

A part is scored by what scores the whole, and what is found is put together in order, so that
scores, maps, warnings and errors are those of one process. Of films each worker decodes all up to
the end of its part: a frame's number is certain only when all before it were decoded.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from snellen.errors import InputError
from snellen.frames import limits
from snellen.jobs.events import Collected, Progress, Silent, notify
from snellen.jobs.inputs.inputs import is_own
from snellen.jobs.kinds.score import ScoreJob
from snellen.jobs.kinds.score_step import Method
from snellen.jobs.runs.score_run import Numbered, ScoreRun, score_frames, score_pictures
from snellen.jobs.sharing.executors import executor, in_order, planned
from snellen.jobs.sharing.tickets import Done, Ticket, Worker
from snellen.jobs.steps.score_table import ScoreRow
from snellen.mad.heatmap import Kept
from snellen.metrics import registry
from snellen.video.comparing.compare import Summary, count, lengths
from snellen.video.comparing.pairing import Drift, Part, together
from snellen.video.messages import counted
from snellen.video.progress import Meter

AHEAD = 4
"""So many parts of each worker may be finished before an earlier one is: they may have maps."""
PICTURES, FRAMES = 16, 8
"""Most pairs of images of a part, and fewest frames."""
FOLDER_PARTS, FILM_PARTS = 4, 2
"""Parts for each worker; of films the fewer the better, as each is decoded from the beginning."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a part, and all that a worker has found beside them."""

    said: tuple[ScoreRow | tuple[str, str], ...] = ()
    """Scores, and warnings as subject and message, in their order."""
    maps: tuple[Kept, ...] = ()
    damage: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    method: Method | None = None
    """None stands for a part of which nothing was scored."""
    summary: Summary | None = None
    """Films have one."""


@dataclass(frozen=True, slots=True)
class PartTicket(Ticket):
    """A part of a scoring job: `part` is a Part of films, or pairs of images."""

    def __str__(self) -> str:
        return f"{self.job.distorted}, part {self.key + 1}"

    def run(self, worker: Worker) -> Done:
        """Score the part: the result is what was Scored before something was wrong with a file."""
        device = self.job.device if self.job.device == "auto" else worker.device
        heard = _Heard(worker)
        run = ScoreRun(replace(self.job, device=device), Collected(heard))
        summary, method, error = None, None, None
        with limits.at_most(self.job.max_pixels, 1):
            try:
                if isinstance(self.part, Part):
                    summary = score_frames(run, part=self.part)
                    method = run.step.method
                else:
                    method = score_pictures(run, self.part, lambda: None)
            except InputError as found:
                error = found
        scored = Scored(
            tuple(heard.said), run.worst.kept, tuple(run.damage.items()), method, summary
        )
        return Done(self.key, scored, error, units=heard.count)


class _Heard(Silent):
    """Keeps the scores and warnings of a part; says how many are scored."""

    def __init__(self, worker: Worker) -> None:
        self._worker, self.count = worker, 0
        self.said: list[ScoreRow | tuple[str, str]] = []

    def progress(self, progress: Progress) -> None:
        self._worker.events.progress(progress)

    def notice(self, subject: str, message: str) -> None:
        notify(self._worker.events, subject, message)

    def warning(self, subject: str, message: str) -> None:
        self.said.append((subject, message))

    def frame(self, subject: str, frame: Any) -> None:
        self.said.append(frame)
        self.count += 1
        self._worker.count(self.count)


@dataclass(slots=True)
class _Joined:
    """The methods that scored the parts so far, and the last one's summary."""

    methods: Counter[Method] = field(default_factory=Counter)
    """Each method, and how many pairs it has scored."""
    summary: Summary | None = None
    drift: Drift | None = None
    """It is that of all parts so far."""

    def add(self, found: Scored, scored: int) -> None:
        if found.method is not None:
            self.methods[found.method] += scored
        self.summary = found.summary
        if found.summary is not None:
            self.drift = together(self.drift, found.summary.drift)

    @property
    def method(self) -> Method:
        """The method by which most pairs were scored, with the names of all devices."""
        most, _ = self.methods.most_common(1)[0]
        return replace(most, device=" + ".join(sorted({one.device for one in self.methods})))


def of_folders(run: ScoreRun, pairs: Sequence[Numbered]) -> Method | None:
    """Have several workers score pairs of image files; return what scored, or None: there are none.

    Raises
    ------
    SnellenError
        Of the first pair that cannot be scored; or nothing runs the work.
    """
    job = run.job
    devices = planned(job)[: len(pairs)]
    if job.cluster is None and len(devices) < 2:
        return None

    def parts(slots: int) -> Iterator[tuple[Numbered, ...]]:
        size = max(1, min(PICTURES, len(pairs) // (FOLDER_PARTS * slots)))
        return (tuple(pairs[at : at + size]) for at in range(0, len(pairs), size))

    work = f"{counted(len(pairs), 'pair')} of images"
    return _share(run, job, devices, parts, len(pairs), work).method


def are_shared(run: ScoreRun) -> bool:
    """Return whether several workers may score parts of two films."""
    job = run.job
    if job.cluster is None and (job.workers or 1) < 2:
        return False
    why = None
    if is_own(job.reference) or is_own(job.distorted):
        why = "standard input can be read once"
    elif job.reference.is_fifo() or job.distorted.is_fifo():
        why = "a pipe can be read once"
    elif found := registry.of_films(job.metrics):
        why = f"{found[0].title} counts by the frames around each"
    elif job.temporal:
        why = "`temporal` needs all frames at once"
    elif job.clip.start is not None and job.clip.frames is not None:
        why = "where `frames` end behind a `start` is known when they are decoded"
    if why is not None:
        run.events.notice(run.both, f"one process scores them: {why}")
    return why is None


def of_films(run: ScoreRun) -> tuple[Summary, Method] | None:
    """Have several workers score parts of two films.

    Return what was compared, and what scored; None: nothing was scored, since there are too few
    frames, nobody knows how many there are, or none has a partner.

    Raises
    ------
    SnellenError
        Of the first part that cannot be scored; or nothing runs the work.
    """
    job = run.job
    found = count(
        job.reference, job.distorted, clip=job.clip, offset=run.offset, every=job.every,
        decoder=job.decoder,
    )  # fmt: skip
    if found is None:
        run.events.notice(run.both, "one process scores them: the number of frames is unknown")
        return None
    most = len(found) // FRAMES
    if most < 2:
        return None
    devices = planned(job)[:most]

    def parts(slots: int) -> Iterator[Part]:
        many = min(most, FILM_PARTS * slots)
        begins = [0, *(found[len(found) * n // many] for n in range(1, many))]
        yield from (Part(one, other, False) for one, other in pairwise(begins))
        yield Part(begins[-1], job.clip.frames, True)

    its = replace(job, offset=run.offset, align=False, clip=replace(job.clip, frames=None))
    began = time.monotonic()
    joined = _share(run, its, devices, parts, len(found), "the films' frames")
    summary = joined.summary
    if summary is None or not run.rows:
        return None
    summary = replace(
        summary, frames=len(run.rows), device=joined.method.device, drift=joined.drift,
        seconds=time.monotonic() - began,
    )  # fmt: skip
    drifted = None if joined.drift is None else str(joined.drift)
    differ = lengths((str(job.reference), str(job.distorted)), summary, run.offset)
    for text in filter(None, (drifted, differ)):
        run.warn("", text)
        summary = replace(summary, warnings=(*summary.warnings, text))
    return summary, joined.method


def _share(
    run: ScoreRun,
    job: ScoreJob,
    devices: tuple[str, ...],
    parts: Callable[[int], Iterator[Part | tuple[Numbered, ...]]],
    total: int,
    work: str,
) -> _Joined:
    """Have workers score parts of a job, and add what they find to the whole run in order."""
    if job.profile:
        raise InputError(
            "got `profile` with several workers, whose stages run at once",
            parameter="profile",
            advice="leave it out, or `workers`, `cluster` and all devices but one",
        )
    joined = _Joined()
    alone = replace(job, workers=None, cluster=None)
    meter = Meter(total, run.progress)
    subject = str(job.distorted)
    with executor(job, devices, subject, "part", work, run.events, meter) as pool:
        tickets = (PartTicket(n, alone, part) for n, part in enumerate(parts(pool.slots)))
        for done in in_order(pool, tickets, AHEAD):
            before = len(run.rows)
            if done.result is not None:
                _put(run, done.result)
            if done.error is not None:
                raise done.error
            joined.add(done.result, len(run.rows) - before)
    return joined


def _put(run: ScoreRun, found: Scored) -> None:
    """Add to a run what was found of a part."""
    for one in found.said:
        if isinstance(one, ScoreRow):
            run.take(one)
        else:
            run.events.warning(*one)
    for maps in found.maps:
        run.worst.take(maps)
    run.add_damage(found.damage)
