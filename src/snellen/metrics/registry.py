"""The metrics: what each is called, gives and needs. Whatever scores, or shows scores, reads this.

A new metric is an entry here, and its implementation: `Metric.home` says what that has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from snellen.errors import InputError, quoted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")
OfPlanes = Callable[["npt.NDArray[Any]", "npt.NDArray[Any]", float], float]
"""Returns the score of two planes, (H, W), given the sample value of white."""
OfColours = Callable[["npt.NDArray[np.float32]", "npt.NDArray[np.float32]"], float]
"""Returns the score of two pictures, (3, H, W): red, green and blue of BT.709, linear in light,
from 0, black, to 1, white."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The search for an encoder's quality by a metric."""

    most: float
    """Greatest target: where higher is better, the score of a perfect film."""
    pools: tuple[str, ...]
    """Statistics by which scores of frames become one; the first is the default."""
    tolerance: float
    """A probe ends the search that is better than the target by no more than this, …"""
    share: float = 0.0
    """… or by no more than this share of the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric, and the names of the scores that it gives."""

    name: str
    """Its name in `metrics`, and that of its score."""
    title: str
    """Its name in texts."""
    better: str
    """"lower" or "higher"."""
    of: str = "luma"
    """The part of pictures that it measures: "luma", or "colours", those of SDR only."""
    fitted_to_sdr: bool = False
    """True: it takes code values of any film, but was fitted to opinions on SDR."""
    unit: str = ""
    scale: str = ""
    """The meaning of its values, in a few words."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Scores that it is made of and that stand beside it, and what their values mean."""
    identical: float | None = None
    """Score of equal pictures; None: it varies with what they show."""
    smallest: int = 1
    """Least pixels of a side of pictures."""
    why: str = ""
    """The reason, as a clause."""
    films_only: bool = False
    """True: a frame's score depends on the frames around it."""
    decibels: bool = False
    """True: scores are decibels of an error; of many there is that of the mean error, too."""
    options: tuple[str, ...] = ()
    """Parameters that have a meaning with this metric only."""
    setting: str | None = None
    """The parameter, among `options`, that names its model, of metrics of films that have several;
    its default is "auto". Outputs have the model's own name by this name."""
    goal: Goal | None = None
    """The search for `target_` and its name, a field of Encoding; None: it cannot be a target."""
    home: str | None = None
    """Module of the implementation. It has an OfPlanes, or of colours an OfColours, by the
    metric's name; of metrics of films
    `Stream`, `is_there`, `refused`, `reach`, `whole`, and what `setting` and `goal` need, `called`
    and `Measure`: as `snellen.video.vmaf`. None: MAD's Scorer."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its scores."""
        return self.name, *self.parts

    @property
    def measure(self) -> Any:
        """The function that computes it: an OfPlanes, or of colours an OfColours."""
        return getattr(self.module, self.name)

    @property
    def module(self) -> Any:
        """The module of the implementation."""
        assert self.home is not None
        return import_module(self.home)

    def title_of(self, column: str) -> str:
        """Return what texts call one of its scores."""
        return self.title if column == self.name else column.upper()

    def error(self, score: float) -> float:
        """Return how far a score is from that of a perfect film."""
        if self.better == "lower" or self.goal is None:
            return score
        return max(0.0, self.goal.most - score)


METRICS: dict[str, Metric] = {}
"""All metrics by name, in the order of their scores."""
MAD = "mad"


def add(metric: Metric) -> None:
    """Make a metric known."""
    METRICS[metric.name] = metric


add(Metric(
    name=MAD, title="MAD", better="lower", scale="0: no difference is visible",
    parts={"hi": "0: no error reaches the threshold; no upper limit",
           "lo": "0: alike in all subbands; no upper limit"},
    identical=0.0, smallest=34, why=", which leaves a margin of 33 pixels out",
    options=("temporal", "maps", "variant", "hi_scale", "eight_bit_lut"),
    goal=Goal(most=200.0, pools=("mean", "rms", "p95"), tolerance=0.02, share=0.02),
))  # fmt: skip
add(Metric(
    name="psnr", title="PSNR", better="higher", unit="dB", identical=float("inf"), smallest=11,
    decibels=True, home="snellen.metrics.psnr",
))  # fmt: skip
add(Metric(
    name="ssim", title="SSIM", better="higher", scale="1: equal", identical=1.0, smallest=11,
    home="snellen.metrics.ssim",
))  # fmt: skip
add(Metric(
    name="ssimulacra2", title="SSIMULACRA 2", better="higher", of="colours", identical=100.0,
    scale="100: equal; 90: no visible difference; 70: high, 50: medium, 30: low quality",
    smallest=8, goal=Goal(most=100.0, pools=("mean", "p5"), tolerance=0.3),
    home="snellen.metrics.ssimulacra2.cpu",
))  # fmt: skip
add(Metric(
    name="vmaf", title="VMAF", better="higher", scale="0 … 100", films_only=True,
    goal=Goal(most=100.0, pools=("mean", "harmonic", "p5"), tolerance=0.25),
    options=("vmaf_model",), setting="vmaf_model", fitted_to_sdr=True, home="snellen.video.vmaf",
))  # fmt: skip
add(Metric(
    name="xpsnr", title="XPSNR", better="higher", unit="dB", films_only=True,
    scale="the least of luma and both chroma planes", identical=float("inf"),
    parts={"xpsnr_y": "of luma", "xpsnr_u": "of blue difference", "xpsnr_v": "of red difference"},
    home="snellen.video.xpsnr",
))  # fmt: skip


