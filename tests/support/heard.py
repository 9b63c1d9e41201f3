"""Events of a run that are kept."""

from __future__ import annotations

from snellen.jobs.events import Silent


class Heard(Silent):
    """Keeps notices and warnings, what frames were said to be, and how many were done."""

    def __init__(self):
        self.notices, self.warnings, self.rows, self.done = [], [], [], []

    def notice(self, subject, message):
        self.notices.append(message)

    def warning(self, subject, message):
        self.warnings.append(message)

    def frame(self, subject, frame):
        self.rows.append(frame)

    def progress(self, progress):
        self.done.append(progress.done)
