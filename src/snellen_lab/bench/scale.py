"""Measures frames a second by 1, 2, 4 and 8 workers, on as many GPUs, or on the CPU.

Three kinds of work, each shared among processes as in a run. "discard": frames that are made in
each worker, enlarged and discarded. "film": a film into a film, beside as many encoders alone on
the same cores. "score": two films for each worker, beside their decoders alone. One worker is
measured with a half, a quarter and an eighth of the cores, too, as it has them beside others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import av
import numpy as np

from snellen.bench import runner
from snellen.bench.clock import spread
from snellen.bench.inputs import codes, picture
from snellen.cpu.threads import cores
from snellen.errors import SnellenError
from snellen.files import temporary
from snellen.frames.frame import Format, Frame
from snellen.gpu import device as devices
from snellen.jobs import Encoding, ScoreJob, Silent, UpscaleJob, VideoOptions
from snellen.jobs import run as run_job
from snellen.jobs.calls.pair_scores import PairTicket
from snellen.jobs.sharing.pool import Pool
from snellen.upscaling.models import load
from snellen.upscaling.upscaler import Upscaler
from snellen.video.messages import counted
from snellen.video.segments import cuts
from snellen.video.sink.registry import traits
from snellen_lab.bench.calls.films import DISTORTED, QUALITY, make
from snellen_lab.bench.scale_tickets import MODEL, PRESET, Decode, Encode, Enlarge, Share, digest

COUNTS = (1, 2, 4, 8)
WITHIN = 1e-6
"""Relative difference of mean scores: sums in another order on a GPU."""
LEAST = 8
"""Segments of a film, for each worker."""
Say = Callable[[str], None]
Figures = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """Sizes that are measured, for each worker."""

    picture: tuple[int, int] = (1920, 1080)
    """That is enlarged by 2; those that are scored are twice as large."""
    discarded: int = 2000
    """Frames."""
    film: int = 1600
    """Frames."""
    scored: int = 240
    """Frames."""


FULL = Sizes()
QUICK = Sizes(discarded=500, film=400, scored=60)
ON_CPU = Sizes((480, 270), discarded=20, film=64, scored=16)
QUICK_ON_CPU = Sizes((160, 96), discarded=8, film=16, scored=4)


def run(
    method: str, repeats: int, say: Say, *, device: str = "auto", quick: bool = False,
    sizes: Sizes | None = None, counts: Sequence[int] = COUNTS,
) -> Figures:  # fmt: skip
    """Check and time all kinds of work by more and more workers; return the report.

    Parameters
    ----------
    method : str
        "scale".
    repeats : int
        Times of each.
    say : callable
        Gets each line for the reader.
    device : str
        "cpu", a GPU or several; "auto" and "cuda": all GPUs, or the CPU where there is none.
    quick : bool
        Whether there are fewer frames, and two workers at most.
    sizes : Sizes, optional
        None: those of the kind of device.
    counts : sequence of int
        Of workers; of them those that there are GPUs for, or cores.

    Raises
    ------
    DeviceError
        A device cannot be used.
    """
    names = _devices(device)
    report = runner.header(method, names[0], repeats, quick, say)
    if sizes is None:
        sizes = _sizes(names[0], quick)
    report["devices"], report["parameters"] = list(names), asdict(sizes)
    most = cores() if names == ("cpu",) else len(names)
    wanted = [one for one in counts if one <= most and not (quick and one > 2)]
    cells = []
    with temporary.folder() as folder:
        for share in wanted[1:]:
            cells += _cells(Place(names, 1, share, sizes, folder), repeats, say)
        for workers in wanted:
            cells += _cells(Place(names, workers, 1, sizes, folder), repeats, say)
    report["cells"] = cells
    report["failed"] = sum("error" in cell for cell in cells)
    return report


def _devices(device: str) -> tuple[str, ...]:
    if device in ("auto", "cuda"):
        first = devices.resolve(device)
        return ("cpu",) if first == "cpu" else devices.several(devices.ALL)
    return devices.several(device)


def _sizes(device: str, quick: bool) -> Sizes:
    if device == "cpu":
        return QUICK_ON_CPU if quick else ON_CPU
    return QUICK if quick else FULL


@dataclass(frozen=True)
class Place:
    """So many workers, on a part of the cores."""

    names: tuple[str, ...]
    workers: int
    share: int
    """1: all cores; 2: a half of them …"""
    sizes: Sizes
    folder: Path

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of each worker."""
        return tuple(self.names[number % len(self.names)] for number in range(self.workers))

    @contextmanager
    def part(self) -> Iterator[int]:
        """Have this process, and those that it starts, use only the part of the cores."""
        if not hasattr(os, "sched_setaffinity"):
            yield cores()
            return
        before = os.sched_getaffinity(0)
        part = sorted(before)[: max(1, len(before) // self.share)]
        os.sched_setaffinity(0, part)
        try:
            yield len(part)
        finally:
            os.sched_setaffinity(0, before)

    def film(self, frames: int, crf: int = QUALITY, large: bool = False) -> Path:
        """Return a film of so many frames, which is made at the first call."""
        file = self.folder / f"{frames}-{crf}-{large}.mkv"
        if not file.exists():
            width, height = self.sizes.picture
            make(file, (width * 2, height * 2) if large else (width, height), frames, crf)
        return file


def _cells(place: Place, repeats: int, say: Say) -> list[Figures]:
    found = []
    for kind, measure in (("discard", discard), ("film", film), ("score", score)):
        with place.part() as count:
            cell: Figures = {"kind": kind, "workers": place.workers, "cores": count}
            try:
                cell |= measure(place, repeats)
            except SnellenError as error:
                cell["error"] = str(error)
        found.append(cell)
        say(f"  {_line(cell)}")
    return found


def _line(cell: Figures) -> str:
    counts = (counted(cell["workers"], "worker"), counted(cell["cores"], "core"))
    what = f"{cell['kind']}, {', '.join(counts)}: "
    if "error" in cell:
        return f"{what}WRONG, nothing is timed: {cell['error']}"
    fps = cell["fps"]
    text = f"{what}{fps['median']:.4g} frames/s ({fps['min']:.4g} … {fps['max']:.4g})"
    if "alone" in cell:
        alone, name = cell["alone"]["median"], cell["beside"]
        text += f"; {name} alone {alone:.4g}, {fps['median'] / alone:.2f} of them"
    return text


def discard(place: Place, repeats: int) -> Figures:
    """Measure frames that are made in each worker, enlarged and discarded."""
    width, height = place.sizes.picture
    few, many = (
        [Enlarge(number, None, frames, size=(width, height)) for number in range(place.workers)]
        for frames in (1, place.sizes.discarded)
    )
    with _pool(place) as pool:
        results, _ = _timed(pool, few)
        _same([one.result for one in results], [_plain(place)] * place.workers, "an enlarged frame")
        return {"fps": spread(_rate(pool, many) for _ in range(repeats))}


def _plain(place: Place) -> str:
    """Return the digest of the frame that is enlarged in this process alone."""
    with Upscaler(2, load(MODEL, 2), device=place.devices[0]) as upscaler:
        upscaler.prepare(Format(*place.sizes.picture))
        return digest(upscaler.run(Frame((codes(picture(*place.sizes.picture), 8),), 0)).planes[0])


def film(place: Place, repeats: int) -> Figures:
    """Measure a film into a film, the start of the workers included, and its encoders alone."""
    frames = place.sizes.film * place.workers
    source, target = place.film(frames), place.folder / "out.mkv"
    job = UpscaleJob(
        source=source, target=target, model=MODEL, device=",".join(dict.fromkeys(place.devices)),
        workers=place.workers, overwrite=True, discard_segments=True,
        video=VideoOptions(encoding=Encoding(codec="libx264", preset=PRESET)),
    )  # fmt: skip
    with _segments(max(1, place.sizes.film // LEAST // 25)):
        run_job(job, Silent())
        made = _frames(target)
        if place.workers > 1:
            run_job(_alone(job), Silent())
            _same(_frames(target), made, "the film of one worker")
        if len(made) != frames:
            raise SnellenError(f"{len(made)} frames; expected {frames}")
        rates = []
        for _ in range(repeats):
            began = time.perf_counter()
            run_job(job, Silent())
            rates.append(frames / (time.perf_counter() - began))
    threads = traits("libx264").threads(cores())
    few, many = (
        [
            Encode(number, None, count, file=target, threads=threads)
            for number in range(place.workers)
        ]
        for count in (1, place.sizes.film)
    )
    with _pool(place) as pool:
        _timed(pool, few)
        alone = spread(_rate(pool, many) for _ in range(repeats))
    return {"fps": spread(rates), "alone": alone, "beside": "encoders"}


def _alone(job: UpscaleJob) -> UpscaleJob:
    return replace(job, workers=1, device=job.device.partition(",")[0])


@contextmanager
def _segments(seconds: int) -> Iterator[None]:
    """Have films cut into segments of so many seconds, however short they are."""
    before = cuts.LONG, dict(cuts.SECONDS), cuts.OTHERWISE
    cuts.LONG, cuts.SECONDS["cpu"], cuts.OTHERWISE = 0, seconds, seconds
    try:
        yield
    finally:
        cuts.LONG, cuts.SECONDS["cpu"], cuts.OTHERWISE = before[0], before[1]["cpu"], before[2]


def score(place: Place, repeats: int) -> Figures:
    """Measure the scores of two films for each worker, and their decoders alone."""
    frames = place.sizes.scored
    pair = place.film(frames, large=True), place.film(frames, DISTORTED, large=True)
    first = place.names[0]
    tickets = [
        PairTicket(number, ScoreJob(reference=pair[0], distorted=pair[1], device=first))
        for number in range(place.workers)
    ]
    decoders = [Decode(number, None, 2 * frames, files=pair) for number in range(place.workers)]
    with _pool(place) as pool:
        results, _ = _timed(pool, tickets)
        wanted = run_job(tickets[0].job, Silent()).table.pooled()
        for found in (one.result for one in results):
            if found.error is not None:
                raise found.error
            means = [found.pooled[name].mean for name in wanted]
            near = [one.mean for one in wanted.values()]
            if found.frames != frames or not np.allclose(means, near, rtol=WITHIN, atol=0):
                raise SnellenError(f"scores {means} of {found.frames} frames; expected {near}")
        rates = [frames * place.workers / _timed(pool, tickets)[1] for _ in range(repeats)]
        _timed(pool, decoders)
        alone = [_rate(pool, decoders) / 2 for _ in range(repeats)]
    return {"fps": spread(rates), "alone": spread(alone), "beside": "decoders"}


def _pool(place: Place) -> Pool:
    return Pool(place.devices, max(1, cores() // place.workers), Silent())


def _timed(pool: Pool, tickets: Sequence[Any]) -> tuple[list[Any], float]:
    """Return the results of tickets that all workers do at once, and the seconds until all end."""
    began = time.perf_counter()
    for ticket in tickets:
        pool.submit(ticket)
    found = [pool.wait() for _ in tickets]
    return found, time.perf_counter() - began


def _rate(pool: Pool, tickets: Sequence[Share]) -> float:
    frames: int = sum(ticket.part for ticket in tickets)
    return frames / _timed(pool, tickets)[1]


def _same(found: Any, wanted: Any, what: str) -> None:
    if found != wanted:
        raise SnellenError(f"a worker's result is not {what}")


def _frames(file: Path) -> list[str]:
    """Return a digest of the luma of each frame of a film."""
    with av.open(str(file)) as opened:
        return [digest(frame.to_ndarray()) for frame in opened.decode(video=0)]
