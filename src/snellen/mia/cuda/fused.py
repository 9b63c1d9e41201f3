"""The GPU backend for periods of 32, 64, 128 and 256: all iterations are one launch.

See mia.cu for what a launch does, and shape.py for how it is laid on the GPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.gpu import device as devices
from snellen.gpu.kernel import Kernel
from snellen.mia.cuda.layout import Gpu, Shape, candidates
from snellen.mia.cuda.measure import Measure
from snellen.mia.definition import EPS, LEAST, SIDES, TV_EPS, TV_LEAST, Definition


class Backend:
    """MIA of a batch of pictures on one period; otherwise as `cpu.Backend`.

    Parameters
    ----------
    definition : Definition
    period : (H, W)
        Each of 32, 64, 128, 256.
    frames : int
        M, of each picture.
    batch : int
        B, pictures at once.
    device : str
        "cuda:N".
    dtype : str, optional
        "float32": the kernel knows no other.
    layout : Shape, optional
        How the period is laid on the GPU; by default the best for so many pictures that it takes.

    Raises
    ------
    InputError
        float64, which is the CPU's; another period.
    DeviceError
        The GPU's memory does not suffice, or what CUDA says.
    """

    def __init__(
        self,
        definition: Definition,
        period: tuple[int, int],
        frames: int,
        batch: int,
        device: str = "cuda:0",
        dtype: str | None = None,
        layout: Shape | None = None,
    ):
        import cupy

        if dtype not in (None, "float32"):
            raise InputError(
                f"dtype={dtype!r} came for a GPU, expected float32; for float64 take device='cpu'"
            )
        if not set(period) <= set(SIDES):
            raise InputError(f"a period of {period} came, expected sides of {SIDES}")
        self._definition, self._device = definition, device
        self._frames, self._batch = frames, batch
        with devices.using(device), devices.reporting():
            here = gpu()
            gaussian = definition.noise == "gaussian"
            layouts = [layout] if layout else candidates(*period, batch, here, gaussian)
            self.layout, self._kernel = laid(layouts, here, definition, frames)
            self._y = cupy.empty((batch, frames, *period), np.float32)
            self._f = cupy.empty((batch, 2, *period), np.float32)  # of even and odd iterations
            self._h = cupy.empty((batch, frames, *period), np.float32)
            self._first = cupy.empty_like(self._h)  # h at the start
            height, width = period
            self._denominators = cupy.empty((batch, width, height) if gaussian else 1, np.complex64)
            cells = 0 if self.layout.resident else self.layout.cells
            if frames == 1:  # y, as the threads see it
                cells += self.layout.aside
            self._outside = cupy.empty(max(1, batch * cells), np.complex64)
            self._measure = Measure(definition)

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Take what came and where to start from, as copies; see `cpu.Backend.start`."""
        with devices.using(self._device), devices.reporting():
            self._y[...], self._first[...] = y, h
            self._f[:, 0] = f
            self._first /= self._first.sum((2, 3), np.float64, keepdims=True)
            self._h[...] = self._first
            self._balance()

    def iterate(self, count: int) -> None:
        """Do so many iterations of all pictures, on CuPy's current stream."""
        layout = self.layout
        with devices.using(self._device), devices.reporting():
            self._kernel(
                self._batch * layout.cluster, layout.threads,
                self._y, self._f, self._h, self._denominators, self._outside, self._frames, count,
                float(self._definition.read_noise**2), float(self._definition.tv),
                shared=layout.shared, cluster=layout.cluster,
            )  # fmt: skip
            if self._definition.tv and count % 2:  # it ends in the other half
                self._f[:, 0] = self._f[:, 1]

    @property
    def estimate(self) -> Any:
        """The pictures f (B, H, W)."""
        return self._f[:, 0]

    @property
    def psf(self) -> Any:
        """Their PSFs h (B, M, H, W), each of sum 1; where nothing is left, the first."""
        import cupy

        with devices.using(self._device):
            total = self._h.sum((2, 3), keepdims=True)
            return cupy.where(total > 0, self._h / cupy.maximum(total, TINY), self._first)

    def fit(self) -> npt.NDArray[np.float64]:
        """Return how far y is from h ⊛ f: (B,); see `Restored.fit`."""
        with devices.using(self._device), devices.reporting():
            return self._measure(self._y, self.estimate, self.psf)

    def close(self) -> None:
        """Give the memory back."""
        import cupy

        with devices.using(self._device):
            cupy.cuda.Device().synchronize()
            del self._y, self._f, self._h, self._first, self._denominators, self._outside
            del self._measure

    def _balance(self) -> None:
        """Give h about the sum of f: both go through one transform, and round as the larger."""
        import cupy

        total = self._f[:, 0].sum((1, 2), np.float64)
        self._h *= cupy.exp2(cupy.rint(cupy.log2(total)))[:, None, None, None]


TINY = np.float32(1e-30)


def gpu() -> Gpu:
    """Return what the layout asks of the current GPU."""
    import cupy

    device = cupy.cuda.Device()
    return Gpu(
        capability=int(device.compute_capability),
        shared=int(device.attributes["MaxSharedMemoryPerBlockOptin"]),
        multiprocessors=devices.multiprocessors(),
    )


def laid(
    layouts: list[Shape], here: Gpu, definition: Definition, frames: int
) -> tuple[Shape, Kernel]:
    """Return the first layout that the current GPU takes, or the last one, and its kernel."""
    for layout in layouts:
        made = kernel(layout, definition, frames)
        if layout.shared <= here.shared and (
            layout.cluster == 1 or made.clusters(layout.cluster, layout.threads, layout.shared)
        ):
            break
    return layout, made


def kernel(layout: Shape, definition: Definition, frames: int) -> Kernel:
    """Return the kernel, not compiled yet."""
    clusters: dict[str, Any] = {"arches": ("sm_90", "sm_120")} if layout.cluster > 1 else {}
    # f and h of a thread, the spectra of two columns and addresses are more than its registers; at
    # 256² in one block f and h alone are.
    one = layout.cluster == 1 and not layout.beside
    plain = definition == Definition() and frames == 1
    clusters["spills"] = (0 if plain else 64) if not one else 1024 if layout.resident else 2048
    return Kernel(
        Path(__file__).with_name("mia.cu"), "mia",
        height=layout.height, width=layout.width,
        height_values=layout.down, width_values=layout.across,
        half_values=layout.halves,
        cluster=layout.cluster, threads=layout.threads, blocks=layout.blocks,
        resident=layout.resident, beside=layout.beside, stash=layout.stash, cells=layout.cells,
        tables=layout.tables,
        many=frames > 1, blind=definition.blind, gaussian=definition.noise == "gaussian",
        tv=definition.tv > 0, epsilon=EPS, smallest=LEAST, smooth=TV_EPS, least=TV_LEAST,
        **clusters,
    )  # fmt: skip
