"""Finds the jobs of a run that are tickets, each run by one worker; the others run in turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from snellen.files import protection
from snellen.files.remote import Remote
from snellen.jobs.calls.job_ticket import first
from snellen.jobs.inputs.inputs import is_own
from snellen.jobs.inputs.sequence import is_sequence, is_sequence_of, makes_film
from snellen.jobs.kinds.files import AnyJob, FilmJob, named_by, read_by, written_by
from snellen.jobs.kinds.upscale import UpscaleJob
from snellen.upscaling.shipped import AUTO


def shareable(jobs: Mapping[int, AnyJob]) -> dict[int, FilmJob]:
    """Return the jobs that may be tickets, each run by one worker, as far as it is known.

    They have the settings of the first job for workers. Those are left out that use standard input
    or output, read what an earlier one writes or write what it reads, or look at their film before
    they begin.

    Parameters
    ----------
    jobs : mapping of int to a job
        By their places in the order of the work.
    """
    found: dict[int, FilmJob] = {}
    how = None
    place = cache(protection.place)
    read: set[str] = set()
    written: set[str] = set()
    for number, job in jobs.items():
        reads, writes = _reads(job, place), _writes(job, place)
        if isinstance(job, FilmJob):
            its = (job.device, job.workers, job.cluster, job.threads)
            how = how or its
            is_free = written.isdisjoint(reads) and read.isdisjoint(writes)
            if its == how and is_free and not _is_apart(job):
                found[number] = job
        read |= reads
        written |= writes
    return found


def _reads(job: AnyJob, place: Callable[[Path], str]) -> set[str]:
    """Return what a job reads, as keys: it depends on jobs of which `_writes` has one of them."""
    # A key is a file; or a folder and what of it: "picture" joins who reads a file in it and who
    # writes a sequence of pictures there, "file" who reads all in it and who writes a file there,
    # "sequence" who reads all in it and who writes a sequence there.
    files = {place(one) for one in read_by(job) if isinstance(one, Path)}
    keys = set[str]()
    if isinstance(job, FilmJob):
        source = first(job)
        files |= {place(one) for one in (source, *getattr(job, "sources", ()))}
        if is_sequence_of(source, job.video.fps):
            is_pattern = any(one in source.name for one in "*?[%") and not source.is_dir()
            folder = place(source.parent if is_pattern else source)
            keys = {f"{folder} file", f"{folder} sequence"}
    else:
        named = map(place, named_by(job))
        keys = {f"{one} {what}" for one in named for what in ("file", "sequence")}
    return files | {f"{os.path.dirname(one)} picture" for one in files} | keys  # noqa: PTH120


def _writes(job: AnyJob, place: Callable[[Path], str]) -> set[str]:
    """Return what a job writes, as keys."""
    files = {place(one) for one in written_by(job)}
    keys = {f"{os.path.dirname(one)} file" for one in files}  # noqa: PTH120
    if isinstance(job, FilmJob) and is_sequence(job.target):
        folder = place(job.target.parent)
        keys |= {f"{folder} picture", f"{folder} sequence"}
    return files | keys


def _is_apart(job: FilmJob) -> bool:
    """Return whether this process makes an output, or starts what does."""
    source = first(job)
    if is_own(source) or is_own(job.target):
        return True
    is_film = makes_film(source, job.target, job.video.fps)
    if is_film and isinstance(job, UpscaleJob) and job.enhancement.deblur == AUTO:
        return True  # its blur is estimated once, and may be written, before it is known to be long
    if job.cluster is None:
        return False
    # Its outputs come back as bytes.
    is_unreturned = isinstance(job.target, Remote) or is_sequence(job.target)
    return is_unreturned or (is_film and not job.segments)
