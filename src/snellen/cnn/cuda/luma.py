"""A compact network on the GPU: one luma plane, by one kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.cnn.cuda.layout import (
    MEMORY,
    WARPGROUP_ARCH,
    Layout,
    choose,
    factors,
    numbers,
    operands,
)
from snellen.cnn.model import Model
from snellen.errors import DeviceError
from snellen.frames.arrays import pitch, upload
from snellen.frames.bicubic import constants
from snellen.frames.frame import Format
from snellen.frames.quantise import recode
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.cache import Cache, Resident
from snellen.gpu.kernel import Kernel
from snellen.gpu.memory import lasting, own
from snellen.gpu.profile import stage

MODELS = 8  # models cached on a GPU; ours take 20 to 100 KB


class Luma:
    """A network for luma planes of one format on the current GPU. It needs no buffers.

    Parameters
    ----------
    model : Model
    source, target : Format
        Of the frames to come and of the results.
    memory : int, optional
        Without effect: every method has this parameter.
    layout : Layout, optional
        How blocks divide their work; no result depends on it.

    Raises
    ------
    DeviceError
        The network is too large for the GPU's shared memory.
    """

    def __init__(
        self,
        model: Model,
        source: Format,
        target: Format,
        memory: int | None = None,
        *,
        layout: Layout | None = None,
    ):
        import cupy

        device = cupy.cuda.Device()
        limit = int(device.attributes["MaxSharedMemoryPerBlockOptin"])
        chosen = layout or choose(model, source, limit, f"sm_{device.compute_capability}")
        if chosen is None:
            raise DeviceError(
                f"got a network of {model.layers} layers and {model.channels} channels, which does "
                "not fit the shared memory of this GPU",
                parameter="model",
                advice="use `device`=cpu",
            )
        self.scale, self.layout = model.scale, chosen
        self.kernel = kernel(chosen, source, target)
        self._weights = _weights(model, chosen.warpgroups)
        self._factors = (*factors(source), *recode(source, target, chroma=False))
        self._white = float((1 << target.bits) - 1)

    def __call__(self, plane: Any, out: Any) -> None:
        """Enlarge.

        Parameters
        ----------
        plane : (H, W) CuPy array of the source's dtype, rows may have a pitch
        out : (s·H, s·W) CuPy array of the target's dtype, likewise
        """
        height, width = plane.shape
        across, down = self.layout.tile
        with stage("network"):
            self.kernel(
                (-(-width // across), -(-height // down)), 32 * self.layout.warps, plane,
                pitch(plane), width, height, self._weights.operands, self._weights.numbers, out,
                pitch(out), *self._factors, self._white, shared=self.layout.shared,
            )  # fmt: skip


def kernel(layout: Layout, source: Format, target: Format) -> Kernel:
    """Return the kernel, not yet compiled."""
    first, second = layout.areas
    arches = tuple(arch for arch, most in MEMORY.items() if layout.shared <= most)
    return Kernel(
        Path(__file__).with_name("network.cu"), "network",
        arches=(f"{WARPGROUP_ARCH}a",) if layout.warpgroups else arches,
        layers=layout.layers,
        channels=layout.channels, side=layout.side, parts=layout.parts, tile_x=layout.tile[0],
        tile_y=layout.tile[1], warps=layout.warps, blocks=layout.blocks,
        group=layout.group, warpgroups=layout.warpgroups, first_bytes=first, second_bytes=second,
        sample=C_TYPES[source.dtype.name], target=C_TYPES[target.dtype.name],
        **constants(layout.scale, (0.5, 0.5)),
    )  # fmt: skip


class _Weights(Resident):
    """The weights of a network on a GPU, so that all planes and threads share them."""

    def __init__(self, model: Model, warpgroups: bool, device: int):
        super().__init__(device)
        self.operands = upload(operands(model, warpgroups=warpgroups))
        self.numbers = upload(numbers(model))


def _weights(model: Model, warpgroups: bool) -> _Weights:
    """Return the weights of a model on the current GPU, cached."""
    from cupy.cuda.runtime import getDevice

    device = int(getDevice())

    def make() -> _Weights:
        with own(), lasting():
            return _Weights(model, warpgroups, device)

    return _models.get(device, (model.digest, warpgroups), make)


_models: Cache[_Weights] = Cache(MODELS)
