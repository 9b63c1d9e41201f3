"""VMAF, which FFmpeg's filter libvmaf computes where the FFmpeg in PyAV has it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack, closing
from fractions import Fraction
from typing import Any

import av
from av.filter import filters_available

from snellen.cpu.threads import available
from snellen.errors import InputError
from snellen.files import temporary
from snellen.frames.frame import Format
from snellen.metrics.vmaf_models import AUTO, LONGER, MODELS, Model, model
from snellen.video.film_graph import FilmGraph, Planes, depth_of

FILTER = "libvmaf"
RATE = Fraction(25)
"""Frames a second, where nobody knows: no score depends on it."""
_DEPTHS = (8, 10, 12, 16)
"""Bits that the filter takes."""
_DEPTHS_1 = (8, 10)
"""Bits for the models of version 1: of more their CAMBI fails."""
_SUBSAMPLINGS = ((1, 1), (1, 0), (0, 0))


def is_there() -> bool:
    """Return whether VMAF can be computed here."""
    return FILTER in filters_available


def refused(parameter: str = "metrics") -> InputError:
    """Return the error that says why there is no VMAF, where a parameter asks for it."""
    advice = (
        "leave vmaf out, or take Python 3.12 or later, for which there is PyAV 19"
        if parameter == "metrics"
        else "take Python 3.12 or later, for which there is PyAV 19, or `target_mad`"
    )
    return InputError(
        f"`{parameter}` asks for vmaf, but the FFmpeg in PyAV {av.__version__} was built without "
        f"the filter {FILTER}, as in all wheels before PyAV 19",
        parameter=parameter,
        advice=advice,
    )


def reach(setting: str) -> int:
    """Return how many frames before and after each its score depends on."""
    return 1 if setting == AUTO else MODELS[setting].reach


def whole(setting: str) -> bool:
    """Return whether scores depend on chroma, too."""
    return setting != AUTO and MODELS[setting].looks_at_chroma


def called(setting: str, width: int, height: int) -> str:
    """Return the name of the model that scores pictures of a size."""
    return model(setting, width, height).name


class Stream:
    """VMAF of frames that come one after another. It has a folder for temporary files.

    Parameters
    ----------
    format : Format
        Of the planes to come: luma, or for models of version 1 luma and chroma.
    rate : Fraction
        Frames a second.
    setting : str
        As `vmaf_model`.

    Raises
    ------
    InputError
        Pictures that the model does not take, or a model that libvmaf lacks.
    """

    def __init__(self, format: Format, rate: Fraction = RATE, setting: str = AUTO) -> None:
        found = model(setting, format.width, format.height)
        depth = _checked(found, format)
        with ExitStack() as stack:
            self._log = stack.enter_context(temporary.folder()) / "vmaf.json"
            self._number = 0
            self._graph = self._built(found, format, depth, rate)
            stack.callback(self._graph.close)
            self._stack = stack.pop_all()

    def _built(self, found: Model, format: Format, depth: int, rate: Fraction) -> FilmGraph:
        name = str(self._log).replace("\\", "\\\\").replace(":", "\\:").replace("'", "\\'")
        which = f"version={found.version}" + "\\:enable_transform=true" * found.phone
        options = f"log_fmt=json:n_threads={available()}:model={which}:log_path={name}"
        try:
            return FilmGraph(FILTER, options, format, depth, rate)
        except av.FFmpegError as error:
            raise InputError(
                f"the libvmaf in PyAV {av.__version__} could not load the model {found.version}",
                parameter="vmaf_model",
                advice=f"take another one of {', '.join(MODELS)}",
            ) from error

    def push(self, reference: Planes, scored: Planes) -> None:
        """Take the next frame of the reference, and of what is scored."""
        self._graph.push(scored, reference)  # the filter takes the film that is scored first
        self._number += 1

    def finish(self) -> list[dict[str, float]]:
        """Return the scores of all frames, by name; none comes after this."""
        self._graph.finish()
        if not self._number:
            return []
        frames = json.loads(self._log.read_text())["frames"]
        return [{"vmaf": float(one["metrics"]["vmaf"])} for one in frames]

    def close(self) -> None:
        """Give back what it has."""
        self._stack.close()


def _checked(found: Model, format: Format) -> int:
    """Return the depth for the filter; refuse (InputError) pictures that a model does not take."""
    sides, new = sorted((format.width, format.height)), found.looks_at_chroma
    least = (found.smallest, max(found.smallest, LONGER if new else 0))
    if sides[0] < least[0] or sides[1] < least[1]:
        by = f", model {found.name}" if new else ""
        raise InputError(
            f"got pictures of {format.width}×{format.height}; expected at least "
            f"{least[1]}×{least[0]} for VMAF{by}"
        )
    depth = depth_of(format.bits, _DEPTHS_1 if new else _DEPTHS)
    if depth is None or (new and format.subsampling not in (None, *_SUBSAMPLINGS)):
        raise InputError(
            f"the VMAF model {found.name} takes 4:2:0, 4:2:2 and 4:4:4 of 8 to "
            f"{_DEPTHS_1[-1]} bits, not these films",
            parameter="vmaf_model",
            advice="take a model of version 0, as v0.6.1",
        )
    return depth


def scores(pairs: Iterable[tuple[Any, Any]], format: Format, setting: str = AUTO) -> list[float]:
    """Return VMAF of consecutive frames: luma, or all planes, of the reference and the copy.

    The first score lacks motion, which VMAF takes from the frame before: it is too low.

    Raises
    ------
    InputError
        Pictures that are too small for the filter.
    """
    with closing(Stream(format, setting=setting)) as stream:
        for pair in pairs:
            stream.push(*pair) if whole(setting) else stream.push(*((one,) for one in pair))
        return [found["vmaf"] for found in stream.finish()]


class Measure:
    """VMAF as a `quality.values.Measure`.

    Parameters
    ----------
    subject : str
        What errors are about.
    setting : str
        As `vmaf_model`.
    """

    colours = ""
    most: int | None = None

    def __init__(self, subject: str, setting: str = AUTO) -> None:
        self._subject, self._setting = subject, setting
        self.whole = whole(setting)

    def scores(self, pairs: Iterable[tuple[Any, Any]], format: Format) -> list[float]:
        """Return the scores of consecutive frames, of two or more without the first."""
        try:
            found = scores(pairs, format, self._setting)
        except InputError as error:
            raise error.about(self._subject) from None
        return found[1:] or found

    def close(self) -> None:
        """Nothing is kept."""
