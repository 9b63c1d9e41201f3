"""The comparison of a scoring job: a Scorer and other metrics, with maps and frames for ST-MAD."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import nan
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.frame import Format
from snellen.jobs.events import Events, notify
from snellen.jobs.fallback import chosen, on_device
from snellen.jobs.options.methods import MadSettings
from snellen.jobs.steps.score_films import FilmScores
from snellen.mad.definition import BLOCK, SMALLEST
from snellen.mad.heatmap import Worst
from snellen.mad.result import Score
from snellen.mad.scorer import Scorer
from snellen.mad.temporal import TemporalScore, st_mad
from snellen.metrics.colours import Picture
from snellen.metrics.registry import MAD, METRICS, check_size, of_colours, titles

Array = npt.NDArray[Any]

LARGE = 2 << 30
"""From so many bytes of two clips on a warning says how much memory they take."""


def little(width: int, height: int) -> str | None:
    """Return what is said of pictures of which MAD scores hardly anything; None: nothing."""
    across, down = width - SMALLEST + 1, height - SMALLEST + 1
    if across * down >= BLOCK * BLOCK:
        return None
    return (
        f"pictures of {width}×{height} are too small for MAD to say much: it leaves a margin "
        f"of {SMALLEST - 1} pixels out, so that {across}×{down} pixels count, less than a block"
    )


@dataclass(frozen=True, slots=True)
class Method:
    """The MAD that scored, and its device."""

    variant: str
    hi_scale: float
    eight_bit_lut: bool
    device: str
    """"cpu", or the GPUs' own names."""
    dtype: str | None
    """"float32" or "float64", of most pairs."""


