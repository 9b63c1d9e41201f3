"""The step that deblurs the luma of a video frame by frame, and its statistics."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError, OutputError
from snellen.files.signatures import UNREADABLE_ZIP
from snellen.frames import arrays
from snellen.frames.frame import Format
from snellen.frames.luma import Codes
from snellen.frames.step import Traits
from snellen.gpu import device as devices
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.image import deblur
from snellen.mia.progress import Watch
from snellen.mia.result import Restored, in_a_word
from snellen.mia.tiled import TiledDeblurrer
from snellen.video.steps.region import LumaOperation

Array = npt.NDArray[Any]

UNSEEN = Watch(lambda *_: None, 0)
"""A callback of a job, for which `deblur` does not warn of each frame by itself."""


@dataclass(frozen=True, slots=True)
class FrameFit:
    """How one frame was restored."""

    frame: int
    """Number of the frame, from 0."""
    fit: float
    """How far the model is from the frame: see `snellen.Restored`."""
    iterations: int
    """So many were done."""
    ms: float
    """Milliseconds that they took."""
    outcome: str | None = None
    """With ``prior="auto"``: see `snellen.Restored.outcome`; with tiles "restored" if one is."""


@dataclass(frozen=True, slots=True)
class FitStatistics:
    """How the frames of a video were restored."""

    fit: float
    """Mean over the frames."""
    iterations: float
    """Mean over the frames."""
    ms_p50: float
    """Milliseconds of a frame: median."""
    ms_p99: float
    """Milliseconds of a frame: 99th percentile."""


def _unpacked(part: bytes) -> tuple[list[tuple[Any, ...]], Array]:
    """Return what `FrameFits.packed` was given: fit, iterations, ms and outcome, and the PSFs."""
    try:
        with np.load(BytesIO(part), allow_pickle=False) as found:
            columns = [found[name].tolist() for name in ("fit", "iterations", "ms", "outcome")]
            rows = [(*row, outcome or None) for *row, outcome in zip(*columns, strict=True)]
            numbers = all(isinstance(one, int | float) for row in rows for one in row[:3])
            psfs: Array = found["psfs"]
        if numbers and psfs.ndim >= 3 and psfs.dtype.kind == "f":
            return rows, psfs
    except UNREADABLE_ZIP:
        pass
    raise OutputError(
        "what was noted of a segment cannot be read",
        advice="make the segments anew by `discard_segments`=True",
    )


class FrameFits:
    """Collects fit, iterations and time of each frame.

    Parameters
    ----------
    report : callable
        Called with each `FrameFit`.
    keep : bool
        Whether all PSFs are kept, not only the last one.

    Attributes
    ----------
    rows : list of FrameFit
        One for each frame.
    psfs : list of array
        PSFs (…, K, K) of all frames, or of the last one.
    is_aside : bool
        Whether frames to come do not belong to the film: see `aside`.
    """

    def __init__(self, report: Callable[[FrameFit], object], keep: bool) -> None:
        self.rows: list[FrameFit] = []
        self.psfs: list[Array] = []
        self._report, self._keep = report, keep
        self._silent = self.is_aside = False

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave out what is added in the block: frames that do not belong to the film."""
        self.is_aside = True
        try:
            yield
        finally:
            self.is_aside = False

    def clear(self) -> None:
        """Forget all frames."""
        self.rows.clear()
        self.psfs.clear()

    def begin_part(self) -> None:
        """Forget all frames, and report none of those to come: they are of a part of a film."""
        if not self.is_aside:
            self.clear()
            self._silent = True

    def packed(self, first: int, count: int) -> bytes:
        """Return what was found in so many frames of a part, for `unpack`; nothing: no frame."""
        rows = self.rows[first : first + count]
        if not rows:
            return b""
        psfs = self.psfs[first : first + count] if self._keep else self.psfs[-1:]
        file = BytesIO()
        np.savez(
            file, fit=[row.fit for row in rows], iterations=[row.iterations for row in rows],
            ms=[row.ms for row in rows], outcome=[row.outcome or "" for row in rows],
            psfs=np.array(psfs),
        )  # fmt: skip
        return file.getvalue()

    def unpack(self, parts: Iterable[bytes]) -> None:
        """Take what was found in all parts of a film, and report each frame."""
        self.clear()
        for part in parts:
            if part:
                rows, psfs = _unpacked(part)
                for row in rows:
                    self.rows.append(FrameFit(len(self.rows), *row))
                    self._report(self.rows[-1])
                if not self._keep:
                    self.psfs.clear()
                self.psfs.extend(psfs)

    def add(self, found: Restored, ms: float) -> None:
        """Add the next frame."""
        if self.is_aside:
            return
        outcomes = np.asarray(found.outcome).ravel().tolist()
        row = FrameFit(
            len(self.rows), float(found.fit), found.iterations, ms, in_a_word(outcomes)
        )  # fmt: skip
        self.rows.append(row)
        if not self._keep:
            self.psfs.clear()
        self.psfs.append(arrays.host(found.psf))
        if not self._silent:
            self._report(row)

    def statistics(self) -> FitStatistics:
        """Return means and percentiles over all frames, at least one."""
        fit, iterations, ms = np.array([(row.fit, row.iterations, row.ms) for row in self.rows]).T
        return FitStatistics(
            float(fit.mean()), float(iterations.mean()),
            float(np.percentile(ms, 50)), float(np.percentile(ms, 99)),
        )  # fmt: skip


