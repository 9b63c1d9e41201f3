"""Several steps as one; and how the items of the pipeline go through a step or a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil, prod

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame
from snellen.frames.step import Step, Traits
from snellen.video.channel import Workers, in_flight
from snellen.video.media import Item
from snellen.video.pixels import describe


class Chain(Step):
    """Steps that run one after another, each on the results of the one before; it closes them.

    Steps may change the size of frames, their depth and their number. Between two consecutive steps
    on one GPU, frames stay in its memory as CuPy planes. The pipeline keeps as many frames in
    flight in each step as the step has slots; `push` and `run` work on one at a time.

    Chains among the steps are unrolled. `formats` has that of each step's results, after `prepare`.
    """

    def __init__(self, *steps: Step) -> None:
        if not steps:
            raise InputError("a chain got no step; expected one or more")
        self.steps: tuple[Step, ...] = tuple(s for one in steps for s in steps_of(one))
        self.formats: tuple[Format, ...] = ()
        traits = [step.traits for step in self.steps]
        devices = {one.device for one in traits}
        self.traits = Traits(
            device=devices.pop() if len(devices) == 1 else "cpu",
            device_name=", ".join(dict.fromkeys(one.device_name for one in traits)),
            call="push",
            reach=_reach(traits),
            rate=prod((one.rate for one in traits), start=Fraction(1)),
            ticks=prod(one.ticks for one in traits),
            steady=all(one.steady for one in traits),
        )

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results before `prepare`, except for their depth.

        At least so many `frames` will come. InputError: a step cannot work on what the one before
        it gives.
        """
        for step in self.steps:
            format = step.outcome(format, frames)
            frames = int(frames * step.traits.rate)
        return format

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Prepare each step for what the one before it gives; return the format of the results.

        `bits` is the depth of the last step's results. Those of the other steps keep the depth they
        get, but where this is greater, they have it, too: what is lost in the middle is lost.
        `on_device` says whether the last step's results stay on its GPU.
        """
        last = len(self.steps) - 1
        formats: list[Format] = []
        for number, step in enumerate(self.steps):
            if number == last:
                format = step.prepare(format, bits, on_device=on_device)
            else:
                device = step.traits.device
                stay = device != "cpu" and device == self.steps[number + 1].traits.device
                deeper = bits if bits is not None and bits > format.bits > 0 else None
                format = step.prepare(format, deeper, on_device=stay)
            formats.append(format)
        self.formats = tuple(formats)
        return format

    def push(self, frame: Frame | None) -> Iterator[Frame]:
        """Take the next frame (None: there are no more); yield the results that are ready."""
        frames = iter([] if frame is None else [frame])
        for step in self.steps:
            frames = pushed(step, frames, frame is None)
        return frames

    def run(self, frame: Frame) -> Frame:
        """Return the result of one frame; InputError: a step changes the number of frames."""
        if any(step.traits.call == "push" for step in self.steps):
            raise InputError("run got a chain that changes the number of frames; use push")
        for step in self.steps:
            frame = step.run(frame)
        return frame

    def restart(self) -> None:
        """Have all steps forget the frames so far."""
        for step in self.steps:
            step.restart()

    def take_tally(self) -> tuple[int, int]:
        """Return how many pixels steps had to clip, of how many, since this was last called."""
        counts = [step.take_tally() for step in self.steps]
        return sum(one for one, _ in counts), sum(all for _, all in counts)

    def add_tally(self, clipped: int, pixels: int) -> None:
        """Have the first step that counts clipped pixels count these."""
        for step in [step for step in self.steps if step.traits.counts][:1]:
            step.add_tally(clipped, pixels)

    def close(self) -> None:
        """Close all steps, the last one first; an error of one does not keep others open."""
        with ExitStack() as stack:
            for step in self.steps:
                stack.callback(step.close)


def steps_of(step: Step) -> tuple[Step, ...]:
    """Return the steps of a chain; a plain step alone."""
    return step.steps if isinstance(step, Chain) else (step,)


def described(step: Step, given: Format, before: str | None = None) -> tuple[str, ...]:
    """Return formats and names of the steps of a prepared chain, in their order; none of one step.

    Formats are left out that change nothing. `before` is what the decoder's frames went through
    before the chain.
    """
    step = getattr(step, "step", step)  # beside one for the alpha channel
    if not isinstance(step, Chain):
        return ()
    last = describe(given)
    said = [last] if before is None else [last, before]
    for one, format in zip(step.steps, step.formats, strict=True):
        said.append(one.traits.label or type(one).__name__)
        if (found := describe(format)) != last:
            said.append(last := found)
    return tuple(said)


def _reach(steps: Iterable[Traits]) -> int | None:
    """Return the reach of steps in a row, in frames given to the first of them."""
    total, rate = 0, Fraction(1)
    for one in steps:
        if one.reach is None:
            return None
        # Frames that a step drops need not be spread evenly: one more is enough.
        total += ceil((one.reach + 1) / rate) if one.reach and rate != 1 else one.reach
        rate *= one.rate
    return total


def pushed(step: Step, frames: Iterable[Frame], ended: bool = True) -> Iterator[Frame]:
    """Yield what a step gives for frames, one by one; `ended`: they are the last ones."""
    for frame in frames:
        yield from step.push(frame)
    if ended:
        yield from step.push(None)


@contextmanager
def through(
    step: Step, items: Iterable[Item], stop: Callable[[], None], patience: float
) -> Iterator[Iterator[Item]]:
    """Yield the items that come out of a prepared step or chain, in order.

    A step that is called by `run` and has several slots runs in threads of its own; others in the
    thread that asks for their results: the calling thread where it is the last one, so that Ctrl-C
    interrupts it. `stop` ends a wait for the next item, in another thread. Nothing is under way in
    a step after the block, unless it hangs for longer than `patience`, in seconds.
    """
    with ExitStack() as stack:
        flow = iter(items)
        for one in steps_of(step):
            traits = one.traits
            if traits.call == "push":
                flow = _retimed(one, flow)
            elif traits.call == "submit":
                flow = in_flight(partial(_begin, one), flow, traits.slots)
            elif traits.slots <= 1:
                flow = map(partial(_run, one), flow)
            else:
                workers = Workers(partial(_run, one), traits.slots, flow, stop, patience)
                flow = iter(stack.enter_context(workers))
        yield flow


def _run(step: Step, item: Item) -> Item:
    """Return the item with the step's result in place of its frame."""
    return item if item.frame is None else replace(item, frame=step.run(item.frame))


def _begin(step: Step, item: Item) -> Callable[[], Item]:
    """Begin an item's frame; return a function that waits for the item with the result."""
    # An error is raised where the result would have come, after the results before it.
    if item.frame is None:
        return lambda: item
    try:
        wait = step.submit(item.frame)
    except Exception as error:
        wait = partial(_raise, error)
    return lambda: replace(item, frame=wait())


def _raise(error: Exception) -> Frame:
    raise error


def _retimed(step: Step, items: Iterator[Item]) -> Iterator[Item]:
    """Yield the step's frames, each with the packets that were read before it."""
    flushed = False
    for item in items:
        given = iter([] if item.frame is None else [item.frame])
        frames = pushed(step, given, ended=item.report is not None)
        if item.report is None:
            # The first frame takes the packets; without a frame they go on alone.
            yield replace(item, frame=next(frames, None))
        flushed |= item.report is not None
        yield from (Item(frame, clip_end=item.clip_end) for frame in frames)
        if item.report is not None:
            yield replace(item, frame=None)
    if not flushed:
        yield from map(Item, step.push(None))
