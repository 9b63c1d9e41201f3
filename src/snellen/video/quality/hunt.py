"""Chooses an encoder's quality by probes, and scores the finished film."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av

from snellen.cpu.threads import chosen as chosen_threads
from snellen.errors import DeviceError, InputError
from snellen.metrics.registry import METRICS
from snellen.video.ffmpeg import reason
from snellen.video.messages import counted
from snellen.video.progress import Meter, Progress
from snellen.video.quality.excerpts import (
    AFTER,
    BEFORE,
    Excerpt,
    picked,
    places,
    room,
    taken,
)
from snellen.video.quality.search import Scale, search
from snellen.video.quality.trial import (
    clock_of,
    encoded,
    finished_pairs,
    format_of,
    identical_pairs,
    pairs,
    view_of,
)
from snellen.video.quality.values import (
    Aim,
    Choice,
    Pair,
    Probe,
    Reached,
    model_of,
    pooled,
    tolerance,
    words_of,
)
from snellen.video.ready import Ready
from snellen.video.sink.encode import Plan
from snellen.video.sink.goals import aimed, qualities, unlimited

_FAR = 4
"""A finished film misses the target if it is worse by more than so many tolerances."""


class Hunt:
    """A film whose encoder is to reach a target; a context manager, which frees the excerpts.

    Parameters
    ----------
    aim : Aim
    ready : Ready
        The film, its encoder without a quality. Excerpts are kept beside its output. Probes are not
        limited to its bit rate, where it has one.
    on_progress : callable, optional
        Called after each frame.

    Attributes
    ----------
    warnings : list of str
        What is to be said before the film is encoded.

    Raises
    ------
    InputError
        The input cannot be read several times, or is transparent.
    """

    def __init__(
        self, aim: Aim, ready: Ready, on_progress: Callable[[Progress], None] | None
    ) -> None:
        target, info, plan = aim.target, ready.info, ready.plan
        why = None
        if info.path is None:
            why = "the input is read several times, which a pipe or pictures cannot be"
        elif plan.alpha:
            why = "the opacity of a transparent film is not scored"
        elif info.clip.ivtc:
            why = "with `ivtc` the frames of an excerpt need not be those of the film"
        elif not ready.step.traits.steady:
            why = "the times of frames do not follow from their rate here"
        elif ready.step.traits.reach is None:
            why = "what a frame becomes depends on the whole film here: excerpts would differ"
        if why is not None:
            raise InputError(
                f"got `{target.parameter}`, but {why}",
                parameter=target.parameter,
                advice=f"leave `{target.parameter}` out",
            )
        self._aim, self._target = aim, target
        self._info, self._step, self._plan = info, ready.step, plan
        self._limit, self._strict = ready.encoding.max_bitrate, ready.strict
        self._view = view_of(plan, info.name, target.parameter, aim.measure)
        output = ready.output.target
        self._folder = output.parent if isinstance(output, Path) else Path()
        self._report = on_progress
        self._choice: Choice | None = None
        self.warnings: list[str] = []
        self._kept: dict[Fraction, Excerpt] = {}
        fit = room(self._folder) // plan.format.nbytes
        self._length, self._probed, self._others = places(info.frames, fit)
        self._scale = Scale(*qualities(plan.encoder))
        self._word = plan.encoder.traits.quality
        most = aim.measure.most
        self._most = None if most is None else max(1, most // len(self._probed))

    def __enter__(self) -> Hunt:
        return self

    def __exit__(self, *_: object) -> None:
        for excerpt in self._kept.values():
            excerpt.close()
        self._aim.measure.close()

    def choose(self) -> Choice:
        """Return the quality that reaches the target, found by probes.

        InputError: no frame of an excerpt can be decoded, or too small a picture for the metric;
        strict, and no quality reaches the target.
        """
        target, metric = self._target, METRICS[self._target.metric]
        every = [self._excerpt(one, (BEFORE, AFTER)) for one in self._probed]
        excerpts = [one for one in every if one is not None]
        if not excerpts:
            raise InputError(f"{self._info.name}: not one excerpt of it could be decoded")
        frames = sum(map(len, excerpts))
        found_model = model_of(target, self._plan.format)
        model = f", {found_model}" if found_model else ""
        self._aim.say(
            f"{target.name} {target.value:g} ({words_of(target.pool)}{model}) is searched for by "
            f"{counted(len(excerpts), 'excerpt')} of {counted(frames, 'frame')} in all"
        )
        probes: list[Probe] = []
        scored = 0

        def probe(quality: float) -> float:
            nonlocal scored
            one, scored = self._probe(excerpts, quality, len(probes) + 1)
            probes.append(one)
            self._aim.say(
                f"{self._word} {one.quality:g}: {target.name} {one.score:.2f}, {_rate(one.bitrate)}"
            )
            return metric.error(one.score)

        goal = metric.error(target.value)
        found = search(self._scale, probe, goal, tolerance(target))
        sign = 1 if metric.better == "lower" else -1
        is_known = found.reached or metric.identical is not None
        most = None if is_known else self._identical(excerpts)
        choice = Choice(
            quality=float(found.quality), expected=target.value + sign * (found.error - goal),
            reached=found.reached, excerpts=len(excerpts), frames=scored, probes=tuple(probes),
            identical=most,
        )  # fmt: skip
        if self._strict and not choice.reached:
            raise InputError(f"{self._info.name}: strict, but {self._missed(choice)}")
        self._aim.say(
            f"{self._word} {choice.quality:g} is chosen: {target.name} {choice.expected:.2f} is "
            "expected"
        )
        return choice

    def settle(self, choice: Choice | None) -> Plan:
        """Return the plan of the video stream with the quality of an earlier run, or chosen now."""
        self._choice = choice = choice or self.choose()
        if not choice.reached:
            self.warnings.append(self._missed(choice))
        return replace(self._plan, encoder=aimed(self._plan.encoder, choice.quality))

    def check(self, file: Path) -> tuple[Reached, list[str]]:
        """Score the finished film; return what is known of it, and warnings.

        Raises nothing of its own: the film is complete, whether it can be scored or not.
        """
        choice, target, scores = self._choice, self._target, list[float]()
        assert choice is not None
        why = "no frame of an excerpt was found in it"
        try:
            scores = self._checked(file)
        except (av.FFmpegError, OSError, InputError, DeviceError) as failed:
            why = reason(failed)
        count, score = len(scores), pooled(scores, target.pool) if scores else None
        difference = None if score is None else score - target.value
        reached = Reached(
            target.metric,
            target.value,
            target.pool,
            choice,
            score,
            count,
            difference,
            model_of(target, self._plan.format),
        )
        if score is None:
            return reached, [f"the finished film could not be scored: {why}"]
        metric = METRICS[target.metric]
        excess = metric.error(target.value) - metric.error(score)
        line = (
            f"the finished film: {target.name} {score:.2f} ({words_of(target.pool)} of "
            f"{counted(count, 'frame')}), {abs(excess):.2f} "
            f"{'better' if excess >= 0 else 'worse'} than the target"
        )
        if -excess <= _FAR * tolerance(target) or not choice.reached:
            self._aim.say(line)
            return reached, []
        if self._limit is not None:
            line += f": `max_bitrate` {_rate(float(self._limit))} wins"
        return reached, [line]

    def _missed(self, choice: Choice) -> str:
        target, most = self._target, choice.identical
        said = (
            f"`{target.parameter}`={target.value:g} is not reached: {self._word} "
            f"{choice.quality:g}, the best of {self._plan.encoder.codec}, gives {target.name} "
            f"{choice.expected:.2f}, and is taken"
        )
        if most is None or most >= target.value:
            return said
        return (
            f"{said}; identical frames have {target.name} {most:.2f} here, since it counts motion, "
            "and no encoder gives more"
        )

    def _excerpt(self, place: Fraction, margins: tuple[int, int]) -> Excerpt | None:
        """Return the frames of an excerpt, which stay; None: it has none."""
        if place not in self._kept:
            number = sorted((*self._probed, *self._others)).index(place) + 1
            frames = self._length + sum(margins)
            if self._info.frames is not None:
                frames = min(frames, self._info.frames)
            total = round(frames * self._step.traits.rate)
            meter = Meter(total, self._report, f"excerpt {number}")
            found = self._taken(place / self._info.rate, self._length, margins, meter)
            if found is None:
                return None
            self._kept[place] = found
        return self._kept[place]

    def _taken(
        self, begin: Fraction, frames: int, margins: tuple[int, int], meter: Meter
    ) -> Excerpt | None:
        with self._aim.aside():
            return taken(
                self._info, self._step, self._plan, begin, frames, margins, self._folder, meter
            )

    def _numbers(self, excerpt: Excerpt) -> tuple[int, ...]:
        """Return which frames of an excerpt are given to the metric."""
        # Where it looks at several in a row, it gets the one before, too, which has no score.
        first = excerpt.scored.start
        if self._most is None and first:
            return tuple(range(first - 1, excerpt.scored.stop))
        return picked(excerpt.scored, self._most)

    def _scores(self, found: Iterator[Pair], meter: Meter) -> list[float]:
        """Return the scores of pairs, each of which is counted when it is scored."""

        def counting() -> Iterator[Pair]:
            for pair in found:
                yield pair
                meter.count()

        return self._aim.measure.scores(counting(), format_of(self._plan, self._aim.measure.whole))

    def _probe(self, excerpts: list[Excerpt], quality: float, number: int) -> tuple[Probe, int]:
        """Return what a quality gives, and how many frames were scored."""
        encoder = unlimited(self._plan.encoder, self._limit)
        plan = replace(self._plan, encoder=aimed(encoder, quality))
        scores: list[float] = []
        size = frames = 0
        stage = f"probe {number}, {self._word} {quality:g}"
        total = sum(len(one) + len(self._numbers(one)) for one in excerpts)
        meter = Meter(total, self._report, stage)
        for excerpt in excerpts:
            film, count = encoded(excerpt, plan, chosen_threads() or 0, meter)
            found = pairs(film, excerpt, plan, self._numbers(excerpt), self._view)
            scores += self._scores(found, meter)
            size += count
            frames += len(excerpt)
        rate = float(8 * size / (frames / plan.rate))
        return Probe(float(quality), pooled(scores, self._target.pool), rate), len(scores)

    def _identical(self, excerpts: list[Excerpt]) -> float:
        """Return the score of excerpts against themselves."""
        meter = Meter(sum(map(len, map(self._numbers, excerpts))), self._report, "identical frames")
        scores: list[float] = []
        for excerpt in excerpts:
            found = identical_pairs(excerpt, self._plan, self._numbers(excerpt), self._view)
            scores += self._scores(found, meter)
        return pooled(scores, self._target.pool)

    def _checked(self, file: Path) -> list[float]:
        """Return the scores of the finished film, of all excerpts."""
        first = self._taken(Fraction(0), 1, (0, 0), Meter(1, None))
        if first is None:
            return []
        with closing(first):
            clock = clock_of(file, first.times[0] * self._plan.time_base)
        scores: list[float] = []
        for place in sorted((*self._probed, *self._others)):
            excerpt = self._excerpt(place, (int(self._most is None), 0))
            if excerpt is not None:
                numbers = self._numbers(excerpt)
                meter = Meter(len(numbers), self._report, "score of the film")
                matched = finished_pairs(file, clock, excerpt, self._plan, numbers, self._view)
                scores += self._scores(matched, meter)
                self._kept.pop(place).close()
        return scores


def hunting(
    aim: Aim | None, ready: Ready, on_progress: Callable[[Progress], None] | None
) -> AbstractContextManager[Hunt | None]:
    """Return a context with the hunt of a conversion that is ready; None: it has no aim."""
    return nullcontext() if aim is None else Hunt(aim, ready, on_progress)


def _rate(bits: float) -> str:
    return f"{bits / 1e6:.2f} Mbit/s" if bits < 1e7 else f"{bits / 1e6:.1f} Mbit/s"
