"""The main function of a worker process: tickets from standard input, messages to standard output.

It ends when its standard input does: where the process that started it ends, however that happens.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO

from snellen import unfinished
from snellen.errors import SnellenError, unexpected

if TYPE_CHECKING:
    from pathlib import Path

    from snellen.files.protection import Mark

_OFTEN = 0.2
"""Seconds between two messages about progress, at least."""
_ALIVE = 5.0
"""Seconds between two messages that the work goes on."""


class Sender:
    """Sends messages to the process that started this one; also the Events of tickets.

    Parameters
    ----------
    stream : BinaryIO
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._lock = stream, threading.Lock()
        self._last = self._alive = 0.0

    def send(self, kind: str, value: Any) -> None:
        """Send a message; without anybody to read it, the process ends."""
        try:
            data = pickle.dumps((kind, value))
        except Exception as error:
            data = pickle.dumps(("failed", SnellenError(f"{kind}: {value} ({error})")))
        try:
            with self._lock:
                self._stream.write(data)
                self._stream.flush()
        except OSError:
            leave()

    def count(self, units: int) -> None:
        """Send how many units of the ticket are done, now and then."""
        if time.monotonic() - self._last > _OFTEN:
            self._last = time.monotonic()
            self.send("count", units)

    def naming(self, goal: Path, mark: Mark) -> None:
        """Send that a complete output is about to get its name: it is read whatever follows."""
        self.send("naming", (goal, mark))

    def notice(self, subject: str, message: str) -> None:
        """Send what is good to know."""
        self.send("notice", (subject, message))

    def warning(self, subject: str, message: str) -> None:
        """Send a warning."""
        self.send("warning", (subject, message))

    def progress(self, progress: Any) -> None:
        """Send that the work goes on, now and then: units are counted."""
        if time.monotonic() - self._alive > _ALIVE:
            self._alive = time.monotonic()
            self.send("alive", None)

    def frame(self, subject: str, frame: Any) -> None:
        """Ignore it: the result has them."""


def main() -> None:
    """Run tickets until standard input ends."""
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no message
    tickets: SimpleQueue[bytes] = SimpleQueue()
    sender = Sender(stream)
    threading.Thread(target=_read, args=(tickets,), daemon=True).start()
    device, threads = pickle.loads(tickets.get())
    from snellen.jobs.sharing.tickets import Worker

    worker = Worker(device, threads, sender, sender.count, sender.naming)
    while True:
        data = tickets.get()
        try:
            result = worker.run(pickle.loads(data))
        except Exception as error:
            sender.send("failed", unexpected(error))
        else:
            sender.send("done", result)


def framed(data: bytes) -> bytes:
    """Return a ticket as `main` reads it: its size goes before."""
    return struct.pack("<Q", len(data)) + data


def _read(tickets: SimpleQueue[bytes]) -> None:
    """Read tickets as bytes, so that the end is seen while one is still imported or run."""
    try:
        while len(head := sys.stdin.buffer.read(8)) == 8:
            (size,) = struct.unpack("<Q", head)
            tickets.put(sys.stdin.buffer.read(size))
    finally:
        leave()


def leave() -> None:
    """End this process at once; nothing unfinished stays behind."""
    unfinished.clear()
    os._exit(0)
