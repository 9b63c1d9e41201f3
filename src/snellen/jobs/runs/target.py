"""The target quality of a job: the metric by which excerpts of its film are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.jobs.events import Events, notify
from snellen.jobs.fallback import on_device
from snellen.mad.scorer import Scorer
from snellen.metrics.registry import MAD, METRICS, Metric
from snellen.video.quality.values import Aim, Measure, Pair
from snellen.video.sink.encoding import Encoding

FRAMES = 32
"""Frames that MAD scores of all excerpts of a probe, at most: a CPU takes a second for each
2 megapixels or so."""


class MadMeasure:
    """MAD of luma, as a `snellen.video.quality.values.Measure`.

    Parameters
    ----------
    device : str
        The job's; of several the first one scores. Where the memory of "auto"'s GPU does not
        suffice, the CPU does.
    subject : str
        What warnings are about.
    events : Events
        Receives warnings.
    """

    colours, whole = "", False
    most: int | None = FRAMES

    def __init__(self, device: str, subject: str, events: Events) -> None:
        self._device, self._subject, self._events = device.split(",")[0], subject, events
        self._scorer: Scorer | None = None

    def scores(self, pairs: Iterable[Pair], format: Format) -> list[float]:
        """Return the scores of frames of a format, which is the same in every call."""
        if self._scorer is None:
            _check_size(METRICS[MAD], format, self._subject)

            def prepared(device: str) -> Scorer:
                scorer = Scorer(device=device)
                scorer.prepare(format)
                return scorer

            self._scorer = on_device(prepared, self._device, self._subject, self._events)
        return [float(self._scorer.run(one, other).mad) for one, other in pairs]

    def close(self) -> None:
        """Release the scorer."""
        if self._scorer is not None:
            self._scorer.close()
            self._scorer = None


def _check_size(metric: Metric, format: Format, subject: str) -> None:
    """Refuse (InputError) pictures that are too small for a metric."""
    least, parameter = metric.smallest, f"target_{metric.name}"
    if min(format.width, format.height) < least:
        raise InputError(
            f"{subject}: got pictures of {format.width}×{format.height}; expected at least "
            f"{least}×{least} for `{parameter}`{metric.why}",
            parameter=parameter,
            advice="give `crf` instead",
        )


class PictureMeasure:
    """A metric of luma or colours of pictures, as a `snellen.video.quality.values.Measure`."""

    colours, whole = "", False
    most: int | None = 1 << 30
    """All frames of the excerpts: it takes little time."""

    def __init__(self, metric: Metric, subject: str) -> None:
        self._metric, self._subject = metric, subject
        self.colours = metric.title if metric.of == "colours" else ""

    def scores(self, pairs: Iterable[Pair], format: Format) -> list[float]:
        """Return the scores of frames of a format."""
        _check_size(self._metric, format, self._subject)
        measure = self._metric.measure
        white = () if self.colours else (float((1 << format.bits) - 1),)
        return [measure(one, other, *white) for one, other in pairs]

    def close(self) -> None:
        """Nothing is kept."""


def aim_of(
    encoding: Encoding,
    device: str,
    subject: str,
    events: Events,
    aside: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Aim | None:
    """Return the aim of a job; None: it has no target.

    Parameters
    ----------
    encoding : Encoding
        The job's.
    device : str
        The job's.
    subject : str
        What messages are about.
    events : Events
        Receives notices and warnings.
    aside : callable, optional
        As of `Aim`.

    Raises
    ------
    InputError
        The metric cannot be computed here.
    """
    target = encoding.target
    if target is None:
        return None

    metric = METRICS[target.metric]
    if metric.films_only and not metric.module.is_there():
        raise metric.module.refused(target.parameter)
    measure: Measure
    if metric.films_only:
        measure = metric.module.Measure(subject, *target.setting)
    elif metric.home is not None:
        measure = PictureMeasure(metric, subject)
    else:
        measure = MadMeasure(device, subject, events)
    return Aim(target, measure, partial(notify, events, subject), aside)
