"""A+ with PyTorch's own operators on a GPU; the plain NumPy reference and bicubics on a CPU.

PyTorch: float32, the authors' windows only, so the picture's outermost pixels stay the bicubic's.
What can be prepared once (permuted bases, counts) is prepared before it is timed, patches are
summed without their low frequency, which is added once, and slabs of patches bound the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.stock.pytorch import imported, on_stream
from benchmarks.stock.run import Stock, within
from snellen.aplus.model import Model
from snellen.bench.aplus import SIZES, Upscale
from snellen.bench.clock import Line
from snellen.bench.inputs import plane
from snellen.bench.reference import aplus as reference
from snellen.bench.runner import Case
from snellen.upscaling.models import load
from snellen.upscaling.shipped import OF_2014

SLAB = 1 << 18  # patches whose scores lie in memory at a time: 1 GB at 1024 anchors
GATHERED = 1 << 28  # floats of gathered projections at a time: 1 GB

Float32 = npt.NDArray[np.float32]

AGREE = 0.01
"""Grey levels by which a result in float32 may differ from float64 on average: features differ by
1e-6 of white, a patch near a tie takes another anchor. PyTorch's bicubic adds 1e-6 more."""
COMPARED = 3
"""The number of sizes that are compared: the first of each scale."""
INNER = 5
"""Input pixels at each edge that are not compared: PyTorch leaves out what lies beyond it."""


@contextmanager
def lines(case: Case, device: str, missing: dict[str, str]) -> Iterator[dict[str, Stock]]:
    """Give the other ways to enlarge the plane of a case."""
    assert isinstance(case, Upscale)
    if (case.scale, case.width, case.height) not in SIZES[:COMPARED]:
        yield {}
        return
    low = plane(case.width, case.height).astype(np.float32)
    if device == "cpu":
        yield on_cpu(low, case.scale, missing)
        return
    with on_stream("PyTorch", missing) as torch:
        if torch is None:
            yield {}
            return
        torch.set_float32_matmul_precision("highest")
        pytorch = Operators(load(OF_2014.format(case.scale), case.scale), *low.shape, device)
        there = pytorch.tensor(low)[None, None]
        yield {"PyTorch": Stock(Line(lambda: pytorch(there)), lambda: check(case.scale, device))}


def on_cpu(low: Float32, scale: int, missing: dict[str, str]) -> dict[str, Stock]:
    """Return the plain NumPy reference in float32, and the bicubics of Pillow and OpenCV."""
    from PIL import Image

    model, image = load(OF_2014.format(scale), scale), Image.fromarray(low)
    size = (low.shape[1] * scale, low.shape[0] * scale)
    found = {
        "plain NumPy": Stock(Line(lambda: reference.upscale(low, model))),
        "bicubic, Pillow": Stock(Line(lambda: image.resize(size, Image.Resampling.BICUBIC))),
    }
    try:
        import cv2
    except ImportError as error:
        missing["bicubic, OpenCV"] = str(error)
        return found
    bicubic = Line(lambda: cv2.resize(low, size, interpolation=cv2.INTER_CUBIC))
    return found | {"bicubic, OpenCV": Stock(bicubic)}


def check(scale: int, device: str) -> dict[str, float]:
    """Return the mean difference of PyTorch's result from float64, in grey levels.

    Raises
    ------
    SnellenError
        It is too large: PyTorch computes something else.
    """
    low, model = plane(123, 95), load(OF_2014.format(scale), scale)
    operators = Operators(model, *low.shape, device)
    found = operators(operators.tensor(low)[None, None]).cpu().numpy()
    inner = np.s_[INNER * scale : -INNER * scale, INNER * scale : -INNER * scale]
    away = np.abs(found - reference.upscale(low.astype(np.float64), model))[inner]
    return within({"mean_grey_levels": float(away.mean())}, AGREE)


