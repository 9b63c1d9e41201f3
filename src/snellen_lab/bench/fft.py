"""The small transforms of `snellen.fft`: complex and real, one plane and many at once, on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft as scipy_fft

from snellen import fft
from snellen.bench import runner
from snellen.bench.runner import Case, Figures, Kernel, Say
from snellen.errors import DeviceError, SnellenError
from snellen.gpu import graph
from snellen.gpu.reserved import Reserved

SIDES = (32, 64, 128, 256)
KINDS = ("fft2", "ifft2", "rfft2", "irfft2")
"""Our transforms, by the names and with the scaling of NumPy's."""
REPEATED = {1: 100, 132: 20, 1024: 4}
"""Batches, and how often each is transformed in one CUDA graph, so that no launch counts."""
MIXED = ((32, 256), (64, 128), (256, 32))
"""Periods of unlike sides."""
DISTINCT = 127
"""Different planes of a batch. A prime, so that a block that takes the plane of another one some
multiprocessors further is seen."""
WITHIN = 4e-7
"""Relative L2 error of every plane: as is asked of float32 at 128²."""


def run(
    method: str, repeats: int, say: Say, *, device: str = "auto", quick: bool = False
) -> dict[str, Any]:
    """Check and time all cases, as `runner.run` does those of the methods."""
    return runner.run(method, repeats, say, device=device, quick=quick, package="snellen_lab.bench")


def cases(device: str, quick: bool) -> list[Case]:
    """Return what is measured.

    Raises
    ------
    DeviceError
        On a CPU: these transforms are for GPUs.
    """
    if device == "cpu":
        raise DeviceError("the transforms of snellen.fft run on a GPU; no GPU is chosen")
    sides, batches = (SIDES[::2], (1, 132)) if quick else (SIDES, tuple(REPEATED))
    kinds = KINDS[:2] if quick else KINDS
    unlike: list[Case] = [Transform(kind, *size) for size in MIXED for kind in kinds]
    return [
        Transform(kind, side, side, count) for side in sides for kind in kinds for count in batches
    ] + unlike


class Transform(Case):
    """One transform of one size."""

    def __init__(self, kind: str, height: int, width: int, batch: int = 1):
        super().__init__(f"{height}×{width}", kind, batch)
        self.height, self.width = height, width

    def check(self, result: npt.NDArray[Any], device: str) -> Figures:
        """Compare every plane of the batch with SciPy's transform in float64."""
        wanted = truth(self.kind, self.height, self.width)
        length = np.sqrt((np.abs(wanted) ** 2).sum((-2, -1)))
        error = 0.0
        for first in range(0, len(result), DISTINCT):
            part = result[first : first + DISTINCT]
            away = np.sqrt((np.abs(part - wanted[: len(part)]) ** 2).sum((-2, -1)))
            error = max(error, float((away / length[: len(part)]).max()))
        if not error <= WITHIN:
            raise SnellenError(f"off by {error:.1e} (relative, L2); expected {WITHIN:.0e} at most")
        return {"relative_l2": error}

    def call(self, device: str) -> Callable[[], Any]:
        """Return the call of `snellen.fft` on a copy of planes in host memory."""
        import cupy

        planes, transform = self.planes(), getattr(fft, self.kind)
        return lambda: transform(cupy.asarray(planes)).get()

    @contextmanager
    def open(self, device: str) -> Iterator[Kernel]:
        """Prepare a CUDA graph of many transforms of the same planes."""
        import cupy

        transform: Callable[..., Any] = getattr(fft, self.kind)
        planes = cupy.asarray(self.planes())
        out = transform(planes)  # kernels are loaded before they are captured
        out.fill(0)
        times = REPEATED[self.batch]

        def work() -> None:
            for _ in range(times):
                transform(planes, out)

        with closing(Reserved(device)) as reserved:  # scratch that a transform allocates
            with reserved.allocating():
                run = graph.capture(work)
            yield Kernel(run, out.get, count=times, facts={"graph": run is not work})

    def planes(self) -> npt.NDArray[Any]:
        """Return the batch: the different planes again and again."""
        return drawn(self.kind, self.height, self.width)[np.arange(self.batch) % DISTINCT]


@lru_cache(2)
def drawn(kind: str, height: int, width: int) -> npt.NDArray[Any]:
    """Return the different planes: noise, or for irfft2 the half spectra of noise."""
    random = np.random.default_rng([2017, height, width])
    plane = random.standard_normal((DISTINCT, height, width), np.float32)
    if kind == "rfft2":
        return plane
    if kind == "irfft2":
        return np.fft.rfft2(plane.astype(np.float64)).astype(np.complex64)
    return plane + np.complex64(1j) * random.standard_normal(plane.shape, np.float32)


@lru_cache(2)
def truth(kind: str, height: int, width: int) -> npt.NDArray[Any]:
    """Return what the different planes become, in float64."""
    planes = drawn(kind, height, width)
    if kind == "rfft2":
        return np.asarray(scipy_fft.rfft2(planes.astype(np.float64)))
    size = ((height, width),) if kind == "irfft2" else ()
    return np.asarray(getattr(scipy_fft, kind)(planes.astype(np.complex128), *size))
