"""Simulate the segments of a long film on many workers: `python -m benchmarks.scheduler`.

The code that deals out segments is the real one: `Film`, its `Store` on the disk, `FilmWorkers` and
`Pool`. The workers are not: they are what a clock of the simulation says of them, with segments
that take much longer, errors, killed processes, lost nodes and a driver that dies and is started
again. No frame is decoded; each segment's file holds a few bytes.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from math import inf
from pathlib import Path
from queue import Empty
from random import Random
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from av.packet import Packet

from snellen.errors import DeviceError
from snellen.files import atomic
from snellen.frames.step import Step
from snellen.jobs.events import Silent
from snellen.jobs.sharing import pool
from snellen.jobs.sharing.segments import FilmWorkers
from snellen.jobs.sharing.tickets import Done, FilmStep, SegmentTicket
from snellen.video.clip import Clip
from snellen.video.progress import Meter
from snellen.video.segments.film import Film, Segments, Workers
from snellen.video.segments.manifest import Cuts
from snellen.video.segments.packets import PacketWriter
from snellen.video.segments.store import Store
from snellen.video.segments.values import Cut, Record, SegmentTask

FRAMES = 100
"""Length of each segment; the simulation's time does not depend on it."""


@dataclass(frozen=True)
class World:
    """Workers, their times and their faults."""

    segments: int = 10_000
    nodes: int = 8
    workers: int = 8
    """Workers of each node."""
    seconds: float = 60.0
    """That a segment takes, median."""
    spread: float = 0.2
    """Standard deviation of the logarithm of these."""
    stragglers: float = 0.01
    """Share of tries that take `straggling` times as long."""
    straggling: float = 5.0
    errors: float = 0.005
    """Share of tries that end with an error."""
    kills: float = 0.005
    """Share of tries whose process is killed."""
    lost: int = 1
    """Nodes that are lost for good."""
    deaths: int = 1
    """Deaths of the driver, which is started again."""
    differing: float = 0.0
    """Share of segments that begin with another frame where the one before is not known yet."""
    start: float = 3.0
    """Seconds that a worker takes to start."""
    seed: int = 1


@dataclass
class Outcome:
    """The result for the film."""

    seconds: float
    """Time on the simulation's clock."""
    ideal: float
    """If all workers that are not lost were busy with segments that succeed, to the end."""
    recorded: Counter[int]
    """The number of times that each segment was finished and noted."""
    tries: int
    """Segments that were begun."""
    second: int
    """Segments that were begun once more, as they took long."""
    warnings: int
    driver: float
    """Seconds that scheduling and noting really took."""
    finished: set[int] = field(default_factory=set)
    """Segments whose records and files are there in the end."""

    @property
    def share(self) -> float:
        """The ideal time as a share of that taken."""
        return self.ideal / self.seconds


class Timeline:
    """The clock, and all messages to come: in place of a pool's queue of messages."""

    def __init__(self, world: World) -> None:
        self.world, self.random, self.now = world, Random(world.seed), 0.0
        work = world.segments * world.seconds / (world.nodes * world.workers)
        self.losses = {node: self.random.uniform(0.1, 0.9) * work for node in range(world.lost)}
        self.deaths = sorted(self.random.uniform(0.1, 0.9) * work for _ in range(world.deaths))
        self.useful = 0.0
        self.tries = 0
        self.recorded: Counter[int] = Counter()
        self._events: list[tuple[float, int, Process, str, Any]] = []
        self._order = count()

    def add(self, seconds: float, process: Process, kind: str, value: Any = None) -> None:
        """Have a process send a message after so many seconds."""
        heappush(self._events, (self.now + seconds, next(self._order), process, kind, value))

    def get(self, timeout: float | None = None) -> tuple[Process, str, Any]:
        """Return the next message.

        Raises
        ------
        KeyboardInterrupt
            The driver dies before that.
        Empty
            There is none within so many seconds.
        """
        late = inf if timeout is None else self.now + timeout
        while True:
            while self._events and self._events[0][2].ended:
                heappop(self._events)
            at = self._events[0][0] if self._events else inf
            if self.deaths and min(at, late) > self.deaths[0]:
                self.now = self.deaths.pop(0)
                raise KeyboardInterrupt
            if late < at:
                self.now = late
                raise Empty
            _, _, process, kind, value = heappop(self._events)
            self.now = at
            process.ended = kind == "gone"
            if kind == "done":
                seconds, ticket = value
                self.useful += seconds
                value = Done(ticket.key, made(ticket, self.world), units=FRAMES)
                self.recorded[ticket.key] += 1
            return process, kind, value


