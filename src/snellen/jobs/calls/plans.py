"""Long films by several runs, on any machines: a plan in a file, parts of it, and the join.

::

    write_plan(UpscaleJob(source="film.mkv", target="film-4k.mkv"), "film.plan")
    run_segments("film.plan", 1, 40)        # in a job of Slurm, Kubernetes, AWS Batch …
    run_segments("film.plan", 41, 80)       # … and in others, at once or later
    join_plan("film.plan")                  # an UpscaleResult; of a DeblurJob a DeblurResult

All of them see the input, the plan and the output's folder under the same names.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, quoted
from snellen.files import atomic, opening
from snellen.files.protection import place
from snellen.files.remote import Remote
from snellen.frames import values
from snellen.jobs.calls.execute import around, run_deblur, run_upscale
from snellen.jobs.events import Collected, Events, listening
from snellen.jobs.inputs.inputs import PIPE
from snellen.jobs.inputs.sequence import makes_film
from snellen.jobs.kinds.deblur import DeblurJob, DeblurResult
from snellen.jobs.kinds.files import FilmJob, read_by
from snellen.jobs.kinds.upscale import UpscaleResult
from snellen.jobs.options.options import File, device_list, path
from snellen.jobs.options.serial import Job

if TYPE_CHECKING:
    from snellen.video.segments.begin import Part
else:
    # For `typing.get_type_hints`; its module takes long to import.
    Part = Any

VERSION = 1
"""The version of plans."""
LARGEST = 1 << 24
"""Bytes of a plan."""


def write_plan(
    job: FilmJob, plan: File, events: Events | None = None, *, overwrite: bool = False
) -> Part:
    """Write how a long film is cut into segments, and make none.

    Parameters
    ----------
    job : UpscaleJob or DeblurJob
        Of a film that is made in segments.
    plan : str or Path
        File for the plan: JSON with the job. The segments come into the folder beside the job's
        target.
    events : Events, optional
        Receives warnings.
    overwrite : bool
        Whether an existing file `plan` is replaced.

    Returns
    -------
    Part
        With the number of segments.

    Raises
    ------
    InputError
        The film is made in one piece; `plan` exists.
    SnellenError
        As of `run`.
    """
    file = path(plan, "plan")
    if file == PIPE:
        raise InputError("`plan` names a file: later runs read it", parameter="plan")
    source = _check_film(job)
    if place(file) == place(job.target):
        raise InputError(f"{file} is to be the plan and the result", parameter="plan",
                         advice="choose another file for one")  # fmt: skip
    atomic.check_target(file, source, overwrite)
    if isinstance(job.target, Remote):
        raise InputError(
            f"{job.target} is an address; expected a file, which all runs of a plan see",
            parameter="target",
        )
    for one in read_by(job):
        if isinstance(one, Remote) and one.is_secret:
            raise InputError(
                f"{one} was given with a password or a query, which a plan does not hold",
                advice="name it without, or download it first",
            )
    if job.cluster is not None:
        raise InputError(
            "got `cluster` with `plan`: a cluster shares out the whole film, and the parts of a "
            "plan are made by commands of your own; expected one of them",
            parameter="cluster",
            advice="leave `plan` out, or `cluster`",
        )
    if not job.segments:
        raise InputError("got `plan`, but no segments are to be made", parameter="segments")
    job = _anywhere(job)
    listener = Collected(listening(events))
    with around(job, listener):
        if isinstance(job, DeblurJob):
            job.check()
        else:
            from snellen.jobs.runs.upscale_video import settled

            job = settled(job, listener)  # once for all parts
    found = _part(job, range(0), listener)
    job = replace(job, discard_segments=False)  # once is enough
    content = {
        "snellen plan": VERSION, "segments": found.segments, "frames": found.frames,
        "folder": str(found.folder), "job": json.loads(job.to_json()),
    }  # fmt: skip
    with atomic.writing(file, overwrite) as opened:
        opened.write(json.dumps(content, indent=1).encode())
    return found


def run_segments(
    plan: File,
    first: int,
    last: int,
    events: Events | None = None,
    *,
    device: str | None = None,
    threads: int | None = None,
    workers: int | None = None,
) -> Part:
    """Make some of the segments of a plan, and write their records.

    What is finished already stays as it is. Several runs may work on a plan at once.

    Parameters
    ----------
    plan : str or Path
        What `write_plan` has written.
    first, last : int
        Numbers of the first and the last segment, from 1. Those beyond the film's last one are left
        out, as in slices of Python; where there are no others, nothing is made, and a notice says
        so.
    events : Events, optional
        Receives progress and warnings.
    device, threads, workers : optional
        In place of those of the job.

    Returns
    -------
    Part
        What was made.

    Raises
    ------
    InputError
        No plan, the input or the program is not that of the plan, or no such numbers.
    SnellenError
        As of `run`.
    """
    first, last = values.whole("first", first, 0), values.whole("last", last, 0)
    if not 1 <= first <= last:
        raise InputError(
            f"got segments {first}:{last}; expected the first and the last one, from 1, such as "
            "1:40"
        )
    job = _read(plan, device, threads, workers)
    return _part(job, range(first, last + 1), Collected(listening(events)))


def join_plan(
    plan: File,
    events: Events | None = None,
    *,
    device: str | None = None,
    threads: int | None = None,
    workers: int | None = None,
) -> UpscaleResult | DeblurResult:
    """Check that all segments of a plan are there and whole, and join them.

    A segment that began with another frame than the one before it expects is made again.

    Parameters
    ----------
    plan, events, device, threads, workers
        As of `run_segments`.

    Returns
    -------
    UpscaleResult or DeblurResult

    Raises
    ------
    InputError
        Segments are missing: the message names them.
    SnellenError
        As of `run`.
    """
    job = _read(plan, device, threads, workers)
    listener = Collected(listening(events))
    with around(job, listener):
        if isinstance(job, DeblurJob):
            return run_deblur(job, listener, only_join=True)
        return run_upscale(job, listener, only_join=True)


def _part(job: FilmJob, numbers: range, events: Events) -> Part:
    with around(job, events):
        if isinstance(job, DeblurJob):
            from snellen.jobs.runs import deblur_video

            return deblur_video.part_of(job, events, numbers)
        from snellen.jobs.runs import upscale_video

        return upscale_video.part_of(job, events, numbers)


def _check_film(job: object) -> Path:
    """Return the source of a film's job (InputError: it makes none)."""
    if not isinstance(job, FilmJob):
        raise InputError(
            f"got a {type(job).__name__}; expected an UpscaleJob or a DeblurJob", parameter="job"
        )
    if isinstance(job.source, tuple) or not makes_film(job.source, job.target, job.video.fps):
        what = "a burst" if isinstance(job.source, tuple) else job.source
        raise InputError(f"{what} is no film: there is nothing to plan", parameter="plan")
    return job.source


