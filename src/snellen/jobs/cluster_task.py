"""What runs on a node of a cluster: one ticket, whose result and messages are returned."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import av

from snellen._version import __version__
from snellen.errors import InputError, SnellenError, unexpected
from snellen.files.remote import Remote
from snellen.gpu import device as devices
from snellen.jobs.events import Silent
from snellen.jobs.files import read_by
from snellen.jobs.tickets import FilmTicket, SegmentTicket, Ticket, Worker
from snellen.video.segments.values import NOTES, Record, SegmentTask

PROGRAM = f"Snellen {__version__} with PyAV {av.__version__}"
"""What must be the same on all nodes."""


@dataclass(frozen=True, slots=True)
class Order:
    """How a ticket is run."""

    device: str
    """"cpu"; "auto" or "cuda:0": the GPU that Ray has given."""
    threads: int
    folder: str
    """From which relative names are meant."""
    program: str = PROGRAM
    """That of the driver."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a ticket has come to."""

    result: Any
    error: SnellenError | None
    """Of the input: other tries would find the same."""
    said: tuple[tuple[str, str, str], ...]
    """Notices and warnings: which of them, about what, and the text."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """A segment with its bytes."""

    record: Record
    packets: bytes
    notes: bytes


@dataclass(frozen=True, slots=True)
class ShippedTicket:
    """A segment whose bytes are returned: the output's folder need not be seen by the nodes."""

    film: FilmTicket
    task: SegmentTask

    @property
    def key(self) -> int:
        """Number of the segment."""
        return self.task.number

    @property
    def subject(self) -> str:
        """Name of the film."""
        return self.film.info.name

    def __str__(self) -> str:
        return f"segment {self.task.number}"

    def run(self, worker: Worker) -> Shipped:
        """Encode the segment into memory: a task that is killed leaves nothing on its node."""
        files: dict[Path, bytes] = {}

        @contextmanager
        def writing(file: Path) -> Iterator[BinaryIO]:
            opened = BytesIO()
            yield opened
            files[file] = opened.getvalue()

        record = SegmentTicket(self.film, self.task).run(worker, writing)
        file = self.task.file
        return Shipped(record, files[file], files.get(file.with_suffix(NOTES), b""))

    def units(self, result: Shipped) -> int:
        """Return the frames of the segment."""
        return result.record.frames

    def failed(self, error: SnellenError) -> None:
        """Return None: a film needs all its segments."""


class _Said(Silent):
    """Keeps what is said of a ticket."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, str]] = []

    def notice(self, subject: str, message: str) -> None:
        self.messages.append(("notice", subject, message))

    def warning(self, subject: str, message: str) -> None:
        self.messages.append(("warning", subject, message))


_workers: dict[Order, Worker] = {}
"""That of this process: it keeps a film's step prepared from one segment to the next."""


def run_ticket(ticket: Ticket, order: Order) -> Answer:
    """Run a ticket in this process.

    Raises
    ------
    SnellenError
        It has failed, and another try may not.
    """
    said, result, wrong = _Said(), None, None
    try:
        if order.program != PROGRAM:
            raise InputError(
                f"{platform.node()} has {PROGRAM}, and this machine {order.program}",
                advice="install the same versions on all nodes",
            )
        _enter(order.folder, ticket)
        worker = _worker(order, said)
        worker.events = said
        result = worker.run(ticket)
    except Exception as error:
        found = unexpected(error)
        if not isinstance(found, InputError):
            raise found from None
        wrong = found.about(f"on {platform.node()}")
    return Answer(result, wrong, tuple(said.messages))


def _enter(folder: str, ticket: Ticket) -> None:
    """Go to the driver's folder, from which relative names are meant.

    Raises
    ------
    InputError
        This node has no such folder, and the ticket reads a file by a relative name.
    """
    try:
        os.chdir(folder)
    except OSError as error:
        job: Any = getattr(ticket, "job", None) or getattr(
            getattr(ticket, "film", None), "job", None
        )
        for file in () if job is None else read_by(job):
            if isinstance(file, Path) and not isinstance(file, Remote) and not file.is_absolute():
                raise InputError(
                    f"{file} is meant from the folder {folder}, which cannot be used here: "
                    f"{error.strerror}",
                    advice="give absolute names, or begin in a folder that all nodes see",
                ) from None


def _worker(order: Order, said: _Said) -> Worker:
    """Return the worker of this process."""
    if order not in _workers:
        for other in _workers.values():
            other.close()
        _workers.clear()
        device = devices.several(order.device)[0]
        if device == "cpu" and order.device != "cpu":
            text = f"{platform.node()}: the CPU is used: {devices.why_not()}"
            said.warning("`device`=auto", text)
        _workers[order] = Worker(device, order.threads, said, lambda units: None)
    return _workers[order]
