"""A search and its findings: values that a manifest holds, and the Protocol of metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from snellen.frames.brief import Brief
from snellen.frames.frame import Format
from snellen.metrics.registry import METRICS, goals
from snellen.video.sink.encoding import Target

Array = npt.NDArray[Any]
Pair = tuple[Any, Any]
"""A frame that the encoder got, and the decoded one: luma, or linear colours (3, H, W), or a tuple
of planes."""


class Measure(Protocol):
    """Scores decoded frames against those that an encoder got."""

    colours: str
    """Name of the metric, if it takes colours; empty: it takes luma, or with `whole` all planes."""
    whole: bool
    """True: it takes tuples of planes."""
    most: int | None
    """Frames of a film that are scored at most; None: all of its excerpts, since it looks at
    several frames in a row."""

    def scores(self, pairs: Iterable[Pair], format: Format) -> list[float]:
        """Return the scores of frames of a format; with `most` None of all but the first one."""
        ...

    def close(self) -> None:
        """Release what it took."""
        ...


@dataclass(frozen=True, slots=True)
class Aim:
    """A target, and what is needed to reach it."""

    target: Target
    measure: Measure
    say: Callable[[str], None]
    """Receives what is good to know."""
    aside: Callable[[], AbstractContextManager[object]] = nullcontext
    """Returns a context in which frames that go through the step do not belong to the result."""


@dataclass(frozen=True, slots=True, repr=False)
class Probe(Brief):
    """The result of one quality of the encoder."""

    quality: float
    """The encoder's crf, or cq."""
    score: float
    """The score of all excerpts, pooled."""
    bitrate: float
    """Bits a second of the excerpts."""


@dataclass(frozen=True, slots=True, repr=False)
class Choice(Brief):
    """The quality that was chosen, and why."""

    quality: float
    """The encoder's crf, or cq."""
    expected: float
    """Score of the excerpts with it: measured, or between two that were."""
    reached: bool
    """True: the encoder reaches the target at all."""
    excerpts: int
    """Excerpts that were encoded."""
    frames: int
    """Frames of them that were scored, each time."""
    probes: tuple[Probe, ...]
    """The probes in their order."""
    identical: float | None = None
    """VMAF of the excerpts against themselves, which no quality exceeds: asked for where the target
    is not reached; None: it was not."""


@dataclass(frozen=True, slots=True, repr=False)
class Reached(Brief):
    """A target, what was chosen for it, and the score of the finished film."""

    metric: str
    """Its name in the registry."""
    target: float
    pool: str
    """The statistic by which the scores of frames become one."""
    choice: Choice
    score: float | None
    """The score of the finished film, from `frames` of it; None: it could not be scored."""
    frames: int
    """Frames of the finished film that were scored."""
    difference: float | None
    """The score less the target."""
    model: str | None = None
    """The model that scored, of a metric that has several, as of VMAF."""

    def __str__(self) -> str:
        name, choice = METRICS[self.metric].title, self.choice
        how = f"{self.pool}, {self.model}" if self.model else self.pool
        probes = ", ".join(f"{one.quality:g}: {one.score:.2f}" for one in choice.probes)
        found = "not scored" if self.score is None else f"{self.score:.2f} ({self.frames} frames)"
        return (
            f"{name} {self.target:g} ({how}); by crf, probes gave {probes}; "
            f"{choice.quality:g} was chosen; the finished film has {found}"
        )


def pooled(scores: Sequence[float], pool: str) -> float:
    """Return the one score of many, at least one."""
    values = np.asarray(scores, np.float64)
    if pool == "rms":
        return float(np.sqrt((values**2).mean()))
    if pool == "harmonic":  # as libvmaf pools: 1 is added, so that 0 has a place
        return float(len(values) / (1 / (values + 1)).sum() - 1)
    if pool in ("p5", "p95"):
        return float(np.percentile(values, float(pool[1:])))
    return float(values.mean())


def model_of(target: Target, format: Format) -> str | None:
    """Return the name of the model that scores frames of a format; None: the metric has none."""
    if not target.setting:
        return None
    module = METRICS[target.metric].module
    found: str = module.called(*target.setting, format.width, format.height)
    return found


def words_of(pool: str) -> str:
    """Return what messages call a pool."""
    words = {"rms": "root mean square", "harmonic": "harmonic mean", "p5": "5th percentile",
             "p95": "95th percentile"}  # fmt: skip
    return words.get(pool, pool)


def tolerance(target: Target) -> float:
    """Return by how much better than the target a probe may be that ends the search.

    2 % of a MAD, at least 0.02; of VMAF 0.25: less than half a step of crf changes, usually.
    """
    goal = goals()[target.metric]
    return max(goal.tolerance, target.value * goal.share)