def _anywhere(job: FilmJob) -> FilmJob:
    """Return a job whose files have absolute names, as its parts may run in any folder."""
    if isinstance(job, DeblurJob):
        mia = {name: _absolute(getattr(job.mia, name)) for name in ("psf", "psf_start")}
        region = job.region
        if region is not None:
            region = replace(region, positions=_absolute(region.positions))
        names = {name: _absolute(getattr(job, name)) for name in ("source", "target", "psf_out")}
        return replace(job, **names, mia=replace(job.mia, **mia), region=region)
    places = {name: getattr(job, name).absolute() for name in ("source", "target")}
    if isinstance(job.model, Path) or (job.model is not None and Path(job.model).is_file()):
        places["model"] = Path(job.model).absolute()
    own: dict[str, Any] = {}
    for name, file in job.enhancement.files().items():
        if getattr(job.enhancement, name, None) == file:
            own[name] = file.absolute()
        elif not file.is_absolute():
            option = name.partition(" ")[0]
            raise InputError(
                f"got `{option}` with {file}; expected an absolute path, as the parts of a plan "
                "may run in any folder",
                parameter=option,
            )
    return replace(job, **places, enhancement=replace(job.enhancement, **own))


def _absolute(value: Any) -> Any:
    return value.absolute() if isinstance(value, Path) else value


def planned_job(plan: File) -> FilmJob:
    """Return the job of a plan (InputError: it is none)."""
    file = path(plan, "plan")
    content = opening.contents(file, LARGEST)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _no_plan(file, quoted(error, str)) from error
    if not isinstance(found, dict) or found.get("snellen plan") != VERSION:
        raise _no_plan(file, "it has no version of one")
    try:
        job = Job.from_json(json.dumps(found.get("job")))
        _check_film(job)
    except InputError as error:
        raise _no_plan(file, str(error)) from error
    assert isinstance(job, FilmJob)
    return job


def _read(plan: File, device: str | None, threads: int | None, workers: int | None) -> FilmJob:
    """Return the job of a plan, with what is to be otherwise."""
    job = planned_job(plan)
    given: dict[str, Any] = {"threads": threads, "workers": workers}
    if device is not None:
        given["device"] = device_list(device)
    return replace(job, **{name: one for name, one in given.items() if one is not None})


def _no_plan(file: Path, why: str) -> InputError:
    return InputError(f"{file} is no plan of segments: {why}", parameter="plan")
