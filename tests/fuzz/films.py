"""Small films of every container and codec that users bring, made by PyAV."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO

import av
import numpy as np

from fuzz.case import Random
from snellen.video.sink.encode import be_ordinary

SRT = b"1\n00:00:00,050 --> 00:00:00,150\nfirst\n\n2\n00:00:00,200 --> 00:00:00,300\nsecond\n"


@dataclass(frozen=True)
class Film:
    """How a film is made."""

    suffix: str
    format: str
    codec: str
    pix_fmt: str = "yuv420p"
    options: dict[str, str] = field(default_factory=dict)
    audio: tuple[str, ...] = ()
    """Encoders of sound that the container takes."""
    rich: bool = False
    """Whether the container takes chapters, tags and a display matrix."""
    attachments: bool = False


_H264 = {"preset": "ultrafast", "g": "6", "bf": "2"}
_FLAT = {"g": "6"}
FILMS = (
    Film(".mp4", "mp4", "libx264", options=_H264, audio=("aac",), rich=True),
    Film(".mkv", "matroska", "libx264", options=_H264, audio=("aac", "flac", "pcm_s16le"),
         rich=True, attachments=True),
    Film(".flv", "flv", "libx264", options=_H264, audio=("aac",)),
    Film(".ts", "mpegts", "libx264", options=_H264, audio=("aac", "mp2")),
    Film(".avi", "avi", "libx264", options={**_H264, "bf": "0"}, audio=("pcm_s16le",)),
    Film(".mp4", "mp4", "libx265", audio=("aac",), rich=True,
         options={"preset": "ultrafast", "x265-params": "log-level=error:keyint=6:pools=none"}),
    Film(".mpg", "vob", "mpeg2video", options=_FLAT, audio=("mp2",)),
    Film(".ts", "mpegts", "mpeg2video", options=_FLAT, audio=("mp2",)),
    Film(".avi", "avi", "mpeg4", options=_FLAT, audio=("pcm_s16le", "mp2")),
    Film(".webm", "webm", "libvpx-vp9", options={"cpu-used": "8", "g": "6"}, rich=True),
    Film(".mkv", "matroska", "libsvtav1", options={"preset": "13", "g": "6"}, rich=True),
    Film(".mkv", "matroska", "ffv1", options={"slicecrc": "1", "level": "3"}, rich=True,
         attachments=True),
    Film(".nut", "nut", "ffv1", options={"slicecrc": "1", "level": "3"}),
    Film(".avi", "avi", "mjpeg", "yuvj420p", audio=("pcm_s16le",)),
    Film(".mov", "mov", "mjpeg", "yuvj420p", audio=("pcm_s16le",), rich=True),
    Film(".mov", "mov", "prores_ks", "yuv422p10le", audio=("pcm_s16le",), rich=True),
    Film(".wmv", "asf", "wmv2", options=_FLAT),
    Film(".gif", "gif", "gif", "rgb8"),
    Film(".y4m", "yuv4mpegpipe", "rawvideo"),
)  # fmt: skip
"""Those whose encoder is not in this build of FFmpeg are left out: see `make`."""

os.environ.setdefault("SVT_LOG", "1")  # else SVT-AV1 chats on stderr

_SLOW = {"libsvtav1", "libx265", "libvpx-vp9"}
_pool: dict[tuple[int, int], bytes] = {}


def drawn(random: Random, wanted: tuple[int, int] | None = None) -> tuple[Film, bytes]:
    """Return a film of a random recipe; a film is made once and used in many cases.

    Parameters
    ----------
    random : Random
        Chooses the recipe and one of a few variants of it.
    wanted : (int, int), optional
        Width and height; None: by the variant.
    """
    number = random.randrange(len(FILMS))
    film = FILMS[number]
    variant = random.randrange(1 if film.codec in _SLOW else 6)
    key = number, variant + (0 if wanted is None else 100)
    if key not in _pool:
        _pool[key] = make(film, Random(f"{number}/{variant}"), wanted)
    return film, _pool[key]


def make(film: Film, random: Random, size: tuple[int, int] | None = None) -> bytes:
    """Return the bytes of a film, of a few hundredths of a second's work."""
    width, height = size or (random.choice((64, 80, 96)), random.choice((32, 48, 64)))
    frames = random.randrange(5, 21)
    if film.format == "yuv4mpegpipe":
        return y4m(random, width, height, frames)
    if film.codec not in av.codecs_available:
        return y4m(random, width, height, frames)
    out = BytesIO()
    # PyAV 18 seeks a BytesIO where the muxer wants it.
    container = av.open(out, "w", format=film.format)
    video = container.add_stream(film.codec, rate=25, options=dict(film.options))
    video.width, video.height, video.pix_fmt = width, height, film.pix_fmt
    video.codec_context.thread_count = 1
    audio = _sound(container, film, random)
    subtitles = _extras(container, film, random, video)
    container.start_encoding()
    be_ordinary()  # SVT-AV1 gives the process, and so its workers, a real-time priority
    for packet, stream in subtitles:
        packet.stream = stream
        container.mux(packet)
    late = random.choice((0, 0, 0, 7))  # a start that is not 0: an edit list in mp4
    for number in range(frames):
        frame = av.VideoFrame.from_ndarray(_picture(random, width, height, number), "rgb24")
        frame = frame.reformat(format=film.pix_fmt)
        frame.pts, frame.time_base = number + late, Fraction(1, 25)
        container.mux(video.encode(frame))
        if audio is not None:
            _hear(container, audio, number)
    container.mux(video.encode(None))
    if audio is not None:
        container.mux(audio.encode(None))
    container.close()
    return out.getvalue()


