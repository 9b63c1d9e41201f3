"""A step that changes the luma of frames, or of a region in each; it knows no method either.

The operation that changes luma gets it as float32, black 0 and white 1, and a region always at the
same size. The region becomes the output's picture, or is pasted back into its frame. Chroma is not
changed.

Planes in host memory are NumPy's; those on a GPU are CuPy's, and go through the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.arrays import library, place, upload
from snellen.frames.frame import Format, Frame, Plane
from snellen.frames.luma import Codes, levels, samples
from snellen.frames.quantise import quantise, recode
from snellen.frames.step import Step, Traits
from snellen.gpu import device as devices
from snellen.video.steps.track import Track

Float32 = npt.NDArray[np.float32]


class LumaOperation:
    """Changes planes of luma: `prepare`, `submit` for each, `close`.

    With a GPU as the device of its traits it takes CuPy planes there, too, and returns such for
    these: its work on them is queued on CuPy's current stream, or is done when it returns.
    """

    traits = Traits()
    """`slots`: how many planes may be in flight; known after `prepare`, as of steps."""

    def prepare(self, height: int, width: int) -> None:
        """Allocate and compile for planes of this shape."""
        raise NotImplementedError

    def prepare_codes(self, height: int, width: int, given: Codes, made: Codes) -> bool:
        """Prepare for code values instead of floats, where it can; return whether it can.

        Then it takes luma as it is, and returns it as it is to be: it converts samples as `samples`
        does, and results as `quantise`.
        """
        return False

    def run(self, plane: Float32) -> Float32:
        """Return a changed plane: 0 is black, 1 is white; both planes may exceed 1."""
        raise NotImplementedError

    def submit(self, plane: Float32) -> Callable[[], Float32]:
        """Begin a plane; return a function that waits for the changed one, as of `run`."""
        found = self.run(plane)
        return lambda: found

    def restart(self) -> None:
        """Forget the frames so far, as of steps."""

    def notes(self, first: int, count: int) -> bytes:
        """Return what was found in so many frames, as of steps."""
        return b""

    def close(self) -> None:
        """Release what `prepare` took; called once, also without it."""


class RegionStep(Step):
    """Runs an operation, which it closes, on the luma of frames, or of a region in each.

    Frames come from host memory or from the operation's GPU; results go to either.
    Frames that do not leave host memory may be in flight; the others are changed one by one, each
    before `submit` returns.

    Without a `track` it changes whole frames. Results are the region alone, or with `paste_back`
    the given frames with the region changed.
    """

    def __init__(
        self, operation: LumaOperation, track: Track | None = None, paste_back: bool = False
    ) -> None:
        self._operation = operation
        self._track = track
        self._paste_back = paste_back
        self._number = 0
        self._on_device = self._is_coded = False
        self._last: tuple[Frame, Any] | None = None
        counts = track is not None and track.file is not None  # frames of the film
        reach = None if counts else operation.traits.reach
        self.traits = replace(operation.traits, call="submit", reach=reach)

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results before `prepare`, except for their depth.

        At least so many `frames` will come. InputError: the region is not inside each of them.
        """
        if self._track is None:
            return format
        self._track.check(format.width, format.height, frames)
        if self._paste_back:
            return format
        return replace(format, width=self._track.width, height=self._track.height)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Prepare the operation for frames of `format`; return the format of the results.

        Their depth is `bits`; None: that of `format`. With `on_device` results stay on the GPU;
        InputError where it works on the CPU.
        """
        if on_device and self.traits.device == "cpu":
            raise InputError("a region's results are planes in host memory, not on a GPU")
        self._on_device = on_device
        self._number = 0
        self._given = format
        result = self.outcome(format, 0)
        self._result = replace(result, bits=format.bits if bits is None else bits)
        part = self._track or result
        self._is_coded = self._prepare_codes(part.height, part.width)
        if not self._is_coded:
            self._operation.prepare(part.height, part.width)
        slots = 1 if on_device else self._operation.traits.slots
        self.traits = replace(self.traits, slots=slots)
        return self._result

    def _prepare_codes(self, height: int, width: int) -> bool:
        """Prepare an operation that takes code values; return whether it does."""
        given, made = Codes.of(self._given), Codes.of(self._result)
        if given is None or made is None or self._on_device:
            return False
        return self._operation.prepare_codes(height, width, given, made)

    def run(self, frame: Frame) -> Frame:
        """Return a frame whose luma is changed in the region; its times are kept."""
        return self.submit(frame)()

    def submit(self, frame: Frame) -> Callable[[], Frame]:
        """Begin a frame; return a function that waits for the result of `run`."""
        home = self._home(frame)
        x, y = (0, 0) if self._track is None else self._track.at(self._number)
        self._number += 1
        if home == "cpu" and not self._on_device:
            return self._begin(frame, x, y)
        found = self._through_gpu(frame, x, y)
        return lambda: found

    def restart(self) -> None:
        """Have the operation forget the frames so far: those to come do not follow them."""
        self._operation.restart()

    def notes(self, first: int, count: int) -> bytes:
        """Return what the operation found in so many frames since `restart`."""
        return self._operation.notes(first, count)

    def close(self) -> None:
        """Release what the operation took."""
        try:
            self._settle()
        finally:
            self._operation.close()

    def _home(self, frame: Frame) -> str:
        """Return the device of a frame's planes; InputError: the step does not take them there."""
        homes = {place(plane) for plane in frame.planes}
        if len(homes) > 1 or not homes <= {"cpu", self.traits.device}:
            there = "" if self.traits.device == "cpu" else f", or all on {self.traits.device}"
            raise InputError(
                f"got planes on {', '.join(sorted(homes))}; expected all in host memory{there}"
            )
        return homes.pop()

    def _through_gpu(self, frame: Frame, x: int, y: int) -> Frame:
        """Return the result of a frame that comes from the GPU or stays there."""
        # All work is queued on one stream. The frame is held until the GPU has read it.
        import cupy

        number = devices.ordinal(self.traits.device)
        with devices.on(self.traits.device), _stream(number) as stream:
            self._settle()
            if frame.ready is not None:
                stream.wait_event(frame.ready)
            done = cupy.cuda.Event(block=True, disable_timing=True)
            try:
                found = self._begin(frame, x, y)()
                if self._on_device:
                    return replace(found, ready=done)
                planes: tuple[Any, ...] = found.planes
                return replace(found, planes=tuple(p.get() for p in planes), ready=None)
            finally:
                done.record(stream)
                self._last = frame, done

    def _settle(self) -> None:
        """Wait until the GPU has read the last frame that `_through_gpu` got, and drop it."""
        if self._last is not None:
            with devices.on(self.traits.device):
                self._last[1].synchronize()
            self._last = None

    def _begin(self, frame: Frame, x: int, y: int) -> Callable[[], Frame]:
        """Begin a frame with the region at (x, y); return a function that returns the result."""
        luma = frame.planes[0]
        part = self._track or self._given
        region = slice(y, y + part.height), slice(x, x + part.width)
        plane = self._there(luma[region])
        given: Any = plane if self._is_coded else samples(plane, self._given)
        changing: Callable[[], Any] = self._operation.submit(given)

        def result() -> Frame:
            found = changing()
            changed: Plane = found if self._is_coded else self._quantised(found)
            if self._track is None or not self._paste_back:
                return replace(frame, planes=(changed, *self._chroma(frame.planes[1:], x, y)))
            whole = self._there(self._recoded(luma, False).copy())
            whole[region] = changed
            return replace(frame, planes=(whole, *self._chroma(frame.planes[1:], 0, 0)))

        return result

    def _there(self, plane: Plane) -> Plane:
        """Return a new plane on the GPU where results stay there; else the plane itself."""
        if not self._on_device:
            return plane
        there: Plane = upload(plane) if isinstance(plane, np.ndarray) else plane.copy()
        return there

    def _quantised(self, plane: Float32) -> Plane:
        """Return 0 … 1 as code values of the result."""
        xp = library(plane)
        black, white = levels(self._result)
        out: Plane = xp.empty(plane.shape, self._result.dtype)
        quantise(xp.ascontiguousarray(plane), (white - black, black), self._result.bits, out)
        return out

    def _chroma(self, planes: tuple[Plane, ...], x: int, y: int) -> tuple[Plane, ...]:
        """Return chroma of the region with its top left luma sample at (x, y), recoded."""
        across, down = self._given.subsampling or (0, 0)
        position = y / (1 << down), x / (1 << across)
        return tuple(
            self._there(self._recoded(cut(plane, position, shape), True))
            for plane, shape in zip(planes, self._result.shapes[1:], strict=True)
        )

    def _recoded(self, plane: Plane, chroma: bool) -> Plane:
        """Return a plane at the result's depth; the plane itself if that is its own depth."""
        if self._result.bits == self._given.bits:
            return plane
        out: Plane = library(plane).empty(plane.shape, self._result.dtype)
        depth = recode(self._given, self._result, chroma)
        quantise(plane.astype(np.float32), depth, self._result.bits, out)
        return out


def cut(plane: Plane, position: tuple[float, float], shape: tuple[int, int]) -> Plane:
    """Return the part of a plane that begins at `position` (row, column).

    Between samples it is interpolated linearly; beyond the plane the last sample is repeated.
    """
    whole = tuple(floor(at) for at in position)
    if whole == position:
        return plane[whole[0] : whole[0] + shape[0], whole[1] : whole[1] + shape[1]]
    xp = library(plane)
    found: npt.NDArray[np.float64] = plane.astype(np.float64)
    for axis, (at, size) in enumerate(zip(position, shape, strict=True)):
        first = xp.minimum(xp.arange(size) + floor(at), plane.shape[axis] - 1)
        second = xp.minimum(first + 1, plane.shape[axis] - 1)
        share = at - floor(at)
        found = (1 - share) * found.take(first, axis) + share * found.take(second, axis)
    rounded: Plane = xp.rint(found).astype(plane.dtype)
    return rounded


@cache
def _stream(ordinal: int) -> Any:
    """Return the stream of the current GPU, `ordinal`, on which steps work on planes there."""
    # They share it, as CuPy's pool keeps the memory of each stream apart, also after its end.
    import cupy

    return cupy.cuda.Stream(non_blocking=True)
