"""Enlarges films and images to any size: magnifications in a row, and a filter after them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

from snellen.frames import limits
from snellen.upscaling.shipped import SCALES
from snellen.upscaling.target import Target, geometry, text_of
from snellen.upscaling.target import target as wanted

__all__ = ["image_at", "sized", "text_of", "wanted"]

if TYPE_CHECKING:
    from snellen.frames.step import Step
    from snellen.video.media import MediaInfo


def sized(
    info: MediaInfo,
    goal: Target,
    enlarger: Callable[[int], Step],
    scales: tuple[int, ...] = SCALES,
) -> tuple[Step, MediaInfo]:
    """Return the step that brings a film to a size, and the film as its output states it.

    Parameters
    ----------
    info : MediaInfo
        Of the film.
    goal : Target
    enlarger : callable
        Called with a magnification; makes the step.
    scales : sequence of int
        Magnifications that there are.
    """
    from snellen.upscaling.fit import Fit
    from snellen.video.comparing.turning import is_on_its_side
    from snellen.video.steps.chain import Chain

    picture = info.picture
    width, height = picture.format.width, picture.format.height
    across, down = picture.format.subsampling or (0, 0)
    pixel = picture.sample_aspect_ratio
    found = geometry(
        goal, width, height, pixel=pixel or Fraction(1), scales=scales,
        turned=is_on_its_side(picture.display_matrix), unit=(1 << across, 1 << down),
    )  # fmt: skip
    with limits.at_most(None, prod(found.scales) ** 2):
        limits.check_size(info.name, width, height, film=True)
    steps: list[Step] = [enlarger(scale) for scale in found.scales]
    if not found.plain:
        steps.append(Fit(found))
    step = steps[0] if len(steps) == 1 else Chain(*steps)
    if found.square and pixel is not None:
        info = replace(info, picture=replace(picture, sample_aspect_ratio=Fraction(1)))
    return step, info


def image_at(
    goal: Target,
    pixels: Any,
    enlarge: Callable[[Any, int], Any],
    name: str,
    scales: tuple[int, ...] = SCALES,
) -> Any:
    """Return an image at a size.

    Parameters
    ----------
    goal : Target
    pixels : (H, W) or (H, W, channels) array
    enlarge : callable
        Called with an array and a magnification; returns the larger array.
    name : str
        What messages call the image.
    scales : sequence of int
        Magnifications that there are.
    """
    from snellen.upscaling.fit import fitted

    height, width = pixels.shape[:2]
    found = geometry(goal, width, height, scales=scales)
    with limits.at_most(None, prod(found.scales) ** 2):
        limits.check_size(name, width, height)
    for scale in found.scales:
        pixels = enlarge(pixels, scale)
    return pixels if found.plain else fitted(pixels, found)
