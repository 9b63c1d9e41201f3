"""Runs a deblurring job whose source is an image or a burst of images of one object."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.files import atomic
from snellen.frames.still_value import Origin
from snellen.gpu import device as devices
from snellen.jobs.events import Events, Progress
from snellen.jobs.fallback import on_device
from snellen.jobs.kinds.deblur import DeblurJob, DeblurResult, method_settings
from snellen.jobs.options import psf_files
from snellen.jobs.runs.deblur_outcomes import report_outcomes
from snellen.jobs.runs.stills import damaged, opened
from snellen.jobs.steps.deblur_step import job_names
from snellen.mia import image
from snellen.mia.definition import ITERATIONS
from snellen.mia.progress import Watch
from snellen.mia.result import Restored
from snellen.mia.samples import LARGEST
from snellen.schema import named
from snellen.stills.still import Still, read, write
from snellen.video.steps.track import Track

Array = npt.NDArray[Any]

BRIGHT = 2.0
"""A multiple of white: float samples above are highlights, or white is another value."""


def deblur_image(job: DeblurJob, events: Events) -> DeblurResult:
    """Restore an image, or the one object of a burst."""
    first, name = job.sources[0], str(job.sources[0])
    still, lost = opened(first, job, events, unused=named(job, "video"))
    stills = [still, *_rest(job, still, events)]
    track = None if job.region is None else job.region.track()
    parts = [_part(one, track, name) for one in stills]
    _warn_of_white(job, parts, name, events)
    picture = parts[0] if len(parts) == 1 else np.stack(parts)
    settings = method_settings(job)

    def work(device: str) -> tuple[Restored, str]:
        device = device.partition(",")[0]  # several share the segments of films only
        try:
            with job_names():
                found = image.deblur(
                    picture,
                    **settings,
                    data_range=_white(job, picture),
                    channel_axis=-1 if parts[0].ndim == 3 else None,
                    multiframe=job.is_burst,
                    tile=job.mia.tile,
                    device=device,
                    callback=_watch(job, name, events),
                )
        except InputError as error:
            raise error.about(name) from error
        return found, device

    began = time.perf_counter()
    found, used = on_device(work, job.device, name, events)
    ms = 1000 * (time.perf_counter() - began)
    outcome, said = report_outcomes(
        np.asarray(found.outcome).ravel().tolist(), "tiles", name, events
    )
    pixels = _whole(still, found.image, _slices(track), job.paste_back)
    result = replace(still, pixels=pixels, origin=_origin(still, track, job.paste_back))
    psf = np.asarray(found.psf)

    def before() -> None:  # who finds the image finds its PSF, too
        if job.psf_out is not None:
            psf_files.write(job.psf_out, psf, job.overwrite)

    write(job.target, result, job.overwrite, job.quality, before)
    height, width = pixels.shape[:2]
    error = damaged(
        zip(job.sources, (one.damage for one in stills), strict=True),
        f"what could be decoded is in {job.target}",
    )
    return DeblurResult(
        source=job.source, target=job.target, width=width, height=height,
        device=devices.name(used), fit=float(found.fit), iterations=found.iterations, psf=psf,
        psf_file=job.psf_out, ms=ms, outcome=outcome, warnings=(*lost, *said),
        error=error,
    )  # fmt: skip


def _rest(job: DeblurJob, first: Still, events: Events) -> list[Still]:
    """Return the images of a burst behind its first."""
    stills = []
    for path in job.sources[1:]:
        atomic.check_target(job.target, path, job.overwrite)
        still = read(path)
        for text in (*still.notes, *still.lost):
            events.warning(str(path), text)
        got, wanted = _kind(still.pixels), _kind(first.pixels)
        if got != wanted:
            raise InputError(
                f"{path} is {got}, but {job.sources[0]} is {wanted}; the images of a burst show "
                "one object, in one size and type",
                parameter="source",
            )
        stills.append(still)
    return stills


def _kind(pixels: Array) -> str:
    """Return in words what an image is."""
    height, width = pixels.shape[:2]
    colours = {(): "grey", (3,): "RGB", (4,): "RGBA"}[pixels.shape[2:]]
    return f"{width}×{height} {colours} {pixels.dtype}"


def _part(still: Still, track: Track | None, name: str) -> Array:
    """Return what is restored of an image: the region, without transparency."""
    pixels = still.pixels
    if track is not None:
        _check_region(track, pixels, name)
        pixels = pixels[_slices(track)]
    if pixels.ndim == 3:
        pixels = pixels[..., 0] if still.grey_alpha else pixels[..., :3]
    return np.ascontiguousarray(pixels)


def _check_region(track: Track, pixels: Array, name: str) -> None:
    if track.file is not None:
        raise InputError(
            f"{name}: `positions` is for video; of an image name the region by `region` X,Y,W,H",
            parameter="positions",
        )
    try:
        track.check(pixels.shape[1], pixels.shape[0])
    except InputError as error:
        raise error.about(name) from error


def _slices(track: Track | None) -> tuple[slice, slice]:
    """Return rows and columns of the region of an image."""
    if track is None:
        return slice(None), slice(None)
    x, y = track.positions[0]
    return slice(y, y + track.height), slice(x, x + track.width)


def _white(job: DeblurJob, picture: Array) -> float | None:
    """Return the value of white of floats; None: integers, whose type says it."""
    # It is 1, or the brightest sample where that is far beyond 1; or what the job states.
    if picture.dtype.kind != "f" or job.mia.data_range is not None:
        return None if picture.dtype.kind != "f" else job.mia.data_range
    most = float(picture.max())
    return most if BRIGHT < most <= LARGEST else 1.0


def _warn_of_white(job: DeblurJob, parts: list[Array], name: str, events: Events) -> None:
    """Warn where `data_range` has no effect, and where it was hardly meant to be left out."""
    given, floats = job.mia.data_range is not None, parts[0].dtype.kind == "f"
    if given and not floats:
        events.warning(
            name,
            "`data_range` is for float images: without effect on an image of "
            f"{8 * parts[0].dtype.itemsize} bit",
        )
    if floats and not given and BRIGHT < (most := max(float(p.max()) for p in parts)) <= LARGEST:
        events.warning(
            name,
            f"samples go up to {most:g}, which is taken for white: if it is another value, state "
            "it by `data_range`",
        )


def _watch(job: DeblurJob, name: str, events: Events) -> Watch:
    """Return the callback that reports how far each stage is."""
    before, began = "", time.monotonic()
    last = began

    def report(stage: str, done: int, total: int) -> None:
        nonlocal before, began, last
        if stage != before:
            before, began = stage, last
        last = time.monotonic()
        rate = done / max(last - began, 1e-9)
        is_search = stage == "prior"  # each level's turns are slower than the last one's
        eta = None if is_search else max(0, total - done) / rate
        unit = "turn" if is_search else "iteration"
        events.progress(Progress(name, done, total, rate, eta, unit, stage))

    return Watch(report, job.mia.iterations or ITERATIONS)


def _origin(still: Still, track: Track | None, back: bool) -> Origin | None:
    """Return which part of the image the result shows."""
    if still.origin is None or track is None or back:
        return still.origin
    x, y = track.positions[0]
    return replace(still.origin, part=(x, y, track.width, track.height))


def _whole(still: Still, restored: Array, region: tuple[slice, slice], back: bool) -> Array:
    """Return the result's pixels: transparency, and what is around the region, as they were."""
    out = (still.pixels if back else still.pixels[region]).copy()
    part = out[region] if back else out
    if still.grey_alpha:
        restored = restored[..., None]
    if out.ndim == 3:
        part = part[..., :3]
    part[...] = restored
    return out