class Process:
    """A worker: in place of a pool's process."""

    def __init__(self, device: str, threads: int, messages: Timeline) -> None:
        self.device, self.done, self.ended = device, 0, False
        self.ticket: SegmentTicket | None = None
        self.outputs: list[Any] = []
        self._time = messages
        self._ready = messages.now + messages.world.start
        lost = messages.losses.get(int(device), inf)
        if lost < inf:
            messages.add(max(lost, self._ready) - messages.now, self, "gone")

    def begin(self, ticket: SegmentTicket) -> None:
        """Take a ticket: what becomes of it is decided now."""
        self.ticket, self.done = ticket, 0
        time, world = self._time, self._time.world
        time.tries += 1
        taken = world.seconds * time.random.lognormvariate(0, world.spread)
        if time.random.random() < world.stragglers:
            taken *= world.straggling
        starting = max(0.0, self._ready - time.now)
        part = starting + taken * time.random.random()
        luck = time.random.random()
        if luck < world.errors:
            time.add(part, self, "failed", DeviceError("the GPU is lost"))
        elif luck < world.errors + world.kills:
            time.add(part, self, "gone")
        else:
            time.add(starting + taken, self, "done", (taken, ticket))

    def hang_up(self) -> None:
        """Send nothing more."""
        self.ended = True

    def end(self, patience: float = 0) -> None:
        """Send nothing more."""
        self.ended = True

    def fate(self) -> str:
        """Return how it has ended, in words."""
        return "its process was killed (SIGKILL)"


def made(ticket: SegmentTicket, world: World) -> Record:
    """Return the record of a segment, and write its file."""
    task = ticket.part
    packet: Packet[Any] = Packet(f"segment {task.number}".encode())
    packet.pts = task.number
    with task.file.open("wb") as file:
        writer = PacketWriter(file)
        writer.write(packet)
    return record_of(task, writer, world)


def record_of(task: SegmentTask, written: PacketWriter, world: World) -> Record:
    """Return the record of a segment whose packets were written so."""
    number = task.number
    differs = Random(f"{world.seed} {number}").random() < world.differing
    first = "other" if differs and task.expected is None else "frame"
    return Record(
        number=number, frames=FRAMES, first=(number * FRAMES, first),
        after=None if number == world.segments else ((number + 1) * FRAMES, "frame"),
        delay=0, size=written.size, checksum=written.checksum, headers="", device="cpu",
    )  # fmt: skip


class Counted(Silent):
    """Counts warnings, and segments that are begun once more."""

    warnings = second = 0

    def warning(self, subject: str, message: str) -> None:
        """Count it."""
        self.warnings += 1

    def notice(self, subject: str, message: str) -> None:
        """Count it, if it is about a second try."""
        self.second += "once more" in message


