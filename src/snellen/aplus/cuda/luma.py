"""The stages of A+ on the GPU composed: one luma plane through all seven steps."""

from __future__ import annotations

from typing import Any

from snellen.aplus.cuda.features import Features
from snellen.aplus.cuda.group import MOST, Group, capacity
from snellen.aplus.cuda.layout import SLAB, padded
from snellen.aplus.cuda.match import Match
from snellen.aplus.cuda.orientation import Orientation
from snellen.aplus.cuda.overlap import Overlap
from snellen.aplus.cuda.regress import Regress, row
from snellen.aplus.model import Model
from snellen.errors import DeviceError, DeviceMemoryError
from snellen.frames.frame import Format
from snellen.gpu.cache import Cache, Resident
from snellen.gpu.memory import lasting, own, scratch
from snellen.gpu.profile import stage

MODELS = 8  # models cached on a GPU, each for one pair of sample depths; ours take 5 to 20 MB


class Luma:
    """A+ for luma planes of one format on the current GPU, one plane at a time. Owns all buffers.

    Parameters
    ----------
    model : Model
    source, target : Format
        Of the frames to come and of the results.
    memory : int, optional
        Bytes for features and patches. A plane that needs more is enlarged in bands of rows, with
        the same result.

    Raises
    ------
    DeviceError
        The memory does not suffice for a few rows, or the model has too many projections.
    """

    def __init__(self, model: Model, source: Format, target: Format, memory: int | None = None):
        import cupy

        projections = len(model.projections)
        if projections > MOST:
            raise DeviceError(
                f"got a model with {projections} projections; expected at most {MOST} on a GPU",
                parameter="model",
                advice="use `device`=cpu",
            )
        self.halo = model.window // 2
        self.scale = model.scale
        self._stages = stages = _stages(model, source, target)
        self.orientation = stages.orientation
        self.features, self.match = stages.features, stages.match
        self.regress, self.overlap = stages.regress, stages.overlap
        self.group = Group(projections)  # has a buffer of its own
        dims, samples = padded(model.basis.shape[1]), row(model)
        width = source.width
        bytes_a_row = width * (4 * dims + 2 + 4 + 4 + 4 * samples)
        self.slabs = 0
        if self.orientation:
            self.slabs = dims // SLAB
            bytes_a_row += width * (1 + 4 * self.slabs)
        if memory is None:
            memory = scratch()
        fit = memory // bytes_a_row
        self.rows = source.height if fit >= source.height else fit - 2 * self.halo
        if self.rows < 1:
            raise DeviceMemoryError(
                f"{memory / 1e6:.0f} MB of GPU memory do not suffice for a picture {width} pixels "
                f"wide, which needs {bytes_a_row * (2 * self.halo + 1) / 1e6:.0f} MB",
                advice="close other programs, or use `device`=cpu",
            )
        rows = min(source.height, self.rows + 2 * self.halo)
        patches = rows * width
        self._features = cupy.empty((rows, width, dims), cupy.float32)
        self._patches = cupy.empty((rows, width, samples), cupy.float32)
        self._index = cupy.empty(patches, cupy.uint16)
        self._work = cupy.empty(patches, cupy.int32)
        self._order = cupy.empty(capacity(patches, projections), cupy.int32)
        self.listed = cupy.zeros(1, cupy.int32)
        self._tiles = cupy.zeros(1, cupy.int32)
        if self.orientation:
            self._turns = cupy.empty(patches, cupy.uint8)
            self._norms = cupy.empty(self.slabs * patches, cupy.float32)

    def __call__(self, plane: Any, out: Any) -> None:
        """Enlarge.

        Parameters
        ----------
        plane : (H, W) CuPy array of the source's dtype, rows may have a pitch
        out : (s·H, s·W) CuPy array of the target's dtype, likewise
        """
        height = plane.shape[0]
        for first in range(0, height, self.rows):
            last = min(first + self.rows, height)
            self._band(plane, first, last, out[first * self.scale : last * self.scale])

    def _band(self, plane: Any, first: int, last: int, out: Any) -> None:
        height, width = plane.shape
        top, bottom = max(0, first - self.halo), min(height, last + self.halo)
        count = (bottom - top) * width
        features, index = self._features.reshape(-1, self._features.shape[2])[:count], self._index
        turns = norms = None
        if self.orientation:
            turns, norms = self._turns[:count], self._norms[: self.slabs * count]
            with stage("orientation"):
                self.orientation(plane, top, bottom - top, turns)
        with stage("features"):
            self.features(plane, top, bottom - top, features, turns, norms)
        with stage("match"):
            self.match(features, index[:count], self.listed, self._work)
        if self.orientation:
            with stage("orientation"):
                self.orientation.divide(norms, index[:count], turns)
        with stage("group"):
            self.group(index[:count], self._order, self._tiles)
        with stage("regress"):
            self.regress(features, index, self._order, self._tiles, self._patches)
        with stage("overlap"):
            self.overlap(self._patches, top, plane, first, last, out, turns)


class _Stages(Resident):
    """The stages that hold constants only, so that all planes and threads share them."""

    def __init__(self, model: Model, source: Format, target: Format, device: int):
        super().__init__(device)
        self.orientation = None if model.strengths is None else Orientation(model, source)
        self.features, self.match = Features(model, source), Match(model)
        self.regress, self.overlap = Regress(model), Overlap(model, source, target)


def _stages(model: Model, source: Format, target: Format) -> _Stages:
    """Return the stages of a model on the current GPU, cached: making them takes milliseconds."""
    from cupy.cuda.runtime import getDevice

    device = int(getDevice())
    bits, to, full_range = source.bits, target.bits, source.full_range
    white = None if model.strengths is None else source.white
    source = Format(1, 1, bits, full_range=full_range, white=white)
    target = source.scaled(model.scale, to)

    def make() -> _Stages:
        with own(), lasting():
            return _Stages(model, source, target, device)

    return _models.get(device, (model.digest, bits, to, full_range, white), make)


_models: Cache[_Stages] = Cache(MODELS)
