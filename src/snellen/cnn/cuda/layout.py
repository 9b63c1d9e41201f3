"""The kernel of a compact network gets this: its tile, its weights as operands, its scales."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from snellen.cnn.definition import HALF, unit
from snellen.cnn.model import Half, Model
from snellen.frames.frame import Format

WIDTH, DEPTH = 8, 16  # columns and inner dimension of a right operand of `multiply_half`
EXACT = 12  # bits up to which v is exact in half precision, if a code is a power of two of v
WARPS = 16  # of a multiprocessor: each thread then has 128 registers
RESERVED = 1024  # bytes of shared memory that the system takes for each block

MEMORY = {"sm_75": 65_536, "sm_80": 166_912, "sm_90": 232_448, "sm_120": 101_376}
"""Bytes of shared memory that a block may have, by architecture."""

TILES = (
    (32, 32, 8, 2), (64, 32, 16, 1), (32, 32, 12, 1), (32, 24, 12, 1), (32, 16, 12, 1),
    (16, 16, 8, 2), (16, 16, 8, 1), (16, 8, 8, 1), (8, 8, 4, 1),
)  # fmt: skip
"""Samples of the small picture across and down that a block computes, its warps, and how many
blocks a multiprocessor must hold at once. The first that fits is taken: the order is that of the
times on an H100 (lab/cnn.md). Large tiles compute less around them."""


WARPGROUP_ARCH, WARPGROUP_CHANNELS = "sm_90", 32
"""Devices on which four warps may multiply together (wgmma), and the channels that they take."""

WARPGROUP_TILES = (
    (30, 24, 16, 1), (32, 20, 16, 1), (26, 24, 16, 1), (32, 16, 16, 1), (16, 16, 16, 1),
)  # fmt: skip
"""The same as TILES, for these; they come first."""


@dataclass(frozen=True)
class Layout:
    """The division of the work among the warps of a block, and its shared memory."""

    scale: int
    """Magnification s."""
    layers: int
    """Convolutions M of the body."""
    channels: int
    """Channels, padded to whole operands."""
    side: int
    """Side of the linear filter."""
    parts: int
    """Half-precision numbers that v takes."""
    tile: tuple[int, int]
    """Samples of the small picture, across and down."""
    warps: int
    """Warps of a block."""
    blocks: int = 1
    """Blocks that a multiprocessor is to hold at once, at least."""
    warpgroups: bool = False
    """Four warps multiply together: operands of the body are in shared memory."""

    @property
    def areas(self) -> tuple[int, int]:
        """Bytes of the two areas of activations."""
        across, down = (side + 2 * (self.layers + 1) for side in self.tile)
        sample = self.channels * 2
        result = 4 * self.scale**2 * (self.tile[0] * self.tile[1] + 4)  # where the last one goes
        first, second = down * across * sample, 0
        if self.layers:
            second = (down - 2) * (across - 2 * self.warpgroups) * sample
        if self.layers % 2:
            return max(first, result), second
        return first, max(second, result)

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        across, down = (side + 2 * (self.layers + 2) for side in self.tile)
        weights = 2 * 9 * self.channels**2 * 2 if self.warpgroups else 0  # of two convolutions
        return sum(self.areas) + weights + 2 * self.parts * across * down

    def fits(self, limit: int) -> bool:
        """Return whether its blocks fit, where one may have so many bytes of shared memory."""
        return self.blocks * (self.shared + RESERVED) <= limit + RESERVED

    @property
    def group(self) -> int:
        """Tiles of 16 samples that a warp computes at a time: their sums fit its registers."""
        return 4 if self.channels <= 32 else 2


def choose(model: Model, source: Format, limit: int, arch: str = "") -> Layout | None:
    """Return the layout for a model; None: no tile fits.

    Parameters
    ----------
    model : Model
    source : Format
    limit : int
        Bytes of shared memory that a block may have: a multiprocessor has RESERVED more.
    arch : str
        Architecture of the GPU, as "sm_90".
    """
    for layout in layouts(model, source, arch):
        fitting = (limit + RESERVED) // (layout.shared + RESERVED)
        if fitting >= layout.blocks:
            most = max(layout.blocks, WARPS // layout.warps)
            return replace(layout, blocks=min(fitting, most))
    return None


def layouts(model: Model, source: Format, arch: str = "") -> list[Layout]:
    """Return the layouts for a model, the best first, whatever shared memory they need."""
    together = arch == WARPGROUP_ARCH and takes_warpgroups(model)
    tiles = [(*tile, True) for tile in WARPGROUP_TILES] if together else []
    return [
        Layout(
            scale=model.scale,
            layers=model.layers,
            channels=padded(model.channels, DEPTH),
            side=model.skip.shape[-1],
            parts=1 if _exact(source) else 2,
            tile=(across, down),
            warps=warps,
            blocks=blocks,
            warpgroups=warpgroups,
        )
        for across, down, warps, blocks, warpgroups in [*tiles, *((*tile, False) for tile in TILES)]
    ]


def takes_warpgroups(model: Model) -> bool:
    """Return whether the body of a model may be computed by warpgroups."""
    return model.layers > 0 and padded(model.channels, DEPTH) == WARPGROUP_CHANNELS


def factors(format: Format) -> tuple[float, float]:
    """Return the factor from codes of a format to v + 1, and back from results to codes."""
    return 1 / (HALF * unit(format)), HALF * unit(format)


def operands(model: Model, *, warpgroups: bool = False) -> Half:
    """Return the weights of all convolutions, and of the linear filter, as right operands.

    With `warpgroups` those of the body are as `cores` has them.
    """
    channels = padded(model.channels, DEPTH)
    body = (_padded(weight, channels, channels) for weight in model.body_weight)
    phases = padded(model.scale**2, WIDTH)
    last = _padded(model.last_weight, phases, channels)
    first = _padded(model.first_weight, channels)
    skip = _padded(model.skip, phases)[:, None]
    order = cores if warpgroups else fragments
    parts = [fragments(_by_tap(first[:, None])), *(order(_by_tap(weight)) for weight in body)]
    parts += [fragments(_by_tap(one)) for one in (skip, last)]
    return np.concatenate([part.ravel() for part in parts])


def numbers(model: Model) -> npt.NDArray[np.float32]:
    """Return bias and slope of each convolution, and the bias of the last one."""
    channels, phases = padded(model.channels, DEPTH), padded(model.scale**2, WIDTH)
    pairs = zip(
        (model.first_bias, *model.body_bias), (model.first_slope, *model.body_slope), strict=True
    )
    rows = [_padded(row, channels) for pair in pairs for row in pair]
    return np.concatenate([*rows, _padded(model.last_bias, phases)]).astype(np.float32)


def fragments(matrix: Half) -> Half:
    """Return a matrix (columns, inner dimension) as right operands, step by step.

    Lane 4g + t holds column g of each eight, and of the sixteen inner ones of a step 2t, 2t + 1,
    2t + 8 and 2t + 9. It reads those of two times eight columns as 16 bytes.
    """
    columns, inner = matrix.shape
    tiles = min(2, columns // WIDTH)
    # (pair of eights, eight, g, step, half, t, 2) → (step, pair, g, t, eight, half, 2)
    split = matrix.reshape(-1, tiles, WIDTH, inner // DEPTH, 2, 4, 2)
    return np.ascontiguousarray(split.transpose(3, 0, 2, 5, 1, 4, 6))


def cores(matrix: Half) -> Half:
    """Return a matrix (columns, 3 × 3 taps and channels) as right operands of warpgroups.

    They are [column of taps and octet of channels][row of taps, the last first][columns][8]: those
    of two rows of taps, one after the other, are a right operand, too.
    """
    columns, inner = matrix.shape
    split = matrix.reshape(columns, 3, inner // 24, 8)  # column, row of taps, taps and octets, 8
    return np.ascontiguousarray(split[:, ::-1].transpose(2, 1, 0, 3))


def padded(count: int, whole: int) -> int:
    """Return the least multiple of `whole` that is not below `count`."""
    return -(-count // whole) * whole


def _by_tap(weight: Half) -> Half:
    """Return (D, C, k, k) as (D, k · k · C), the inner dimension padded to whole steps."""
    matrix = weight.transpose(0, 2, 3, 1).reshape(len(weight), -1)
    return _padded(matrix, len(matrix), padded(matrix.shape[1], DEPTH))


def _padded(array: Half, *sizes: int) -> Half:
    """Return an array with zeros at the end of its first axes, up to these sizes."""
    widths = [(0, size - have) for size, have in zip(sizes, array.shape, strict=False)]
    return np.pad(array, widths + [(0, 0)] * (array.ndim - len(sizes)))


def _exact(source: Format) -> bool:
    """Return whether v of every code is exact in half precision."""
    return 8 <= source.bits <= EXACT and unit(source) == 2.0 ** (source.bits - 8)
