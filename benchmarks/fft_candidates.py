"""The variants of square.cu that are worth measuring, for `benchmarks.fft_variants`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from snellen.fft.square import REAL, Variant, sizes

LARGEST = 1024  # threads of a block
WARP = 32
CLUSTERS = (1, 2, 4, 8, 16)
MULTIPROCESSORS = 132  # of an H100 and an H200
BEYOND_CACHE = 2**22  # samples that the L2 cache of these does not hold with what they become
VALUES = {32: (8,), 64: (8,), 128: (8, 16), 256: (16,)}
"""Values of a thread to try, by the points of a line."""
FEW = 16
"""Pictures that do not fill a GPU, whatever they are divided into."""
MOST_SHARED = 227 * 1024


def candidates(kind: str, side: int, batch: int) -> list[Variant]:
    """Return the variants that are worth measuring for a batch.

    One picture, or a few, should use registers of many multiprocessors; of many pictures, two or
    more blocks should share a multiprocessor, so that one loads while another computes.
    """
    points = side * side // (2 if kind in REAL else 1)
    divided = _for_few if batch <= FEW else _for_many
    found = [
        one
        for values in VALUES[side]
        for one in divided(values, points // values)
        if possible(kind, side, one)
    ]
    some = found[0], found[len(found) // 2], found[-1]
    found += [replace(one, overlap=False) for one in some]
    if batch * side**2 >= BEYOND_CACHE:
        for one in found[: -len(some)]:
            at_once = MULTIPROCESSORS * one.resident // one.cluster  # pictures
            if batch > at_once and not one.two_launches and not one.apart:
                found.append(replace(one, ahead=at_once))
    return list(dict.fromkeys(found))


def _for_few(values: int, whole: int) -> Iterator[Variant]:
    """Divide a picture, of so many threads in all, among as many multiprocessors as can be."""
    for cluster in CLUSTERS:
        yield Variant(values, cluster, apart=True, overlap=True)
    for threads in (WARP, 2 * WARP):
        yield Variant(values, max(1, whole // threads), overlap=True, two_launches=True)


def _for_many(values: int, whole: int) -> Iterator[Variant]:
    """Let blocks of several pictures share a multiprocessor."""
    for cluster in CLUSTERS:
        threads = whole // cluster
        if cluster > 1 and threads < 4 * WARP:
            break
        # Threads of a multiprocessor, with 80 and 64 registers, or 64 and 40.
        for most in (768, 1024) if values == 16 else (1024, 1536):
            yield Variant(values, cluster, overlap=True, resident=most // threads)
        if cluster in (1, CLUSTERS[-1]):
            yield Variant(values, cluster, apart=True, overlap=True)
    if whole > LARGEST // 2:
        for threads in (256, 512):
            yield Variant(
                values, whole // threads, overlap=True, two_launches=True, resident=1024 // threads
            )


def possible(kind: str, side: int, variant: Variant) -> bool:
    """Return whether blocks have whole warps, and a GPU as large as Hopper holds one."""
    need = sizes(kind, side, variant)
    warps = WARP <= need.threads <= LARGEST and need.threads % WARP == 0
    fits = 0 < need.threads * variant.resident <= 2048 and need.shared <= MOST_SHARED
    return warps and fits
