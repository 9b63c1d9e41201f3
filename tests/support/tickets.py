"""Tickets that fail, or end their process, as a file says."""

from __future__ import annotations

import os
import signal
import time

from snellen.errors import DeviceError, InputError
from snellen.jobs.sharing.tickets import Done, Ticket


class Unreadable:
    """Can be pickled, and no process can read it."""

    def __reduce__(self):
        return int, ("x",)


class Doing(Ticket):
    """Does what the lines of a file say, its job, one at each try; then it returns its number."""

    __slots__ = ()
    is_needed = True
    subject = "film.mkv"

    def __str__(self):
        return f"segment {self.key}"

    def run(self, worker):
        plan = self.job
        lines = plan.read_text().split() if plan.is_file() else []
        if lines:
            plan.write_text("\n".join(lines[1:]))
            if lines[0] == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if lines[0] == "exit":
                os._exit(3)
            if lines[0] == "memory":
                raise MemoryError
            if lines[0] == "device":
                raise DeviceError("the GPU is lost")
            if lines[0] == "input":
                raise InputError("no such film")
            if lines[0] == "unreadable":
                return Done(self.key, Unreadable())
            while lines[0] == "until" and plan.read_text():
                time.sleep(0.01)  # until another run of it has done what is left
            if lines[0] == "sleep":
                time.sleep(600)
        worker.count(1)
        return Done(self.key, (worker.device, os.getpid()))
