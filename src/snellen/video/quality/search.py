"""The search for the worst quality of an encoder that still reaches a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, floor, log

MOST, MORE = 6, 3
"""Probes at most, and further ones at a cliff."""
_JUMP = 5.0
"""The second probe is so much of crf away from the first one; others at most three times."""

_SMALLEST = 1e-3
"""A target below counts as this one."""
_STEEP = 4
"""A line between two neighbours says nothing if they differ by more than this factor."""
_LEAST = 1 / 16
"""Errors that are a smaller part of the target count as this one: VMAF ends at 100."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The qualities of an encoder: crf and cq rise as pictures become worse."""

    best: float
    worst: float
    step: float
    """Between two qualities."""
    start: float
    """The quality with which a search begins."""

    def at(self, quality: float) -> float:
        """Return the nearest quality that the encoder has and that is not worse."""
        steps = floor((quality - self.best) / self.step + 1e-9)
        return min(self.worst, max(self.best, self.best + steps * self.step))


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a search."""

    quality: float
    error: float
    """The error that is expected of it: that of a probe, or between two."""
    reached: bool
    """True: the target is reached at all."""


def search(scale: Scale, error: Callable[[float], float], target: float, tolerance: float) -> Found:
    """Return the worst quality whose error, 0 or more, is at most that of the target.

    Errors are taken to grow with crf, by about the same factor for each step. Between a probe that
    reaches the target and one that does not, the next one is where a straight line through the
    logarithms of both meets it; where two in a row are on one side, the logarithm of the other side
    counts half (the Illinois rule), or curves would be approached from one side. The search ends
    when a probe is better by less than `tolerance`, when no quality is left between the two, or
    after `MOST` probes; then the answer is on that line, and need not be a probe. Where the line is
    steep after these, up to `MORE` probes halve the distance; where it stays so, the answer is the
    last probe that reaches the target.
    """
    target = max(target, _SMALLEST)
    tried: dict[float, float] = {}
    quality = scale.at(scale.start)
    while True:
        found = error(quality)
        tried[quality] = log(max(found / target, _LEAST))
        if target - tolerance <= found <= target:
            return Found(quality, found, True)
        high = min((one for one, over in tried.items() if over > 0), default=None)
        good = [one for one, over in tried.items() if over <= 0 and (high is None or one < high)]
        low = max(good, default=None)
        if (low is None and quality == scale.best) or (high is None and quality == scale.worst):
            return Found(quality, found, low is not None)
        if low is None or high is None:
            following = _beyond(scale, tried, away=1 if high is None else -1)
            over = len(tried) == MOST
        else:
            under, above = tried[low], tried[high]
            steep = above - under > log(_STEEP)
            most = MOST + MORE if steep else MOST
            over = len(tried) >= most or high - low <= scale.step * 1.001
            latest = [one > 0 for one in tried.values()][-2:]
            if not over and latest == [True, True]:
                under /= 2
            elif not over and latest == [False, False]:
                above /= 2
            part = 0.5 if steep and len(tried) >= MOST else under / (under - above)
            following = scale.at(low + part * (high - low))
            following = min(max(following, low), scale.at(high - scale.step))
            if not over:
                following = max(following, scale.at(low + scale.step))
        if over:
            break
        quality = following
    if low is None or high is None:
        edge = max(tried) if high is None else min(tried)
        return Found(edge, target * exp(tried[edge]), low is not None)
    if tried[high] - tried[low] > log(_STEEP):
        return Found(low, target * exp(tried[low]), True)
    share = (following - low) / (high - low)
    return Found(following, target * exp(tried[low] + share * (tried[high] - tried[low])), True)


def _beyond(scale: Scale, tried: dict[float, float], away: int) -> float:
    """Return the next quality where all that were tried are on one side of the target."""
    # `away` is 1 where they are too good, -1 where they are not good enough.
    edge, *others = sorted(tried, key=lambda one: -away * one)
    jump = _JUMP
    if others:  # as steep as between the last two
        slope = (tried[others[0]] - tried[edge]) / (others[0] - edge)
        jump = min(3 * _JUMP, abs(tried[edge] / slope) + scale.step) if slope > 0 else 3 * _JUMP
    following = scale.at(edge + away * max(jump, scale.step))
    return following if following not in tried else scale.at(edge + away * scale.step)