def y4m(random: Random, width: int, height: int, frames: int) -> bytes:
    """Return a film of y4m, 4:2:0."""
    noise = np.random.default_rng(random.randrange(1 << 30))
    head = f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420mpeg2\n".encode()
    size = width * height * 3 // 2
    return head + b"".join(
        b"FRAME\n" + noise.integers(16, 235, size, np.uint8).tobytes() for _ in range(frames)
    )


def _picture(random: Random, width: int, height: int, number: int) -> np.ndarray:
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    bar = 90 * ((x + 3 * number) % 24 < 5)
    planes = [40 + x + y // 2 + bar, 90 + y + bar // 2, 120 + (x * y + 5 * number) % 23]
    return np.stack(planes, axis=-1).clip(0, 255).astype(np.uint8)


def _sound(container, film, random):
    if not film.audio or random.random() < 0.5:
        return None
    stream = container.add_stream(random.choice(film.audio), rate=48000, layout="mono")
    return stream


def _hear(container, audio, number):
    wave = (np.sin(np.arange(1920) / 17) * 9000).astype(np.int16)
    frame = av.AudioFrame.from_ndarray(wave[None], format="s16", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = 48000, number * 1920, Fraction(1, 48000)
    container.mux(audio.encode(frame))


def _extras(container, film, random, video):
    """Add what travels along; return the packets of subtitles with their stream."""
    if not film.rich:
        return []
    if random.random() < 0.3:
        container.metadata["title"] = "a title \x1b[31m with\nan escape"
    if random.random() < 0.3:
        video.set_display_rotation(random.choice((90, 180, 270)))
    if random.random() < 0.3 and film.format != "webm":
        base = Fraction(1, 1000)
        container.set_chapters([
            {"id": n, "start": 100 * n, "end": 100 * n + 100, "time_base": base,
             "metadata": {"title": f"chapter {n}"}} for n in range(3)
        ])  # fmt: skip
    if film.attachments and random.random() < 0.5:
        container.add_attachment("font \x1b]0;x\x07.ttf", "font/ttf", b"\0\1\0\0" + bytes(60))
    if film.format == "matroska" and random.random() < 0.4:
        with av.open(BytesIO(SRT), format="srt") as text:
            stream = container.add_stream_from_template(text.streams.subtitles[0])
            return [(packet, stream) for packet in text.demux() if packet.size]
    return []
