"""Reads and checks the images of jobs, finds what outputs lose, and reports damaged inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from snellen.errors import IncompleteError, InputError
from snellen.frames import atomic
from snellen.frames.still import Still, check, losses, read
from snellen.jobs.events import Events, Progress
from snellen.jobs.inputs import PIPE


def opened(
    source: Path,
    target: Path,
    *,
    strict: bool,
    overwrite: bool,
    unused: tuple[str, ...],
    events: Events,
) -> tuple[Still, tuple[str, ...]]:
    """Return an image, and what of it the target will not hold.

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
    for name in unused:
        events.warning(str(source), f"`{name}` is for video: without effect on an image")
    still = read(source)
    check(target, still)
    lost = (*still.lost, *losses(target, still))
    if lost and strict:
        raise InputError(f"{source}: this would be lost: {'; '.join(lost)}", parameter="strict")
    for text in lost:
        events.warning(str(source), text)
    return still, lost


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
