"""Sound films of many kinds, made with a seed, and whether one of them is called damaged.

``python -m benchmarks.sound --seeds 3`` makes them in a temporary folder, reads each to its end as
a job does, and names those that were called damaged: none should be. The same films, cut at random
points, are what ``python -m benchmarks.damage_ends`` measures.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from snellen.errors import InputError
from snellen.video.clip import Clip
from snellen.video.source.decode import Source

Edit = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Film:
    """A way to make a film."""

    name: str
    """Its suffix is the container's."""
    codec: str
    muxer: str | None = None
    """FFmpeg's name of the container; None: by the suffix."""
    pix_fmt: str = "yuv420p"
    size: tuple[int, int] = (64, 48)
    rate: Fraction = Fraction(25)
    options: dict[str, str] = field(default_factory=dict)
    container: dict[str, str] = field(default_factory=dict)
    audio: str | None = None
    live: bool = False
    """True if it is written without seeking back, as into a pipe or a socket."""
    uneven: bool = False
    """True if its frame rate varies."""
    edit: Edit | None = None
    """A change of the file."""


class _Pipe(io.BytesIO):
    """Containers that FFmpeg writes without seeking back."""

    seek = None  # type: ignore[assignment]
    seekable = None  # type: ignore[assignment]


def make(film: Film, folder: Path, seed: int) -> Path:
    """Write a film; the number of frames, their rate and their contents depend on the seed."""
    chance = random.Random(f"{film.name} {seed}")
    path = folder / f"{seed}-{film.name}"
    out: Any = _Pipe() if film.live else str(path)
    muxer = film.muxer or _muxer(path.suffix)
    with av.open(out, "w", format=muxer, container_options=film.container) as container:
        _encode(film, container, chance)
    if film.live:
        path.write_bytes(out.getvalue())
    if film.edit:
        path.write_bytes(film.edit(path.read_bytes(), chance))
    return path


def _muxer(suffix: str) -> str:
    return {
        ".mkv": "matroska", ".ts": "mpegts", ".m2ts": "mpegts", ".mpg": "mpeg", ".wmv": "asf",
        ".y4m": "yuv4mpegpipe", ".ogv": "ogg",
    }.get(suffix, suffix[1:])  # fmt: skip


