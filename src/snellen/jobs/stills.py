"""Reads and checks the images of jobs, finds what outputs lose, and reports damaged inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from snellen.errors import IncompleteError, InputError
from snellen.frames import atomic
from snellen.frames.still import Still, check, losses, read
from snellen.frames.still_formats import FORMATS, with_quality
from snellen.jobs.events import Events, Progress
from snellen.jobs.inputs import PIPE, STANDARD_INPUT


def opened(
    source: Path,
    target: Path,
    *,
    strict: bool,
    overwrite: bool,
    unused: tuple[str, ...],
    quality: int | None,
    events: Events,
) -> tuple[Still, tuple[str, ...]]:
    """Return an image, and what is said of it: above all what the target will not hold.

    Parameters
    ----------
    source, target : Path
        Image files.
    strict : bool
        Whether a loss is an error.
    overwrite : bool
        Whether a file called `target` is replaced.
    unused : tuple of str
        Parameters for videos that the job names: each becomes a warning.
    quality : int or None
        That of the job: a warning where the target's format has none.
    events : Events
        Receives warnings and losses.

    Raises
    ------
    InputError
        An image that cannot be read, a target that cannot be written or hold it, or a loss that
        `strict` forbids.
    """
    if target == PIPE:
        raise InputError(
            "an image cannot go to standard output; name a file as `target`", parameter="target"
        )
    atomic.check_target(target, source, overwrite)
    ignored = [f"`{name}` is for video: without effect on an image" for name in unused]
    for text in ignored:
        events.warning(str(source), text)
    still = read(STANDARD_INPUT if source == PIPE else source)
    check(target, still)
    if quality is not None and FORMATS[target.suffix.lower()].quality is None:
        ignored.append(f"`quality` is for {with_quality()}: without effect on {target.suffix}")
        events.warning(str(target), ignored[-1])
    lost = (*still.lost, *losses(target, still))
    if lost and strict:
        raise InputError(f"{source}: this would be lost: {'; '.join(lost)}", parameter="strict")
    said = (*still.notes, *lost)
    for text in said:
        events.warning(str(source), text)
    return still, (*ignored, *said)


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
