"""Several steps as one; and how the items of the pipeline go through a step or a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil, prod
from typing import Any, cast

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame
from snellen.video.media import Item
from snellen.video.pixels import describe
from snellen.video.step import PipelinedStep, RateStep, Step
from snellen.video.workers import Workers, in_flight


class Chain:
    """Steps that run one after another, each on the results of the one before.

    Steps may change the size of frames, their depth and (a `RateStep`) their number. Between two
    consecutive steps on one GPU, frames stay in its memory as CuPy planes. The pipeline keeps as
    many frames in flight in each step as the step has slots; `push` and `run` work on one at a
    time.

    Parameters
    ----------
    *steps : Step or RateStep
        In the order in which they run; chains among them are unrolled. The chain closes them.

    Attributes
    ----------
    steps : tuple of Step or RateStep
    formats : tuple of Format
        Of each step's results; known after `prepare`.
    """

    slots = 1

    def __init__(self, *steps: Step | RateStep) -> None:
        if not steps:
            raise InputError("a chain got no step; expected one or more")
        self.steps: tuple[Step | RateStep, ...] = tuple(s for one in steps for s in steps_of(one))
        self.formats: tuple[Format, ...] = ()

    @property
    def device(self) -> str:
        """The device of all steps; "cpu" where they differ."""
        devices = {step.device for step in self.steps}
        return devices.pop() if len(devices) == 1 else "cpu"

    @property
    def device_name(self) -> str:
        """Names of the devices that do the work, each once."""
        return ", ".join(dict.fromkeys(step.device_name for step in self.steps))

    @property
    def rate(self) -> Fraction:
        """Frames out for each frame in, on average."""
        return prod((rate_of(step) for step in self.steps), start=Fraction(1))

    @property
    def ticks(self) -> int:
        """Into how many ticks the times of results divide a tick of the given frames' times."""
        return prod(ticks_of(step) for step in self.steps)

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
            A step cannot work on what the one before it gives.
        """
        for step in self.steps:
            format = step.outcome(format, frames)
            frames = int(frames * rate_of(step))
        return format

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Prepare each step for what the one before it gives; return the format of the results.

        Parameters
        ----------
        format : Format
            Of the frames to come.
        bits : int, optional
            Depth of the last step's results. Those of the other steps keep the depth they get, but
            where this is greater, they have it, too: what is lost in the middle is lost.
        on_device : bool
            Whether the last step's results stay on its GPU.
        """
        last = len(self.steps) - 1
        formats: list[Format] = []
        for number, step in enumerate(self.steps):
            if number == last:
                format = step.prepare(format, bits, on_device=on_device)
            else:
                stay = step.device != "cpu" and step.device == self.steps[number + 1].device
                deeper = bits if bits is not None and bits > format.bits > 0 else None
                format = step.prepare(format, deeper, on_device=stay)
            formats.append(format)
        self.formats = tuple(formats)
        return format

    def push(self, frame: Frame | None) -> list[Frame]:
        """Take the next frame (None: there are no more); return the results that are ready."""
        return list(self.results(frame))

    def results(self, frame: Frame | None) -> Iterator[Frame]:
        """Yield what `push` returns, made when it is needed; the next frame comes after all."""
        frames = iter([] if frame is None else [frame])
        for step in self.steps:
            frames = _pushed(step, frames, frame is None)
        return frames

    def run(self, frame: Frame) -> Frame:
        """Return the result of one frame; InputError: a step changes the number of frames."""
        if any(isinstance(step, RateStep) for step in self.steps):
            raise InputError("run got a chain that changes the number of frames; use push")
        for step in cast("tuple[Step, ...]", self.steps):
            frame = step.run(frame)
        return frame

    def close(self) -> None:
        """Close all steps, the last one first; an error of one does not keep others open."""
        with ExitStack() as stack:
            for step in self.steps:
                stack.callback(step.close)


def steps_of(step: Step | RateStep) -> tuple[Step | RateStep, ...]:
    """Return the steps of a chain; a plain step alone."""
    return step.steps if isinstance(step, Chain) else (step,)


def described(step: Step | RateStep, given: Format, before: str | None = None) -> tuple[str, ...]:
    """Return formats and names of the steps of a prepared chain, in their order; none of one step.

    A step may have a `label`: what it is called here. Formats are left out that change nothing.
    `before` is what the decoder's frames went through before the chain.
    """
    step = getattr(step, "step", step)  # beside one for the alpha channel
    if not isinstance(step, Chain):
        return ()
    last = describe(given)
    said = [last] if before is None else [last, before]
    for one, format in zip(step.steps, step.formats, strict=True):
        said.append(str(getattr(one, "label", type(one).__name__)))
        if (found := describe(format)) != last:
            said.append(last := found)
    return tuple(said)


def is_steady(step: Step | RateStep) -> bool:
    """Return whether the times of results follow from the rate; a step may say so by `steady`."""
    return all(getattr(one, "steady", True) for one in steps_of(step))


def rate_of(step: Step | RateStep) -> Fraction:
    """Return how many frames a step gives for each frame, on average."""
    return step.rate if isinstance(step, RateStep) else Fraction(1)


