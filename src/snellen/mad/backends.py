"""The backends of a Scorer: their interface, and which one takes a pair and has the reference.

Most pairs go to the backend that `prepare` makes. Where float32 does not suffice, one in float64
takes the pair; where several GPUs have pairs in flight, each GPU takes whole pairs. Backends for
both are made at their first use.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from itertools import cycle
from typing import Any, Protocol

import numpy as np

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.gpu import device as devices
from snellen.gpu.profile import paused
from snellen.mad.definition import Definition
from snellen.mad.flat import flat
from snellen.mad.result import PendingScore, Score

Devices = tuple[str, ...]


class Backend(Protocol):
    """Scores planes of one format: see `mad.cpu`, `mad.cuda.backend`, `mad.cuda.multi_gpu`."""

    dtype: str
    """The precision, "float32" or "float64"."""

    slots: int
    """How many pairs in flight keep the devices busy."""

    @property
    def reference(self) -> Any:
        """A copy of the samples of the reference that is set; None where nobody needs it."""
        ...

    def set_reference(self, reference: Any) -> None:
        """Compute the reference's half and keep it until the next reference."""
        ...

    def submit(
        self, reference: Any, distorted: Any, maps: bool = False, in_flight: bool = False,
        to_host: bool = False,
    ) -> PendingScore:  # fmt: skip
        """Begin a comparison; None stands for the reference that is set.

        `in_flight` says that other pairs follow before the score is asked for. Maps are NumPy's for
        a NumPy plane, and for any `to_host`.
        """
        ...

    def close(self) -> None:
        """Release threads and buffers."""
        ...


def on_devices(
    definition: Definition, format: Format, peak: float, names: Devices, dtype: str | None
) -> Backend:
    """Return a new backend for the devices that share a pair; None: its default precision.

    The blank pair that it computes is not recorded in a profile.
    """
    given = definition, format, peak
    with paused():
        if names == ("cpu",):
            from snellen.mad import cpu

            return cpu.Backend(*given, dtype or "float64")
        from snellen.mad.cuda import backend, multi_gpu

        if len(names) > 1:
            return multi_gpu.MultiGpuBackend(*given, names, dtype)
        return backend.Backend(*given, names[0], dtype)


class Member:
    """A backend, its devices, and the number of the reference whose half it has computed.

    0: none that may be used again.
    """

    def __init__(self, backend: Backend, devices: Devices):
        self.backend, self.devices, self.reference = backend, devices, 0

    def samples(self, device: str) -> Any:
        """Return the samples of its reference, in main memory unless they are on `device`."""
        plane = self.backend.reference
        if self.devices[0] == device:
            return plane
        with devices.using(self.devices[0]):
            return plane.get()


class Backends:
    """Chooses the backend of each pair, and sees to it that it has the reference.

    As for `on_devices`; `dtype` None: float64 where float32 does not suffice.
    """

    def __init__(
        self, definition: Definition, format: Format, peak: float, names: Devices, dtype: str | None
    ):
        self._given, self._names, self._dtype = (definition, format, peak), names, dtype
        self._members: dict[tuple[bool, Devices], Member] = {}
        self._closed = False
        self.main = self._member(False, names).backend
        self._looks = dtype is None and names != ("cpu",) and self.main.dtype == "float32"
        self._turns = cycle((name,) for name in names)
        self._source: Member | None = None  # has the reference that is set
        self._references = 0  # so many have been set
        self._flat: bool | None = False  # whether the reference that is set has flat areas
        self._wary = False  # whether the pair before had some

    @property
    def finer(self) -> list[Backend]:
        """Those that were made for pairs for which float32 does not suffice."""
        return [member.backend for (fine, _), member in self._members.items() if fine]

    def set_reference(self, reference: Any) -> None:
        """Compute the reference's half and keep it."""
        member = self._member(False, self._names)
        self._source, member.reference = None, 0
        member.backend.set_reference(reference)
        self._flat = self._is_flat(reference)
        self._set(member)

    def submit(
        self, reference: Any, distorted: Any, maps: bool = False, in_flight: bool = False,
        known: Any = None, to_host: bool = False, eager: bool = False,
    ) -> Callable[[], Score]:  # fmt: skip
        """Begin a comparison of checked planes; return a function that waits for the score.

        None stands for the reference that is set; `known` is the array that it was set from, where
        that is still as it was. With `in_flight` other pairs follow before the score is asked for:
        several GPUs take turns then with pairs in main memory; else they share the pair. With
        `to_host` maps are NumPy's, whatever the planes are. With `eager` the GPU begins before
        anybody has looked for flat areas, unless the pair before had some: it finds them, too, but
        then the pair is scored twice.
        """
        if reference is None and self._source is None:
            raise InputError(
                "no reference is set", advice="call set_reference(reference) before compare"
            )
        given = known if reference is None else reference
        looks = self._wary or not eager
        if reference is not None:
            self._flat = self._is_flat(reference) if looks else None
        elif self._flat is None and known is not None:
            self._flat = self._is_flat(known)
        fine = bool(self._flat) or (looks and self._is_flat(distorted))
        self._wary = fine
        apart = in_flight and all(isinstance(plane, np.ndarray) for plane in (given, distorted))
        member = self._member(fine, next(self._turns) if apart else self._names)
        if reference is not None:
            self._source = None
        elif member.reference != self._references:
            reference = given
            if given is None:
                assert self._source is not None
                reference = self._source.samples(member.devices[0])
        new = reference is not None
        if new:
            member.reference = 0
        pending = member.backend.submit(reference, distorted, maps, in_flight, to_host)
        if self._source is None:
            self._set(member)
        elif new:
            member.reference = self._references

        def scored() -> Score:
            score, insufficient = pending()
            if fine or not insufficient or self._dtype is not None:
                return score
            self._wary = True
            one = member.backend.reference if given is None else given
            return self._finely(one, distorted, maps, to_host, member.devices)

        return scored

    def close(self) -> None:
        """Release threads and buffers of all backends."""
        self._closed = True
        with ExitStack() as stack:
            for member in self._members.values():
                stack.callback(member.backend.close)
        self._members.clear()

    def _set(self, member: Member) -> None:
        """Note that a member has a new reference."""
        self._references += 1
        self._source, member.reference = member, self._references

    def _member(self, fine: bool, names: Devices) -> Member:
        """Return the backend for a precision and devices that share a pair."""
        if self._closed:
            raise InputError("this Scorer was closed before this score was asked for")
        if (fine, names) not in self._members:
            made = on_devices(*self._given, names, "float64" if fine else self._dtype)
            self._members[fine, names] = Member(made, names)
        return self._members[fine, names]

    def _finely(
        self, reference: Any, distorted: Any, maps: bool, to_host: bool, names: Devices
    ) -> Score:
        """Score a pair once more, in float64."""
        member = self._member(True, names)
        member.reference = 0
        return member.backend.submit(reference, distorted, maps, to_host=to_host)()[0]

    def _is_flat(self, plane: Any) -> bool:
        """Return whether float32 does not suffice; of planes on a GPU the backend finds it out."""
        return self._looks and isinstance(plane, np.ndarray) and flat(plane)