def known(films: bool = False) -> tuple[str, ...]:
    """Return the names of metrics of pictures, or of films, which have all."""
    return tuple(one.name for one in METRICS.values() if films or not one.films_only)


def chosen(metrics: object, films: bool = False) -> tuple[str, ...]:
    """Return names of metrics in the order of the registry.

    Parameters
    ----------
    metrics : str or sequence of str
        The caller's: "mad,psnr", or ["mad", "psnr"].
    films : bool
        Whether metrics of films only are let pass.

    Raises
    ------
    InputError
        Another name, or none at all.
    """
    from snellen.frames import values  # which imports NumPy

    if isinstance(metrics, str):
        given: list[object] = [name.strip() for name in str.__str__(metrics).split(",")]
    elif isinstance(metrics, Iterable):
        given = [values.plain(name) for name in values.items("metrics", metrics, len(METRICS))]
    else:
        given = []
    passed = known(films)
    wrong = [name for name in given if not isinstance(name, str) or name not in passed]
    if wrong or not given:
        others = [name for name in wrong if isinstance(name, str) and name in METRICS]
        raise InputError(
            f"`metrics`={quoted(metrics)}; expected some of {', '.join(passed)}, as text with "
            "commas, or a sequence of these names",
            parameter="metrics",
            advice=f"{others[0]} is of films: snellen.score_files has it" if others else None,
        )
    return tuple(name for name in passed if name in given)


def of_films(names: Iterable[str]) -> tuple[Metric, ...]:
    """Return those of some metrics that are of films only."""
    return tuple(METRICS[name] for name in names if METRICS[name].films_only)


def of_colours(names: Iterable[str]) -> tuple[Metric, ...]:
    """Return those of some metrics that look at colours."""
    return tuple(METRICS[name] for name in names if METRICS[name].of == "colours")


def columns(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all scores of metrics."""
    return tuple(column for name in names for column in METRICS[name].columns)


def of_column(column: str) -> Metric:
    """Return the metric that gives a score."""
    return next(one for one in METRICS.values() if column in one.columns)


def title(column: str) -> str:
    """Return what texts call a score."""
    return of_column(column).title_of(column)


def goals() -> dict[str, Goal]:
    """Return the metrics that can be a target, by name."""
    return {name: one.goal for name, one in METRICS.items() if one.goal is not None}


def check_options(names: tuple[str, ...], given: Mapping[str, object]) -> None:
    """Refuse (InputError) parameters of a metric that is not among those that are asked for.

    `given` has each parameter's name, and whether it is given.
    """
    for metric in METRICS.values():
        for name in metric.options:
            if given.get(name) and metric.name not in names:
                raise InputError(
                    f"got `{name}` with `metrics`={','.join(names)}; it is of {metric.name}",
                    parameter="metrics",
                )


def check_size(names: Iterable[str], width: int, height: int, subject: str) -> None:
    """Refuse (InputError) pictures that are too small for metrics; `subject` names the files."""
    asked = [METRICS[name] for name in names]
    least = max(one.smallest for one in asked)
    if min(width, height) >= least:
        return
    wide = [one for one in asked if one.smallest == least]
    others = [one for one in map(METRICS.get, known()) if one and one.smallest < least]
    size = max((one.smallest for one in others), default=0)
    take = "takes" if len(others) == 1 else "take"
    raise InputError(
        f"{subject}: got pictures of {width}×{height}; expected at least {least}×{least}, for "
        f"{titles(wide)}{wide[0].why}",
        advice=f"{titles(others)} {take} {size}×{size}" if others else None,
    )


def titles(metrics: Iterable[Metric]) -> str:
    """Return what texts call some metrics; empty: there are none."""
    names = [one.title for one in metrics]
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def held(scores: Mapping[str, T], name: str) -> T | None:
    """Return a score, for `__getattr__`; None: it was not asked for (AttributeError: no score)."""
    if any(name in one.columns for one in METRICS.values()):
        return scores.get(name)
    raise AttributeError(f"there is no score {name!r}")