def _encode(film: Film, container: Any, chance: random.Random) -> None:
    base = Fraction(1, 1000) if film.uneven else 1 / film.rate
    stream = container.add_stream(film.codec, rate=film.rate, options=film.options)
    stream.width, stream.height = film.size
    stream.pix_fmt = film.pix_fmt
    stream.codec_context.time_base = stream.time_base = base
    sound = container.add_stream(film.audio, rate=48000) if film.audio else None
    if sound is not None:
        sound.bit_rate = 128_000
    container.start_encoding()
    number = 30 if film.size[0] > 100 else chance.randrange(25, 60)
    tick = 0
    shade = np.random.default_rng(chance.randrange(1 << 30))
    back = shade.integers(0, 60, (film.size[1] + number, film.size[0], 3))
    for count in range(number):
        pixels = back[count : count + film.size[1]].copy()
        pixels[:, (5 * count) % film.size[0] :][:, :9] += 120
        frame = av.VideoFrame.from_ndarray(pixels.astype(np.uint8), "rgb24")
        frame = frame.reformat(format=film.pix_fmt)
        frame.pts, frame.time_base = tick, base
        tick += chance.choice((16, 17, 33, 34, 40, 90)) if film.uneven else 1
        container.mux(stream.encode(frame))
        if sound is not None and count % 2:
            _tone(container, sound, count // 2, round(48000 * 2 / film.rate))
    container.mux(stream.encode(None))
    if sound is not None:
        container.mux(sound.encode(None))


def _tone(container: Any, stream: Any, count: int, length: int) -> None:
    layout = "stereo"
    wave = np.sin(np.arange(count * length, (count + 1) * length) / 20) * 9000
    samples = np.repeat(wave.astype(np.int16), 2).reshape(1, -1)
    frame = av.AudioFrame.from_ndarray(samples, format="s16", layout=layout)
    frame.sample_rate, frame.pts = 48000, count * length
    container.mux(stream.encode(frame))


# What recorders, servers and editors leave behind.


def _behind(extra: bytes) -> Edit:
    return lambda data, chance: data + extra


def _from_the_middle(data: bytes, chance: random.Random) -> bytes:
    """Leave out the beginning of a transport stream, packet by packet, as a receiver does."""
    return data[188 * chance.randrange(2, 30) :]


def _up_to(size: int) -> Edit:
    """Return what leaves out the end of a stream of packets, as a recording that still runs."""
    return lambda data, chance: data[: len(data) // size * 2 // 3 * size]


def _no_duration(data: bytes, chance: random.Random) -> bytes:
    """Take the metadata out of FLV, as live streams are recorded."""
    for name in (b"duration", b"filesize"):
        data = data.replace(name + b"\0", name[:-1] + b"_\0", 1)
    return data


def _up_to_a_cluster(data: bytes, chance: random.Random) -> bytes:
    """End a live WebM where a browser handed out a piece of it: before a cluster."""
    at = data.rfind(bytes.fromhex("1f43b675"))
    return data if data.find(bytes.fromhex("1f43b675")) == at else data[:at]


def _up_to_a_fragment(data: bytes, chance: random.Random) -> bytes:
    """End a fragmented mp4 behind a fragment, without the index that would follow."""
    at = data.rfind(b"moof")
    return data if data.find(b"moof") == at else data[: at - 4]


GROUP = {"g": "12"}
X264 = {"preset": "medium", "crf": "20", "g": "12"}
OPEN = {"preset": "medium", "crf": "20", "x264-params": "open-gop=1:keyint=12:bframes=3"}
FAST = {"deadline": "realtime", "cpu-used": "8", "g": "12"}
OBS = {"preset": "veryfast", "bf": "2", "g": "50"}
FRAGMENTS = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}

FILMS = (
    Film("a.mp4", "libx264", options=X264, audio="aac"),
    Film("faststart.mp4", "libx264", options=X264, audio="aac",
         container={"movflags": "faststart"}),
    Film("fragments.mp4", "libx264", options=X264, container=FRAGMENTS, audio="aac"),
    Film("fragments-live.mp4", "libx264", options=X264, container=FRAGMENTS, live=True),
    Film("fragments-running.mp4", "libx264", options=X264, container=FRAGMENTS,
         edit=_up_to_a_fragment),
    Film("dash.mp4", "libx264", options=X264, container={"movflags": "dash+frag_keyframe"}),
    Film("hybrid.mp4", "libx264", options=OBS, audio="aac",
         container={"movflags": "hybrid_fragmented"}),
    Film("open-gop.mp4", "libx264", options=OPEN, audio="aac"),
    Film("uneven.mp4", "libx264", options=X264, audio="aac", uneven=True),
    Film("mpeg4.mp4", "mpeg4", options={"bf": "2", **GROUP}),
    Film("behind.mp4", "libx264", options=X264, edit=_behind(b"what a camera adds")),
    Film("zeros.mp4", "libx264", options=X264, edit=_behind(bytes(4096))),
    Film("a.mov", "mjpeg", pix_fmt="yuvj422p", audio="pcm_s16le"),
    Film("prores.mov", "prores_ks", pix_fmt="yuv422p10le", audio="pcm_s16le"),
    Film("a.mkv", "libx264", options=X264, audio="aac"),
    Film("open-gop.mkv", "libx264", options=OPEN),
    Film("uneven.mkv", "libx264", options=X264, uneven=True),
    Film("ffv1.mkv", "ffv1", options={"slicecrc": "1", "level": "3"}),
    Film("live.mkv", "libx264", options=OBS, audio="aac", live=True, container={"live": "1"}),
    Film("pipe.mkv", "libx264", options=X264, live=True),
    Film("behind.mkv", "libx264", options=X264, edit=_behind(bytes(3000))),
    Film("vp8.webm", "libvpx", options=FAST),
    Film("vp9.webm", "libvpx-vp9", options=FAST, audio="libopus"),
    Film("live.webm", "libvpx", options=FAST, live=True, container={"live": "1"}),
    Film("recorder.webm", "libvpx-vp9", options=FAST, live=True, audio="libopus", uneven=True,
         container={"live": "1", "cluster_time_limit": "300"}),
    Film("recorder-running.webm", "libvpx", options=FAST, live=True, edit=_up_to_a_cluster,
         container={"live": "1", "cluster_time_limit": "200"}),
    Film("a.flv", "libx264", options=X264, audio="aac"),
    Film("flv1.flv", "flv", options=GROUP),
    Film("uneven.flv", "libx264", options=OBS, audio="aac", uneven=True),
    Film("live.flv", "libx264", options=OBS, audio="aac", live=True),
    Film("no-duration.flv", "libx264", options=OBS, edit=_no_duration),
    Film("index.flv", "libx264", options=OBS,
         container={"flvflags": "add_keyframe_index"}),
    Film("a.avi", "mpeg4", options=GROUP, audio="mp2"),
    Film("b-frames.avi", "mpeg4", options={"bf": "2"}),
    Film("mjpeg.avi", "mjpeg", pix_fmt="yuvj420p", audio="pcm_s16le"),
    Film("live.avi", "mjpeg", pix_fmt="yuvj420p", live=True),
    Film("huffyuv.avi", "huffyuv", pix_fmt="yuv422p"),
    Film("raw.avi", "rawvideo"),
    Film("uneven.avi", "mjpeg", pix_fmt="yuvj420p", uneven=True),
    Film("behind.avi", "mpeg4", options=GROUP, edit=_behind(bytes(2048))),
    Film("a.gif", "gif", pix_fmt="rgb8"),
    Film("behind.gif", "gif", pix_fmt="rgb8", edit=_behind(b"\x3b\0\0GIF")),
    Film("zeros.gif", "gif", pix_fmt="rgb8",
         edit=lambda data, chance: data[:-1] + bytes(chance.randrange(1, 9)) + data[-1:]),
    Film("uneven.gif", "gif", pix_fmt="rgb8", uneven=True),
    Film("a.ts", "libx264", options=X264, audio="mp2"),
    Film("mpeg2.ts", "mpeg2video", options=GROUP, audio="mp2"),
    Film("open-gop.ts", "libx264", options=OPEN),
    Film("from-the-middle.ts", "mpeg2video", options=GROUP, edit=_from_the_middle),
    Film("a.m2ts", "libx264", options=X264, container={"mpegts_m2ts_mode": "1"}),
    Film("a.mpg", "mpeg2video", options=GROUP, audio="mp2"),
    Film("mpeg1.mpg", "mpeg1video", options=GROUP),
    Film("a.vob", "mpeg2video", options=GROUP, audio="ac3"),
    Film("a.wmv", "wmv2", options=GROUP, audio="wmav2"),
    Film("wmv1.wmv", "wmv1", options=GROUP),
    Film("live.wmv", "wmv2", options=GROUP, live=True),
    Film("vp8.ogv", "libvpx", options=FAST, audio="libopus"),
    Film("live.ogv", "libvpx", options=FAST, live=True),
    Film("a.nut", "mpeg4", options=GROUP, audio="mp2"),
    Film("ffv1.nut", "ffv1", options={"slicecrc": "1", "level": "3"}),
    Film("vp8.ivf", "libvpx", options=FAST),
    Film("vp9.ivf", "libvpx-vp9", options=FAST),
    Film("live.ivf", "libvpx", options=FAST, live=True),
    Film("a.y4m", "wrapped_avframe"),
    Film("a.mxf", "mpeg2video", options=GROUP, size=(720, 576), pix_fmt="yuv422p"),
    Film("a.dv", "dvvideo", size=(720, 576), pix_fmt="yuv420p"),
    Film("a.apng", "apng", pix_fmt="rgb24"),
)  # fmt: skip


def read(path: Path) -> tuple[int, tuple[str, ...]]:
    """Return how many frames a film gives, and what is said of damage."""
    with closing(Source(path, Clip(deinterlace=True))) as source:
        last, frames = None, 0
        for item in source.items():
            frames += item.frame is not None
            last = item
        report = last.report if last is not None else None
        return frames, (report or source.report()).damage


def alarms(seed: int, folder: Path, films: tuple[Film, ...] = FILMS) -> Iterator[str]:
    """Make films and read them; yield a line for each that is refused or called damaged."""
    for film in films:
        path = make(film, folder, seed)
        try:
            said = read(path)[1]
        except InputError as error:
            said = (str(error),)
        path.unlink()
        if said:
            yield f"{path.name}: {'; '.join(said)}"


def judge(about: str | None, what: str, count: int, alarms: Callable[..., Iterator[str]]) -> int:
    """Make and read a corpus for each seed of the command line; 1 if a file is called damaged.

    Parameters
    ----------
    about : str
        Description of the command.
    what : str
        What the corpus holds: "films".
    count : int
        How many for each seed.
    alarms : callable
        Takes a seed and a folder; yields a line for each file that is refused or called damaged.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, default=3, help="so many seeds")
    parsed = parser.parse_args()
    seeds = range(parsed.seed, parsed.seed + parsed.seeds)
    with tempfile.TemporaryDirectory() as folder:
        wrong = [line for seed in seeds for line in alarms(seed, Path(folder))]
    for line in wrong:
        print("FALSE ALARM", line)
    print(f"{len(seeds) * count} sound {what}, {len(wrong)} called damaged")
    return min(1, len(wrong))


if __name__ == "__main__":
    sys.exit(judge(__doc__, "films", len(FILMS), alarms))
