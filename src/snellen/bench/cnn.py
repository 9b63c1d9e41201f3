"""Compact networks: one luma plane of 8 bits, the sizes fast and fine.

Their weights are drawn by chance: a time does not depend on them. Results are as small beside the
picture as those of trained networks, so the promise for these is checked: at most a hundredth of
the pixels is off by one from float64, none by more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from snellen.bench.inputs import plane
from snellen.bench.luma import Enlargement
from snellen.bench.reference import cnn as reference
from snellen.bench.runner import Case, Kernel
from snellen.cnn.cpu import Luma as OnCpu
from snellen.cnn.definition import SIZES as NETWORKS
from snellen.cnn.definition import radius
from snellen.cnn.model import Model, shapes
from snellen.cpu import threads
from snellen.cpu.blas import single_threaded
from snellen.cpu.pool import Pool
from snellen.errors import SnellenError
from snellen.frames.frame import Plane

SIZES = ((2, 1920, 1080), (3, 1280, 720), (4, 960, 540))
"""Scale, width and height of the input."""
DIFFERING = 0.01
"""Share of pixels that may be off by one: half-precision activations take 0.1 to 0.2 %."""
SIDE = 5
"""Side of the linear filter."""


def cases(device: str, quick: bool) -> list[Case]:
    """Return what is measured."""
    return [Upscale(name, *size) for name, size in product(NETWORKS, SIZES[: 1 if quick else None])]


class Upscale(Enlargement):
    """One network and input size."""

    def __init__(self, network: str, scale: int, width: int, height: int):
        model = drawn(network, scale)
        super().__init__(model, width, height, network, radius(model.layers))
        self.network = network

    @contextmanager
    def open(self, device: str) -> Iterator[Kernel]:
        """Prepare the backend for the plane."""
        if device != "cpu":
            from snellen.cnn.cuda.luma import Luma

            stage = Luma(self.model, self.source, self.target)
            kernel, used = self.captured(stage), stage.kernel.attributes()
            kernel.facts |= {"registers": used.registers, "shared": stage.layout.shared}
            yield kernel
            return
        luma = OnCpu(self.model, self.source, self.target)
        low = plane(self.width, self.height)
        enlarged = np.empty(self.target.shapes[0], self.target.dtype)
        with Pool(threads.available()) as pool, single_threaded():
            yield Kernel(
                lambda: [task.result() for task in luma.tasks(pool, low, enlarged)],
                lambda: enlarged,
            )
        luma.close()

    def exact(self, low: Plane) -> Any:
        """Return a window of the input enlarged in float64."""
        return reference.upscale(low.astype(np.float64), self.model)

    def differing(self, found: Plane, wanted: Plane) -> float:
        """Return the share of pixels that are off by one.

        Raises
        ------
        SnellenError
            It is more than half precision explains, or some are off by more.
        """
        off = np.abs(found.astype(np.int16) - wanted)
        share = float((off > 0).mean())
        if off.max() > 1 or share > DIFFERING:
            raise SnellenError(
                f"{share:.1e} of the pixels differ from the reference, by up to {off.max()}; "
                f"expected {DIFFERING:.0e}, by 1"
            )
        return share


@cache
def drawn(network: str | tuple[int, int], scale: int) -> Model:
    """Return a network, by its name or its layers and channels, of weights by chance."""
    size = NETWORKS[network] if isinstance(network, str) else network
    random = np.random.default_rng(scale)
    arrays: dict[str, Any] = {}
    for name, shape in shapes(scale, *size, SIDE).items():
        inputs = np.prod(shape[-3:]) if name in {"body_weight", "last_weight"} else 9
        wide = 0.2 if "bias" in name else inputs**-0.5
        values = random.normal(0, wide, shape)
        if "slope" in name:
            values = random.uniform(0.1, 0.3, shape)
        arrays[name] = values * (0.05 if "last" in name or name == "skip" else 1)
    return Model(scale, **{name: array.astype(np.float16) for name, array in arrays.items()})
