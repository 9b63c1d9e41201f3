"""One network in training on one device: its step, its state, its schedule."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from math import cos, pi
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from snellen_lab.cnn.data import Patches, chunks
from snellen_lab.cnn.network import Network

MOMENTS = (0.9, 0.99)  # decay of the means of gradients and of their squares (Adam)
EPSILON = 1e-8  # Adam
UNIT = 20.0  # errors are multiplied by it: losses are near 1
LARGER = 128.0  # factor of gradients, which keeps them within the range of half precision
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
LEAST_RATE = 1e-6
WARM_UP = 4  # steps before a graph is captured; they leave nothing behind


@dataclass(frozen=True)
class Task:
    """A network to be trained."""

    name: str
    """Name of its file, without suffix."""
    pack: str
    """Path of its pack."""
    scale: int
    layers: int
    channels: int
    side: int = 5
    """Side of the linear filter from the plane to the result."""
    branches: bool = True
    """True: convolutions have parallel branches."""
    start: str = ""
    """FILE#NAME: a network in a checkpoint, of the same shape or with fewer layers, with whose
    weights it begins."""


@dataclass(frozen=True)
class Settings:
    """Settings that all networks of a run share."""

    seed: int = 0
    batch: int = 32
    """Patches in a step."""
    patch: int = 48
    """Side of a patch of the result, samples of the small picture."""
    rate: float = 2e-3
    """Greatest learning rate; it rises for `rising` steps, then falls as a cosine."""
    rising: int = 500
    average: float = 0.999
    """Decay of the mean of the weights, which is what is kept."""
    sizes: tuple[float, ...] = (1.0, 0.8, 0.6)
    """Sizes of each clean picture, relative to it."""
    precision: str = "bf16"
    """Arithmetic of the convolutions: bf16, fp16, tf32 or float32. What reads the plane is tf32 at
    least."""
    chunk: int = 50
    """Steps between two looks at the clock."""
    fastest: bool = False
    """True: cuDNN measures which of its algorithms is fastest: not the same in each run."""


def rates(settings: Settings, steps: int, first: int) -> npt.NDArray[np.float32]:
    """Return factor and correction of Adam for a chunk of steps from `first` on, (chunk, 2)."""
    found = np.empty((settings.chunk, 2), np.float32)
    for row, step in zip(found, range(first, first + settings.chunk), strict=True):
        rise = min(1.0, (step + 1) / settings.rising)
        fall = 0.5 + 0.5 * cos(pi * min(1.0, step / steps))
        rate = settings.rate * rise * fall + LEAST_RATE
        one, two = (1 - decay ** (step + 1) for decay in MOMENTS)
        row[:] = rate / one, two**-0.5
    return found


class Learner:
    """A network, the mean of its weights, and the means of its gradients, as flat tensors."""

    def __init__(
        self, task: Task, settings: Settings, patches: Patches, device: torch.device
    ) -> None:
        self.task, self.settings, self.patches, self.device = task, settings, patches, device
        self.network = Network(
            task.scale, task.layers, task.channels, side=task.side, branches=task.branches,
            seed=settings.seed,
        ).to(device)  # fmt: skip
        weights = list(self.network.parameters())
        flat = torch.cat([one.detach().ravel() for one in weights])
        gradient = torch.zeros_like(flat)
        for one, place, slope in zip(
            weights, *(whole.split([w.numel() for w in weights]) for whole in (flat, gradient)),
            strict=True,
        ):  # fmt: skip
            one.data, one.grad = place.view_as(one), slope.view_as(one)
        self._gradient = gradient
        self.state = {
            "weights": flat, "mean": flat.clone(), "gradient": torch.zeros_like(flat),
            "square": torch.zeros_like(flat),
        }  # fmt: skip
        self._places = torch.zeros(settings.chunk, settings.batch, 5, dtype=torch.int64).to(device)
        self._rates = torch.zeros(settings.chunk, 2).to(device)
        self._index = torch.zeros(1, dtype=torch.int64, device=device)
        self._loss = torch.zeros((), device=device)
        self._source = self._drawn(0)
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._one: Callable[[], None] = self._captured() if self._stream else self._step

    def _drawn(self, first: int) -> Any:
        s = self.settings
        return chunks(self.patches, seed=s.seed, batch=s.batch, chunk=s.chunk, first=first)

    def restart(self, chunk: int, state: dict[str, Tensor] | None = None) -> None:
        """Go on from the beginning of a chunk, with a state that was kept."""
        self._source = self._drawn(chunk)
        with self._within():
            for name, tensor in (state or {}).items():
                self.state[name].copy_(tensor)

    def begin(self, chunk: int, steps: int) -> None:
        """Upload what the steps of the next chunk need."""
        s = self.settings
        with self._within():
            for target, array in (
                (self._places, next(self._source)),
                (self._rates, rates(s, steps, chunk * s.chunk)),
            ):
                target.copy_(torch.from_numpy(array))
            self._index.zero_()
            self._loss.zero_()

    def step(self) -> None:
        """Enqueue one step."""
        with self._within():
            self._one()

    def loss(self) -> float:
        """Return the mean loss of the chunk; wait for it."""
        with self._within():
            return float(self._loss) / self.settings.chunk

    def averaged(self, look: Callable[[Network], Any]) -> Any:
        """Return what `look` returns for the network with the mean of its weights."""
        with self._within():
            flat, now = self.state["weights"], self.state["weights"].clone()
            flat.copy_(self.state["mean"])
            try:
                return look(self.network)
            finally:
                flat.copy_(now)

    def _within(self) -> Any:
        return torch.cuda.stream(self._stream) if self._stream else nullcontext()

    def _step(self) -> None:
        s, state = self.settings, self.state
        given, wanted = self.patches.cut(self._places.index_select(0, self._index)[0])
        half = TYPES.get(s.precision)
        with torch.autocast(self.device.type, half, enabled=bool(half), cache_enabled=False):
            found = self.network(given)
        loss = ((found - wanted) * UNIT).square().mean()
        self._gradient.zero_()
        (loss * LARGER).backward()
        with torch.no_grad():
            gradient = self._gradient.div_(LARGER).nan_to_num_(0, 0, 0)
            rate, correction = self._rates.index_select(0, self._index)[0].unbind()
            state["gradient"].lerp_(gradient, 1 - MOMENTS[0])
            state["square"].mul_(MOMENTS[1]).addcmul_(gradient, gradient, value=1 - MOMENTS[1])
            size = state["square"].sqrt().mul_(correction).add_(EPSILON)
            state["weights"].sub_(state["gradient"] / size * rate)
            state["mean"].lerp_(state["weights"], 1 - s.average)
            self._loss.add_(loss.detach())
            self._index.add_(1)

    def _captured(self) -> Callable[[], None]:
        """Return the replay of a CUDA graph of a step; leave the state as it was."""
        kept = {name: tensor.clone() for name, tensor in self.state.items()}
        torch.cuda.synchronize(self.device)
        for _ in range(WARM_UP):
            self.begin(0, 1)  # a chunk may have fewer steps than these
            with self._within():
                self._step()
        torch.cuda.synchronize(self.device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            self._step()
        torch.cuda.synchronize(self.device)
        self.restart(0, kept)
        torch.cuda.synchronize(self.device)  # the memory of what was kept is given away now
        replay: Callable[[], None] = graph.replay
        return replay
