"""A step: what a pipeline runs on frames, and the traits that the pipeline goes by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.frames.quantise import quantise, recode


@dataclass(frozen=True, slots=True)
class Traits:
    """Facts of a step for its callers; all but `slots` and `label` hold before `prepare`."""

    slots: int = 1
    """How many frames the step works on at once; known after `prepare`."""
    device: str = "cpu"
    """Where the planes are that the step takes and gives: "cpu" or "cuda:N".

    A step that says "cuda:N" takes CuPy planes of that GPU as well as planes in host memory, and
    gives them where `prepare` is asked for it by `on_device`. A step that works on a GPU but takes
    planes in host memory only says "cpu"."""
    device_name: str = "cpu"
    """Name of the device that does the work, for messages: "NVIDIA H200"; "cpu"."""
    call: Literal["run", "submit", "push"] = "run"
    """The method that frames are given to. "push": any number of frames in, any number out, so that
    frames are dropped, repeated, interpolated or late; `slots` is 1."""
    reach: int | None = 0
    """On how many frames on each side of a frame its results depend; None: on all of the film, or
    nobody knows. A long film is cut into segments by it."""
    rate: Fraction = Fraction(1)
    """Frames out for each frame in, on average."""
    ticks: int = 1
    """Into how many ticks the times of results divide a tick of the given frames' times: 2 for a
    step that puts a frame between each two."""
    steady: bool = True
    """True: the times of results follow from the rate."""
    counts: bool = False
    """True: the step counts pixels that it has to clip: see `Step.take_tally`."""
    label: str = ""
    """The step's name in a printed chain; "": as its class."""


class Step:
    """Base of steps: frames of one format in, frames of another one out.

    `prepare`, then the method that `Traits.call` names for each frame, then `close`.
    """

    traits = Traits()

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results before `prepare`, except for their depth.

        At least so many frames of `format` will come. InputError: the step cannot work on such
        frames, or on so many.
        """
        return format

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Allocate and compile for frames of `format`; return the format of the results.

        `bits` is the depth of the result's samples; None: the depth of `format`. With `on_device`
        the planes of results stay on the GPU of `traits`, as CuPy arrays, for the next step of a
        chain.
        """
        raise NotImplementedError

    def run(self, frame: Frame) -> Frame:
        """Return the result, its times and side data taken from `frame`.

        With several slots, up to `slots` threads of the caller call this at once. With one slot it
        is called from one thread at a time, in the order of the frames.

        The planes given are read-only and may have a pitch. Those returned belong to the caller,
        who may still read them many frames later: the step never writes to them again. The encoder
        takes writeable planes with adjacent samples as they are, and copies others.

        Planes on a GPU may be read after `frame.ready`, and `run` may return before it has read
        them: the step keeps them until then, also where the caller has dropped them. The results'
        `ready` is that of the results: None for planes in host memory.
        """
        raise NotImplementedError

    def submit(self, frame: Frame) -> Callable[[], Frame]:
        """Begin a frame; return a function that waits for the result, as of `run`, and returns it.

        The caller keeps at most `slots` frames in flight, submits them in their order, and calls
        the functions in that order, from one thread at a time: not always the same in a chain.
        """
        found = self.run(frame)
        return lambda: found

    def push(self, frame: Frame | None) -> Iterable[Frame]:
        """Take the next frame (None: there are no more); return the results that are ready.

        They may be made as they are taken: filters make thousands of frames of one, which memory
        would not hold. All are taken before the next frame comes. They come in the order of their
        times, and their planes belong to the caller. Called from one thread at a time. After None
        the step is as after `prepare`: other frames may follow.
        """
        return [] if frame is None else [self.run(frame)]

    def alpha(self) -> Step | None:
        """Return a new step that does to opacity what this one does to luma; None: it cannot be."""
        return None

    def restart(self) -> None:
        """Forget the frames so far: those to come do not follow the last ones."""

    def notes(self, first: int, count: int) -> bytes:
        """Return what was found out for the job in so many frames since `restart`.

        The job gets that of all parts of a film, in their order. `first` is the number of the first
        frame.
        """
        return b""

    def take_tally(self) -> tuple[int, int]:
        """Return how many pixels were clipped, of how many, since this was last called.

        No frame is under way.
        """
        return 0, 0

    def add_tally(self, clipped: int, pixels: int) -> None:
        """Count clipped pixels that were taken from this step or from one like it."""

    def close(self) -> None:
        """Release what `prepare` took; called once, also after an error before `prepare`.

        No frame is under way then, unless it hangs.
        """


class Unchanged(Step):
    """Give frames as they are, perhaps at another depth."""

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for frames of this format; return that of the results."""
        if on_device:
            raise InputError("these planes stay in main memory", parameter="on_device")
        self._target = replace(format, bits=format.bits if bits is None else bits)
        self._depths = [recode(format, self._target, chroma=chroma) for chroma in (False, True)]
        return self._target

    def run(self, frame: Frame) -> Frame:
        """Return the frame, with planes of the depth that `prepare` was asked for."""
        planes = (self.plane(one, chroma=at > 0) for at, one in enumerate(frame.planes))
        return replace(frame, planes=tuple(planes))

    def plane(self, plane: Plane, *, chroma: bool) -> Plane:
        """Return one plane of a frame at that depth: itself, if that is its own."""
        depth = self._depths[chroma]
        if plane.dtype == self._target.dtype and depth == (1.0, 0.0):
            return plane
        out: Plane = np.empty(plane.shape, self._target.dtype)
        quantise(np.ascontiguousarray(plane, np.float32), depth, self._target.bits, out)
        return out
