"""Frames in flight on one GPU: each is uploaded once, and stays while its neighbours need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from snellen.engine.engine import SLOTS, Engine, Pending
from snellen.engine.slots import Arrays
from snellen.filters.nlm.cpu import groups
from snellen.filters.nlm.cuda.group import Group
from snellen.filters.nlm.definition import Settings
from snellen.frames.frame import Format, Plane
from snellen.gpu import device as devices
from snellen.gpu.memory import lasting
from snellen.gpu.profile import stage


class Backend:
    """Denoises frames of one format on a GPU. Holds all buffers.

    One engine takes a frame to the GPU and estimates its noise; its results stay there, and are the
    inputs of a second engine, which denoises a frame by all frames around it.

    Parameters
    ----------
    settings : Settings
    source, target : Format
        Of the frames to come and of the results.
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

    def __init__(
        self,
        settings: Settings,
        source: Format,
        target: Format,
        device: str,
        *,
        on_device: bool = False,
    ):
        self._radius, self._on_device = settings.radius, on_device
        self._planes = len(source.shapes)
        with devices.on(device), lasting():
            self._groups = [
                Group(settings, planes, source, target) for planes in groups(source)
            ]  # fmt: skip
        planes = [(shape, source.dtype) for shape in source.shapes]
        thresholds = [((2,), np.dtype(np.float32)) for _ in self._groups]
        frames = 2 * self._radius + 1
        self._arrival = Engine(
            device, inputs=planes, outputs=[*planes, *thresholds], work=self._arrive,
            on_device=True,
        )  # fmt: skip
        try:
            self._engine = Engine(
                device,
                inputs=[((frames,), np.int32), *thresholds, *planes * frames],
                outputs=[(shape, target.dtype) for shape in target.shapes],
                work=self._denoise,
                on_device=on_device,
                staged=1,  # the others come from the first engine
            )
        except BaseException:
            self._arrival.close()
            raise

    def take(self, planes: Sequence[Plane], ready: Any) -> Pending:
        """Begin to take a frame to the GPU; return it, in flight."""
        return self._arrival.submit(planes, [ready])

    def begin(
        self, window: Sequence[Pending], centre: int
    ) -> Callable[[], tuple[tuple[Plane, ...], Any]]:
        """Begin frame number `centre` of a window; return what waits for its planes."""
        given = np.zeros(2 * self._radius + 1, np.int32)
        planes = window[centre].result()
        around: list[Any] = []
        for place in range(centre - self._radius, centre + self._radius + 1):
            there = 0 <= place < len(window)
            given[place - centre + self._radius] = there
            around += window[place if there else centre].result()[: self._planes]
        ready = [frame.ready for frame in window]
        pending = self._engine.submit([given, *planes[self._planes :], *around], ready)
        return partial(self._wait, pending)

    def close(self) -> None:
        """Wait for frames in flight, and drop all buffers."""
        self._engine.close()
        self._arrival.close()

    def _wait(self, pending: Pending) -> tuple[tuple[Plane, ...], Any]:
        return pending.result(), pending.ready if self._on_device else None

    def _arrive(self, inputs: Arrays, outputs: Arrays) -> None:
        """Copy the planes of a frame, and compute the thresholds of each group."""
        with stage("noise"):
            for plane, out in zip(inputs, outputs[: self._planes], strict=True):
                _copy(plane, out)
            for group, threshold in zip(self._groups, outputs[self._planes :], strict=True):
                group.estimate(inputs[group.planes], threshold)

    def _denoise(self, inputs: Arrays, outputs: Arrays) -> None:
        """Denoise all groups of a frame."""
        given, *rest = inputs
        thresholds, around = rest[: len(self._groups)], rest[len(self._groups) :]
        frames = [
            around[first : first + self._planes] for first in range(0, len(around), self._planes)
        ]
        with stage("denoise"):
            for group, threshold in zip(self._groups, thresholds, strict=True):
                chosen = [tuple(frame[group.planes]) for frame in frames]
                group.denoise(chosen, given, threshold, outputs[group.planes])


def _copy(plane: Any, out: Any) -> None:
    """Queue the copy of a plane on the current stream."""
    out.data.copy_from_device_async(plane.data, plane.nbytes)
