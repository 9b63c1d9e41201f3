"""Protocols of what the pipelines run on frames: a step, and the comparison of two videos."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy.typing as npt

from snellen.frames.frame import Format, Frame

T_co = TypeVar("T_co", covariant=True)


class PreparedStep(Protocol):
    """What steps of all kinds have in common.

    A step may also have `reach`: on how many frames on each side of a frame its results depend
    (absent: 0, and of a `RateStep` unknown; None: on all frames of the film). A long film is cut
    into segments by it.
    """

    @property
    def slots(self) -> int:
        """How many frames the step works on at once; known after `prepare`."""
        ...

    @property
    def device(self) -> str:
        """Where the planes are that the step takes and gives: "cpu" or "cuda:N".

        A step that says "cuda:N" takes CuPy planes of that GPU as well as planes in host memory,
        and gives them where `prepare` is asked for it by `on_device`. A step that works on a GPU
        but takes planes in host memory only says "cpu".
        """
        ...

    @property
    def device_name(self) -> str:
        """Name of the device that does the work, for messages: "NVIDIA H200"; "cpu"."""
        ...

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results before `prepare`, except for their depth.

        Parameters
        ----------
        format : Format
            Of the frames to come.
        frames : int
            At least so many frames will come.

        Raises
        ------
        InputError
            The step cannot work on such frames, or on so many.
        """
        ...

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Allocate and compile for frames of `format`; return the format of the results.

        Parameters
        ----------
        format : Format
            Of the frames to come.
        bits : int, optional
            Depth of the result's samples; None: the depth of `format`.
        on_device : bool
            Whether the planes of results stay on the GPU that `device` names, as CuPy arrays, for
            the next step of a chain.
        """
        ...

    def close(self) -> None:
        """Release what `prepare` took; called once, also after an error before `prepare`.

        No call of `run` is under way then, unless it hangs.
        """
        ...


class Step(PreparedStep, Protocol):
    """One frame in, one frame out.

    A step that remembers frames has a method `restart()`, which makes it forget them: it is called
    before frames that do not follow those before them. One that finds out something of each frame
    for its job has `notes(first, count)`, which returns that as bytes for so many frames since
    `restart`: the job gets those of all parts of a film, in their order.
    """

    def run(self, frame: Frame) -> Frame:
        """Return the result, its times and side data taken from `frame`.

        With several slots, up to `slots` threads of the caller call this at once. With one slot it
        is called from one thread at a time, in the order of the frames.

        The planes given are read-only and may have a pitch. Those returned belong to the caller,
        who may still read them many frames later: the step never writes to them again. The encoder
        takes writeable planes with adjacent samples as they are, and copies others.

        Planes on a GPU (see `device`) may be read after `frame.ready`, and `run` may return before
        it has read them: the step keeps them until then, also where the caller has dropped them.
        The results' `ready` is that of the results: None for planes in host memory.
        """
        ...


@runtime_checkable
class AlphaStep(PreparedStep, Protocol):
    """A step that has another one for the alpha channel of its frames."""

    def alpha(self) -> Step | None:
        """Return a new step that does to opacity what this one does to luma; None: it cannot be."""
        ...


@runtime_checkable
class PipelinedStep(Step, Protocol):
    """A step that begins frames before the results of earlier ones are there, without threads."""

    def submit(self, frame: Frame) -> Callable[[], Frame]:
        """Begin a frame; return a function that waits for the result, as of `run`, and returns it.

        The caller keeps at most `slots` frames in flight, submits them in their order, and calls
        the functions in that order, from one thread at a time: not always the same in a chain.
        """
        ...


@runtime_checkable
class RateStep(PreparedStep, Protocol):
    """Any number of frames in, any number out: drops, repeats or interpolates frames.

    `slots` is 1. A step that makes many frames of one may also have `results(frame)`, an iterator
    that makes what `push` returns when it is needed; the next frame comes after all of it.
    """

    @property
    def rate(self) -> Fraction:
        """Frames out for each frame in, on average."""
        ...

    @property
    def ticks(self) -> int:
        """Into how many ticks the times of results divide a tick of the given frames' times.

        2 for a step that puts a frame between each two, 1 for one that drops frames.
        """
        ...

    def push(self, frame: Frame | None) -> list[Frame]:
        """Take the next frame (None: there are no more); return the results that are ready.

        Results come in the order of their times. Their planes belong to the caller. Called from one
        thread at a time. After None the step is as after `prepare`: other frames may follow.
        """
        ...


class Comparison(Protocol[T_co]):
    """Compares the luma of two videos, pair by pair."""

    @property
    def slots(self) -> int:
        """How many pairs may be in flight; more than 1 needs `submit` (see PipelinedComparison)."""
        ...

    @property
    def device_name(self) -> str:
        """Name of the device that does the work, for messages."""
        ...

    def prepare(self, format: Format) -> Format:
        """Allocate and compile for pairs of luma planes of `format`; return `format`.

        With `format.bits` 0 the planes are float64, and `format.white` is the value of white.
        """
        ...

    def run(self, reference: npt.NDArray[Any], distorted: npt.NDArray[Any]) -> T_co:
        """Return the result for two planes, which are read-only and may have a pitch."""
        ...

    def close(self) -> None:
        """Release what `prepare` took; called once, also after an error before `prepare`.

        Pairs may still be in flight then, after an error: wait for their work first.
        """
        ...


@runtime_checkable
class DeepComparison(Comparison[T_co], Protocol[T_co]):
    """A comparison that wants to know the depths of both videos, and to see frames around."""

    depths: tuple[int, int]
    """Bits of the samples of reference and distorted video; set before `prepare`."""
    reach: int
    """How many pairs before and after each that is compared are given to `see`."""

    def see(self, reference: npt.NDArray[Any], distorted: npt.NDArray[Any]) -> None:
        """Take a pair that is not compared, in its place among those that are."""
        ...


class PipelinedComparison(Comparison[T_co], Protocol[T_co]):
    """A comparison that begins pairs before the results of earlier ones are there."""

    def submit(
        self, reference: npt.NDArray[Any], distorted: npt.NDArray[Any]
    ) -> Callable[[], T_co]:
        """Begin a pair; return a function that waits for its result and returns it.

        The caller keeps at most `slots` pairs in flight, keeps both planes unchanged until the
        function has returned, and calls the functions in the order of the pairs, in the thread
        that calls `submit`.
        """
        ...