def simulate(world: World, folder: Path, synced: bool = False) -> Outcome:
    """Make all segments of a film, whose folder is in `folder`.

    `synced`: whether each record waits for the disk, as in a real run.
    """
    timeline, events = Timeline(world), Counted()
    names = [str(node) for node in range(world.nodes) for _ in range(world.workers)]

    @contextmanager
    def workers(*given: Any) -> Iterator[FilmWorkers]:
        step = FilmStep(SIMULATED, given[1], 8, 4)
        with pool.Pool(names, 1, events, Meter(None, None)) as opened:
            yield FilmWorkers(opened, SIMULATED, step)

    film = film_of(world, folder, workers)
    began = time.process_time()
    with ExitStack() as stack:
        stack.enter_context(patch.object(pool, "WorkerProcess", Process))
        stack.enter_context(patch.object(pool, "SimpleQueue", lambda: timeline))
        stack.enter_context(patch.object(pool, "now", lambda: timeline.now))
        stack.enter_context(atomic.protected([], lambda name, text: None))
        if not synced:
            stack.enter_context(patch("os.fsync", lambda file: None))
        while True:
            with suppress(KeyboardInterrupt), film() as opened:
                opened.encode(SIMULATED, Meter(None, None), opened.given)
                break
    spent = time.process_time() - began
    store = Store(folder / "segments", {})
    store.open()
    finished = store.whole()
    store.leave()
    return Outcome(
        timeline.now, ideal(timeline), timeline.recorded, timeline.tries, events.second,
        events.warnings, spent, finished,
    )  # fmt: skip


SIMULATED = Step()
"""In place of a step."""


def film_of(world: World, folder: Path, workers: Workers) -> Any:
    """Return what opens the film, anew or to go on with it; `workers` opens its executor."""
    source = folder / "film.mkv"
    source.write_bytes(b"film")
    cuts = tuple(
        Cut(
            number,
            None if number == 1 else number * FRAMES,
            None if number == 1 else number * FRAMES,
            None if number == world.segments else (number + 1) * FRAMES,
            None if number == world.segments else (number + 1) * FRAMES + 1,
            FRAMES,
        )
        for number in range(1, world.segments + 1)
    )
    base = Fraction(1, 25)
    info: Any = SimpleNamespace(
        path=source, name=source.name, clip=Clip(), zero=Fraction(0), time_base=base, content=None,
        decoder="cpu", decoded=None, picture=SimpleNamespace(format=None),
    )  # fmt: skip
    plan: Any = SimpleNamespace(time_base=base, encoder=SimpleNamespace(bits=8))
    output: Any = SimpleNamespace(muxer="matroska", suffix=".mkv", name="out.mkv")

    @contextmanager
    def opened() -> Iterator[Any]:
        store = Store(folder / "segments", {})
        store.open()
        if store.plan is None:
            store.begin(Cuts(base, Fraction(0), None, None, 1, cuts))
        how = Segments(store.folder, {}, lambda text: None, keep=True, workers=workers)
        with Film(how, store, info, plan, output) as film:
            film.given = info  # type: ignore[attr-defined]
            yield film

    return opened


def ideal(timeline: Timeline) -> float:
    """Return the seconds of workers that are busy until they are lost, with what succeeded."""
    world, left, begun = timeline.world, timeline.useful, 0.0
    workers = world.nodes * world.workers
    for at in sorted(timeline.losses.values()):
        done = workers * (at - begun)
        if done >= left:
            break
        left, begun, workers = left - done, at, workers - world.workers
    return begun + left / workers


def main() -> int:
    """Simulate, and say what became of the film."""
    parser = argparse.ArgumentParser(description=__doc__)
    for one in fields(World):
        parser.add_argument(f"--{one.name}", type=type(one.default), default=one.default)
    parser.add_argument("--synced", action="store_true", help="records wait for the disk")
    given = vars(parser.parse_args())
    synced = given.pop("synced")
    world = World(**given)
    began = time.perf_counter()
    with TemporaryDirectory() as folder:
        found = simulate(world, Path(folder), synced)
    passed = time.perf_counter() - began
    lost = set(range(1, world.segments + 1)) - found.finished
    twice = sum(many > 1 for many in found.recorded.values())
    facts = asdict(found) | {"share": found.share, "lost": len(lost), "twice": twice}
    facts |= {"wall": passed, "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}
    for name in ("recorded", "finished"):
        del facts[name]
    print(json.dumps({"world": asdict(world), **facts}, indent=1))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
