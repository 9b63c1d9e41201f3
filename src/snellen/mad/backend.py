"""The interface of the backends of MAD, which `Scorer` drives."""

from __future__ import annotations

from typing import Any, Protocol

from snellen.mad.result import PendingScore


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
