"""Outcomes of prior="auto" for pictures, tiles and frames, in a word and as messages."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.jobs.events import Events, notify
from snellen.mia.image import DOUBT
from snellen.mia.result import IMPLAUSIBLE, SHARP, in_a_word

NONE = "no blur found that could be undone: left as it is"
"""Notice of prior="auto"."""


def report_outcomes(
    outcomes: Sequence[str | None], kind: str, name: str, events: Events
) -> tuple[str | None, tuple[str, ...]]:
    """Report outcomes; return them in a word, and the warnings.

    There is one for each picture, tile or frame, None where it was not asked for; `kind` is
    "tiles" or "frames". A notice says what has no blur, a warning what is not plausible.
    """
    of = "" if len(outcomes) == 1 else f"in {{}} of {len(outcomes)} {kind} "
    if sharp := outcomes.count(SHARP):
        notify(events, name, of.format(sharp) + NONE)
    said = []
    if doubtful := outcomes.count(IMPLAUSIBLE):
        said.append(of.format(doubtful) + DOUBT)
        events.warning(name, said[0])
    return in_a_word(outcomes), tuple(said)
