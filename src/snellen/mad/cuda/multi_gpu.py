"""MAD of one pair on several GPUs: each computes some of the subbands of both pictures.

So both pictures of a subband are on one GPU. Each plane of samples is copied to every GPU, and one
partial map of the block grid is copied back. (The CUDA paper's three GPUs exchanged 126 arrays.)
The first GPU also does detection and combines. Of a pair in main memory the distorted picture goes
up while the reference's half is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from snellen.engine.engine import SLOTS
from snellen.frames.frame import Format
from snellen.gpu import device as devices
from snellen.gpu.graph import Work, capture
from snellen.gpu.memory import lasting
from snellen.mad.cuda.appearance import Appearance, fits_twice
from snellen.mad.cuda.backend import DISTORTED, REFERENCE, Backend, stage
from snellen.mad.cuda.combine import Combine
from snellen.mad.cuda.loggabor import BANDS
from snellen.mad.cuda.numbers import MOST
from snellen.mad.cuda.precision import chosen
from snellen.mad.cuda.upload import Upload
from snellen.mad.definition import Definition
from snellen.mad.result import PendingScore

SUM = 2  # the work of a helper after that for REFERENCE and for DISTORTED
DETECTION = 2.0  # subbands' time that detection and combination take, about, at any size


class MultiGpuBackend:
    """MAD for planes of one format on several GPUs; otherwise as `backend.Backend`.

    Parameters
    ----------
    definition : Definition
    format : Format
    peak : float
    names : tuple of str
        "cuda:N", two or more; planes of CuPy's lie on the first.
    dtype : str, optional
        "float32" or "float64"; see `precision`.
    """

    def __init__(
        self, definition: Definition, format: Format, peak: float, names: tuple[str, ...],
        dtype: str | None = None,
    ):  # fmt: skip
        import cupy

        self.dtype = dtype = dtype or chosen(format.height, format.width)
        self.slots = min(SLOTS * len(names), MOST)
        first, *others = shares(len(names))
        self._lead = Backend(
            definition, format, peak, names[0], dtype, bands=first, guests=len(others)
        )
        self._helpers = [
            Helper(definition, format, peak, device, dtype, bands, self._lead.samples, guest)
            for device, bands, guest in zip(
                names[1:], others, self._lead.appearance.differences[len(first) :], strict=False
            )  # more devices than bands: left out
        ]
        for helper in self._helpers:
            _enable_peer_access(names[0], helper.device)
        with devices.on(self._lead.device):
            self._upload = Upload(self._lead.samples)
            # Planes have come from an array of the first GPU; a comparison has read both planes.
            self._ready, self._compared = (cupy.cuda.Event(disable_timing=True) for _ in "ab")

    def set_reference(self, reference: Any) -> None:
        """Compute the reference's half and keep it until the next reference."""
        with devices.on(self._lead.device), self._lead.in_order():
            events = self._stage(reference, None)
            for helper in self._helpers:
                helper.set_reference(events)
            self._lead.run_reference()

    def submit(
        self, reference: Any, distorted: Any, maps: bool = False, in_flight: bool = False,
        to_host: bool = False,
    ) -> PendingScore:  # fmt: skip
        """Begin a comparison; see `Backend.submit`.

        The helpers begin first, since their planes are still to be copied; the host queues what can
        wait when all GPUs are busy.
        """
        import cupy

        host = isinstance(distorted, np.ndarray)
        if host and isinstance(reference, np.ndarray):
            self.set_reference(reference)
            reference = None
        with devices.on(self._lead.device), self._lead.in_order():
            stream = cupy.cuda.get_current_stream()
            events = self._stage(reference, distorted)
            if reference is None:
                self._compare(events)
                self._lead.run_comparison()
            else:
                for helper in self._helpers:
                    helper.set_reference(events)
                self._lead.run_pair()
                self._compare(events)
            for helper in self._helpers:
                stream.wait_event(helper.give())
            self._lead.finish()
            found = self._lead.fetch(maps, host or to_host)
            self._compared.record(stream)
            return found

    @property
    def reference(self) -> Any:
        """The samples of the reference that is set, as a copy on the first GPU."""
        return self._lead.reference

    def close(self) -> None:
        """Release the memory of all GPUs."""
        with ExitStack() as stack:
            stack.callback(self._lead.close)
            stack.callback(self._upload.close)
            for helper in self._helpers:  # first, as they may still fetch from the lead
                stack.callback(helper.close)

    def _compare(self, events: list[Any]) -> None:
        for helper in self._helpers:
            helper.compare(events)

    def _stage(self, reference: Any, distorted: Any) -> list[Any]:
        """Copy planes to the first GPU; return the events after which helpers fetch them."""
        # A comparison ends with the helpers' results, so they have fetched its planes before the
        # next plane overwrites them. A helper may fetch a reference late that has been
        # replaced already; this does no harm, as it fetches the new one afterwards.
        import cupy

        stream, events = cupy.cuda.get_current_stream(), []
        if isinstance(reference, np.ndarray):
            events.append(self._upload(REFERENCE, reference, self._lead.done))
        if isinstance(distorted, np.ndarray):
            events.append(self._upload(DISTORTED, distorted, self._compared))
        for event in events:
            stream.wait_event(event)
        one, other = (None if isinstance(p, np.ndarray) else p for p in (reference, distorted))
        if one is not None or other is not None:
            stage(one, other, self._lead.samples)
            self._ready.record(stream)
            events.append(self._ready)
        return events


