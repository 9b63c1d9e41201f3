"""The phases: frames of a stream and of a film, calls of functions, jobs."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image

import snellen
from snellen.jobs import DeblurJob, MadSettings, MiaSettings, ScoreJob, UpscaleJob, run
from snellen.jobs.events import Silent
from soak.meter import Meter

SIDE = 48
RANDOM = np.random.default_rng(14)


def film(path: Path, frames: int, codec: str = "mpeg4") -> Path:
    """Write a film of random pictures; return its path."""
    pictures = [RANDOM.integers(0, 256, (SIDE * 3 // 2, SIDE), np.uint8) for _ in range(8)]
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=Fraction(25))
        stream.width = stream.height = SIDE
        stream.pix_fmt = "yuv420p"
        for number in range(frames):
            picture = av.VideoFrame.from_ndarray(pictures[number % 8], format="yuv420p")
            out.mux(stream.encode(picture))
        out.mux(stream.encode(None))
    return path


def stream(meter: Meter, device: str, folder: Path) -> None:
    """Regions of frames, in real time."""
    frame = RANDOM.random((SIDE, SIDE), np.float32)
    deblurrer = snellen.Deblurrer(psf_size=5, iterations=2, warm=True, device=device)
    with snellen.Stream(deblurrer, (32, 32)) as regions:
        for number in range(1, meter.operations + 1):
            regions.push(frame, (number % 16, 3))
            regions.pop()
            meter.tick(number)


class Ticking(Silent):
    """Events that take samples while a film is written."""

    def __init__(self, meter: Meter):
        self.meter, self.frames = meter, 0

    def progress(self, progress: object) -> None:
        """Count a frame."""
        self.frames += 1
        if self.frames <= self.meter.operations:
            self.meter.tick(self.frames, collect=False)


def one_film(meter: Meter, device: str, folder: Path) -> None:
    """One film with all frames."""
    source = film(folder / "long.mkv", meter.operations)
    events = Ticking(meter)
    snellen.upscale_file(source, folder / "large.mkv", device=device, preset="ultrafast",
                         events=events)  # fmt: skip
    assert events.frames >= meter.operations, events.frames


def calls(meter: Meter, device: str, folder: Path) -> None:
    """Pictures of changing sizes, types and channels."""
    for number in range(1, meter.operations + 1):
        if number % meter.quarter == 1:  # each quarter has the same calls
            random = np.random.default_rng(meter.operations)
        height, width = random.integers(34, 97, 2)
        channels = random.choice([0, 0, 3, 4])
        kind = np.dtype(random.choice(["uint8", "uint16", "float16", "float32", "float64"]))
        shape = (height, width, channels) if channels else (height, width)
        image = random.random(shape)
        image = (image * np.iinfo(kind).max if kind.kind == "u" else image).astype(kind)
        call = number % meter.quarter % 4
        if call in (0, 1):
            snellen.upscale(image, int(random.choice([2, 3, 4])), device=device)
        elif call == 2:
            grey = image[..., 0] if channels == 4 else image
            peak = float(np.iinfo(kind).max) if kind.kind == "u" else 1.0
            snellen.score(grey, grey[::-1, ::-1], data_range=peak, device=device)
        else:
            grey = image[..., 0] if channels == 4 else image
            snellen.deblur(grey, prior=None, psf_size=3, iterations=2, device=device)
        meter.tick(number)


def jobs(meter: Meter, device: str, folder: Path) -> None:
    """Runs with files: images and films, sound, damaged and missing."""
    picture = folder / "in.png"
    Image.fromarray(RANDOM.integers(0, 256, (SIDE, SIDE, 3), np.uint8)).save(picture)
    torn = folder / "torn.png"
    torn.write_bytes(picture.read_bytes()[:-200])
    short = film(folder / "short.mkv", 4)
    cut = folder / "cut.mkv"
    cut.write_bytes(short.read_bytes()[:-300])
    mia = MiaSettings(psf_size=3, iterations=2, prior=None)
    given = {"device": device, "overwrite": True}
    kinds = [
        UpscaleJob(source=picture, target=folder / "out.png", **given),
        UpscaleJob(source=short, target=folder / "out.mkv", **given),
        UpscaleJob(source=torn, target=folder / "out.png", **given),
        UpscaleJob(source=cut, target=folder / "out.mp4", **given),
        UpscaleJob(source=folder / "none.png", target=folder / "out.png", **given),
        DeblurJob(source=picture, target=folder / "out.tif", mia=mia, **given),
        DeblurJob(source=short, target=folder / "out.mkv", mia=mia, **given),
        ScoreJob(reference=picture, distorted=picture, mad=MadSettings(), device=device),
        ScoreJob(reference=short, distorted=short, device=device),
        UpscaleJob(source=picture, target=folder / "none" / "out.png", **given),
    ]
    for number in range(1, meter.operations + 1):
        with suppress(snellen.SnellenError):
            run(kinds[number % len(kinds)])
        meter.tick(number)


PHASES = {"stream": stream, "film": one_film, "calls": calls, "jobs": jobs}
