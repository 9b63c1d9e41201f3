"""The GPU backend for periods with sides of 32, 64, 128 and 256: all iterations are one launch.

mia.cu has the kernel and layout.py how it is divided among lanes and blocks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.engine.engine import SLOTS
from snellen.errors import InputError
from snellen.gpu import device as devices
from snellen.gpu.graph import synchronize
from snellen.gpu.kernel import Kernel
from snellen.mia.backend import Float64
from snellen.mia.cuda.change import Change
from snellen.mia.cuda.check import Checked
from snellen.mia.cuda.layout import Gpu, Layout, candidates
from snellen.mia.cuda.measure import Measure
from snellen.mia.cuda.scale import Scale
from snellen.mia.definition import EPS, LEAST, SIDES, TV_EPS, TV_LEAST, Definition


class Backend(Checked):
    """MIA of a batch of pictures on one period, with the contract of `cpu.Backend`.

    Parameters
    ----------
    definition, period, frames, batch, device, dtype
        As for `cpu.Backend`; sides of 32, 64, 128, 256, on "cuda:N", in float32.
    layout : Layout, optional
        How the period is divided; by default the first of `candidates` that the GPU takes.

    Raises
    ------
    InputError
        Another precision or another period.
    DeviceError
        The memory of the GPU does not suffice, or CUDA reports an error.

    Attributes
    ----------
    layout : Layout
    leaves_room : bool
        Whether a launch takes half of the GPU's multiprocessors at most, so that others run beside.
    """

    slots = SLOTS

    def __init__(
        self, definition: Definition, period: tuple[int, int], frames: int, batch: int,
        device: str = "cuda:0", dtype: str | None = None, layout: Layout | None = None,
    ):  # fmt: skip
        import cupy

        if dtype not in (None, "float32"):
            raise InputError(
                f"got `dtype`={dtype!r} on a GPU; expected 'float32'",
                parameter="dtype",
                advice="use `device`=cpu for float64",
            )
        if not set(period) <= set(SIDES):
            raise InputError(f"got a period of {period}; expected sides of {SIDES}")
        super().__init__(device, "float32", frames)
        self._definition, self._batch = definition, batch
        with devices.on(device):
            here = gpu()
            gaussian = definition.noise == "gaussian"
            layouts = [layout] if layout else candidates(*period, batch, here, gaussian)
            kernel(layouts[0], definition, frames)  # begins to compile, which takes longest
            self._measure, self._scale = Measure(definition, period), Scale()
            self._change = Change("float32")
            # Waits for the large kernel; the small ones compile meanwhile.
            self.layout, self._kernel = fitting(layouts, here, definition, frames)
            self.leaves_room = 2 * batch * self.layout.cluster <= here.multiprocessors
            self._y = cupy.empty((batch, frames, *period), np.float32)
            self._f = cupy.empty((batch, 2, *period), np.float32)  # of even and odd iterations
            self._h = cupy.empty((batch, frames, *period), np.float32)
            self._first = cupy.empty_like(self._h)  # h at the start
            height, width = period
            self._denominators = cupy.empty((batch, width, height) if gaussian else 1, np.complex64)
            workspace = 0 if self.layout.in_shared else self.layout.workspace
            self._workspace = cupy.empty(max(1, batch * workspace), np.complex64)

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Copy the observed frames and the start values; see `cpu.Backend.start`.

        Arrays may be CuPy arrays of this GPU. Work is queued on CuPy's current stream, and nothing
        waits for it.
        """
        with devices.on(self._device):
            self._scale.start((y, f, h), self._y, self._f, self._first, self._h)

    def iterate(self, count: int) -> None:
        """Queue `count` iterations of all pictures on CuPy's current stream, as one launch."""
        layout = self.layout
        with devices.on(self._device):
            self._kernel(
                self._batch * layout.cluster, layout.threads,
                self._y, self._f, self._h, self._denominators, self._workspace, self._frames, count,
                float(self._definition.read_noise**2), float(self._definition.tv),
                shared=layout.shared, cluster=layout.cluster,
            )  # fmt: skip
            if self._definition.tv and count % 2:  # the result is in the other half
                self._f[:, 0] = self._f[:, 1]

    @property
    def estimate(self) -> Any:
        """The pictures f (B, H, W)."""
        return self._f[:, 0]

    @property
    def psf(self) -> Any:
        """Their PSFs h (B, M, H, W), each of sum 1; one that has vanished is the start value."""
        with devices.on(self._device):
            return self._scale.psf(self._h, self._first)

    def change_on_gpu(self, before: Any) -> Any:
        """Queue what `change` does; see `Checked`."""
        return self._change(self.estimate, before)

    def fit_on_gpu(self, psf: Any = None) -> Any:
        """Queue what `fit` does; `psf`: what the property has returned. Nothing waits for it."""
        with devices.on(self._device):
            return self._measure(self._y, self.estimate, self.psf if psf is None else psf)

    def _fitted(self, found: Float64) -> Float64:
        return found.copy()

    def close(self) -> None:
        """Wait for the GPU and drop all arrays."""
        with devices.using(self._device):
            synchronize()
            self._check.close()
            del self._y, self._f, self._h, self._first, self._denominators, self._workspace
            del self._measure, self._scale, self._change, self._check


def gpu() -> Gpu:
    """Return the properties of the current GPU that decide the layout."""
    import cupy

    device = cupy.cuda.Device()
    return Gpu(
        capability=int(device.compute_capability),
        shared=int(device.attributes["MaxSharedMemoryPerBlockOptin"]),
        multiprocessors=devices.multiprocessors(),
    )


def fitting(
    layouts: list[Layout], here: Gpu, definition: Definition, frames: int
) -> tuple[Layout, Kernel]:
    """Return the first layout that the current GPU can run, or the last one, and its kernel."""
    for layout in layouts:
        made = kernel(layout, definition, frames)
        if layout.shared <= here.shared and (
            layout.cluster == 1 or made.clusters(layout.cluster, layout.threads, layout.shared)
        ):
            break
    return layout, made


def kernel(layout: Layout, definition: Definition, frames: int) -> Kernel:
    """Return the kernel, not compiled yet."""
    extra: dict[str, Any] = {"arches": ("sm_90", "sm_120")} if layout.cluster > 1 else {}
    if layout.cluster > 1 or layout.concurrent:
        plain = definition == Definition() and frames == 1
        extra["spills"] = 0 if plain else 64
    else:
        # f and h of a thread, the spectra of two columns and addresses are more than its registers;
        # at 256² in one block f and h alone are.
        extra["spills"] = 1024 if layout.in_shared else 2048
    return Kernel(
        Path(__file__).with_name("mia.cu"), "mia",
        height=layout.height, width=layout.width,
        column_values=layout.column_values, row_values=layout.row_values,
        half_row_values=layout.half_row_values,
        cluster=layout.cluster, threads=layout.threads, blocks_per_sm=layout.blocks_per_sm,
        in_shared=layout.in_shared, concurrent=layout.concurrent,
        workspace=layout.workspace, tables=layout.tables,
        multi_frame=frames > 1, blind=definition.blind, gaussian=definition.noise == "gaussian",
        tv=definition.tv > 0, epsilon=EPS, smallest=LEAST, smooth=TV_EPS, least=TV_LEAST,
        **extra,
    )  # fmt: skip
