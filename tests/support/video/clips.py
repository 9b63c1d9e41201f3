"""Small videos made with PyAV itself, and what to read back from any."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import av
import av.filter
import numpy as np

from snellen.video.sink.encode import be_ordinary

WIDTH, HEIGHT = 64, 48
SRT = """1
00:00:00,100 --> 00:00:00,500
first

2
00:00:00,600 --> 00:00:00,900
second
"""


def picture(number, format="yuv420p", width=WIDTH, height=HEIGHT):
    """Return a frame with a gradient and a moving bar, different for each number."""
    bits = av.VideoFormat(format).components[0].bits
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    luma = 40 + x + y + 60 * ((x + 3 * number) % 32 < 6)
    planes = [luma]
    form = av.VideoFormat(format, width, height)
    for component in form.components[1:3]:
        w, h = component.width, component.height
        u, v = np.meshgrid(np.linspace(0, 1, w), np.linspace(0, 1, h))
        planes.append(90 + 60 * (u if component.is_luma else v) + 4 * (number % 8))
    if len(form.components) == 4:
        planes.append((2 * x + 5 * number) % 256)
    dtype = np.uint8 if bits == 8 else np.uint16
    frame = av.VideoFrame(width, height, format)
    for plane, samples in zip(frame.planes, planes, strict=True):
        h, w = samples.shape
        rows = np.zeros((h, plane.line_size // np.dtype(dtype).itemsize), dtype)
        rows[:, :w] = np.round(samples % 256 * (1 << (bits - 8)))  # within 8 bits at any size
        plane.update(rows.tobytes())
    return frame


@dataclass
class Recipe:
    """What `make` makes."""

    codec: str = "libx264"
    pix_fmt: str = "yuv420p"
    size: tuple = (WIDTH, HEIGHT)
    rate: Fraction = Fraction(25)
    frames: int = 25
    times: list | None = None  # pts in time_base
    time_base: Fraction | None = None
    last: int | None = None  # duration of the last frame, ticks
    options: dict = field(default_factory=dict)
    audio: str | None = None
    audio_seconds: float | None = None
    audio_language: str = "eng"
    subtitles: str | None = None
    data: bool = False
    chapters: tuple = ()
    tags: dict = field(default_factory=dict)
    title: str | None = None
    attachments: tuple = ()
    cover: bytes | None = None
    colour: tuple = ()  # range, space, primaries, transfer
    aspect: Fraction | None = None
    rotation: int | None = None
    interlaced: bool = False  # marked so
    fields: str | None = None  # "woven": two moments in a frame, or "telecined"; marked too
    phase: int = 0  # of telecine: so many frames of its cycle are cut off
    unmarked: bool = False  # not so
    container: dict = field(default_factory=dict)
    key: tuple = ()  # numbers of frames that are made key frames


def make(path, **settings):
    """Write a video as `Recipe` says; return its path."""
    recipe = Recipe(**settings)
    base = recipe.time_base or 1 / recipe.rate
    out = av.open(str(path), "w", container_options=recipe.container)
    options = {"preset": "ultrafast", "crf": "10"} if recipe.codec == "libx264" else {}
    if recipe.codec == "libx265":
        options = {"preset": "ultrafast", "x265-params": "log-level=error"}
    params = [o["x265-params"] for o in (options, recipe.options) if "x265-params" in o]
    options = {**options, **recipe.options}
    if params:
        options["x265-params"] = ":".join(params)
    video = out.add_stream(recipe.codec, rate=recipe.rate, options=options)
    video.width, video.height = recipe.size
    video.pix_fmt = recipe.pix_fmt
    video.codec_context.time_base = video.time_base = base
    context = video.codec_context
    if recipe.colour:
        (context.color_range, context.colorspace, context.color_primaries, context.color_trc) = (
            recipe.colour
        )
    if recipe.aspect:
        context.sample_aspect_ratio = recipe.aspect
    if recipe.rotation is not None:
        video.set_display_rotation(recipe.rotation)
    marked = (recipe.interlaced or recipe.fields) and not recipe.unmarked
    if marked:
        context.flags |= (1 << 18) | (1 << 29)  # interlaced DCT and ME
        context.field_order = 2
    if recipe.title:
        video.metadata["title"] = recipe.title
        video.metadata["language"] = "ger"
    audio = _audio_stream(out, recipe) if recipe.audio else None
    subtitles = sub_packets = None
    if recipe.subtitles:
        demuxed = av.open(BytesIO(recipe.subtitles.encode()), format="srt")
        sub_packets = [p for p in demuxed.demux() if p.size]
        subtitles = out.add_stream_from_template(demuxed.streams.subtitles[0])
        subtitles.metadata["language"] = "fre"
        subtitles.disposition = av.stream.Disposition.forced
    cover = _cover_stream(out, recipe.cover) if recipe.cover else None
    for name, mime, data in recipe.attachments:
        out.add_attachment(name, mime, data)
    out.metadata.update(recipe.tags)
    if recipe.chapters:
        out.set_chapters(
            [
                {
                    "id": i,
                    "start": start,
                    "end": end,
                    "time_base": Fraction(1, 1000),
                    "metadata": {"title": text},
                }
                for i, (start, end, text) in enumerate(recipe.chapters)
            ]
        )
    out.start_encoding()
    if cover is not None:
        _mux_cover(out, cover, recipe.cover)
    for packet in sub_packets or ():
        packet.stream = subtitles
        out.mux(packet)
    _encode(out, video, audio, recipe, base)
    out.close()
    be_ordinary()  # SVT-AV1 gives the process a real-time priority
    return Path(path)


def _encode(out, video, audio, recipe, base):
    times = recipe.times or range(recipe.frames)
    step = (1 / recipe.rate) / base
    pending = iter(_tone(audio, recipe)) if audio else iter(())
    waiting = next(pending, None)
    durations = {}
    for number, time in enumerate(times):
        ticks = time if recipe.times else round(time * step)
        while waiting is not None and waiting.time <= ticks * base:
            out.mux(audio.encode(waiting))
            waiting = next(pending, None)
        frame = _shown(number, recipe)
        if (recipe.interlaced or recipe.fields) and not recipe.unmarked:
            frame = _top_first(frame)
        frame.pts, frame.time_base = ticks, base
        if number in recipe.key:
            frame.pict_type = 1
        frame.duration = round(step)
        if recipe.last and number == len(times) - 1:
            frame.duration = recipe.last
        durations[ticks] = frame.duration
        for packet in video.encode(frame):
            packet.duration = durations.get(packet.pts, packet.duration)
            out.mux(packet)
    for packet in video.encode(None):
        packet.duration = durations.get(packet.pts, packet.duration)
        out.mux(packet)
    while waiting is not None:
        out.mux(audio.encode(waiting))
        waiting = next(pending, None)
    if audio:
        out.mux(audio.encode(None))


TELECINE = ((0, 0), (1, 1), (1, 2), (2, 3), (3, 3))
"""Film frames in the top and bottom fields of five video frames, from four frames of film."""


def moments(number, fields):
    """Return the numbers of the pictures in the top and the bottom field of a frame."""
    if fields == "woven":
        return 2 * number, 2 * number + 1
    if fields == "telecined":
        cycle, place = divmod(number, 5)
        return tuple(4 * cycle + film for film in TELECINE[place])
    return number, number


def _shown(number, recipe):
    top, bottom = moments(number + recipe.phase, recipe.fields)
    frame = picture(top, recipe.pix_fmt, *recipe.size)
    if top == bottom:
        return frame
    other = picture(bottom, recipe.pix_fmt, *recipe.size)
    for plane, later in zip(frame.planes, other.planes, strict=True):
        rows = np.frombuffer(plane, np.uint8).reshape(plane.height, -1).copy()
        rows[1::2] = np.frombuffer(later, np.uint8).reshape(plane.height, -1)[1::2]
        plane.update(rows.tobytes())
    return frame


def _top_first(frame):
    """Return the frame with the flag that its top field is first, which PyAV cannot set."""
    graph = av.filter.Graph()
    nodes = graph.add_buffer(template=None, width=frame.width, height=frame.height,
                             format=frame.format, time_base=Fraction(1, 25))  # fmt: skip
    graph.link_nodes(nodes, graph.add("setfield", "tff"), graph.add("buffersink")).configure()
    graph.vpush(frame)
    return graph.vpull()


def _audio_stream(out, recipe):
    stream = out.add_stream(recipe.audio, rate=48000)
    stream.layout = "mono"
    if recipe.audio == "aac":
        stream.bit_rate = 48000
    stream.metadata["language"] = recipe.audio_language
    stream.metadata["title"] = "tone"
    return stream


def _tone(stream, recipe):
    seconds = recipe.audio_seconds or len(recipe.times or range(recipe.frames)) / recipe.rate
    size = stream.codec_context.frame_size or 1024
    kind = stream.codec_context.format.name
    for start in range(0, round(seconds * 48000), size):
        wave = np.sin(np.arange(start, start + size) * 2 * np.pi * 440 / 48000) * 0.3
        if kind.startswith("flt"):
            samples = wave.astype(np.float32)
        else:
            samples = (wave * 32767).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(samples[None], format=kind, layout="mono")
        frame.sample_rate = 48000
        frame.pts, frame.time_base = start, Fraction(1, 48000)
        yield frame


def png():
    """Return a small PNG."""
    codec = av.CodecContext.create("png", "w")
    codec.width = codec.height = 16
    codec.pix_fmt, codec.time_base = "rgb24", Fraction(1, 25)
    codec.framerate = Fraction(25)
    frame = av.VideoFrame.from_ndarray(
        np.arange(768, dtype=np.uint16).astype(np.uint8).reshape(16, 16, 3), format="rgb24"
    )
    frame.pts = 0
    return b"".join(bytes(p) for p in [*codec.encode(frame), *codec.encode(None)])


def _cover_stream(out, data):
    template = av.open(BytesIO(data), format="png_pipe")
    stream = out.add_stream_from_template(template.streams.video[0], opaque=True)
    stream.disposition = av.stream.Disposition.attached_pic
    return stream


def _mux_cover(out, stream, data):
    packet = av.Packet(data)
    packet.stream = stream
    packet.pts = packet.dts = 0
    packet.time_base = stream.time_base
    packet.is_keyframe = True
    out.mux(packet)


@dataclass
class Read:
    """What a file holds, for comparing."""

    times: list  # seconds, Fractions
    durations: list
    frames: list
    packets: dict  # stream index: [(pts seconds, payload)]
    types: list
    stream_tags: list
    tags: dict
    chapters: list
    container: object


def read(path) -> Read:
    """Decode the video and list everything else; the file must be whole and quiet."""
    container = av.open(str(path))
    video = next(s for s in container.streams.video if not s.disposition & 1024)
    times, durations, frames = [], [], []
    packets = {s.index: [] for s in container.streams}
    base = fraction(video.time_base)
    for packet in container.demux():
        if packet.stream.index != video.index:
            if packet.size:
                at = packet.pts if packet.pts is not None else 0
                packets[packet.stream.index].append(
                    (at * fraction(packet.time_base), bytes(packet))
                )
            continue
        for frame in packet.decode():
            assert not frame.is_corrupt
            times.append(frame.pts * base)
            durations.append(frame.duration * base)
            frames.append(frame)
    chapters = [
        (c["start"] * fraction(c["time_base"]), c["end"] * fraction(c["time_base"]), c["metadata"])
        for c in container.chapters()
    ]
    return Read(
        times,
        durations,
        frames,
        packets,
        [s.type for s in container.streams],
        [dict(s.metadata) for s in container.streams],
        dict(container.metadata),
        chapters,
        container,
    )


def fraction(value):
    return Fraction(value.numerator, value.denominator)


def luma(frame):
    """Return a copy of the first plane."""
    return np.array(np.from_dlpack(frame.planes[0]))
