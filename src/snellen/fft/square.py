"""2-D FFTs of square pictures by square.cu, in one launch or in two: its variants, and the choice.

choices.json says which variant is the fastest for a size, a kind and a number of pictures, where
one is faster than the kernels of small.cu. `python -m benchmarks.fft_variants` makes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import log
from pathlib import Path
from typing import Any

from snellen.fft.lines import COMPLEX, twiddles
from snellen.gpu import kernel as kernels_of_gpu
from snellen.gpu.kernel import Kernel

SIDES = (32, 64, 128, 256)
KINDS = ("fft2", "ifft2", "rfft2", "irfft2")
REAL, INVERSE = KINDS[2:], KINDS[1::2]
OVERLAPPING = 90
"""The compute capability from which clusters, and kernels that overlap, exist."""

Transform = Callable[[Any, Any], None]
"""Transforms the first CuPy array into the second one."""


@dataclass(frozen=True, slots=True)
class Variant:
    """How square.cu divides a picture."""

    values: int
    """Values of a line that a thread holds."""
    cluster: int
    """Blocks that share a picture."""
    apart: bool = False
    """True: the transposition has shared memory of its own."""
    overlap: bool = False
    """True: a kernel prepares itself while the one before it in the stream ends."""
    two_launches: bool = False
    """True: rows and columns are transformed by a launch each."""
    resident: int = 1
    """Blocks that registers must suffice for on a multiprocessor."""
    ahead: int = 0
    """How many pictures later the one is that a block asks for in the L2 cache; 0: none."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The resources that a block of a variant needs."""

    threads: int
    shared: int
    """Bytes of dynamic shared memory."""


def sizes(kind: str, side: int, variant: Variant) -> Sizes:
    """Return what a block needs; square.cu compares the bytes with its own."""
    each = 2 if kind in REAL else 1  # complex numbers of a cell
    values, across, lanes = variant.values, side // each, side // variant.values
    own = across // variant.cluster
    threads = own * lanes
    line = values * (lanes + 1)
    if lanes < 16:  # LINE modulo 16 is the number of lanes
        line += (lanes - line) % 16
    step = threads + (own if own < 16 else 0)
    exchange = (max(own * line, values * step) + 15) // 16 * 16
    if kind != "irfft2":  # rows first
        tile = across * (own + (lanes if own > lanes and lanes < 16 // each else 0))
    else:
        tile = own * (across + (lanes if lanes < 8 else own if own < 8 else 0))
    tile *= 0 if variant.two_launches else each
    most = exchange + tile if variant.apart else max(exchange, tile)
    column = side if each == 2 else 0
    return Sizes(threads, COMPLEX * (most + twiddles(side, values) + column + 1))


def kernels(kind: str, side: int, variant: Variant) -> tuple[Kernel, ...]:
    """Return the kernels of a variant, in the order of their launches, not compiled yet."""
    names = ("first_pass", "second_pass") if variant.two_launches else ("square_fft",)
    clusters = variant.cluster > 1 and not variant.two_launches
    extra: dict[str, Any] = {"arches": ("sm_90", "sm_120")} if clusters or variant.overlap else {}
    need = sizes(kind, side, variant)
    return tuple(
        Kernel(
            Path(__file__).with_suffix(".cu"), name,
            side=side, values=variant.values, cluster=variant.cluster,
            real=kind in REAL, inverse_fft=kind in INVERSE,
            apart=variant.apart, overlap=variant.overlap, two_launches=variant.two_launches,
            threads=need.threads, shared=need.shared, blocks=variant.resident,
            scale=1 / side**2 if kind in INVERSE else 1.0, **extra,
        )
        for name in names
    )  # fmt: skip


@cache
def transform(kind: str, side: int, variant: Variant) -> Transform:
    """Return what transforms batches on the current GPU and stream, by a variant.

    Arrays are C-contiguous: (..., side, side) and, of spectra of real pictures,
    (..., side, side / 2 + 1).
    """
    made, need = kernels(kind, side, variant), sizes(kind, side, variant)
    cluster, more = (1, ()) if variant.two_launches else (variant.cluster, (variant.ahead,))
    row = side // 2 + 1 if kind == "irfft2" else side

    def run(x: Any, out: Any) -> None:
        batch = x.size // (side * row)
        between = out
        if variant.two_launches and kind == "irfft2":  # the input stays as it is
            import cupy

            between = cupy.empty_like(x)
        steps = (x, between, out) if variant.two_launches else (x, out)
        for launch, given, result in zip(made, steps, steps[1:], strict=False):
            launch(batch * variant.cluster, need.threads, given, result, *more,
                   shared=need.shared, cluster=cluster, overlap=variant.overlap)  # fmt: skip

    return run


def runs_here(kind: str, side: int, variant: Variant) -> bool:
    """Return whether the current GPU can run a variant."""
    import cupy

    device, need = cupy.cuda.Device(), sizes(kind, side, variant)
    new = int(device.compute_capability) >= OVERLAPPING
    if need.shared > int(device.attributes["MaxSharedMemoryPerBlockOptin"]):
        return False
    if variant.overlap and not (new and kernels_of_gpu.can_overlap()):
        return False
    if variant.cluster == 1 or variant.two_launches:
        return True
    (one,) = kernels(kind, side, variant)
    return new and one.clusters(variant.cluster, need.threads, need.shared) > 0


def chosen(kind: str, height: int, width: int, batch: int) -> Transform | None:
    """Return the fastest transform of a batch on the current GPU; None for that of small.cu."""
    if height != width:
        return None
    variant = nearest(choices().get((kind, height), {}), batch)
    if variant is None:
        return None
    import cupy

    return _here(kind, height, variant, cupy.cuda.runtime.getDevice())


@cache
def _here(kind: str, side: int, variant: Variant, device: int) -> Transform | None:
    """Return what runs a variant on the current device; without overlap where that cannot be."""
    for one in (variant, replace(variant, overlap=False)):
        if runs_here(kind, side, one):
            return transform(kind, side, one)
    return None


def nearest(measured: Mapping[int, Variant | None], batch: int) -> Variant | None:
    """Return what was best at the batch that is nearest by ratio; None where nothing was."""
    if not measured:
        return None
    return measured[min(measured, key=lambda count: abs(log(count / batch)))]


CHOICES = Path(__file__).with_name("choices.json")


@cache
def choices() -> dict[tuple[str, int], dict[int, Variant | None]]:
    """Return the best variant by kind, side and batch, as it was measured; None: small.cu."""
    found: dict[tuple[str, int], dict[int, Variant | None]] = {}
    for row in json.loads(CHOICES.read_text(encoding="utf-8"))["rows"]:
        variant = Variant(**row["variant"]) if row["variant"] else None
        found.setdefault((row["kind"], row["side"]), {})[row["batch"]] = variant
    return found
