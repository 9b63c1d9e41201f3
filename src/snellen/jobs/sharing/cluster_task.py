"""Runs one ticket on a node of a cluster, and returns its result and messages."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import av

from snellen._version import __version__
from snellen.errors import InputError, SnellenError, unexpected
from snellen.files.remote import Remote
from snellen.gpu import device as devices
from snellen.jobs.events import Silent
from snellen.jobs.kinds.files import read_by
from snellen.jobs.sharing.tickets import Done, Ticket, Worker

PROGRAM = f"Snellen {__version__} with PyAV {av.__version__}"
"""These versions must be the same on all nodes."""


@dataclass(frozen=True, slots=True)
class Order:
    """How a ticket is run."""

    device: str
    """"cpu"; "auto" or "cuda:0": the GPU that Ray has given."""
    threads: int
    folder: str
    """Relative names are meant from this folder."""
    program: str = PROGRAM
    """The driver has these versions."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a ticket, with what was said."""

    done: Done | None = None
    error: SnellenError | None = None
    """It says why there is none: the input is wrong, as other tries would find, or all failed."""
    said: tuple[tuple[str, str, str], ...] = ()
    """Notices and warnings: which of them, about what, and the text."""


class _Said(Silent):
    """Keeps what is said of a ticket."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, str]] = []

    def notice(self, subject: str, message: str) -> None:
        self.messages.append(("notice", subject, message))

    def warning(self, subject: str, message: str) -> None:
        self.messages.append(("warning", subject, message))


_workers: dict[Order, Worker] = {}
"""The worker of this process keeps a film's step prepared from one segment to the next."""


def run_ticket(ticket: Ticket, order: Order) -> Answer:
    """Run a ticket in this process.

    Raises
    ------
    SnellenError
        It has failed, and another try may not.
    """
    said, done, wrong = _Said(), None, None
    try:
        if order.program != PROGRAM:
            raise InputError(
                f"{platform.node()} has {PROGRAM}, and this machine {order.program}",
                advice="install the same versions on all nodes",
            )
        _enter(order.folder, ticket)
        worker = _worker(order, said)
        worker.events = said
        done = worker.run(ticket)
    except Exception as error:
        found = unexpected(error)
        if not isinstance(found, InputError):
            raise found from None
        wrong = found.about(f"on {platform.node()}")
    return Answer(done, wrong, tuple(said.messages))


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
        for file in read_by(ticket.job):
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
