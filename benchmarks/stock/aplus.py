"""A+ as one would write it with PyTorch's own operators: the line that ours is measured beside.

Float32, the authors' windows only, so the picture's outermost pixels stay the bicubic's. What can
be laid out once (permuted bases, counts) is laid out before the clock runs, patches are summed
without their low frequency, which is added once, and slabs of patches keep memory within bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.model import Model
from snellen.aplus.upscaler import Upscaler
from snellen.bench.cases import Float32, picture
from snellen.bench.clock import spread
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Frame

SLAB = 1 << 18  # patches whose scores lie in memory at a time: 1 GB at 1024 anchors
GATHERED = 1 << 28  # floats of gathered projections at a time: 1 GB

# As between our CPU arm and the plain NumPy port: features differ by 1e-6 of white, a patch near
# a tie takes another anchor. PyTorch's antialiased bicubic adds 1e-6 more.
AGREE = 0.05 / 255


def torch() -> Any:
    """Return the module, which not everybody has."""
    return import_module("torch")


class Stock:
    """The seven steps for pictures of one size."""

    def __init__(self, model: Model, height: int, width: int, device: str):
        self.torch, self.device = torch(), device
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
        return self.torch.from_numpy(np.ascontiguousarray(array, np.float32)).to(self.device)

    def windows(self, height: int, width: int) -> int:
        """Return how many windows fit."""
        return ((height - self.side) // self.s + 1) * ((width - self.side) // self.s + 1)

    def fold(self, patches: Any) -> Any:
        """Return the sum of patches (1, size, n) over the inner picture."""
        return self.torch.nn.functional.fold(patches, self.inner, self.side, stride=self.s)

    def bicubic(self, low: Any, exact: bool = True) -> Any:
        """Enlarge (1, 1, H, W). PyTorch's quick bicubic has a = −0.75, its antialiased one −0.5."""
        return self.torch.nn.functional.interpolate(
            low, scale_factor=self.s, mode="bicubic", align_corners=False, antialias=exact
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

    def __call__(self, low: Any, exact: bool = True) -> Any:
        """Enlarge (1, 1, H, W)."""
        mid = self.bicubic(low, exact)
        features = self.pca(self.collect(self.differences(mid)))
        return self.overlap(self.regress(features, self.match(features)), mid)


def check(model: Model, device: str) -> float:
    """Return the largest difference from our CPU arm on a small picture, where both predict.

    Raises
    ------
    SnellenError
        They disagree: that line is not told then.
    """
    low, s = picture(123, 95), model.scale
    line = Stock(model, low.shape[0], low.shape[1], device)
    found = line(line.tensor(low)[None, None]).cpu().numpy()
    with Upscaler(s, model, "cpu") as upscaler:
        upscaler.prepare(Format(low.shape[1], low.shape[0], 0))
        ours = upscaler.run(Frame((low,))).planes[0]
    # PyTorch leaves taps beyond the edge out instead of repeating the edge: two pixels and a
    # window's reach further in, nothing of that is left.
    inner = np.s_[5 * s : -5 * s, 5 * s : -5 * s]
    error = float(np.abs(found - ours)[inner].max())
    if not error < AGREE:
        raise SnellenError(f"×{s}: PyTorch's line and ours differ by {error:.2e}: nothing is timed")
    return error


def measure(model: Model, low: Float32, repeats: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Return milliseconds of each step and of the whole on the GPU: median, min and max."""
    torch().set_float32_matmul_precision("highest")
    error = check(model, "cuda")
    with torch().inference_mode():
        line = Stock(model, low.shape[0], low.shape[1], "cuda")
        plane = line.tensor(low)[None, None]
        found = steps(line, plane, repeats)
        # The whole with whichever bicubic is quicker: that of another a does not cost us anything.
        exact = found["bicubic"]["median"] <= found["bicubic, a = -0.75"]["median"]
        whole = evented(lambda: line(plane, exact), repeats)
    say(f"  PyTorch {torch().__version__}: {whole['median']:.2f} ms ({whole['min']:.2f} … "
        f"{whole['max']:.2f}), right to {error * 255:.4f} grey levels")  # fmt: skip
    for name, taken in found.items():
        say(f"    {name:<20} {taken['median']:8.3f} ms")
    torch().cuda.empty_cache()
    return {"torch": torch().__version__, "max_difference": error, "whole": whole, "steps": found}


def steps(line: Stock, plane: Any, repeats: int) -> dict[str, Any]:
    """Return milliseconds of each step; match also in TF32, which is not float32's answer."""
    mid = line.bicubic(plane)
    planes = line.differences(mid)
    raw = line.collect(planes)
    features = line.pca(raw)
    index = line.match(features)
    patches = line.regress(features, index)
    todo: dict[str, Callable[[], object]] = {
        "bicubic": lambda: line.bicubic(plane),
        "bicubic, a = -0.75": lambda: line.bicubic(plane, exact=False),
        "differences": lambda: line.differences(mid),
        "collect": lambda: line.collect(planes),
        "pca": lambda: line.pca(raw),
        "match": lambda: line.match(features),
        "regress": lambda: line.regress(features, index),
        "overlap": lambda: line.overlap(patches, mid),
    }
    found = {name: evented(step, repeats) for name, step in todo.items()}
    torch().set_float32_matmul_precision("high")
    try:
        found["match, TF32"] = evented(lambda: line.match(features), repeats)
        other = float((line.match(features) != index).float().mean())
    finally:
        torch().set_float32_matmul_precision("highest")
    found["match, TF32"]["other_anchor"] = other
    return found


def evented(line: Callable[[], object], repeats: int) -> dict[str, Any]:
    """Return median, min and max milliseconds on PyTorch's current stream, each run waited for."""
    line()
    times = []
    for _ in range(repeats):
        before, after = (torch().cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        line()
        after.record()
        torch().cuda.synchronize()
        times.append(before.elapsed_time(after))
    return spread(times)
