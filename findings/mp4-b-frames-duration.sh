#!/usr/bin/env bash
# A film of four frames, shown at 0, 40, 140 and 1140 ms, the last for 30 ms, lasts 1170 ms. It is written to MP4
# by libx264 with B-frames; frames and packets carry their durations. A good engineer expects every length in the
# file to be 1170 ms, as without B-frames. With them, the movie's header (mvhd), the track's (tkhd) and its edit
# list say 1170 ms, but the media's header (mdhd) and the sum of the samples' durations (stts) say 210 ms: they
# span the times of decoding, from -140 to 40 ms, and 30 ms. FFmpeg itself then reads 210 ms for the film, and a
# mean rate of 19 instead of 3.4 frames a second. From Matroska it reads 1170 ms.
#
# Seen with PyAV 19.0.2 (FFmpeg 9.0.2), NumPy 2.5.5 and Python 3.13.0, with times in milliseconds:
#
#   mp4 with 0 B-frames, in the file: {'mvhd': 1170, 'tkhd': 1170, 'elst': 1170, 'mdhd': 1170, 'stts': 1170}
#   mp4 with 0 B-frames, read: 1170, mean rate 3.4
#   mp4 with 2 B-frames, in the file: {'mvhd': 1170, 'tkhd': 1170, 'elst': 1170, 'mdhd': 210, 'stts': 210}
#   mp4 with 2 B-frames, read: 210, mean rate 19.0
#   matroska with 2 B-frames, read: 1170, mean rate 25.0
#
# A user can encode without B-frames where frames last unequally long, write Matroska, or take the end of the
# last frame, by its time and duration, for the length of the film.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q av==19.0.2 numpy==2.5.5
"$work/venv/bin/python" - <<'EOF'
import io
import platform
import struct
import sys
from fractions import Fraction

import av
import numpy as np
from av.codec.context import Flags

TIMES = [40, 100, 1000, 30]
MS = Fraction(1, 1000)


def written(container, b_frames):
    file, time = io.BytesIO(), 0
    with av.open(file, "w", format=container) as out:
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        encoder = stream.codec_context
        encoder.time_base, encoder.max_b_frames = MS, b_frames
        encoder.flags |= Flags.frame_duration
        for number, duration in enumerate(TIMES):
            frame = av.VideoFrame.from_ndarray(np.full((96, 64), 60 * number, np.uint8), format="yuv420p")
            frame.pts, frame.duration, frame.time_base = time, duration, MS
            time += duration
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return file


def lengths(file):
    data = file.getvalue()

    def numbers(box, at, count):
        start = data.rindex(box) + at
        return struct.unpack(f">{count}I", data[start : start + 4 * count])

    (movie, whole), (media, stream) = numbers(b"mvhd", 16, 2), numbers(b"mdhd", 16, 2)
    steps = numbers(b"stts", 12, 2 * numbers(b"stts", 8, 1)[0])
    samples = sum(count * duration for count, duration in zip(steps[::2], steps[1::2], strict=True))
    found = {"mvhd": whole, "tkhd": numbers(b"tkhd", 24, 1)[0], "elst": numbers(b"elst", 12, 1)[0]}
    found = {name: length * 1000 // movie for name, length in found.items()}
    return found | {"mdhd": stream * 1000 // media, "stts": samples * 1000 // media}


print("PyAV", av.__version__, "FFmpeg", av.ffmpeg_version_info, "NumPy", np.__version__)
print("Python", platform.python_version())
found, film = {}, {}
for container, b_frames in (("mp4", 0), ("mp4", 2), ("matroska", 2)):
    file = written(container, b_frames)
    if container == "mp4":
        found[b_frames] = lengths(file)
        print(f"mp4 with {b_frames} B-frames, in the file: {found[b_frames]}")
    file.seek(0)
    with av.open(file) as read:
        rate = read.streams.video[0].average_rate
        film[container, b_frames] = read.duration // 1000
        print(f"{container} with {b_frames} B-frames, read: {read.duration // 1000}, mean rate {float(rate):.1f}")
right = set(found[0].values()) == {1170} and film["mp4", 0] == film["matroska", 2] == 1170
wrong = {"mvhd": 1170, "tkhd": 1170, "elst": 1170, "mdhd": 210, "stts": 210}
sys.exit(0 if right and found[2] == wrong and film["mp4", 2] == 210 else 1)
EOF
