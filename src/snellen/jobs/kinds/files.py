"""The files that a job reads, and those that it writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from snellen.errors import InputError
from snellen.files import atomic, temporary
from snellen.files.protection import File, check_streams, is_input, place
from snellen.jobs.events import Events
from snellen.jobs.inputs import folders
from snellen.jobs.inputs.inputs import PIPE, contents, stream
from snellen.jobs.inputs.sequence import files_of, is_sequence_of
from snellen.jobs.kinds.compare import CompareJob
from snellen.jobs.kinds.deblur import DeblurJob
from snellen.jobs.kinds.score import ScoreJob
from snellen.jobs.kinds.train import TrainJob
from snellen.jobs.kinds.upscale import UpscaleJob

FilmJob = UpscaleJob | DeblurJob
"""A job that makes a film of a film, or a picture of a picture."""
AnyJob = FilmJob | ScoreJob | CompareJob | TrainJob


def growth_of(job: AnyJob) -> int:
    """Return the pixels of a job's result for each pixel that is read, as far as it is known."""
    return (job.magnification or 2) ** 2 if isinstance(job, UpscaleJob) else 1


@contextmanager
def protected(job: AnyJob, events: Events) -> Iterator[None]:
    """Protect what a job reads from all outputs of this process, until the block ends.

    Folders of outputs that are missing are made. A warning says that files were removed which a
    killed run had left. InputError: standard output or standard error goes into a file that the job
    reads, or an option of the encoder names one. OutputError: a folder cannot be made.
    """
    with atomic.protected(read_by(job), events.warning):
        check_streams()
        temporary.sweep()
        _check_encoder(job)
        _check_filters(job)
        with folders.made(placed_by(job)):
            _check_written(job)
            yield


def _check_encoder(job: AnyJob) -> None:
    """Refuse an option of the encoder that names an input: it may be a file that is written."""
    if not isinstance(job, UpscaleJob | DeblurJob):
        return
    for key, text in job.video.encoding.options.items():
        for part in (text, *re.split("[=:,]", text)):
            if part and is_input(Path(part)):
                raise InputError(
                    f"{key}={text} names an input, {part}, into which an encoder might write",
                    parameter="encoder_options",
                )


def _check_filters(job: AnyJob) -> None:
    """Refuse a chain of filters that may write into an input, as metadata=print:file=… does."""
    if not isinstance(job, UpscaleJob):
        return
    for parameter, chain in job.enhancement.chains().items():
        from snellen.video.filtering.parse import written

        for name, file in written(chain):
            if is_input(file):
                raise InputError(
                    f"{name} of `{parameter}` names an input, {file}, into which it might write",
                    parameter=parameter,
                )


def _check_written(job: AnyJob) -> None:
    """Refuse files that filters write and that cannot be written, or are written already."""
    if not isinstance(job, UpscaleJob) or not (job.enhancement.vf or job.enhancement.post_vf):
        return
    from snellen.video.filtering.side_files import check

    taken = {place(job.target): "the output"}
    for parameter, file in job.enhancement.written():
        check(file)
        if other := taken.get(place(file)):
            raise InputError(
                f"a filter of `{parameter}` writes {file}, which is {other}",
                parameter=parameter,
                advice="give each its own file",
            )
        taken[place(file)] = "that of another filter"


def read_by(job: AnyJob) -> list[File]:
    """Return all files that a job reads; of folders the pictures in them."""
    if isinstance(job, UpscaleJob):
        enhancing = job.enhancement.files().values()
        return [*_source(job.source, job), *_models(job.model), *enhancing]
    if isinstance(job, DeblurJob):
        positions = None if job.region is None else job.region.positions
        others = (job.mia.psf, job.mia.psf_start, positions)
        sources = [one for source in job.sources for one in _source(source, job)]
        return [*sources, *(one for one in others if isinstance(one, Path))]
    return [one for named in named_by(job) for one in contents(named)]


def named_by(job: CompareJob | ScoreJob | TrainJob) -> tuple[Path, ...]:
    """Return the files, and folders of pictures, that a job which makes no picture reads."""
    if isinstance(job, CompareJob):
        return (job.reference, *job.variants)
    if isinstance(job, ScoreJob):
        return (job.reference, job.distorted)
    return (job.images, *job.validate)


def _source(source: Path, job: UpscaleJob | DeblurJob) -> Sequence[File]:
    """Return the files of one source: of a sequence its pictures."""
    if not is_sequence_of(source, job.video.fps):
        return stream(source)
    with suppress(InputError):  # which the run of the job says
        return files_of(source)
    return []


def written_by(job: AnyJob) -> list[Path]:
    """Return the files that a job writes, without those in a folder of maps."""
    if isinstance(job, ScoreJob):
        return [] if job.table is None else [job.table]
    outputs = [job.target]
    if isinstance(job, DeblurJob) and job.psf_out is not None:
        outputs.append(job.psf_out)
    if isinstance(job, UpscaleJob) and job.enhancement.deblur_psf_out is not None:
        outputs.append(job.enhancement.deblur_psf_out)
    if isinstance(job, TrainJob) and job.is_network:
        outputs.append(job.checkpoint)
    return [one for one in outputs if one != PIPE]


def placed_by(job: AnyJob) -> list[Path]:
    """Return what a job writes into folders that are made where they are missing."""
    maps = [job.maps] if isinstance(job, ScoreJob) and job.maps is not None else []
    return [*written_by(job), *(one for one in maps if one != PIPE)]


def _models(model: str | Path | None) -> list[File]:
    from snellen.upscaling.shipped import files

    return [*files().values(), *([] if model is None else [Path(model)])]
