"""Damages films inside, and counts what is visible, what FFmpeg logs and what Snellen says.

`python -m benchmarks.damage --hits 40 --seed 1` prints the table of docs/troubleshooting.md. Each
film is made by PyAV, hit once (bytes set to zero, bits flipped, or bytes removed, between 10 % and
90 % of the file), and compared with the whole film. `--sound` reads whole films instead, of which
none may be called damaged.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import av.logging
import numpy as np

from snellen.errors import InputError
from snellen.video.clip import Clip
from snellen.video.sink.encode import be_ordinary
from snellen.video.source.decode import Source

X264 = {"preset": "medium", "g": "12", "crf": "18", "threads": "1"}
X265 = {"preset": "ultrafast", "x265-params": "keyint=12:log-level=none:pools=1:frame-threads=1"}
FILMS: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "H.264, Matroska": ("mkv", "libx264", "yuv420p", X264),
    "H.264, mp4": ("mp4", "libx264", "yuv420p", X264),
    "H.264, FLV": ("flv", "libx264", "yuv420p", X264),
    "H.264, MPEG-TS": ("ts", "libx264", "yuv420p", X264),
    "H.264, AVI": ("avi", "libx264", "yuv420p", X264),
    "HEVC, Matroska": ("mkv", "libx265", "yuv420p", X265),
    "HEVC, mp4": ("mp4", "libx265", "yuv420p", X265),
    "MPEG-2, MPEG-TS": ("ts", "mpeg2video", "yuv420p", {"b": "3M"}),
    "MPEG-2, program stream": ("mpg", "mpeg2video", "yuv420p", {"b": "3M"}),
    "MPEG-4, AVI": ("avi", "mpeg4", "yuv420p", {"b": "2M"}),
    "VP8, WebM": ("webm", "libvpx", "yuv420p",
                  {"deadline": "realtime", "cpu-used": "8", "b": "2M"}),
    "VP9, WebM": ("webm", "libvpx-vp9", "yuv420p",
                  {"deadline": "realtime", "cpu-used": "8", "b": "2M", "g": "12"}),
    "AV1, Matroska": ("mkv", "libsvtav1", "yuv420p", {"preset": "12", "crf": "20", "g": "12"}),
    "FFV1 with checksums, Matroska": ("mkv", "ffv1", "yuv420p", {"level": "3", "slicecrc": "1"}),
    "FFV1, NUT": ("nut", "ffv1", "yuv420p", {"level": "3", "slicecrc": "0"}),
    "MJPEG, AVI": ("avi", "mjpeg", "yuvj420p", {}),
    "MJPEG, mov": ("mov", "mjpeg", "yuvj420p", {}),
    "ProRes, mov": ("mov", "prores_ks", "yuv422p10le", {}),
    "DNxHR, mov": ("mov", "dnxhd", "yuv422p", {"profile": "dnxhr_sq"}),
    "WMV2, ASF": ("wmv", "wmv2", "yuv420p", {"b": "2M"}),
    "HuffYUV, AVI": ("avi", "huffyuv", "yuv422p", {}),
    "Ut Video, AVI": ("avi", "utvideo", "yuv420p", {}),
    "GIF": ("gif", "gif", "rgb8", {}),
    "y4m": ("y4m", "wrapped_avframe", "yuv420p", {}),
}  # fmt: skip
"""Suffix, encoder, pixel format and options of each film."""

COLUMNS = (
    "hits", "visible", "frames lost", "FFmpeg logs an error", "said", "visible and said",
    "logged, not said", "lost, not said",
)  # fmt: skip

Frames = dict[Fraction, bytes]


def picture(number: int, width: int, height: int, chance: np.random.Generator) -> av.VideoFrame:
    """Return a moving texture with some noise, so that packets have a size."""
    y, x = np.mgrid[:height, :width]
    wave = 60 * np.sin((x + 3 * number) / 7) * np.cos((y - 2 * number) / 5)
    grey = 120 + wave + chance.normal(0, 6, (height, width))
    rgb = np.stack([grey, np.roll(grey, 5, 1), 255 - grey], 2)
    return av.VideoFrame.from_ndarray(rgb.clip(0, 255).astype(np.uint8), format="rgb24")


def make(path: Path, codec: str, pixels: str, options: dict[str, str], frames: int = 60,
         size: tuple[int, int] = (256, 144), rate: Fraction = Fraction(25),
         times: list[int] | None = None, audio: str | None = None,
         container: dict[str, str] | None = None) -> Path:  # fmt: skip
    """Write a film; `times` are frames' times in milliseconds."""
    chance = np.random.default_rng(5)
    with av.open(str(path), "w", container_options=container or {}) as out:
        video: Any = out.add_stream(codec, rate=rate, options=options)
        video.width, video.height, video.pix_fmt = *size, pixels
        base = 1 / rate if times is None else Fraction(1, 1000)
        video.codec_context.time_base = base
        sound: Any = out.add_stream(audio, rate=44100) if audio else None
        out.start_encoding()
        be_ordinary()  # SVT-AV1 gives the process a real-time priority
        for number in range(frames):
            frame = picture(number, *size, chance).reformat(format=pixels)
            frame.pts, frame.time_base = times[number] if times else number, base
            out.mux(video.encode(frame))
            if sound is not None:
                for at in range(int(number / rate * 44100) // 1152,
                                int((number + 1) / rate * 44100) // 1152):  # fmt: skip
                    tone = av.AudioFrame("fltp" if audio != "mp2" else "s16", "stereo", 1152)
                    for plane in tone.planes:
                        plane.update(bytes(plane.buffer_size))
                    tone.sample_rate, tone.pts = 44100, at * 1152
                    out.mux(sound.encode(tone))
        out.mux(video.encode(None))
        if sound is not None:
            out.mux(sound.encode(None))
    return path


def read(path: Path, clip: Clip | None = None) -> tuple[Frames, tuple[str, ...]]:
    """Return the luma of each frame by its time, and what Snellen says of damage."""
    frames: Frames = {}
    said: tuple[str, ...] = ()
    try:
        with closing(Source(path, clip or Clip(deinterlace=True))) as source:
            for item in source.items():
                if item.frame is not None:
                    time = item.frame.pts * source.info.time_base
                    frames[time] = np.ascontiguousarray(item.frame.planes[0]).tobytes()
                elif item.report is not None:
                    said = item.report.damage
    except InputError as error:
        said = (str(error),)
    return frames, said


def logged(path: Path) -> bool:
    """Return whether FFmpeg logs an error while one thread decodes the video."""
    before = av.logging.get_level()
    av.logging.set_level(av.logging.ERROR)
    try:
        failures = (av.FFmpegError, OSError, ValueError, IndexError)
        with (
            av.logging.Capture() as messages,
            suppress(*failures),
            av.open(str(path)) as container,
        ):
            stream = container.streams.video[0]
            stream.codec_context.thread_count = 1
            for packet in container.demux(stream):
                with suppress(av.FFmpegError):
                    stream.decode(packet)
    finally:
        av.logging.set_level(before)
    return bool(messages)


def hit(data: bytes, chance: random.Random) -> bytes:
    """Damage the middle of a file once."""
    kind, size = chance.randrange(3), chance.choice([4, 64, 700, len(data) // 100, len(data) // 20])
    at = chance.randrange(len(data) // 10, len(data) * 9 // 10)
    if kind == 0:
        return data[:at] + bytes(min(size, len(data) - at)) + data[at + size :]
    if kind == 1:
        found = bytearray(data)
        for place in range(at, min(at + size, len(data)), 16):
            found[place] ^= 1 << chance.randrange(8)
        return bytes(found)
    return data[:at] + data[at + size :]


def measure(folder: Path, film: str, hits: int, seed: int, show: bool) -> Counter[str]:
    """Hit a film so many times; count."""
    suffix, codec, pixels, options = FILMS[film]
    path = make(folder / f"whole.{suffix}", codec, pixels, options)
    whole, said = read(path)
    counts = Counter({"false alarms": len(said)})
    data = path.read_bytes()
    chance = random.Random(f"{seed} {film}")
    for number in range(hits):
        broken = folder / f"{seed}-{number}.{suffix}"
        broken.write_bytes(hit(data, chance))
        frames, said = read(broken)
        lost = len(frames) < len(whole)
        visible = lost or list(frames.values()) != list(whole.values())
        errors = logged(broken)
        counts["hits"] += 1
        counts["visible"] += visible
        counts["FFmpeg logs an error"] += errors
        counts["frames lost"] += lost
        counts["said"] += bool(said)
        counts["visible and said"] += visible and bool(said)
        counts["logged, not said"] += errors and not said
        counts["lost, not said"] += lost and not said
        if show and (errors or lost) and not said:
            kept = Path(tempfile.gettempdir()) / f"unsaid-{film.replace(', ', '-')}-{broken.name}"
            kept.write_bytes(broken.read_bytes())
            print(f"  unsaid: {kept} logged={errors} {len(frames)} of {len(whole)} frames")
        broken.unlink()
    return counts


RATES = [Fraction(24000, 1001), Fraction(30000, 1001), Fraction(60000, 1001), Fraction(25, 2)]
OPEN = {"preset": "medium", "g": "10", "bf": "3", "b-pyramid": "normal", "threads": "1",
        "x264-params": "open-gop=1:keyint=10:min-keyint=5"}  # fmt: skip
OPEN_HEVC = {"preset": "fast", "x265-params": "open-gop=1:keyint=10:bframes=3:log-level=none:"
             "pools=1:frame-threads=1"}  # fmt: skip
FREE = {"preset": "veryfast", "bf": "0", "threads": "1"}


def remux(source: Path, target: Path, skip: int, container: dict[str, str]) -> Path:
    """Copy the packets of a film but the first ones; `skip` < 0: all, but earlier, from below 0."""
    with av.open(str(source)) as inside, \
            av.open(str(target), "w", container_options=container) as out:  # fmt: skip
        stream = out.add_stream_from_template(inside.streams.video[0])
        for number, packet in enumerate(p for p in inside.demux(video=0) if p.size):
            if skip < 0 and packet.pts is not None and packet.dts is not None:
                packet.pts += skip * (packet.duration or 0)
                packet.dts += skip * (packet.duration or 0)
            if number >= skip:
                packet.stream = stream
                out.mux(packet)
    return target


def sound(folder: Path, seed: int) -> Iterator[tuple[str, Path, Clip | None]]:
    """Yield whole films: every container and encoder, rates, variable ones, cuts and clips."""
    chance = random.Random(seed)
    parts = (Clip(start=Fraction(13, 10), frames=6), Clip(start=Fraction(1, 5), frames=9),
             Clip(start=Fraction(1, 5), duration=Fraction(1, 2)))  # fmt: skip
    for film, (suffix, codec, pixels, options) in FILMS.items():
        path = make(folder / f"a.{suffix}", codec, pixels, options, frames=40)
        yield film, path, None
        for part in parts:
            yield f"{film}, {part}", path, part
    for rate in RATES:
        for suffix in ("mkv", "mp4", "flv", "ts", "avi", "mov", "nut", "m2ts"):
            path = make(folder / f"r.{suffix}", "libx264", "yuv420p", OPEN, 40, (96, 64), rate,
                        audio="mp2" if suffix in ("ts", "m2ts", "avi") else "aac")  # fmt: skip
            yield f"{rate} frames/s, {suffix}", path, None
    for suffix in ("mkv", "mp4", "ts", "mov", "flv", "nut"):
        for kind in ("uneven", "dropped", "pauses", "one pause", "slides"):
            times = [
                {"uneven": 40 * n + chance.randrange(-15, 16),
                 "dropped": 40 * n,
                 "pauses": 40 * n + 1500 * (n // 12),
                 "one pause": 40 * n + 2000 * (n > 20),
                 "slides": 3000 * n}[kind]
                for n in range(60)
                if kind != "dropped" or chance.random() < 0.7
            ]  # fmt: skip
            times = [time - times[0] for time in times[:40]]
            audio = chance.choice([None, "mp2" if suffix == "ts" else "aac"])
            path = make(folder / f"v.{suffix}", "libx264", "yuv420p", chance.choice([FREE, OPEN]),
                        len(times), (96, 64), times=times, audio=audio)  # fmt: skip
            yield f"{kind}, {suffix}, {audio}", path, None
    for codec, options in (("libx264", OPEN), ("libx265", OPEN_HEVC), ("mpeg2video", {"bf": "2"})):
        whole = make(folder / "whole.ts", codec, "yuv420p", options, 60, (160, 96), audio="mp2")
        data = whole.read_bytes()
        for _ in range(8):
            path = folder / "cut.ts"
            path.write_bytes(data[chance.randrange(len(data) // 2) :])
            yield f"{codec}, transport stream cut at its start", path, None
            rest = len(path.read_bytes()) // 188 * 188
            whole_packets = data[-rest:]
            path.write_bytes(whole_packets)
            yield f"{codec}, transport stream cut between packets", path, None
        path.write_bytes(data + data)
        yield f"{codec}, transport stream joined to itself", path, None
        for suffix in ("mkv", "mp4", "ts", "mov"):
            for skip in (-5, -2, 0):
                path = remux(whole, folder / f"edit.{suffix}", skip, {})
                yield f"{codec}, {suffix}, begins {-skip} frames before 0", path, None
            yield f"{codec}, {suffix}, clip", path, parts[0]
    for suffix, options in (("mp4", {"movflags": "frag_keyframe+empty_moov"}),
                            ("mp4", {"movflags": "faststart"}), ("mkv", {"live": "1"}),
                            ("mkv", {"cluster_time_limit": "200"}), ("avi", {})):  # fmt: skip
        for codec in ("libx264", "libx265") if suffix != "avi" else ("libx264",):
            path = make(folder / f"c.{suffix}", codec, "yuv420p",
                        OPEN if codec == "libx264" else OPEN_HEVC, 50, (96, 64), container=options,
                        audio="mp2")  # fmt: skip
            yield f"{codec}, {suffix}, {options}", path, None


def main() -> None:
    """Print the table, or the false alarms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--film", action="append", choices=[*FILMS], help="only this one")
    parser.add_argument("--show", action="store_true", help="keep files whose damage is not said")
    parser.add_argument("--sound", action="store_true", help="whole films")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.sound:
            films = 0
            for what, path, clip in sound(folder, given.seed):
                films += 1
                said = read(path, clip)[1]
                if said:
                    print(f"{what}: {said}")
            print(f"{films} whole films read")
            return
        print("| film | " + " | ".join(COLUMNS) + " |\n|---" + "|---" * len(COLUMNS) + "|")
        for film in given.film or FILMS:
            c = measure(folder, film, given.hits, given.seed, given.show)
            print(f"| {film} | " + " | ".join(str(c[k]) for k in COLUMNS) + " |", flush=True)
            if c["false alarms"]:
                print(f"  {film}: called damaged while it was whole")


if __name__ == "__main__":
    main()