def ticks_of(step: Step | RateStep) -> int:
    """Return into how many ticks the times of a step's results divide a tick."""
    return step.ticks if isinstance(step, RateStep) else 1


def reach_of(step: Step | RateStep) -> int | None:
    """Return how many frames on each side of a frame its results depend on; None: on all.

    A step says so by an attribute `reach`. Without it, a result depends on one frame alone; what a
    step that changes the number of frames depends on is then unknown, and counts as all.

    Parameters
    ----------
    step : Step or RateStep
        Of a chain, frames given to its first step are counted.
    """
    if not isinstance(step, Chain):
        reach: int | None = getattr(step, "reach", None if isinstance(step, RateStep) else 0)
        return reach
    total, rate = 0, Fraction(1)
    for one in step.steps:
        reach = reach_of(one)
        if reach is None:
            return None
        # Frames that a step drops need not be spread evenly: one more is enough.
        total += ceil((reach + 1) / rate) if reach and rate != 1 else reach
        rate *= rate_of(one)
    return total


def restart(step: Step | RateStep) -> None:
    """Have steps that keep frames forget them: those to come do not follow the last ones."""
    for one in steps_of(step):
        forget = getattr(one, "restart", None)
        if forget is not None:
            forget()


def take_tally(step: Step | RateStep) -> tuple[int, int]:
    """Return how many pixels steps had to clip, of how many, since this was last called.

    A step that counts them has `take_tally` and `add_tally`; no frame is under way in it.
    """
    counts = [one.take_tally() for one in _counting(step)]
    return sum(one for one, _ in counts), sum(all for _, all in counts)


def add_tally(step: Step | RateStep, clipped: int, pixels: int) -> None:
    """Have the step that counts clipped pixels count these, taken from it or one like it."""
    for one in _counting(step)[:1]:
        one.add_tally(clipped, pixels)


def _counting(step: Step | RateStep) -> list[Any]:
    found = steps_of(getattr(step, "step", step))  # beside one for the alpha channel
    return [one for one in found if hasattr(one, "take_tally")]


def results_of(step: RateStep, frame: Frame | None) -> Iterator[Frame]:
    """Yield what a step's `push` returns, one by one where the step can do so: it has `results`.

    Filters make thousands of frames of one, which memory would not hold.
    """
    found: Iterable[Frame] = getattr(step, "results", step.push)(frame)
    yield from found


def _pushed(step: Step | RateStep, frames: Iterator[Frame], ended: bool) -> Iterator[Frame]:
    if not isinstance(step, RateStep):
        yield from map(step.run, frames)
        return
    for frame in frames:
        yield from results_of(step, frame)
    if ended:
        yield from results_of(step, None)


@contextmanager
def through(
    step: Step | RateStep, items: Iterable[Item], stop: Callable[[], None], patience: float
) -> Iterator[Iterator[Item]]:
    """Yield the items that come out of a prepared step or chain, in order.

    Nothing is under way in a step after the block, unless it hangs for longer than `patience`.

    Parameters
    ----------
    step : Step or RateStep
        A step with one slot, or with `submit`, runs in the thread that asks for its results: the
        calling thread where it is the last one, so that Ctrl-C interrupts it. Others with several
        slots run in threads of their own.
    items : iterable of Item
    stop : callable
        Ends a wait for the next item, in another thread.
    patience : float
        Seconds.
    """
    with ExitStack() as stack:
        flow = iter(items)
        for one in steps_of(step):
            if isinstance(one, RateStep):
                flow = _retimed(one, flow)
            elif isinstance(one, PipelinedStep):
                flow = in_flight(partial(_begin, one), flow, one.slots)
            elif one.slots <= 1:
                flow = map(partial(_run, one), flow)
            else:
                workers = Workers(partial(_run, one), one.slots, flow, stop, patience)
                flow = iter(stack.enter_context(workers))
        yield flow


def _run(step: Step, item: Item) -> Item:
    """Return the item with the step's result in place of its frame."""
    return item if item.frame is None else replace(item, frame=step.run(item.frame))


def _begin(step: PipelinedStep, item: Item) -> Callable[[], Item]:
    """Begin an item's frame; return a function that waits for the item with the result.

    An error is raised where the result would have come, after the results before it.
    """
    if item.frame is None:
        return lambda: item
    try:
        wait = step.submit(item.frame)
    except Exception as error:
        wait = partial(_raise, error)
    return lambda: replace(item, frame=wait())


def _raise(error: Exception) -> Frame:
    raise error


def _retimed(step: RateStep, items: Iterator[Item]) -> Iterator[Item]:
    """Yield the step's frames, each with the packets that were read before it."""
    flushed = False
    for item in items:
        given = iter([] if item.frame is None else [item.frame])
        frames = _pushed(step, given, ended=item.report is not None)
        if item.report is None:
            # The first frame takes the packets; without a frame they go on alone.
            yield replace(item, frame=next(frames, None))
        flushed |= item.report is not None
        yield from (Item(frame, clip_end=item.clip_end) for frame in frames)
        if item.report is not None:
            yield replace(item, frame=None)
    if not flushed:
        yield from map(Item, results_of(step, None))
