"""A film on a cluster whose segment 1 stands still at its first try: `python -m` with words.

The words are the cluster's address, the film and the output. It prints the notices, and at the end
the numbers of the segments that were written.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from snellen.jobs import Encoding, Silent, UpscaleJob, VideoOptions, run
from snellen.jobs.sharing import tickets
from snellen.jobs.sharing.tickets import SegmentTicket
from snellen.video.segments import encode

STANDS = 1


@dataclass(frozen=True, slots=True)
class Standing(tickets.SegmentTicket):
    """A segment; each try of it leaves an empty file beside the output."""

    def run(self, worker):
        """Run it; the first try of one segment sleeps until its process is ended."""
        first = self.part.file.parent.parent / f"{self.key}.begun"
        try:
            first.touch(exist_ok=False)
        except FileExistsError:
            first.with_name(f"{self.key}-{os.getpid()}.begun").touch()
        else:
            if self.key == STANDS:
                time.sleep(600)
        return SegmentTicket.run(self, worker)


class Notices(Silent):
    """Prints them."""

    def notice(self, subject, message):
        print(message, flush=True)


def main(address, source, target):
    tickets.LEAST, tickets.KNOWN = 1.0, 2
    tickets.SegmentTicket = Standing
    kept, keep = [], encode.keep_segment
    encode.keep_segment = lambda task, *parts: (kept.append(task.number), keep(task, *parts))
    job = UpscaleJob(
        source=Path(source), target=Path(target), cluster=address, device="cpu", threads=1,
        method="aplus", source_kind="clean",
        video=VideoOptions(encoding=Encoding(crf=20, preset="ultrafast")),
    )  # fmt: skip
    run(job, Notices())
    print("kept", *sorted(kept))


if __name__ == "__main__":
    from support.standing import main as imported  # whose ticket has a name that nodes can import

    imported(*sys.argv[1:])
