"""Tickets of files whose worker is killed when it has finished the file, and has not said so."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from snellen.jobs.calls.job_ticket import FileTicket


@dataclass(frozen=True, kw_only=True)
class KilledFile(FileTicket):
    """A job whose first try ends its process."""

    first: Path | None = None
    """A file that is there until the first try has ended."""
    exchanged: bool = False
    """Whether somebody has put another file in the output's place."""

    def run(self, worker):
        made = FileTicket.run(self, worker)
        if self.first.exists():
            self.first.unlink()
            if self.exchanged:
                self.job.target.unlink()
                self.job.target.write_bytes(b"of somebody else")
            os.kill(os.getpid(), signal.SIGKILL)
        return made