class ScoreStep:
    """Scores pairs of planes of one format after another, as a Comparison.

    Parameters
    ----------
    settings : MadSettings
        Which MAD.
    metrics : tuple of str
        What is computed: all but MAD on the CPU.
    device : str
        The job's. Where the memory of "auto"'s GPU does not suffice, the CPU steps in.
    worst : Worst
        Decides of which pictures maps are made: their scores come with maps.
    temporal : bool
        Whether all planes are kept, for ST-MAD.
    models : mapping
        The values of parameters that name models of metrics, as `vmaf_model`.
    subject : str
        What warnings are about.
    events : Events
        Receives warnings.

    Attributes
    ----------
    depths : (int, int)
        Bits of both films, set before `prepare`.
    colours, fitted_to_sdr : str
        Names of metrics that look at colours, and of those that were fitted to SDR.
    whole : bool
        Whether `run` and `submit` get pictures, too.
    rate : Fraction
        Frames a second, set before `prepare`.
    reach : int
        How many pairs before and after each are to be seen, which `see` takes.
    films : FilmScores
        The scores that are there at the end, which `close` leaves open.

    Raises
    ------
    InputError, DeviceError
        Settings that do not exist; a device that cannot be used.
    """

    def __init__(
        self,
        settings: MadSettings,
        metrics: tuple[str, ...],
        device: str,
        worst: Worst,
        temporal: bool,
        models: Mapping[str, str],
        subject: str,
        events: Events,
    ) -> None:
        self._settings = asdict(settings)
        self.subject = subject
        self._device, self._events = device, events
        self._worst = worst
        self._rising = False  # whether the last picture was among the worst so far
        self._metrics, self._has_mad = metrics, MAD in metrics
        self._measures = {
            name: METRICS[name].measure
            for name in metrics
            if name != MAD and not METRICS[name].films_only
        }
        self.colours = titles(of_colours(metrics))
        self.fitted_to_sdr = titles(
            METRICS[name] for name in metrics if METRICS[name].fitted_to_sdr
        )
        self.films = FilmScores(metrics, models, subject)
        self.depths, self.reach = (8, 8), self.films.reach
        self.whole, self.rate = bool(self.colours) or self.films.whole, Fraction(25)
        on = chosen(device, events) if self._has_mad else "cpu"
        if not self._has_mad and device not in ("auto", "cpu"):
            notify(
                events, f"`device`={device}", "the CPU is used: of the metrics only MAD uses a GPU"
            )
        self._scorer = Scorer(device=on, **self._settings)
        self._range = 0.0
        self._clips = Clips(self._warn) if temporal else None

    def prepare(self, format: Format) -> Format:
        """Get ready for planes of a format; on the CPU where "auto"'s GPU lacks memory."""
        self._range = format.white if format.white is not None else float((1 << format.bits) - 1)
        check_size(self._metrics, format.width, format.height, self.subject)
        self.films.prepare(format, self.depths, self.rate)
        if not self._has_mad:
            return format
        if (said := little(format.width, format.height)) is not None:
            self._warn(said)

        def prepared(device: str) -> Scorer:
            scorer = self._scorer
            if scorer.device != device:
                scorer = Scorer(device=device, **self._settings)
            scorer.prepare(format)
            return scorer

        device = "cpu" if self._scorer.device == "cpu" else self._device
        self._scorer = on_device(prepared, device, self.subject, self._events)
        return format

    @property
    def slots(self) -> int:
        """The number of pairs that `submit` keeps in flight."""
        return self._scorer.slots

    def run(self, reference: Array, distorted: Array, *pictures: Picture) -> Score:
        """Return the score, with maps if it is among the worst so far."""
        self.films.push(reference, distorted, *pictures)
        return self._run(reference, distorted, *pictures)

    def see(self, reference: Array, distorted: Array, *pictures: Picture) -> None:
        """Take a pair beside those that are scored."""
        self.films.push(reference, distorted, *pictures, scored=False)

    def _run(self, reference: Array, distorted: Array, *pictures: Picture) -> Score:
        if self._has_mad:
            score = self._taken(self._scorer.run, reference, distorted)
        else:
            score = Score(nan, nan, nan)
        return self._measured(score, reference, distorted, *pictures)

    def submit(self, reference: Array, distorted: Array, *pictures: Picture) -> Callable[[], Score]:
        """Begin a pair; return a function that waits for its score, as `run` returns it."""
        self.films.push(reference, distorted, *pictures)
        if not self._has_mad:
            return lambda: self._run(reference, distorted, *pictures)
        maps = self._rising
        pending = self._scorer.submit(reference, distorted, maps=maps)

        def begun(reference: Array, distorted: Array, maps: bool) -> Score:
            return self._scorer.submit(reference, distorted, maps=maps)()

        def wait() -> Score:
            score = self._taken(begun, reference, distorted, pending(), maps)
            return self._measured(score, reference, distorted, *pictures)

        return wait

    def _taken(
        self,
        run: Callable[..., Score],
        reference: Array,
        distorted: Array,
        score: Score | None = None,
        maps: bool = False,
    ) -> Score:
        """Return MAD of a pair, with maps if it is among the worst so far."""
        # Few pictures are among them: these are scored twice, but for those that follow one
        # another.
        if score is None:
            score = run(reference, distorted, maps=False)
        self._rising = self._worst.wants(float(score.mad))
        if self._rising and not maps:
            score = run(reference, distorted, maps=True)
        elif maps and not self._rising:
            score = replace(score, detection=None, appearance=None)
        if self._clips is not None:
            self._clips.add(reference, distorted)
        return score

    def _measured(
        self, score: Score, reference: Array, distorted: Array, *pictures: Picture
    ) -> Score:
        """Return a score with what is measured beside MAD."""
        colours = [picture.linear() for picture in pictures] if self.colours else []
        others = {
            name: measure(*colours)
            if METRICS[name].of == "colours"
            else measure(reference, distorted, self._range)
            for name, measure in self._measures.items()
        }
        return replace(score, others=others)

    def close(self) -> None:
        """Give back threads and buffers."""
        self._scorer.close()
        self._worst.close()

    @property
    def device_name(self) -> str:
        """The device's own name."""
        return self._scorer.device_name

    @property
    def method(self) -> Method:
        """The MAD that scored, and its device."""
        which = self._scorer.definition
        return Method(
            which.variant, which.hi_scale, which.eight_bit_lut, self._scorer.device_name,
            self._scorer.dtype,
        )  # fmt: skip

    def temporal(self, progress: Callable[[int, int], object]) -> TemporalScore:
        """Return ST-MAD of all planes that were kept.

        Raises
        ------
        InputError
            Fewer than 34 frames.
        """
        assert self._clips is not None
        self._scorer.close()  # its buffers are free for the slices
        return st_mad(
            *self._clips.stacked(),
            data_range=self._range,
            device=self._scorer.device,
            dtype=self._settings["dtype"],
            progress=progress,
        )

    def _warn(self, text: str) -> None:
        self._events.warning(self.subject, text)


class Clips:
    """Both films in memory: ST-MAD's slices run through all of time.

    Parameters
    ----------
    warn : callable
        Called with a sentence when the films take much memory.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._planes: tuple[list[Any], list[Any]] = ([], [])
        self._warn = warn
        self._bytes = 0

    def add(self, reference: Array, distorted: Array) -> None:
        """Keep a copy of both planes; warn when that is much."""
        for planes, plane in zip(self._planes, (reference, distorted), strict=True):
            planes.append(plane.astype(np.float32 if plane.dtype.kind == "f" else plane.dtype))
        grown = int(self._planes[0][-1].nbytes + self._planes[1][-1].nbytes)
        if self._bytes < LARGE <= self._bytes + grown:
            self._warn(
                f"ST-MAD keeps both films in memory: {len(self._planes[0])} frames are "
                f"{LARGE / 1e9:.1f} GB, and {1000 * grown / 1e9:.1f} GB come with every 1000 more "
                "(`frames` and `duration` take a part)"
            )
        self._bytes += grown

    def stacked(self) -> tuple[Array, Array]:
        """Return both clips (T, M, N), and keep nothing."""
        one, other = (self._stack(planes) for planes in self._planes)
        return one, other

    @staticmethod
    def _stack(planes: list[Any]) -> Array:
        clip = np.empty((len(planes), *planes[0].shape), planes[0].dtype)
        for number in range(len(planes)):
            clip[number], planes[number] = planes[number], None
        return clip
