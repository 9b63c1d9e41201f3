"""What restores the frames of a video in `snellen deblur`, and what is measured meanwhile."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cli.wording import wording
from snellen.gpu import device as devices
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.image import deblur
from snellen.mia.result import Restored

Array = npt.NDArray[Any]


class Measured:
    """Fit, iterations and time of each frame.

    Parameters
    ----------
    tell : called with them, as facts ready for JSON
    keep : whether PSFs are kept
    """

    def __init__(self, tell: Callable[[dict[str, Any]], None], keep: bool) -> None:
        self.psfs: list[Array] = []
        self._tell, self._keep = tell, keep
        self._rows: list[tuple[float, int, float]] = []

    def begin(self) -> None:
        """Forget what was measured."""
        self.psfs.clear()
        self._rows.clear()

    def take(self, found: Restored, ms: float) -> None:
        """Take what was found of the next frame."""
        number, fit = len(self._rows), float(found.fit)
        self._rows.append((fit, found.iterations, ms))
        if self._keep:
            self.psfs.append(np.asarray(found.psf))
        self._tell({"frame": number, "fit": fit, "iterations": found.iterations, "ms": ms})

    def facts(self) -> dict[str, Any]:
        """Return them of all frames: means, and the time's middle and 99th percentile."""
        fit, iterations, ms = np.array(self._rows).T
        return {
            "fit": float(fit.mean()), "iterations": float(iterations.mean()),
            "ms_p50": float(np.percentile(ms, 50)), "ms_p99": float(np.percentile(ms, 99)),
        }  # fmt: skip

    def __str__(self) -> str:
        found = self.facts()
        return (
            f"{found['ms_p50']:.1f} ms a frame (99 %: {found['ms_p99']:.1f}), "
            f"{found['iterations']:.4g} iterations, fit {found['fit']:.3g}"
        )


class Restoring:
    """What `Regions` has done to luma.

    Parameters
    ----------
    settings : of `Deblurrer`, and "prior"
    device : "cpu" or "cuda:N"
    tile : side of tiles; None: the region is restored whole
    window : so many frames, this one and those before it, show one object
    warm : whether each frame starts with the last one's PSF
    measured : told of each frame
    """

    @wording()
    def __init__(
        self,
        settings: dict[str, Any],
        device: str,
        tile: int | None,
        window: int,
        warm: bool,
        measured: Measured,
    ) -> None:
        self._settings = {**settings, "device": device}
        self.device_name = devices.name(device)
        self._measured = measured
        self._window = window
        self._last: deque[Array] = deque(maxlen=window)
        self._tile = tile
        self._deblurrer: Deblurrer | None = None
        if tile is None and "prior" not in settings:
            self._deblurrer = Deblurrer(**self._settings, warm=warm)

    @wording()
    def prepare(self, height: int, width: int) -> None:
        """Get ready for planes of this shape."""
        self._measured.begin()
        if self._deblurrer is not None:
            self._deblurrer.prepare((height, width), self._window)

    @wording()
    def run(self, plane: Array) -> Array:
        """Return a plane restored."""
        began = time.perf_counter()
        found = self._restored(plane)
        self._measured.take(found, 1000 * (time.perf_counter() - began))
        image: Array = found.image
        return image

    def close(self) -> None:
        """Give back what the iterations took."""
        if self._deblurrer is not None:
            self._deblurrer.close()

    def _restored(self, plane: Array) -> Restored:
        many = self._window > 1
        if many:
            self._last.append(plane)
            while len(self._last) < self._window:  # nothing is before the first frame but itself
                self._last.append(plane)
            plane = np.stack(self._last)
        if self._deblurrer is not None:
            return self._deblurrer.run(plane)
        return deblur(plane, **self._settings, multiframe=many, tile=self._tile)
