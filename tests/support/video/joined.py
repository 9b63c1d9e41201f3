"""Films whose parts differ: recordings joined in one transport stream."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np

from support.video.clips import HEIGHT, WIDTH

RATE = 25
_CAPTION = b"\xb5\x00\x31GA94\x03\x42\xff" + b"\xfc\x94\x20" + b"\xfc\xc8\xe5" + b"\xff"
SEI = b"\x00\x00\x00\x01\x06\x04" + bytes([len(_CAPTION)]) + _CAPTION + b"\x80"
"""A caption (CEA-608) as ATSC has it in H.264."""
BT709, BT601, BT2020 = (1, 1, 1), (6, 6, 6), (9, 9, 14)
"""Matrix, primaries and transfer, as FFmpeg numbers them."""
_NAMES = {1: "ITU709", 5: "ITU601", 6: "ITU601", 9: "BT2020"}


def scene(colours=BT709, full=False, format="yuv420p", turn=0):
    """Return a frame of a colourful picture, the same colours in any coding of them."""
    x, y = np.meshgrid(np.linspace(0, 1, WIDTH), np.linspace(0, 1, HEIGHT))
    rgb = np.stack([40 + 170 * x, 40 + 170 * y, 60 + 100 * (1 - x)], -1).astype("u1")
    frame = av.VideoFrame.from_ndarray(np.roll(rgb, turn, 1), format="rgb24")
    return frame.reformat(
        format=format, dst_colorspace=_NAMES[colours[0]], dst_color_range="JPEG" if full else "MPEG"
    )


def joined(path, *parts, base=Fraction(1, RATE), moves=False):
    """Write parts one after another; return the path.

    Each part is a mapping: `frames`, `colours` (three numbers), `full`, `aspect`, `captions`,
    `keys` (frames between key frames), `interlaced`.
    """
    data, start = b"", 0
    for part in parts:
        file = path.with_name("part.ts")
        count = part.get("frames", 6)
        colours, full = part.get("colours", BT709), part.get("full", False)
        with av.open(str(file), "w") as out:
            keys = str(part.get("keys", 12))
            options = {"bf": "0", "crf": "4", "g": keys, "preset": "ultrafast"}
            if part.get("interlaced"):
                options["flags"] = "+ildct+ilme"
            stream = out.add_stream("libx264", rate=RATE, options=options)
            stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            context = stream.codec_context
            context.color_range = 2 if full else 1
            context.colorspace, context.color_primaries, context.color_trc = colours
            if "aspect" in part:
                context.sample_aspect_ratio = part["aspect"]
            packets = []
            for number in range(start, start + count):
                frame = scene(colours, full, turn=number if moves else 0)
                frame.pts, frame.time_base = number, base
                packets += stream.encode(frame)
            for packet in [*packets, *stream.encode(None)]:
                made = av.Packet((SEI if part.get("captions") else b"") + bytes(packet))
                made.stream, made.time_base = stream, packet.time_base
                made.pts, made.dts, made.is_keyframe = packet.pts, packet.dts, packet.is_keyframe
                out.mux(made)
        data += file.read_bytes()
        start += count
    path.write_bytes(data)
    return path


def remuxed(source, target):
    """Copy the packets of a film's video into another container; return the target."""
    with av.open(str(source)) as inside, av.open(str(target), "w") as out:
        stream = out.add_stream_from_template(inside.streams.video[0])
        for packet in inside.demux(video=0):
            if packet.size:
                packet.stream = stream
                out.mux(packet)
    return target
