"""Reads and checks the images of jobs, finds what outputs lose, and reports damaged inputs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from snellen.errors import IncompleteError, InputError
from snellen.files import atomic
from snellen.files.opening import is_stream
from snellen.files.still_formats import FORMATS, TIFF, WRITTEN, with_quality
from snellen.jobs.events import Events, Progress
from snellen.jobs.inputs.inputs import PIPE, STANDARD_INPUT
from snellen.jobs.kinds.files import FilmJob
from snellen.jobs.kinds.upscale import UpscaleJob
from snellen.stills.still import Page, Still, check, losses, pages, read, read_page


def opened(
    source: Path,
    job: FilmJob,
    events: Events,
    *,
    unused: tuple[str, ...] = (),
    page: Page | None = None,
) -> tuple[Still, tuple[str, ...]]:
    """Return an image of a job, and what is said of it: above all what the target will not hold.

    Parameters
    ----------
    source : Path
        One of the job's.
    job : UpscaleJob or DeblurJob
    events : Events
        Receives warnings and losses.
    unused : tuple of str
        Parameters for videos that the job names: each becomes a warning.
    page : Page, optional
        Of a TIFF file; None: the first picture of a file.

    Raises
    ------
    InputError
        An image that cannot be read, a target that cannot be written or hold it, or a loss that
        `strict` forbids.
    """
    target, quality = job.target, job.quality
    if target == PIPE:
        raise InputError(
            "an image cannot go to standard output; name a file as `target`", parameter="target"
        )
    atomic.check_target(target, source, job.overwrite)
    ignored = [f"`{name}` is for video: without effect on an image" for name in unused]
    for text in ignored:
        events.warning("images", text)  # of many it is said once
    still = _read(source, page)
    if not target.suffix:
        raise InputError(
            f"{target}: got no suffix, which says what kind of image it is to be",
            parameter="target",
            advice=f"name {target}.png, for instance, or {target}{os.sep} if it is to be a folder",
        )
    check(target, still)
    if quality is not None and FORMATS[target.suffix.lower()].quality is None:
        ignored.append(f"`quality` is for {with_quality()}: without effect on {target.suffix}")
        events.warning(str(target), ignored[-1])
    return still, (*ignored, *_said(source, job, still, events))


def further(job: UpscaleJob, page: Page, events: Events) -> tuple[Still, tuple[str, ...]]:
    """Return a further page of a TIFF file, and what is said of it; as `opened`."""
    still = _read(job.source, page)
    check(job.target, still)
    named = replace(
        still,
        lost=tuple(f"page {page.number + 1}: {one}" for one in still.lost),
        notes=tuple(f"page {page.number + 1}: {one}" for one in still.notes),
    )
    return still, _said(job.source, job, named, events)


def pages_of(source: Path, target: Path) -> tuple[Page, ...]:
    """Return the pages of a TIFF file that becomes one; none where there is only one, or a pipe."""
    to_tiff = target.suffix.lower() in WRITTEN and FORMATS[target.suffix.lower()].name == TIFF
    if source == PIPE or not to_tiff or is_stream(source):
        return ()
    found = pages(source)
    return found if len(found) > 1 else ()


def _read(source: Path, page: Page | None) -> Still:
    if page is not None:
        return read_page(source, page)
    return read(STANDARD_INPUT if source == PIPE else source)


def _said(source: Path, job: FilmJob, still: Still, events: Events) -> tuple[str, ...]:
    """Report what of an image is lost, and what else must be known of it; return that."""
    lost = (*still.lost, *losses(job.target, still))
    if lost and job.strict:
        raise InputError(f"{source}: this would be lost: {'; '.join(lost)}", parameter="strict")
    said = (*still.notes, *lost)
    for text in said:
        events.warning(str(source), text)
    return said


def warn_of_quality(subject: str, quality: int | None, events: Events) -> None:
    """Warn where a video's job names the quality of images."""
    if quality is not None:
        events.warning(subject, "`quality` is for images: without effect on a video, see `crf`")


def damaged(found: Iterable[tuple[Path, tuple[str, ...]]], done: str) -> IncompleteError | None:
    """Return the error about images that were decoded although they are damaged; None: none is.

    Parameters
    ----------
    found : iterable of (Path, tuple of str)
        Each image with its `Still.damage`.
    done : str
        What was made of them all the same.
    """
    texts = [f"{path} is damaged: {'; '.join(texts)}" for path, texts in found if texts]
    return IncompleteError(f"{'; '.join(texts)}; {done}") if texts else None


def rows_of(subject: str, events: Events) -> Callable[[int, int], None]:
    """Return what reports the rows of a large picture that are done, and all rows, as progress."""
    began = time.monotonic()

    def report(done: int, total: int) -> None:
        rate = done / max(time.monotonic() - began, 1e-9)
        events.progress(Progress(subject, done, total, rate, (total - done) / rate, "row"))

    return report
