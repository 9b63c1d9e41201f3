"""One run of `snellen deblur`: images, bursts of images and videos, and what is told of each."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cli import psfs
from snellen.cli.jobs import VIDEO_ONLY, clip, film, opened, tell
from snellen.cli.report import Report
from snellen.cli.restoring import Measured, Restoring
from snellen.cli.wording import worded
from snellen.errors import DeviceError, InputError
from snellen.frames import atomic
from snellen.frames.still import Still, read, write
from snellen.gpu import device as devices
from snellen.mia.definition import ITERATIONS
from snellen.mia.image import PRIOR_ITERATIONS, deblur
from snellen.mia.progress import Watch
from snellen.mia.result import Restored
from snellen.mia.samples import LARGEST
from snellen.video.region import Regions, Track

Array = npt.NDArray[Any]

ONLY = (*VIDEO_ONLY, "window", "warm")
SETTINGS = (
    "psf_size", "iterations", "noise", "read_noise", "tv", "prior", "edges", "tolerance", "dtype",
)  # fmt: skip
"""Options that are handed on as they are; what is None is settled there."""
BRIGHT = 2.0
"""Of white: float samples above are highlights, or white is another value."""


@dataclass(frozen=True, slots=True)
class Done:
    """One restored image, and what restored it."""

    pixels: Array
    found: Restored
    device: str
    ms: float


class Deblurring:
    """Makes outputs, one by one.

    Parameters
    ----------
    options : of the command; "track", "blur", "first" and "found" are the region, the PSF,
        where its search starts, and the device
    goals : where the PSFs of each output go; None: nowhere
    report : Report
    """

    def __init__(
        self, options: dict[str, Any], goals: dict[Path, Path | None], report: Report
    ) -> None:
        self._options, self._goals, self._report = options, goals, report
        self._track: Track | None = options["track"]
        self._settings = {name: options[name] for name in SETTINGS if options[name] is not None}
        self._settings["psf"] = options["blur"]
        if options["first"] is not None:
            self._settings["start"] = options["first"]

    def still(self, source: Path, goal: Path) -> None:
        """Restore an image."""
        still, lost = opened(source, goal, ONLY, self._options, self._report)
        self._finish(source, goal, still, lost, self._restored([still], str(source)))

    def burst(self, sources: tuple[Path, ...], goal: Path) -> None:
        """Restore the one object of several images."""
        first, lost = opened(sources[0], goal, ONLY, self._options, self._report)
        stills = [first]
        for path in sources[1:]:
            atomic.check_target(goal, path, self._options["overwrite"])
            still = read(path)
            came, wanted = _kind(still.pixels), _kind(first.pixels)
            if came != wanted:
                raise InputError(
                    f"{path} is {came}, but {sources[0]} is {wanted}; the images of a burst show "
                    "one object, in one size and type"
                )
            stills.append(still)
        self._finish(sources[0], goal, first, lost, self._restored(stills, str(sources[0])))

    def video(self, source: Path, goal: Path) -> None:
        """Restore the luma of a video, or of its region."""
        options, name = self._options, str(source)
        if options["data_range"] is not None:
            self._without_range(name, "a video")
        measured = Measured(
            lambda facts: self._report.frame(name, **facts), self._goals[goal] is not None
        )

        def step(device: str) -> Regions:
            work = Restoring(
                self._settings, device, options["tile"], options["window"], options["warm"],
                measured,
            )  # fmt: skip
            return Regions(work, self._track, options["paste_back"])

        summary = film(source, goal, step, options, self._report)
        psf = self._write_psf(goal, np.array(measured.psfs))
        self._warn_of_spare(name, summary.frames)
        tell(source, goal, summary, self._report, f"; {measured}", psf=psf, **measured.facts())

    def _warn_of_spare(self, name: str, frames: int) -> None:
        """Tell where the file of positions has more than there were frames, unless a part came."""
        track = self._track
        if track is None or track.file is None or clip(self._options).is_part:
            return
        if (spare := len(track.places) - frames) > 0:
            self._report.warning(name, f"{track.file} has {spare} positions more than frames came")

    def _restored(self, stills: list[Still], name: str) -> Done:
        """Restore one image, or the object of several; on the CPU where auto's GPU has no room."""
        parts = [self._part(still, name) for still in stills]
        self._warn_of_white(parts, name)
        picture = parts[0] if len(parts) == 1 else np.stack(parts)
        options, device = self._options, self._options["found"]
        began = time.perf_counter()
        try:
            found = self._deblurred(picture, device, name)
        except DeviceError as error:
            if options["device"] != "auto" or device == "cpu":
                raise
            self._report.warning(name, f"the CPU is used: {error}")
            device = "cpu"
            found = self._deblurred(picture, device, name)
        ms = 1000 * (time.perf_counter() - began)
        return Done(self._whole(stills[0], found.image), found, devices.name(device), ms)

    def _warn_of_white(self, parts: list[Array], name: str) -> None:
        """Tell where --data-range says nothing, and where it was hardly meant to be left out."""
        told, floats = self._options["data_range"] is not None, parts[0].dtype.kind == "f"
        if told and not floats:
            self._without_range(name, f"an image of {8 * parts[0].dtype.itemsize} bit")
        if floats and not told and BRIGHT < (most := max(float(p.max()) for p in parts)) <= LARGEST:
            self._report.warning(
                name,
                f"samples go up to {most:g}, and 1 is taken for white: if it is another value, "
                "state it by --data-range",
            )

    def _without_range(self, name: str, what: str) -> None:
        self._report.warning(name, f"--data-range is for float images: without effect on {what}")

    def _deblurred(self, picture: Array, device: str, name: str) -> Restored:
        options = self._options
        try:
            return deblur(
                picture,
                **self._settings,
                data_range=options["data_range"] if picture.dtype.kind == "f" else None,
                multiframe=options["burst"],
                tile=options["tile"],
                device=device,
                callback=self._progress(name),
            )
        except InputError as error:
            raise InputError(f"{name}: {worded(error)}") from error

    def _progress(self, name: str) -> Watch:
        """Return what tells how far each stage is."""
        given = PRIOR_ITERATIONS if self._options["prior"] else ITERATIONS
        before, began = "", time.monotonic()
        last = began

        def tell(stage: str, done: int, total: int) -> None:
            nonlocal before, began, last
            if stage != before:
                before, began = stage, last
            last = time.monotonic()
            rate = done / max(last - began, 1e-9)
            turns = stage == "prior"  # each level's are slower than the last one's
            eta = None if turns else max(0, total - done) / rate
            unit = "turn" if turns else "iteration"
            self._report.progress(name, done, total, rate, eta, unit, stage)

        return Watch(tell, self._options["iterations"] or given)

    def _part(self, still: Still, name: str) -> Array:
        """Return what is restored of an image: the region, without transparency."""
        pixels = still.pixels
        if self._track is not None:
            self._check_region(pixels, name)
            pixels = pixels[self._there()]
        if pixels.ndim == 3:
            pixels = pixels[..., 0] if still.grey_alpha else pixels[..., :3]
        return np.ascontiguousarray(pixels)

    def _check_region(self, pixels: Array, name: str) -> None:
        assert self._track is not None
        if self._track.file is not None:
            raise InputError(
                f"{name}: --roi-file is for video; of an image name the region by --roi X,Y,W,H"
            )
        try:
            self._track.check(pixels.shape[1], pixels.shape[0])
        except InputError as error:
            raise InputError(f"{name}: {error}") from error

    def _there(self) -> tuple[slice, slice]:
        """Return the region of an image."""
        if self._track is None:
            return slice(None), slice(None)
        x, y = self._track.places[0]
        return slice(y, y + self._track.height), slice(x, x + self._track.width)

    def _whole(self, still: Still, restored: Array) -> Array:
        """Return the result's pixels: transparency, and what is around the region, as they were."""
        there = self._there()
        back = self._options["paste_back"]
        out = (still.pixels if back else still.pixels[there]).copy()
        part = out[there] if back else out
        if still.grey_alpha:
            restored = restored[..., None]
        if out.ndim == 3:
            part = part[..., :3]
        part[...] = restored
        return out

    def _finish(self, source: Path, goal: Path, still: Still, lost: list[str], done: Done) -> None:
        """Write an image and its PSF, and tell."""
        write(goal, replace(still, pixels=done.pixels), self._options["overwrite"])
        psf = self._write_psf(goal, np.asarray(done.found.psf))
        height, width = done.pixels.shape[:2]
        found = done.found
        self._report.result(
            f"{goal}: {width}×{height}, {found.iterations} iterations, fit {found.fit:.3g}, "
            f"{done.ms / 1000:.1f} s on {done.device}",
            input=str(source), output=str(goal), width=width, height=height, device=done.device,
            fit=found.fit, iterations=found.iterations, ms=done.ms, psf=psf, warnings=lost,
        )  # fmt: skip

    def _write_psf(self, goal: Path, stack: Array) -> str | None:
        """Write the PSFs of an output (…, K, K), if that is asked for; return where they are."""
        path = self._goals[goal]
        if path is None:
            return None
        if path.suffix.lower() == ".png":
            stack = stack.reshape(-1, *stack.shape[-2:])[-1]
        psfs.write(path, stack, self._options["overwrite"])
        return str(path)


def psf_goals(goals: list[Path], options: dict[str, Any]) -> dict[Path, Path | None]:
    """Return where the PSFs of each output go; None: nowhere.

    Raises
    ------
    InputError
        Several outputs, but no folder.
    """
    asked: Path | None = options["psf_out"]
    if asked is None:
        return dict.fromkeys(goals)
    if asked.is_dir():
        return {goal: asked / f"{goal.name}.npy" for goal in goals}
    if len(goals) > 1:
        raise InputError(
            f"{asked}: several inputs need an existing folder for their PSFs; make it first"
        )
    return {goals[0]: asked}


def _kind(pixels: Array) -> str:
    """Return in words what an image is."""
    height, width = pixels.shape[:2]
    colours = {(): "grey", (3,): "RGB", (4,): "RGBA"}[pixels.shape[2:]]
    return f"{width}×{height} {colours} {pixels.dtype}"
