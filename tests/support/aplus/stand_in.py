"""A composer with the stages of the GPU's, in NumPy: what the checks look at in tests."""

from __future__ import annotations

import numpy as np

from snellen.aplus.cuda.filters import compose, side
from snellen.aplus.cuda.layout import padded
from snellen.aplus.overlap import overlap
from snellen.frames.bicubic import bicubic
from snellen.frames.quantise import quantise, recode


class Luma:
    """As `snellen.aplus.cuda.luma.Luma`, of one band."""

    def __init__(self, model, source, target):
        self.model, self.source, self.target = model, source, target
        self.listed = np.zeros(1, np.int32)
        self.features, self.match, self.group = self._features, self._match, self._group
        self.regress, self.overlap = self._regress, self._overlap

    def __call__(self, plane, out):
        height, width = plane.shape
        dims = padded(self.model.basis.shape[1])
        features = np.full((height * width, dims), np.nan, np.float32)
        index = np.full(height * width, 65535, np.uint16)
        patches = np.full((height, self.model.projections.shape[1], width), np.nan, np.float32)
        self.features(plane, 0, height, features)
        self.match(features, index, self.listed, None)
        self.group(index)
        self.regress(features, index, patches)
        self.overlap(patches, plane, out)

    def _features(self, plane, first, rows, out):
        radius, filters = side(self.model.window) // 2, compose(self.model)
        wide = np.pad(plane.astype(np.float64), radius, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(wide, filters.shape[:2])
        out[:] = 0
        out[:, : filters.shape[2]] = np.einsum("rcij,ijd->rcd", windows, filters).reshape(
            len(out), -1
        )

    def _match(self, features, index, listed, work):
        dims = self.model.anchors.shape[1]
        index[:] = np.abs(features[:, :dims] @ self.model.anchors.T).argmax(axis=1)
        listed[0] = len(index) // 10

    def _group(self, index):
        pass

    def _regress(self, features, index, out):
        dims = self.model.anchors.shape[1]
        projections = self.model.projections.astype(np.float32)[index]
        patches = np.einsum("npd,nd->np", projections, features[:, :dims])
        out[:] = patches.reshape(out.shape[0], out.shape[2], -1).transpose(0, 2, 1)

    def _overlap(self, patches, plane, out):
        mid = np.empty(out.shape, np.float32)
        bicubic(plane, self.model.scale, mid)
        sums = np.empty(out.shape, np.float32)
        overlap(patches, mid, self.model.scale, self.model.window, 0, 0, plane.shape, sums)
        depth = recode(self.source, self.target, chroma=False)
        quantise(sums, depth, self.target.bits, out)
