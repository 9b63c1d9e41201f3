"""The network as it is trained: each 3×3 convolution is a sum of parallel branches.

After Zhang et al. 2021 (ECBSR): a 3×3 convolution, a 1×1 before a 3×3, the identity, and 1×1 before
Sobel filters (two directions) and a Laplacian. All are linear, so their sum is one 3×3 convolution;
it is computed from the branches' weights in each step, and so a step costs what the merged network
costs. Optimisation differs, the result does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from snellen.cnn.definition import radius
from snellen.cnn.model import TENSORS, Model

MASKS = (
    ((1, 0, -1), (2, 0, -2), (1, 0, -1)),
    ((1, 2, 1), (0, 0, 0), (-1, -2, -1)),
    ((0, 1, 0), (1, -4, 1), (0, 1, 0)),
)
"""Sobel across, Sobel down, Laplacian."""
WIDER = 2  # channels between 1×1 and 3×3, in those of the output; Zhang et al. 2021
SLOPE = 0.25  # first slope of PReLU; He et al. 2015


class Convolutions(nn.Module):  # type: ignore[misc]
    """Equal 3×3 convolutions, one after another, whose weights are merged together.

    Parameters
    ----------
    count : int
        Number of convolutions.
    given, made : int
        Input and output channels.
    branches : bool
        Whether there are branches; without, the 3×3 alone.
    identity : bool
        Whether the identity is one of them; it needs as many output as input channels.
    gain : float
        Of the first weights, relative to those of He et al. 2015.
    random : torch.Generator
        Draws the first weights.
    """

    masks: Tensor
    identity: Tensor

    def __init__(
        self, count: int, given: int, made: int, *, branches: bool, gain: float,
        random: torch.Generator, identity: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()

        def drawn(*shape: int, deviation: float) -> nn.Parameter:
            return nn.Parameter(torch.randn(count, *shape, generator=random) * deviation)

        spread = gain * (2 / (9 * given)) ** 0.5
        self.branches = branches
        self.plain = drawn(made, given, 3, 3, deviation=spread)
        self.bias = nn.Parameter(torch.zeros(count, made))
        if branches:
            wide = WIDER * made
            self.into = drawn(wide, given, deviation=given**-0.5)
            self.out = drawn(made, wide, 3, 3, deviation=0.3 * gain * (2 / (9 * wide)) ** 0.5)
            self.edges = drawn(3, made, given, deviation=given**-0.5)
            self.strength = drawn(3, made, deviation=0.02 * gain)
            self.register_buffer("masks", torch.tensor(MASKS, dtype=torch.float32).reshape(3, 9))
            centre = torch.zeros(made, given, 3, 3)
            if identity:
                centre[:, :, 1, 1] = torch.eye(given)
            self.register_buffer("identity", centre)

    def merged(self) -> Tensor:
        """Return the weights, (count, made, given, 3, 3)."""
        weight: Tensor = self.plain
        if not self.branches:
            return weight
        count, made, given = weight.shape[:3]
        wide = self.out.permute(0, 1, 3, 4, 2).reshape(count, made * 9, -1) @ self.into
        weight = weight + wide.reshape(count, made, 3, 3, given).permute(0, 1, 4, 2, 3)
        edges = (self.edges * self.strength[..., None]).reshape(count, 3, made * given)
        mixed = edges.transpose(1, 2) @ self.masks
        return weight + mixed.reshape(count, made, given, 3, 3) + self.identity


class Network(nn.Module):  # type: ignore[misc]
    """The network of `snellen.cnn.definition`, from v to r.

    Parameters
    ----------
    scale, layers, channels : int
        s, M and C.
    side : int
        Side of the linear filter from the plane to the result.
    branches : bool
        See `Convolutions`.
    seed : int
        Of the first weights.
    """

    def __init__(
        self, scale: int, layers: int, channels: int, *, side: int, branches: bool, seed: int
    ) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        options: dict[str, Any] = {"branches": branches, "random": random}
        self.scale, self.layers = scale, layers
        # With the identity beside it, a convolution of the body begins smaller.
        within = 0.5 if branches else 1.0
        self.first = Convolutions(1, 1, channels, gain=1.0, **options)
        self.body = Convolutions(layers, channels, channels, gain=within, identity=True, **options)
        self.last = Convolutions(1, channels, scale**2, gain=0.02, **options)
        self.slopes = nn.Parameter(torch.full((layers + 1, channels), SLOPE))
        self.skip = nn.Parameter(torch.zeros(scale**2, 1, side, side))

    def forward(self, plane: Tensor) -> Tensor:
        """Return r, (B, s², H − 2·reach, W − 2·reach) float32, of (B, 1, H, W) v.

        Convolutions of many channels run in the type of autocast. What reads the plane does not: v
        has more digits than bfloat16. Weights are merged in float32.
        """
        inset = radius(self.layers) - self.skip.shape[-1] // 2
        inside = plane[..., inset : plane.shape[-2] - inset, inset : plane.shape[-1] - inset]
        with torch.autocast(plane.device.type, enabled=False):
            first, body, last = (part.merged() for part in (self.first, self.body, self.last))
            values = functional.conv2d(plane, first[0], self.first.bias[0])
            linear = functional.conv2d(inside, self.skip)
        kind = values.dtype
        if torch.is_autocast_enabled(plane.device.type):
            kind = torch.get_autocast_dtype(plane.device.type)
        # Each is converted as a whole: that saves twenty small kernels a step.
        body, biases, slopes = (one.to(kind) for one in (body, self.body.bias, self.slopes))
        values = values.to(kind, memory_format=torch.channels_last)
        values = functional.prelu(values, slopes[0])
        for weight, bias, slope in zip(body, biases, slopes[1:], strict=True):
            values = functional.prelu(
                functional.conv2d(values, _channels_last(weight), bias), slope
            )
        found = functional.conv2d(values, _channels_last(last[0].to(kind)), self.last.bias[0])
        return found.float() + linear

    def model(self, about: dict[str, str]) -> Model:
        """Return the merged network in half precision."""
        with torch.no_grad():
            first, body, last = (part.merged() for part in (self.first, self.body, self.last))
            arrays = (
                first[0, :, 0], self.first.bias[0], self.slopes[0], body, self.body.bias,
                self.slopes[1:], last[0], self.last.bias[0], self.skip[:, 0],
            )  # fmt: skip
        named = dict(zip(TENSORS, arrays, strict=True))
        halves = {
            name: array.detach().cpu().numpy().astype(np.float16) for name, array in named.items()
        }
        return Model(self.scale, **halves, about=about)


def _channels_last(weight: Tensor) -> Tensor:
    return weight.contiguous(memory_format=torch.channels_last)
