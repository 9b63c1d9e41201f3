"""One pair on several GPUs: each takes some of the subbands, of both pictures.

So both images of a band meet on one GPU, and what travels is each plane of samples to every GPU,
and one partial map of the block grid back. (The CUDA paper's three GPUs exchanged 126 arrays.) The
first GPU detects, too, and combines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from typing import Any

import numpy as np

from snellen import device as devices
from snellen.frame import Format
from snellen.mad.cuda.appearance import Appearance
from snellen.mad.cuda.arm import DISTORTED, REFERENCE, Arm, recorded, stage
from snellen.mad.cuda.combine import Combine
from snellen.mad.cuda.loggabor import BANDS
from snellen.mad.cuda.precision import chosen, samples
from snellen.mad.definition import Definition
from snellen.mad.result import Score

DETECTION = 2.0  # subbands' time that detection and combination take, about, at any size


class Spread:
    """MAD for planes of one format on several GPUs; otherwise as `Arm`.

    Parameters
    ----------
    definition : Definition
    format : Format
    peak : float
    devices : tuple of str
        "cuda:N", two or more; planes of CuPy's lie on the first.
    dtype : str, optional
        "float32" or "float64"; see `precision`.
    """

    def __init__(
        self,
        definition: Definition,
        format: Format,
        peak: float,
        devices: tuple[str, ...],
        dtype: str | None = None,
    ):
        self.dtype = dtype = dtype or chosen(format.height, format.width)
        first, *others = shares(len(devices))
        self._lead = Arm(
            definition, format, peak, devices[0], dtype, bands=first, guests=len(others)
        )
        self._helpers = [
            Helper(definition, format, peak, device, dtype, bands)
            for device, bands in zip(devices[1:], others, strict=False)  # more than bands: left out
        ]
        for helper in self._helpers:
            _befriend(devices[0], helper.device)

    def hold(self, reference: Any) -> None:
        """Compute the reference's half and keep it until the next."""
        with self._lead.on_gpu(), self._lead.in_turn():
            self._sent(reference, REFERENCE)
            self._lead.hold_staged()

    def against(self, distorted: Any, maps: bool = False) -> Score:
        """Compare with the reference held; see `Arm.against`."""
        import cupy

        with self._lead.on_gpu(), self._lead.in_turn():
            self._sent(distorted, DISTORTED)
            self._lead.compare_staged()
            guests = self._lead.appearance.differences[-len(self._helpers) :]
            for helper, guest in zip(self._helpers, guests, strict=True):
                cupy.cuda.get_current_stream().wait_event(helper.give(guest))
            self._lead.finish()
            return self._lead.score(maps, isinstance(distorted, np.ndarray))

    @property
    def flat(self) -> bool:
        """See `Arm`."""
        return self._lead.flat

    @property
    def reference(self) -> Any:
        """The samples that are held, on the first GPU."""
        return self._lead.reference

    def close(self) -> None:
        """Give the memory of all GPUs back."""
        with ExitStack() as stack:
            stack.callback(self._lead.close)
            for helper in self._helpers:  # first, as they may still fetch from the lead
                stack.callback(helper.close)

    def _sent(self, plane: Any, which: int) -> None:
        """Stage a plane on all GPUs, and let the helpers begin."""
        import cupy

        samples, stream = self._lead.samples[which], cupy.cuda.get_current_stream()
        for helper in self._helpers:
            stream.wait_event(helper.fetched)  # or what it still fetches would be overwritten
        stage(plane, samples)
        ready = stream.record()
        for helper in self._helpers:
            helper.take(samples, ready, which)


class Helper:
    """A GPU that computes the differences of some subbands for another one."""

    def __init__(
        self,
        definition: Definition,
        format: Format,
        peak: float,
        device: str,
        dtype: str,
        bands: range,
    ):
        import cupy

        self.device = device
        with self._on_gpu():
            self._stream = cupy.cuda.Stream(non_blocking=True)
            with self._stream:
                self._samples = cupy.zeros((2, format.height, format.width), samples(format, dtype))
                self._combine = Combine(definition, format, peak, dtype)
                self._appearance = Appearance(definition, format, peak, dtype, bands)
                self._work = recorded(self._hold), recorded(self._compare)
                self.fetched = self._stream.record()
                self._stream.synchronize()

    def take(self, samples: Any, ready: Any, which: int) -> None:
        """Fetch a plane from another GPU once that is `ready`, and compute its half."""
        with self._on_gpu(), self._stream as stream:
            stream.wait_event(ready)
            _copy(samples, self._samples[which], stream)
            self.fetched = stream.record()
            self._work[which]()

    def give(self, out: Any) -> Any:
        """Send the sum of differences to another GPU's plane; return the event of its arrival."""
        with self._on_gpu(), self._stream as stream:
            _copy(self._appearance.differences[0], out, stream)
            return stream.record()

    def close(self) -> None:
        """Give the memory back."""
        import cupy

        with self._on_gpu():
            self._stream.synchronize()
            del self._work, self._samples, self._appearance, self._combine
            cupy.get_default_memory_pool().free_all_blocks()

    def _hold(self) -> None:
        self._appearance.hold(self._samples[REFERENCE])

    def _compare(self) -> None:
        self._appearance.against(self._samples[DISTORTED])
        self._combine.looks(self._appearance.differences)

    @contextmanager
    def _on_gpu(self) -> Iterator[None]:
        with devices.using(self.device), devices.reporting():
            yield


def shares(count: int) -> list[range]:
    """Return the subbands of each of `count` GPUs, fewer for the first, which detects."""
    count = min(count, BANDS)
    first = max(1, round((BANDS + DETECTION) / count - DETECTION)) if count > 1 else BANDS
    edges = [0, *(first + (BANDS - first) * i // max(1, count - 1) for i in range(count))]
    return [range(a, b) for a, b in pairwise(edges)]


def _copy(source: Any, target: Any, stream: Any) -> None:
    """Copy a contiguous array to another GPU."""
    import cupy

    cupy.cuda.runtime.memcpyPeerAsync(
        target.data.ptr, target.device.id, source.data.ptr, source.device.id, source.nbytes,
        stream.ptr,
    )  # fmt: skip


def _befriend(one: str, other: str) -> None:
    """Let two GPUs reach each other's memory; where they cannot, copies go through the host."""
    from cupy.cuda import runtime

    for a, b in ((one, other), (other, one)):
        with devices.using(a), suppress(runtime.CUDARuntimeError):  # they are friends already
            runtime.deviceEnablePeerAccess(devices.ordinal(b))
