"""The CPU backend of A+: luma in strips through all seven steps, each strip in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS, differences
from snellen.aplus.features import features, margin
from snellen.aplus.match import match
from snellen.aplus.model import Model
from snellen.aplus.orientation import edges, orientations, turn
from snellen.aplus.overlap import overlap
from snellen.aplus.regress import regress
from snellen.aplus.symmetry import kinds, places
from snellen.cpu import threads
from snellen.frames.bicubic import bicubic
from snellen.frames.frame import Format, Plane
from snellen.frames.quantise import quantise, recode
from snellen.gpu.profile import stage

STRIP = 16 << 20  # bytes of patches that a strip holds; a strip also computes two rows twice
CHUNK = 960  # windows collected at a time: 540 KB of raw features at ×2; twice match.PATCHES

Float32 = npt.NDArray[np.float32]


class Luma:
    """A+ for luma planes of one format on the CPU. Holds the model as stages want it.

    Planes may have another size than the formats.
    """

    def __init__(self, model: Model, source: Format, target: Format):
        self.model, self.source, self.target = model, source, target
        self.projections = np.ascontiguousarray(
            model.projections.transpose(0, 2, 1).astype(np.float32)
        )
        self.anchors = np.ascontiguousarray(model.anchors)
        self.basis = np.ascontiguousarray(model.basis.T)
        if model.strengths is not None:
            self.kinds, self.places = kinds(model.basis), places(model.window * model.scale)
            self.strengths = edges(model, source)

    def tasks(self, pool: Executor, plane: Plane, out: Plane) -> list[Future[None]]:
        """Let threads enlarge a plane: one task a strip, each of which has a BLAS of one thread.

        `plane` (H, W) and `out` (s·H, s·W) have their formats' dtypes; rows may have a pitch.
        """
        rows = strips(self.model, *plane.shape)
        return [pool.submit(self._strip, plane, first, last, out) for first, last in rows]

    def close(self) -> None:
        """Do nothing: threads are the caller's."""

    def _strip(self, plane: Plane, first: int, last: int, out: Plane) -> None:
        """Enlarge rows first … last−1 of `plane` by all seven steps, to their rows of `out`."""
        s, window = self.model.scale, self.model.window
        height, width = plane.shape
        top, bottom = max(0, first - window // 2), min(height, last + window // 2)
        edge = margin(window)
        mid = np.empty(((bottom - top + 2 * edge) * s, (width + 2 * edge) * s), np.float32)
        with stage("bicubic"):
            bicubic(plane, s, mid, origin=((top - edge) * s, -edge * s))
        patches = np.empty((bottom - top, (window * s) ** 2, width), np.float32)
        signs = None
        if self.model.strengths is not None:
            signs = np.empty((bottom - top, 3, width), np.int8)
            with stage("orientation"):
                orientations(plane, top, signs)
        self._predict(mid, signs, patches)
        skip = (first - top + edge) * s
        low = mid[skip : skip + (last - first) * s, edge * s : (edge + width) * s]
        strip = np.empty(low.shape, np.float32)
        depth = recode(self.source, self.target, chroma=False)
        with stage("overlap"):
            overlap(patches, low, s, window, first, top, plane.shape, strip)
            quantise(strip, depth, self.target.bits, out[first * s : last * s])

    def _predict(self, mid: Float32, signs: npt.NDArray[np.int8] | None, patches: Float32) -> None:
        """Fill patches (rows, (w·s)², n), those of the windows centred on the rows of a strip."""
        # `signs` (rows, 3, n) are those of the windows, see `orientation`, None for format 1.
        model, s = self.model, self.model.scale
        rows, _, width = patches.shape
        planes = np.empty((FILTERS, s, mid.shape[0] - 2 * s, mid.shape[1] // s - 2), np.float32)
        with stage("differences"):
            differences(mid, s, signs is not None, planes)
        step = min(width, CHUNK)
        raw = np.empty(len(model.basis) * step, np.float32)
        feature = np.empty(len(self.basis) * step, np.float32)
        index, strength = np.empty((2, step), np.int32)
        for row in range(rows):
            for left in range(0, width, step):
                n = min(step, width - left)
                collected = raw[: raw.size // step * n].reshape(-1, n)
                f, i = feature[: feature.size // step * n].reshape(-1, n), index[:n]
                with stage("features"):
                    features(planes, model.window, row, left, self.basis, collected, f)
                patch = patches[row, :, left : left + n]
                if signs is None:
                    with stage("match"):
                        match(f, self.anchors, i)
                    with stage("regress"):
                        regress(f, i, self.projections, patch)
                    continue
                sign = signs[row, :, left : left + n].astype(np.float32)
                with stage("orientation"):
                    turn(f, sign, self.kinds, self.strengths, strength[:n])
                with stage("match"):
                    match(f, self.anchors, i)
                i *= model.classes
                i += strength[:n]
                with stage("regress"):
                    regress(f, i, self.projections, patch, sign, self.places)


def strips(model: Model, height: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield first row and end of each strip of a plane."""
    patch = (model.window * model.scale) ** 2
    fit = STRIP // (4 * patch * width)
    share = -(-height // (4 * threads.available()))  # four strips a thread even out
    rows = max(4, min(fit, share))
    for first in range(0, height, rows):
        yield first, min(first + rows, height)
