"""Runs an upscaling job whose source is an image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from snellen.frames import limits
from snellen.gpu import device as devices
from snellen.jobs.events import Events
from snellen.jobs.fallback import on_device
from snellen.jobs.kinds.choice import Models, samples_of
from snellen.jobs.kinds.upscale import UpscaleJob, UpscaleResult
from snellen.jobs.runs.stills import damaged, further, opened, pages_of, rows_of
from snellen.schema import named
from snellen.stills.still import Still, write, write_pages
from snellen.upscaling import image
from snellen.upscaling.shipped import SCALES
from snellen.upscaling.target import Target, geometry


def upscale_image(job: UpscaleJob, events: Events) -> UpscaleResult:
    """Enlarge an image, or all pages of a TIFF file."""
    models = Models(job.model, job.method, job.source_kind)
    pages = pages_of(job.source, job.target)
    still, lost = opened(
        job.source, job, events, unused=named(job, "video"), page=pages[0] if pages else None
    )

    def work(given: Any, device: str) -> tuple[Any, str]:
        one = device.partition(",")[0]  # several share segments only
        report = rows_of(str(job.source), events)

        def enlarge(pixels: Any, scale: int) -> Any:
            return image.enlarged(
                pixels, scale, models(scale), one, report=report, **samples_of(pixels)
            )

        scales = SCALES if job.magnification else models.scales
        return _image_at(job.goal, given, enlarge, str(job.source), scales), one

    def larger(one: Still) -> Still:
        pixels, where = on_device(partial(work, one.pixels), job.device, str(job.source), events)
        used.append(devices.name(where))
        return replace(one, pixels=pixels)

    def others() -> Iterator[Still]:
        yield large
        for page in pages[1:]:
            one, said = further(job, page, events)
            more.extend(said)
            harm.extend(f"page {page.number + 1}: {text}" for text in one.damage)
            yield larger(one)

    models.doubt(still.pixels, events, str(job.source))
    used: list[str] = []
    more, harm = list(lost), list(still.damage)
    large = larger(still)
    if pages:
        write_pages(job.target, others(), len(pages), job.overwrite)
    else:
        write(job.target, large, job.overwrite, job.quality)
    height, width = large.pixels.shape[:2]
    error = damaged([(job.source, tuple(harm))], f"what could be decoded is in {job.target}")
    return UpscaleResult(
        job.source, job.target, width, height, used[0], tuple(more), error=error,
        pages=len(pages) or 1, **models.said(),
    )  # fmt: skip


def _image_at(
    goal: Target,
    pixels: Any,
    enlarge: Callable[[Any, int], Any],
    name: str,
    scales: tuple[int, ...],
) -> Any:
    """Return an image, (H, W) or (H, W, channels), at a size; messages call it `name`."""
    from snellen.upscaling.fit import fitted

    height, width = pixels.shape[:2]
    found = geometry(goal, width, height, scales=scales)
    with limits.at_most(None, prod(found.scales) ** 2):
        limits.check_size(name, width, height)
    for scale in found.scales:
        pixels = enlarge(pixels, scale)
    return pixels if found.plain else fitted(pixels, found)