class DeblurStep(LumaOperation):
    """The operation that a RegionStep calls for the luma of each frame.

    On a GPU it takes CuPy planes there as well, unless there are tiles, a window or a prior.

    Parameters
    ----------
    settings : dict
        Of `Deblurrer`, and "prior".
    device : str
        "cpu" or "cuda:N".
    tile : int or None
        Side of tiles, pixels; None: the region is restored as one.
    window : int
        So many frames show one object: each frame and those before it.
    warm : bool
        Whether each frame starts with the PSF of the last one.
    fits : FrameFits
        Receives the result of each frame.
    look : callable, optional
        Called with each plane before it is restored.

    """

    def __init__(
        self,
        settings: dict[str, Any],
        device: str,
        tile: int | None,
        window: int,
        warm: bool,
        fits: FrameFits,
        look: Callable[[Array], object] | None = None,
    ) -> None:
        is_searched = settings.get("prior") is not None
        self._settings = {**settings, "device": device}
        if not is_searched:
            self._settings.pop("prior", None)
        reach = None if warm else window - 1
        self.traits = Traits(device_name=devices.name(device), reach=reach)
        self._fits, self._look = fits, look
        self._window = window
        self._last: deque[Array] = deque(maxlen=window)
        self._tile = tile
        self._deblurrer: Deblurrer | None = None
        self._tiled: TiledDeblurrer | None = None
        if is_searched:
            return
        with job_names():
            if tile is not None:
                self._tiled = TiledDeblurrer(self._settings, tile, window)
                return
            self._deblurrer = Deblurrer(**self._settings, warm=warm, frames=window)
        if window == 1:
            self.traits = replace(self.traits, device=self._deblurrer.device)

    def prepare(self, height: int, width: int) -> None:
        """Get ready for planes of this shape."""
        self._fits.clear()
        with job_names():
            if self._tiled is not None:
                self._tiled.prepare((height, width))
            if self._deblurrer is not None:
                self._deblurrer.prepare(Format(width, height, 0))
                if self._deblurrer.slots > 1:  # what keeps planes in flight is made now
                    many = () if self._window == 1 else (self._window,)
                    self._deblurrer.submit(np.zeros((*many, height, width), np.float32))()
        self._count_slots()

    def prepare_codes(self, height: int, width: int, given: Codes, made: Codes) -> bool:
        """Get ready for planes of code values; return whether they are taken as such."""
        if self._tiled is None:
            return False
        self._fits.clear()
        with job_names():
            coded = self._tiled.prepare((height, width), given, made)
        self._count_slots()
        return coded

    def run(self, plane: Array) -> Array:
        """Return a plane (rows, columns) restored."""
        return self.submit(plane)()

    def submit(self, plane: Array) -> Callable[[], Array]:
        """Begin a plane; return a function that waits for the restored one."""
        if self._look is not None and not self._fits.is_aside:
            self._look(plane)
        began = time.perf_counter()
        with job_names():
            pending = self._begin(plane)

        def result() -> Array:
            with job_names():
                found = pending()
            self._fits.add(found, 1000 * (time.perf_counter() - began))
            image: Array = found.image
            return image

        return result

    def restart(self) -> None:
        """Forget the frames so far: those to come do not follow them."""
        self._last.clear()
        self._fits.begin_part()

    def notes(self, first: int, count: int) -> bytes:
        """Return what was found in so many frames since `restart`, from number `first` on."""
        return self._fits.packed(first, count)

    def close(self) -> None:
        """Give back threads and buffers."""
        for worker in (self._tiled, self._deblurrer):
            if worker is not None:
                worker.close()

    def _count_slots(self) -> None:
        worker = self._tiled or self._deblurrer
        self.traits = replace(self.traits, slots=1 if worker is None else worker.slots)

    def _begin(self, plane: Array) -> Callable[[], Restored]:
        many = self._window > 1
        if many:
            self._last.append(plane.copy())  # the frame that it is of may be gone
            while len(self._last) < self._window:  # nothing is before the first frame but itself
                self._last.append(plane)
            plane = np.stack(self._last)
        worker = self._tiled or self._deblurrer
        if worker is not None:
            return worker.submit(plane)
        restored = deblur(
            plane, **self._settings, multiframe=many, tile=self._tile, channel_axis=None,
            callback=UNSEEN,
        )  # fmt: skip
        return lambda: restored


@contextmanager
def job_names() -> Iterator[None]:
    """Have MIA's errors name parameters as a DeblurJob does: its `start` is `psf_start`."""
    try:
        yield
    except InputError as error:
        raise error.renamed(start="psf_start") from error
