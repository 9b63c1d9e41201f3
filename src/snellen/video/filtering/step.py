"""A chain of FFmpeg's filters as a step: any number of frames in, any number out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

import av
import numpy as np
from av.video.frame import VideoFrame

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame
from snellen.frames.step import Step, Traits, Unchanged
from snellen.process import Holder, Home
from snellen.video import pixels
from snellen.video.ffmpeg import FULL_RANGE, UNSPECIFIED, reason
from snellen.video.filtering.examine import (
    MATRICES,
    RANGES,
    Examined,
    Shape,
    darkened,
    examine,
    labelled,
    lit,
    lost,
    properties,
    through_rgb,
)
from snellen.video.filtering.graph import Filter, FilterGraph
from snellen.video.filtering.overlaps import moving, reach
from snellen.video.filtering.side_files import SideFiles, silent
from snellen.video.media import MediaInfo, PictureInfo
from snellen.video.sink.colour import guessed
from snellen.video.timestamps import fraction

_FINEST = Fraction(1, 100_000_000)
"""Seconds of a tick: times are not divided further."""
_COLOURS = frozenset({"colorspace", "setparams", "tonemap", "scale"})
"""Filters that may change primaries and transfer, which only frames tell."""
_UNTIMED = frozenset({"select", "setpts", "trim", "decimate", "freezeframes", "loop", "tpad"})
"""Filters that change times or numbers of frames, but not the rate that they state."""
_EXACTLY = "flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp:sws_dither=bayer"
"""How pixel formats are converted. FFmpeg by itself makes RGB of YUV that is darker by a code value
of 8 bits, and 8 bits of 10 that are darker by a quarter of one: lab/enhancement.md."""
_AFTER = {"vflip": (Filter("copy"),)}
"""Filters behind one that gives planes upside down in memory, which PyAV does not share."""
_GUESSES = {"bt709": "BT.709"}
_GUESSED = {"bt709": 1, "bt601-625": 5, "bt601-525": 6, "bt601": 6}


class FilterStep(Holder, Step):
    """Sends frames of a film through FFmpeg's filters (InputError: FFmpeg does not take the chain).

    The output is planar YUV or grey of at least the input's depth, in the input's colour matrix
    and range where a filter converted to RGB, without alpha that a filter adds, and of the
    input's chroma resolution unless the chain itself has a filter `format`.

    `parameter` is the option that asks for these filters, and `title` what the printed chain calls
    the step (None: the option). The filters work at `least_bits` at least; results keep the depth
    of the frames. `files` take what the filters write into files. `picture` describes the results,
    `losses` are what the filters lose of the pictures, and `said` what else is to be said.
    """

    _what = "this step"

    def __init__(
        self,
        filters: Sequence[Filter],
        info: MediaInfo,
        parameter: str,
        title: str | None = None,
        least_bits: int = 0,
        files: SideFiles | None = None,
    ) -> None:
        self._files = files
        self._filters, self._parameter, self._given = tuple(filters), parameter, info.picture
        self._base, self._frame_rate = info.time_base, info.rate
        self._least_bits = least_bits
        self._home = Home(self._what)
        self._graph: FilterGraph | None = None
        self._held: Frame | None = None
        self._first: int | None = None
        self.said: tuple[str, ...] = ()
        name = _layout(info.picture.format)
        self._matrix = info.picture.colorspace
        found = self._examined(name)
        if self._matrix == UNSPECIFIED and through_rgb(found.conversions):
            guess = guessed(info.picture.format.width, info.picture.format.height)
            self._matrix = _GUESSED[guess]
            said = _GUESSES.get(guess, "BT.601")
            self.said = (
                f"the input states no colour matrix: `{parameter}` takes it for {said} on the way "
                "to RGB and back",
            )
            found = self._examined(name)
        self.picture = self._described(found)
        self.said += darkened(self._filters, info.picture, self.picture, parameter)
        whole = self._whole(info.picture.format, self.picture.format)
        conversions = examine(whole, self._source(name), parameter).conversions
        self.losses = lost(conversions, info.picture.format, parameter)
        given = self._frame_rate
        steady = not _UNTIMED & {one.name for one in self._filters}
        rate = found.rate / given if found.rate and steady else Fraction(1)
        own = reach(self._filters)
        self._title = title or parameter
        self.traits = Traits(
            call="push", reach=None if own is None else ceil(own * max(Fraction(1), 1 / rate)),
            rate=rate, ticks=_ticks(self._base, found.time_base), steady=steady,
            label=labelled(self._title, conversions),
        )  # fmt: skip

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results, except for their depth."""
        found = self.picture.format
        return replace(found, bits=max(found.bits, format.bits))

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Set the graph up for frames of `format`; return the format of the results.

        They are filtered at the depth of the results, where that is greater.
        """
        self._home.check()
        if on_device:
            raise InputError("FFmpeg's filters work in main memory", parameter="on_device")
        result = self.outcome(format, 0)
        result = replace(result, bits=bits or result.bits)
        self._form, self._result = format, result
        chain = self._whole(format, result)
        found = examine(chain, self._source(_layout(format)), self._parameter)
        places = {one.place for one in found.conversions}
        self._chain: list[Filter] = []
        for place, one in enumerate(chain):
            self._chain += [Filter("scale", _EXACTLY), one] if place in places else [one]
        self.traits = replace(self.traits, label=labelled(self._title, found.conversions))
        self._start()
        return result

    def push(self, frame: Frame | None) -> Iterator[Frame]:
        """Take the next frame (None: there are no more); yield the results that are ready."""
        self._home.check()
        if self._graph is None:
            self._start()
        assert self._graph is not None
        if self._first is None and frame is not None:
            self._first = frame.pts
        ready = self._graph.results(None if frame is None else self._picture(frame, self._form))
        while True:
            try:
                found = next(ready, None)
            except av.FFmpegError as error:
                raise InputError(
                    f"the filters of `{self._parameter}` do not take a frame: {reason(error)}",
                    parameter=self._parameter,
                ) from error
            if found is None:
                break
            held, self._held = self._held, self._taken(*found)
            del found  # else it is kept while this waits
            if held is not None:
                self._last = self._held.pts - held.pts
                yield replace(held, duration=self._last)
        if frame is None:
            held, self._graph, self._held = self._held, None, None
            if held is not None:
                own = held.duration if self.traits.steady else 0
                yield replace(held, duration=own or self._last)

    def alpha(self) -> Unchanged | None:
        """Return a step for the alpha channel, which filters leave; None: they may move pixels."""
        given, made = self._given.format, self.picture.format
        same_size = (given.width, given.height) == (made.width, made.height)
        return Unchanged() if same_size and not moving(self._filters) else None

    def close(self) -> None:
        """Release the graph."""
        if not self._home.keep(self.__dict__):
            self._graph = self._held = None

    def _holds(self) -> bool:
        return self._graph is not None

    def _whole(self, format: Format, result: Format) -> tuple[Filter, ...]:
        """Return the filters with those around them, which make the depth and state colours."""
        bits = max(format.bits, result.bits, self._least_bits)
        deeper = Filter.of("format", pix_fmts=_layout(replace(format, bits=bits)))
        ending = self._ending(replace(self.picture, format=result))
        filters = [one for given in self._filters for one in (given, *_AFTER.get(given.name, ()))]
        return (*((deeper,) if bits > format.bits else ()), *filters, *ending)

    # Before the first frame.

    def _examined(self, name: str) -> Examined:
        return examine(self._filters, self._source(name), self._parameter)

    def _source(self, name: str) -> dict[str, str]:
        picture = replace(self._given, colorspace=self._matrix)
        return properties(picture, name, self._base, self._frame_rate)

    def _described(self, found: Examined) -> PictureInfo:
        """Return the description of the results that come out of the chain."""
        shape, given = found.shape, self._given
        layout = pixels.parse(shape.pixel_format)
        chosen = any(one.name == "format" for one in self._filters)
        kept = chosen and not layout.rgb
        subsampling = layout.subsampling if kept else given.format.subsampling
        bits = max(layout.bits, given.format.bits) if kept else given.format.bits
        unstated = shape.colorspace in (UNSPECIFIED, MATRICES["gbr"])
        matrix = self._matrix if unstated else shape.colorspace
        color_range = given.color_range
        grey = given.format.subsampling is None  # FFmpeg assumes full range where none is stated
        if shape.color_range and not layout.rgb and not grey:
            color_range = shape.color_range
        form = replace(
            given.format, width=shape.width, height=shape.height, bits=bits,
            subsampling=subsampling, full_range=color_range == FULL_RANGE, white=None,
        )  # fmt: skip
        picture = replace(
            given, format=form, colorspace=matrix, color_range=color_range,
            sample_aspect_ratio=_aspect(given.sample_aspect_ratio, shape),
        )  # fmt: skip
        if _COLOURS & {one.name for one in self._filters}:
            picture = self._coloured(picture)
        if self._matrix == picture.colorspace:
            picture = replace(picture, colorspace=given.colorspace)  # which may be unstated
        return picture

    def _coloured(self, picture: PictureInfo) -> PictureInfo:
        """Return the description with the primaries and the transfer that a frame has."""
        form = self._given.format
        like = np.empty(0, form.dtype)
        planes = tuple(pixels.blank(like, shape, form.bits) for shape in form.shapes)
        source = self._source(_layout(form))
        graph = FilterGraph(silent(self._filters), source, self._base, parameter=self._parameter)
        given = (self._picture(Frame(planes), form), None)
        frame = next((made for one in given for made, _ in graph.results(one)), None)
        if frame is None:
            return picture
        return lit(self._filters, self._given, replace(
            picture, color_primaries=int(frame.color_primaries), color_trc=int(frame.color_trc),
        ))  # fmt: skip

    def _ending(self, picture: PictureInfo) -> tuple[Filter, ...]:
        """Return the filters that bring results to their pixel format, matrix and range."""
        # Without the first one FFmpeg might do it before the other filters of the chain.
        matrix = self._matrix if picture.colorspace == UNSPECIFIED else picture.colorspace
        stated = {
            "color_spaces": _name(MATRICES, matrix),
            "color_ranges": _name(RANGES, picture.color_range),
        }
        known = {key: value for key, value in stated.items() if value != "unknown"}
        ending = Filter.of("format", pix_fmts=_layout(picture.format), **known)
        return Filter("scale", _EXACTLY), ending

    # Frames.

    def _start(self) -> None:
        self._held = self._first = None
        ticks = self.traits.ticks
        self._last = max(1, round(ticks / (self._frame_rate * self.traits.rate * self._base)))
        chain = (silent if self._files is None else self._files.redirected)(self._chain)
        self._graph = FilterGraph(
            chain, self._source(_layout(self._form)), self._base, self._base / ticks,
            self._parameter,
        )  # fmt: skip

    def _picture(self, frame: Frame, form: Format) -> VideoFrame:
        """Return FFmpeg's frame, which states the colours of the input."""
        given = self._given
        made = pixels.copied(frame.planes, _layout(form))
        made.color_range, made.colorspace = given.color_range, self._matrix
        made.color_primaries, made.color_trc = given.color_primaries, given.color_trc
        made.pts, made.duration = frame.pts, frame.duration
        return made

    def _taken(self, found: VideoFrame, ticks: int | None) -> Frame:
        """Return a result as a frame; InputError: it is not as the others."""
        result, name = self._result, self._parameter
        if (found.width, found.height) != (result.width, result.height):
            raise InputError(
                f"`{name}` gives pictures of {result.width}×{result.height} and of {found.width}×"
                f"{found.height}; expected one size",
                parameter=name,
            )
        before = -1 if self._held is None else self._held.pts
        first = self._held is None and (self._first or 0) < 0  # of frames before the film
        if ticks is None or (ticks <= before and not first):
            raise InputError(
                f"`{name}` gives frames without times, or with times that do not rise from 0 on",
                parameter=name,
            )
        base = fraction(found.time_base) or self._base
        duration = round(found.duration * base / (self._base / self.traits.ticks))
        return Frame(pixels.planes(found), ticks, duration)


def _layout(format: Format) -> str:
    """Return FFmpeg's name of planar frames of a format."""
    return pixels.planar(format.bits, format.subsampling)


def _aspect(given: Fraction | None, shape: Shape) -> Fraction | None:
    """Return the sample aspect ratio of results; None: the input stated none, nor do filters."""
    if shape.aspect is None or (given is None and shape.aspect == 1):
        return given
    return shape.aspect


def _ticks(base: Fraction, result: Fraction) -> int:
    """Return into how many parts a tick is divided so that results' times are whole numbers."""
    exact = (result / base).denominator
    return exact if base / exact >= _FINEST else max(1, ceil(base * 1_000_000))


def _name(names: Mapping[str, int], number: int) -> str:
    """Return FFmpeg's name of a number."""
    return next((name for name, one in names.items() if one == number), "unknown")
