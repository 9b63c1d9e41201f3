"""Says what segments depend on of a job: they are a film's only as long as that is the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.files.opening import opened, raw
from snellen.jobs.events import Events, notify
from snellen.jobs.inputs.inputs import PIPE
from snellen.jobs.inputs.naming import segments_folder
from snellen.schema import parameters

if TYPE_CHECKING:
    from snellen.jobs.kinds.choice import Models
    from snellen.jobs.kinds.files import FilmJob
    from snellen.video.convert import Segments
    from snellen.video.segments.film import Workers

UNWANTED = "no segments are wanted, which several would share"
"""Why there are none, as the end of a sentence."""
_END = 1 << 20
"""Bytes at each end of an input that are hashed."""
_MOST = 1 << 30
"""Bytes of such a file that is at an address."""


def segments_of(
    job: FilmJob,
    models: Models | None,
    events: Events,
    *,
    notes: Callable[[Iterable[bytes]], None] | None = None,
    tidied: bool = True,
    workers: Workers | None = None,
    numbers: range | None = None,
    only_join: bool = False,
) -> Callable[[], Segments | None] | None:
    """Return what says how the film of a job is cut; None: it is not to be.

    The function is called when the models are known, if there are any. `notes` receives what the
    step notes of frames, and `workers` opens other processes that make segments. Unless `tidied` is
    False, segments that nobody needs any more are removed. `numbers` and `only_join` are those of
    `Segments`, of a film that several runs share by a plan; nothing is removed then.
    """
    folder = segments_folder(job.target)
    if tidied and numbers is None and not only_join and job.target != PIPE and folder.is_dir():
        from snellen.video.segments.store import discard, tidy

        tidy(folder, job.target)
        if job.discard_segments and not job.segments:
            discard(folder)
    if not job.segments:
        if workers is not None:
            from snellen.video.segments.cuts import ALONE

            notify(events, str(job.source), f"{ALONE}: {UNWANTED}")
        return None
    discards = iter([job.discard_segments])  # not what a GPU that then failed has finished
    of_plan = {"numbers": numbers, "only_join": only_join}
    return partial(_segments, job, models, events, notes, discards, workers, of_plan)


def _segments(
    job: FilmJob,
    models: Models | None,
    events: Events,
    notes: Callable[[Iterable[bytes]], None] | None,
    discards: Iterator[bool],
    workers: Workers | None,
    of_plan: dict[str, Any],
) -> Segments:
    from snellen.video.convert import Segments

    source = job.source
    assert isinstance(source, Path)  # not the pictures of a burst

    def say(text: str) -> None:
        notify(events, str(source), text)

    return Segments(
        folder=segments_folder(job.target),
        job={
            "input": _identity(source) if source.is_file() else {},
            "job": _chosen(job),
            "models": {} if models is None else models.digests(),
            **_files(job),
        },
        say=say,
        keep=job.keep_segments,
        discard=next(discards, False),
        workers=workers,
        notes=notes,
        **of_plan,
    )


def _chosen(job: FilmJob) -> dict[str, Any]:
    """Return the fields of a job that change the pictures of its film, as JSON has them."""
    # Sound is added when all segments are there.
    found: dict[str, Any] = json.loads(job.to_json())
    del found["source"], found["target"]  # the input is known by its contents
    for one in parameters(type(job)).values():
        if one.about.effect != "pixels":
            *outer, name = one.path
            del reduce(dict.__getitem__, outer, found)[name]
    return found


def _files(job: FilmJob) -> dict[str, dict[str, str]]:
    """Return the digests of further files that a film depends on, by their parameters."""
    files: dict[str, Path] = {}
    if (enhancement := getattr(job, "enhancement", None)) is not None:
        files |= enhancement.files()
    if (mia := getattr(job, "mia", None)) is not None:
        given = {"psf": mia.psf, "psf_start": mia.psf_start}
        files |= {name: psf for name, psf in given.items() if isinstance(psf, Path)}
    found = {}
    for name, file in files.items():
        if file.is_file():
            data: Any
            with opened(file, _MOST) as data:
                found[name] = file_digest(data, "sha256").hexdigest()
    return {"files": found} if found else {}


def _identity(file: Path) -> dict[str, Any]:
    """Return what tells an input from another one, without reading all of it."""
    with raw(file) as source, BufferedReader(source) as found:
        size, modified = source.state
        ends = sha256(found.read(_END))
        found.seek(max(0, size - _END))
        ends.update(found.read(_END))
    return {"bytes": size, "modified": modified, "ends": ends.hexdigest()}
