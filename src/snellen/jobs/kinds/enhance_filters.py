"""FFmpeg's filters in the enhancement of films: those that users write, and those with a name.

Why the named ones have these chains: lab/enhancement.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from snellen.jobs.kinds.enhance_line import Line


class Stage(NamedTuple):
    """A stage makes the steps of an option of enhancement, in the order of its fields."""

    add: Callable[[Line, Any, str], None]
    """Called with the line, the enhancement and the option's name, if that has a value."""
    after: bool = False
    """True: the frames are enlarged before."""


def named(chain: str | Callable[[Any], str], *, after: bool = False, least_bits: int = 0) -> Stage:
    """Return the stage of FFmpeg's filters that have a name.

    `chain` has the filters; of an option with a value it is a function of that. `after`: they work
    on the enlarged frames. `least_bits` is the depth that they work at, at least.
    """

    def add(line: Line, options: Any, name: str) -> None:
        value = getattr(options, name)
        words = chain if isinstance(chain, str) else chain(value)
        add_filters(line, words, name, titled(name, value), least_bits)

    return Stage(add, after)


def titled(name: str, value: Any) -> str:
    """Return what the printed chain of steps calls a named filter."""
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return name.replace("_", "-") + ("" if value is True else f" {shown}")


def add_filters(
    line: Line, chain: str, parameter: str, title: str | None = None, least_bits: int = 0
) -> None:
    """Add a chain of FFmpeg's filters, and say what users may want to know of it.

    `parameter` is the option that asks for it. `title` is what the printed chain calls it; None:
    the option and the filters, as they were written. `least_bits` is as of `named`.
    """
    from snellen.video.filtering.overlaps import UNKNOWN, unknown
    from snellen.video.filtering.parse import parse
    from snellen.video.filtering.step import FilterStep

    filters = parse(chain, parameter)
    title = title or f"{parameter.replace('_', '-')} {chain.strip()}"
    step = FilterStep(filters, line.info, parameter, title, least_bits, line.files)
    for note in step.said:
        line.say(note)
    if step.traits.reach is not None and (others := unknown(filters)):
        line.say(
            f"it is not known how many frames around one {' and '.join(others)} of `{parameter}` "
            f"looks at: in a film in segments, at {UNKNOWN}"
        )
    losses = (*step.picture.losses, *step.losses)
    line.add(step, replace(step.picture, losses=losses))
