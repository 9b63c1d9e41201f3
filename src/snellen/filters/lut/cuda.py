"""The GPU backend: frames in flight, through the two kernels of lut.cu."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from snellen.engine.engine import SLOTS, Engine
from snellen.filters.lut.planes import Planes
from snellen.frames.arrays import pitch, upload
from snellen.frames.frame import Format, Frame
from snellen.gpu import device as devices
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.kernel import Kernel
from snellen.gpu.memory import lasting
from snellen.gpu.profile import stage

FILE = Path(__file__).with_name("lut.cu")
BLOCK = (32, 8)


class Backend:
    """Sends frames of one format through a LUT on a GPU. Holds all buffers.

    Parameters
    ----------
    planes : Planes
    device : str
        "cuda:N".
    on_device : bool
        Whether results stay on the GPU.

    Raises
    ------
    DeviceError
        Memory does not suffice, or CUDA failed.
    """

    slots = SLOTS

    def __init__(self, planes: Planes, device: str, *, on_device: bool = False) -> None:
        self._device, self._on_device = device, on_device
        source, target = planes.source, planes.target
        with devices.on(device):
            with lasting():
                self._work = Work(planes)
            self._engine = Engine(
                device,
                inputs=[(shape, source.dtype) for shape in source.shapes],
                outputs=[(shape, target.dtype) for shape in target.shapes],
                work=self._work,
                on_device=on_device,
            )
            with self._engine.streams.compute:  # what prepared the engine was no frame
                self._work.clipped.set(np.zeros(1, np.uint64))

    def run(self, frame: Frame) -> Frame:
        """Return a frame with new planes; may be called from several threads."""
        pending = self._engine.submit(frame.planes, [frame.ready])
        return replace(
            frame, planes=pending.result(), ready=pending.ready if self._on_device else None
        )

    def clipped(self) -> int:
        """Return how many pixels had colours that were clipped, so far."""
        with devices.on(self._device):
            self._engine.streams.compute.synchronize()
            return int(self._work.clipped.get()[0])

    def close(self) -> None:
        """Wait for frames in flight and drop all buffers."""
        self._engine.close()


class Work:
    """The kernels for planes of one format, on the current GPU and CuPy's stream.

    Parameters
    ----------
    planes : Planes

    Attributes
    ----------
    clipped : (1,) uint64 CuPy array
        So many pixels had colours that were clipped.
    """

    def __init__(self, planes: Planes) -> None:
        import cupy

        self._planes = planes
        self._lut, self._narrow = kernels(planes.source, planes.target, planes.dimensions)
        padded = np.zeros((len(planes.table), 4), np.float32)
        padded[:, :3] = planes.table
        numbers = np.concatenate([planes.to_index, planes.from_rgb], axis=None)
        self._table = upload(padded)
        self._numbers = upload(np.concatenate([numbers, planes.slack]))
        self._down, self._across = (
            [upload(one) for one in (axis.near, axis.part, axis.taps, axis.weights)]
            for axis in (planes.down, planes.across)
        )
        height, width = planes.source.height, planes.source.width
        self._wide = cupy.empty((2, height, width), np.float32)
        self.clipped = cupy.zeros(1, np.uint64)

    def __call__(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Fill three planes from three planes."""
        p = self._planes
        luma, cb, cr = inputs
        height, width = luma.shape
        most = float(p.most)
        with stage("lut"):
            self._lut(
                _grid(luma.shape), BLOCK, luma, pitch(luma), cb, cr, pitch(cb), width, height,
                *self._down[:2], *self._across[:2], self._table, p.size, self._numbers, most,
                outputs[0], pitch(outputs[0]), self._wide, self.clipped,
            )  # fmt: skip
            rows, columns = outputs[1].shape
            self._narrow(
                (*_grid(outputs[1].shape), 2), BLOCK, self._wide, width, height,
                *self._down[2:], len(p.down.weights), *self._across[2:], len(p.across.weights),
                most, outputs[1], outputs[2], pitch(outputs[1]), columns, rows,
            )  # fmt: skip


def kernels(source: Format, target: Format, dimensions: int) -> tuple[Kernel, Kernel]:
    """Return the kernels `lut` and `narrow`, not yet compiled."""
    lut, narrow = (
        Kernel(
            FILE, name, dimensions=dimensions, sample=C_TYPES[source.dtype.name],
            target=C_TYPES[target.dtype.name],
        )
        for name in ("lut", "narrow")
    )  # fmt: skip
    return lut, narrow


def _grid(shape: tuple[int, int]) -> tuple[int, int]:
    rows, columns = shape
    return -(-columns // BLOCK[0]), -(-rows // BLOCK[1])