class Helper:
    """A GPU that computes the differences of some subbands for another one.

    Where memory suffices, both pictures' subbands are computed at once, on two streams: so few at a
    time do not fill a GPU.

    Parameters
    ----------
    definition, format, peak, device, dtype, bands
        As for `Backend`.
    samples : (2, H, W) array of the other GPU
        Both planes, as they are fetched from there.
    guest : (rows, columns) array of the other GPU
        Where the sum of the differences goes.
    """

    def __init__(
        self, definition: Definition, format: Format, peak: float, device: str, dtype: str,
        bands: range, samples: Any, guest: Any,
    ):  # fmt: skip
        import cupy

        self.device = device
        twice = fits_twice(bands, format.height, format.width, dtype)
        with devices.on(self.device):
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._beside = cupy.cuda.Stream(non_blocking=True) if twice else self._stream
            self._given, self._responded = (cupy.cuda.Event(disable_timing=True) for _ in range(2))
            with lasting():
                self._samples = cupy.zeros(samples.shape, samples.dtype)
                self._combine = Combine(definition, format, peak, dtype)
                given = definition, format, peak, dtype, bands
                self._appearance = Appearance(*given)
                self._other = Appearance(*given) if twice else None
            self._responses: Any = None
            works = self._describe, self._respond, self._sum
            streams = self._stream, self._beside, self._stream
            self._works = [*map(_captured, works, streams)]
            places = REFERENCE, DISTORTED
            self._fetch = [_copier(samples[place], self._samples[place]) for place in places]
            self._send = _copier(self._appearance.differences[0], guest)

    def set_reference(self, events: list[Any]) -> None:
        """Fetch the reference after these events, and compute its half."""
        with devices.using(self.device), self._stream as stream:
            self._start(REFERENCE, events, stream)

    def compare(self, events: list[Any]) -> None:
        """Fetch the distorted picture after these events, and compute its subbands.

        The events come after the comparison before, which reads its subbands until its end.
        """
        with devices.using(self.device), self._beside as stream:
            self._start(DISTORTED, events, stream)
            self._responded.record(stream)

    def give(self) -> Any:
        """Compare both pictures, send the sum of differences; return the event of its arrival."""
        with devices.using(self.device), self._stream as stream:
            stream.wait_event(self._responded)
            self._works[SUM]()
            self._send(stream.ptr)
            self._given.record(stream)
        return self._given

    def close(self) -> None:
        """Release the memory."""
        with devices.on(self.device):
            for stream in (self._stream, self._beside):
                stream.synchronize()
            del self._works, self._fetch, self._send, self._samples, self._combine
            del self._appearance, self._other, self._responses

    def _start(self, place: int, events: list[Any], stream: Any) -> None:
        for event in events:
            stream.wait_event(event)
        self._fetch[place](stream.ptr)
        self._works[place]()

    def _describe(self) -> None:
        self._appearance.set_reference(self._samples[REFERENCE])

    def _respond(self) -> None:
        if self._other:
            self._responses = self._other.respond(self._samples[DISTORTED])
        else:
            self._appearance.compare(self._samples[DISTORTED])

    def _sum(self) -> None:
        if self._other:
            self._appearance.settle(self._responses)
        self._combine.appearance(self._appearance.differences)


def shares(count: int) -> list[range]:
    """Return the subbands of each of `count` GPUs.

    The first GPU, which does detection, gets fewest. Of the others, those that begin first get
    most.
    """
    count = min(count, BANDS)
    first = max(1, round((BANDS + DETECTION) / count - DETECTION)) if count > 1 else BANDS
    others = [(BANDS - first + i) // (count - 1) for i in reversed(range(count - 1))]
    return [range(a, b) for a, b in pairwise(accumulate([first, *others], initial=0))]


def _captured(work: Work, stream: Any) -> Work:
    """Return work as a graph for a stream; it runs once, since a capture cannot load kernels."""
    with stream:
        work()
        made = capture(work)
        stream.synchronize()
    return made


def _copier(source: Any, target: Any) -> Callable[[int], None]:
    """Return a function that copies a contiguous array to another GPU on a stream (its address)."""
    from cupy.cuda.runtime import memcpyPeerAsync

    addresses = target.data.ptr, target.device.id, source.data.ptr, source.device.id
    size = source.nbytes
    return lambda stream: memcpyPeerAsync(*addresses, size, stream)


def _enable_peer_access(one: str, other: str) -> None:
    """Let two GPUs reach each other's memory; where they cannot, copies go through the host."""
    # CUDA raises an error where they cannot, and where access is enabled already.
    from cupy.cuda import runtime

    for a, b in ((one, other), (other, one)):
        with devices.using(a), suppress(runtime.CUDARuntimeError):
            runtime.deviceEnablePeerAccess(devices.ordinal(b))
