"""Training data on the device: pairs of planes, from which patches are cut and turned there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from snellen.cnn.definition import HALF, radius
from snellen.cpu.pool import Pool
from snellen.cpu.threads import available
from snellen.errors import InputError
from snellen.frames.bicubic import bicubic
from snellen_lab.protocol import crop, shrink
from snellen_lab.sources.pack import Item

Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]

TURNS = 8  # flips and quarter turns


@dataclass(frozen=True, eq=False)
class Pair:
    """A small picture and what it should become."""

    item: Item
    low: Float32
    """v of the small picture."""
    mid: Float32
    """Bicubic enlargement of `low`, in 8-bit codes."""
    truth: Float32
    """In 8-bit codes."""


def pair(item: Item, scale: int, size: float = 1.0) -> Pair:
    """Return a pair of an item, which is shrunk first if `size` is below 1."""
    high = item.high.astype(np.float32)
    if item.lows:
        if scale not in item.lows:
            raise InputError(f"{item.name} has no small picture for ×{scale}")
        truth, low = crop(high, scale), item.lows[scale].astype(np.float32)
    else:
        truth = crop(shrink(high, size), scale)
        low = shrink(truth, 1 / scale)
    mid = np.empty_like(truth)
    bicubic(low, scale, mid)
    return Pair(item, low / np.float32(HALF) - np.float32(1), mid, truth)


def pairs(items: Sequence[Item], scale: int, sizes: Sequence[float]) -> list[Pair]:
    """Return the pairs of all items at all sizes; coded items have their own size only."""
    wanted = [(item, size) for size in sizes for item in items if size == sizes[0] or not item.lows]
    with Pool(available()) as pool:
        return list(pool.map(lambda one: pair(one[0], scale, one[1]), wanted))


class Patches:
    """Pairs on the device, and where patches of them may lie.

    All groups of pictures are equally likely, and in each of them all patches that fit, so that a
    few large pictures do not outweigh many small ones of another kind. Pictures are continued by
    the samples of their edges, as the network does it, so that patches reach the edges.

    Parameters
    ----------
    found : sequence of Pair
    patch : int
        Side of a patch of the result, samples of the small picture.
    reach : int
        Samples around it that the network sees.

    Raises
    ------
    InputError
        No picture is large enough.
    """

    def __init__(
        self, found: Sequence[Pair], scale: int, patch: int, reach: int, device: torch.device
    ) -> None:
        self.scale, self.patch = scale, patch
        kept = sorted(
            (one for one in found if min(one.low.shape) >= patch), key=lambda p: p.item.group
        )
        if not kept:
            raise InputError(
                f"no picture has {patch}×{patch} samples at ×{scale}",
                advice="take larger pictures, or a smaller `patch`",
            )
        shapes = np.array([one.low.shape for one in kept])
        rows, columns = (shapes - patch + 1).T
        self._ends = np.cumsum(rows * columns)
        groups = [one.item.group for one in kept]
        last = [n for n, name in enumerate(groups) if name not in groups[n + 1 :]]
        self._groups = np.concatenate([[0], self._ends[last]])
        self._columns = columns
        self._lows, self._details = _places(shapes + 2 * reach), _places(shapes * scale)
        lows = [np.pad(one.low, reach, mode="edge").ravel() for one in kept]
        self.low = torch.from_numpy(np.concatenate(lows)).to(device)
        self.detail = torch.from_numpy(
            np.concatenate([((p.truth - p.mid) / HALF).astype(np.float16).ravel() for p in kept])
        ).to(device)
        self._low_grid, self._high_grid = (
            torch.arange(side, device=device) for side in (patch + 2 * reach, patch * scale)
        )

    def places(self, random: np.random.Generator, count: int) -> Int64:
        """Draw `count` patches.

        Returns
        -------
        (count, 5) int64
            For each: index and row pitch of its first sample in `low`, the same in `detail`, and
            its turn, 0 … 7.
        """
        group = random.integers(0, len(self._groups) - 1, count)
        drawn = random.integers(self._groups[group], self._groups[group + 1])
        number = np.searchsorted(self._ends, drawn, side="right")
        within = drawn - np.concatenate([[0], self._ends])[number]
        row, column = np.divmod(within, self._columns[number])
        places = []
        for (starts, widths), s in ((self._lows, 1), (self._details, self.scale)):
            start, width = starts[number], widths[number]
            places += [start + s * (row * width + column), width]
        return np.stack([*places, random.integers(0, TURNS, count)], 1)

    def cut(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return patches (B, 1, n, n) of v and (B, s², p, p) of r; `places` as it returns them."""
        low, width, high, pitch, turn = places.unbind(1)
        given = self.low[_indices(low, width, turn, self._low_grid)]
        wanted = self.detail[_indices(high, pitch, turn, self._high_grid)]
        return given[:, None], torch.pixel_unshuffle(wanted[:, None].float(), self.scale)


def _places(shapes: Int64) -> tuple[Int64, Int64]:
    """Return where each plane begins in a row of planes (N, 2), and its width."""
    return np.concatenate([[0], np.cumsum(shapes.prod(1))[:-1]]), shapes[:, 1]


def _indices(start: Tensor, pitch: Tensor, turn: Tensor, grid: Tensor) -> Tensor:
    """Return the indices (B, n, n) of samples of square patches, each flipped or turned."""
    start, pitch, turn = (one[:, None, None] for one in (start, pitch, turn))
    last = len(grid) - 1
    i, j = grid[None, :, None], grid[None, None, :]
    row = torch.where(turn & 1 > 0, last - i, i)
    column = torch.where(turn & 2 > 0, last - j, j)
    turned = turn & 4 > 0
    return start + torch.where(turned, column, row) * pitch + torch.where(turned, row, column)


def validation(found: Sequence[Pair], network: Any, device: torch.device) -> dict[str, float]:
    """Return the mean PSNR in dB of the pictures of each group, by the protocol, and of all.

    Parameters
    ----------
    found : sequence of Pair
    device : torch.device
        Where `network` is.
    """
    groups: dict[str, list[float]] = {}
    exact = torch.backends.cudnn.flags(deterministic=True, benchmark=False, allow_tf32=False)
    with torch.no_grad(), exact:
        for one in found:
            reach = radius(network.layers)
            given = torch.from_numpy(np.pad(one.low, reach, mode="edge")).to(device)[None, None]
            detail = torch.pixel_shuffle(network(given), network.scale)[0, 0].double() * HALF
            large = torch.from_numpy(one.mid).to(device) + detail
            truth = torch.from_numpy(one.truth).to(device).double()
            s = network.scale
            error = _rounded(large) - _rounded(truth)
            square = error[s:-s, s:-s].square().mean().clamp_min(1e-10)
            groups.setdefault(one.item.group, []).append(float(10 * torch.log10(65025 / square)))
    table = {group: float(np.mean(values)) for group, values in groups.items()}
    return {**table, "all": float(np.mean([v for values in groups.values() for v in values]))}


def _rounded(plane: Tensor) -> Tensor:
    return torch.floor(plane.clamp(0, 255) + 0.5)


def chunks(patches: Patches, *, seed: int, batch: int, chunk: int, first: int) -> Iterator[Int64]:
    """Yield the places of `chunk` steps at a time, (chunk, batch, 5), from chunk `first` on.

    Chunk n depends on seed and n only: a training that goes on gets what it would have got.
    """
    number = first
    while True:
        random = np.random.Generator(np.random.Philox(key=[seed, number]))
        yield patches.places(random, chunk * batch).reshape(chunk, batch, 5)
        number += 1
