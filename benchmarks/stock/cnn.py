"""Compact networks with PyTorch's own operators on a GPU: cuDNN's convolutions, layer by layer.

Half precision, channels last, with the bicubic in float32 and the result in 8 bits, as ours. Once
as PyTorch launches it, once as a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.stock.pytorch import imported, on_stream
from benchmarks.stock.run import Stock, within
from snellen.bench.clock import Line
from snellen.bench.cnn import Upscale, drawn
from snellen.bench.inputs import plane
from snellen.bench.reference import cnn as reference
from snellen.bench.runner import Case
from snellen.cnn.definition import HALF
from snellen.cnn.model import Model

AGREE = 0.05
"""Grey levels by which a result may differ from float64 on average: the result of the network is
rounded to half precision, too, and 2⁻¹¹ of 50 levels is 0.025."""
INNER = 8
"""Input pixels at each edge that are not compared: PyTorch continues the picture elsewhere."""


@contextmanager
def lines(case: Case, device: str, missing: dict[str, str]) -> Iterator[dict[str, Stock]]:
    """Give the other ways to enlarge the plane of a case."""
    assert isinstance(case, Upscale)
    if device == "cpu":
        yield {}
        return
    with on_stream("PyTorch", missing) as torch:
        if torch is None:
            yield {}
            return
        model = drawn(case.network, case.scale)
        operators = Operators(model, device, torch.float16)
        there = torch.from_numpy(plane(case.width, case.height)).to(device)[None, None]
        found = {
            "PyTorch, cuDNN": Stock(
                Line(lambda: operators(there)), lambda: check(model, device, torch.float16)
            )
        }
        operators(there)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            operators(there)
        yield found | {"PyTorch, cuDNN, as a graph": Stock(Line(graph.replay))}


def check(model: Model, device: str, dtype: Any) -> dict[str, float]:
    """Return the mean difference of PyTorch's result from float64, in grey levels.

    Raises
    ------
    SnellenError
        It is too large: PyTorch computes something else.
    """
    low, s = plane(123, 95), model.scale
    there = imported().from_numpy(low).to(device)[None, None]
    found = Operators(model, device, dtype).exact(there)[0, 0].cpu().numpy()
    inner = np.s_[INNER * s : -INNER * s, INNER * s : -INNER * s]
    away = np.abs(found - reference.upscale(low.astype(np.float64), model))[inner]
    return within({"mean_grey_levels": float(away.mean())}, AGREE)


class Operators:
    """A network, and the bicubic that it adds to."""

    def __init__(self, model: Model, device: str, dtype: Any):
        self.torch, self.device, self.dtype = imported(), device, dtype
        self.s, self.side = model.scale, model.skip.shape[-1]
        self.layers = [
            [self.tensor(array) for array in layer]
            for layer in (
                (model.first_weight[:, None], model.first_bias, model.first_slope),
                *zip(model.body_weight, model.body_bias, model.body_slope, strict=True),
            )
        ]
        self.last = [self.tensor(array) for array in (model.last_weight, model.last_bias)]
        self.skip = self.tensor(model.skip[:, None])

    def tensor(self, array: npt.NDArray[np.float16]) -> Any:
        """Return an array as a tensor of the device, channels last."""
        found = self.torch.from_numpy(array.copy()).to(self.device, self.dtype)
        last = self.torch.channels_last
        return found.contiguous(memory_format=last) if found.ndim == 4 else found

    def exact(self, low: Any) -> Any:
        """Enlarge (1, 1, H, W) of codes, to floats."""
        functions, codes = self.torch.nn.functional, low.float()
        v = (codes / HALF - 1).to(self.dtype).contiguous(memory_format=self.torch.channels_last)
        values = v
        for weight, bias, slope in self.layers:
            values = functions.prelu(functions.conv2d(values, weight, bias, padding=1), slope)
        found = functions.conv2d(values, *self.last, padding=1)
        found = found + functions.conv2d(v, self.skip, padding=self.side // 2)
        larger = functions.interpolate(
            codes, scale_factor=self.s, mode="bicubic", align_corners=False, antialias=True
        )
        return larger + HALF * functions.pixel_shuffle(found, self.s).float()

    def __call__(self, low: Any) -> Any:
        """Enlarge (1, 1, H, W) of codes, to codes."""
        return self.exact(low).round_().clamp_(0, 255).to(self.torch.uint8)
