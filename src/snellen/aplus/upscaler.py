"""The composer: luma → bicubic → features → match → regress → overlap; chroma → bicubic."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from snellen import device as devices
from snellen.aplus.differences import FILTERS, differences
from snellen.aplus.features import features, margin
from snellen.aplus.match import match
from snellen.aplus.model import Model, load
from snellen.aplus.overlap import overlap
from snellen.aplus.regress import regress
from snellen.bicubic import bicubic
from snellen.blas import single_threaded
from snellen.errors import InputError
from snellen.frame import Format, Frame, Plane
from snellen.quantise import quantise, recode

STRIP = 16 << 20  # bytes of patches that a strip holds; a strip also computes two rows twice
CHUNK = 960  # windows collected at a time: 540 KB of raw features at ×2; twice match.PATCHES
CHROMA_ROWS = 256  # output rows of chroma a task

Float32 = npt.NDArray[np.float32]


class Upscaler:
    """Enlarge frames by A+: luma by all seven steps, chroma by bicubic.

    Settings until `prepare`, which lays out the model, starts the threads and compiles; then `run`
    for each frame of that format; `close` gives all back. As a context manager it closes itself.
    Results are new arrays at each `run`: nothing writes to them again, so an encoder may keep them.

    Parameters
    ----------
    scale : int
        2, 3 or 4.
    model : str, Path, Model or None
        A shipped model's name, a file, or a loaded one; None: ours for this scale.
    device : str
        "auto" or "cpu".

    Raises
    ------
    ModelError
        At once, where the model is missing, damaged or of another scale.
    DeviceError
        The device cannot be used.
    """

    def __init__(
        self, scale: int = 2, model: str | Path | Model | None = None, device: str = "auto"
    ) -> None:
        devices.resolve(device)
        self.model = load(model, scale)
        self.scale = scale
        self._format: Format | None = None
        self._out: Format | None = None
        self._anchors: Float32 | None = None
        self._basis: Float32 | None = None
        self._projections: Float32 | None = None
        self._pool: ThreadPoolExecutor | None = None

    def prepare(self, format: Format, bits: int | None = None) -> Format:
        """Get ready for frames of this format and return that of the results.

        Parameters
        ----------
        format : Format
            Of every frame to come. Samples are taken as they are: float planes may have any range
            (NaN spreads to its neighbours), and results are clipped to the depth only.
        bits : int, optional
            Depth of the results, rounded once from float32 (8-bit frames for a 10-bit encoder);
            the same as the input's by default.
        """
        self.close()
        model = self.model
        self._projections = np.ascontiguousarray(
            model.projections.transpose(0, 2, 1).astype(np.float32)
        )
        self._anchors = np.ascontiguousarray(model.anchors)
        self._basis = np.ascontiguousarray(model.basis.T)
        self._pool = ThreadPoolExecutor(devices.threads(), thread_name_prefix="snellen")
        for width in (8, CHUNK + 8):  # compiles, for whole and for cut blocks
            blank = Format(width, 8, format.bits, format.subsampling)
            self._format, self._out = blank, blank.scaled(self.scale, bits)
            for pitch in (0, 8):  # for rows that lie end to end and for those that do not
                planes = (np.zeros((h, w + pitch), blank.dtype)[:, :w] for h, w in blank.shapes)
                self.run(Frame(tuple(planes)))
        self._format, self._out = format, format.scaled(self.scale, bits)
        return self._out

    def run(self, frame: Frame) -> Frame:
        """Enlarge one frame.

        Parameters
        ----------
        frame : Frame
            Planes as the prepared format says; rows may have a pitch. They are only read.

        Returns
        -------
        Frame
            New planes; times and whatever else belongs to the frame carried over.

        Raises
        ------
        InputError
            Not prepared, or a frame of another shape or type.
        """
        source, target = self._check(frame)
        out = tuple(np.empty(shape, target.dtype) for shape in target.shapes)
        assert self._pool
        with single_threaded():
            tasks = [
                *(self._pool.submit(self._luma, frame.planes[0], *rows, out[0])
                  for rows in self._strips(source)),
                *(self._pool.submit(self._chroma, frame.planes[i], row, out[i])
                  for i in range(1, len(out))
                  for row in range(0, len(out[i]), CHROMA_ROWS)),
            ]  # fmt: skip
            wait(tasks)
        for task in tasks:
            task.result()
        return replace(frame, planes=out)

    def close(self) -> None:
        """Give back threads and buffers; `prepare` may follow again."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
        self._pool = self._format = self._out = None
        self._anchors = self._basis = self._projections = None

    def __enter__(self) -> Upscaler:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check(self, frame: Frame) -> tuple[Format, Format]:
        if self._format is None or self._out is None:
            raise InputError("this Upscaler is not prepared: call prepare(format) before run")
        want = [(shape, self._format.dtype) for shape in self._format.shapes]
        came = [(plane.shape, plane.dtype) for plane in frame.planes]
        if came != want:
            raise InputError(f"prepared for planes {want}, but {came} came: prepare again")
        return self._format, self._out

    def _strips(self, format: Format) -> Iterator[tuple[int, int]]:
        patch = (self.model.window * self.scale) ** 2
        fit = STRIP // (4 * patch * format.width)
        share = -(-format.height // (4 * devices.threads()))  # four strips a thread even out
        rows = max(4, min(fit, share))
        for first in range(0, format.height, rows):
            yield first, min(first + rows, format.height)

    def _luma(self, plane: Plane, first: int, last: int, out: Plane) -> None:
        """Rows first … last−1 of `plane` to their rows of `out`, all seven steps."""
        assert self._format is not None and self._out is not None
        s, window = self.scale, self.model.window
        height, width = plane.shape
        top, bottom = max(0, first - window // 2), min(height, last + window // 2)
        edge = margin(window)
        mid = np.empty(((bottom - top + 2 * edge) * s, (width + 2 * edge) * s), np.float32)
        bicubic(plane, s, mid, origin=((top - edge) * s, -edge * s))
        patches = np.empty((bottom - top, (window * s) ** 2, width), np.float32)
        self._predict(mid, patches)
        skip = (first - top + edge) * s
        low = mid[skip : skip + (last - first) * s, edge * s : (edge + width) * s]
        strip = np.empty(low.shape, np.float32)
        overlap(patches, low, s, window, first, top, plane.shape, strip)
        depth = recode(self._format, self._out, chroma=False)
        quantise(strip, depth, self._out.bits, out[first * s : last * s])

    def _predict(self, mid: Float32, patches: Float32) -> None:
        """Patches (rows, (w·s)², n) of the windows centred on the rows of a strip."""
        model, s = self.model, self.scale
        assert self._anchors is not None and self._basis is not None
        rows, _, width = patches.shape
        planes = np.empty((FILTERS, s, mid.shape[0] - 2 * s, mid.shape[1] // s - 2), np.float32)
        differences(mid, s, planes)
        step = min(width, CHUNK)
        raw = np.empty((len(model.basis), step), np.float32)
        feature = np.empty((len(self._basis), step), np.float32)
        index = np.empty(step, np.int32)
        for row in range(rows):
            for left in range(0, width, step):
                n = min(step, width - left)
                f, i = feature[:, :n], index[:n]
                features(planes, model.window, row, left, self._basis, raw[:, :n], f)
                match(f, self._anchors, i)
                regress(f, i, self._projections, patches[row, :, left : left + n])

    def _chroma(self, plane: Plane, row: int, out: Plane) -> None:
        """Rows from `row` on of one chroma plane, bicubic with its siting."""
        assert self._format is not None and self._out is not None
        part = out[row : row + CHROMA_ROWS]
        siting, subsampling = self._format.siting, self._format.subsampling
        assert subsampling is not None
        phase = [p if log2 else 0.5 for p, log2 in zip(siting, subsampling, strict=True)]
        large = np.empty(part.shape, np.float32)
        bicubic(plane, self.scale, large, phase=(phase[0], phase[1]), origin=(row, 0))
        quantise(large, recode(self._format, self._out, chroma=True), self._out.bits, part)
