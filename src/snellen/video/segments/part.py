"""A part of a film's segments, made by one of several runs; or none, and only the plan is written.

Segments that are joined by `convert`, with `Segments.only_join`, when all runs have ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from snellen.errors import InputError
from snellen.frames.brief import Brief
from snellen.video.progress import Meter, Progress
from snellen.video.quality.hunt import hunting
from snellen.video.quality.values import Aim
from snellen.video.ready import Ready
from snellen.video.segments.begin import begun
from snellen.video.segments.film import Segments


@dataclass(frozen=True, slots=True, repr=False)
class Part(Brief):
    """A run's part of a film's segments."""

    folder: Path
    """Where they are."""
    segments: int
    """Number of the film's segments."""
    frames: int
    """Number of the input's frames."""
    made: tuple[int, ...]
    """Numbers of the segments that this run was to make, from 1; all of them are finished. Empty
    where the film has none of these."""


def make_part(
    ready: Ready,
    *,
    segments: Segments | None,
    aim: Aim | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Part:
    """Make the segments that `Segments.numbers` names; without any, write the plan.

    Numbers beyond the last segment are left out, as in slices of Python; a notice says where there
    are no others.

    Parameters and errors are those of `convert`.

    Raises
    ------
    InputError
        The film is not made in segments.
    """
    how, film = segments, None
    if how is not None:
        with hunting(aim, ready, on_progress) as hunt:
            film = begun(how, ready.info, ready.step, ready.plan, ready.output, hunt)
    if how is None or how.numbers is None or film is None:
        raise InputError(f"{ready.info.name} is made in one piece: there is nothing to plan")
    with film:
        cuts = film.cuts
        made = tuple(one.number for one in cuts if one.number in how.numbers)
        if made:
            frames = sum(one.frames for one in cuts if one.number in made)
            film.encode(ready.step, Meter(frames, on_progress), ready.source.info)
        elif how.numbers:
            which = f"{how.numbers.start}:{how.numbers.stop - 1}"
            how.say(f"got segments {which}; there are 1:{len(cuts)}: nothing is to be made")
        return Part(how.folder, len(cuts), sum(one.frames for one in cuts), made)
