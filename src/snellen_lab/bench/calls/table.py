"""All calls that are measured, on the devices that there are."""

from __future__ import annotations

from collections.abc import Sequence

from snellen_lab.bench.calls.case import Call, Sizes
from snellen_lab.bench.calls.films import DeblurFilm, ScoreFilms
from snellen_lab.bench.calls.pictures import Deblur, Score, Upscale

SEVERAL = (1, 2, 4, 8)
"""Numbers of GPUs that share a call, where there are so many."""


def cases(devices: Sequence[str], sizes: Sizes) -> list[Call]:
    """Return the calls: those of one device on the first one, others on more and more of them."""
    first = devices[0]
    small = (sizes.small, sizes.small)
    found: list[Call] = [
        Upscale(first, sizes),
        Score(first, sizes, sizes.plane),
        Deblur(first, sizes, sizes.square),
        Deblur(first, sizes, sizes.square, 'prior="l0"', prior="l0", iterations=100),
        DeblurFilm(first, sizes, sizes.region_frames, sizes.iterations,
                   f"a region of {small[0]}×{small[1]}", "taper"),
        DeblurFilm(first, sizes, sizes.region_frames, sizes.iterations,
                   f"a region of {small[0]}×{small[1]}, its edges extended", "extend"),
        DeblurFilm(first, sizes, sizes.tile_frames, max(1, sizes.iterations // 4),
                   f"tiles of {small[0]}×{small[1]}", "extend", sizes.small),
        ScoreFilms(first, sizes),
    ]  # fmt: skip
    for number in SEVERAL:
        if number > len(devices):
            break
        device = ",".join(devices[:number])
        found += [
            Score(device, sizes, sizes.plane, sizes.batch),
            Score(device, sizes, sizes.large),
            Upscale(device, sizes, sizes.batch),
            Deblur(device, sizes, small, batch=sizes.pictures, edges="taper"),
            Deblur(device, sizes, sizes.large, "in tiles", tile=sizes.small,
                   iterations=max(1, sizes.iterations // 4)),
        ]  # fmt: skip
    if first == "cpu":  # a pair of 4K takes half a minute there
        found = [one for one in found if getattr(one, "size", None) != sizes.large]
    return found