class Operators:
    """The seven steps for pictures of one size."""

    def __init__(self, model: Model, height: int, width: int, device: str):
        self.torch, self.device = imported(), device
        self.s, self.side = model.scale, model.window * model.scale
        count, size, dims = model.projections.shape
        basis = model.basis.reshape(-1, self.side, self.side, dims).transpose(0, 2, 1, 3)
        rows = model.projections.reshape(count, self.side, self.side, dims).transpose(0, 2, 1, 3)
        self.basis = self.tensor(basis.reshape(-1, dims))
        self.anchors = self.tensor(model.anchors)
        self.projections = self.tensor(rows.reshape(count, size, dims))
        self.inner = (height * self.s - 2 * self.s, width * self.s - 2 * self.s)
        ones = self.torch.ones((1, size, self.windows(*self.inner)), device=device)
        self.covered = self.fold(ones).clamp(min=1)
        self.slab = max(1, min(SLAB, GATHERED // (size * dims)))

    def tensor(self, array: npt.NDArray[Any]) -> Any:
        """Return an array as a float32 tensor of the device."""
        return self.torch.from_numpy(np.array(array, np.float32, order="C")).to(self.device)

    def windows(self, height: int, width: int) -> int:
        """Return how many windows fit."""
        return ((height - self.side) // self.s + 1) * ((width - self.side) // self.s + 1)

    def fold(self, patches: Any) -> Any:
        """Return the sum of patches (1, size, n) over the inner picture."""
        return self.torch.nn.functional.fold(patches, self.inner, self.side, stride=self.s)

    def bicubic(self, low: Any) -> Any:
        """Enlarge (1, 1, H, W). PyTorch's antialiased bicubic has a = −0.5, its other one −0.75."""
        return self.torch.nn.functional.interpolate(
            low, scale_factor=self.s, mode="bicubic", align_corners=False, antialias=True
        )

    def differences(self, mid: Any) -> Any:
        """Return the four difference images (1, 4, …) without the outermost s pixels."""
        s, image = self.s, mid[0, 0]
        ahead, behind = (s + 1) // 2, s // 2
        height, width = image.shape
        rows, columns = slice(s, height - s), slice(s, width - s)

        def moved(down: int, across: int) -> Any:
            return image[s + down : height - s + down, s + across : width - s + across]

        return self.torch.stack(
            [
                moved(0, ahead) - moved(0, -behind),
                moved(ahead, 0) - moved(-behind, 0),
                (moved(0, s) + moved(0, -s)) / 2 - image[rows, columns],
                (moved(s, 0) + moved(-s, 0)) / 2 - image[rows, columns],
            ]
        )[None]

    def collect(self, planes: Any) -> Any:
        """Return windows (4·size, n)."""
        return self.torch.nn.functional.unfold(planes, self.side, stride=self.s)[0]

    def pca(self, raw: Any) -> Any:
        """Return features (n, d)."""
        return raw.T @ self.basis

    def match(self, features: Any) -> Any:
        """Return anchors (n,)."""
        slabs = [(part @ self.anchors.T).abs_().argmax(dim=1) for part in features.split(SLAB)]
        return self.torch.cat(slabs)

    def regress(self, features: Any, index: Any) -> Any:
        """Return patches (1, size, n)."""
        out = self.torch.empty((len(features), self.projections.shape[1]), device=self.device)
        for first in range(0, len(features), self.slab):
            part = slice(first, first + self.slab)
            matrices = self.projections[index[part]]
            out[part] = self.torch.bmm(matrices, features[part, :, None])[:, :, 0]
        return out.T[None]

    def overlap(self, patches: Any, mid: Any) -> Any:
        """Add the mean of the patches to the low frequency; (H·s, W·s)."""
        s, out = self.s, mid[0, 0].clone()
        out[s:-s, s:-s] += (self.fold(patches) / self.covered)[0, 0]
        return out

    def __call__(self, low: Any) -> Any:
        """Enlarge (1, 1, H, W)."""
        mid = self.bicubic(low)
        features = self.pca(self.collect(self.differences(mid)))
        return self.overlap(self.regress(features, self.match(features)), mid)
