#!/usr/bin/env bash
# A film of four frames lasts 40, 100, 1000 and 30 ms. Every frame carries its duration, the encoder is told
# by its flag frame_duration that these count, and the packets that it returns carry them too. A good engineer
# expects the last picture of an animated file to stay for 30 ms, as it does in a GIF. In an APNG it stays for
# 1000 ms, which is the duration of the frame before it. In a WebP of libwebp_anim it stays for 380 ms, which
# is the mean of the other three, although the encoder's own packet says 1170 ms for the whole.
#
# Seen with PyAV 19.0.2 (FFmpeg 9.0.2), Pillow 13.0.0 and Python 3.13.0:
#
#   gif gif: packets [40, 100, 1000, 30], delays in the file [40, 100, 1000, 30]
#   apng apng: packets [40, 100, 1000, 30], delays in the file [40, 100, 1000, 1000]
#   webp libwebp_anim: packets [1170], delays in the file [40, 100, 1000, 380]
#   webp libwebp: packets [40, 100, 1000, 30], delays in the file [40, 100, 1000, 30]
#   apng with final_delay=0.03: delays in the file [40, 100, 1000, 30]
#
# A user can give the APNG muxer's option final_delay, and take the encoder libwebp, whose pictures the WebP
# muxer joins to an animation with the right times.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q av==19.0.2 numpy==2.5.5 pillow==13.0.0
"$work/venv/bin/python" - <<'EOF'
import io
import platform
import sys
from fractions import Fraction

import av
import numpy as np
import PIL
from av.codec.context import Flags
from PIL import Image

TIMES = [40, 100, 1000, 30]
MS = Fraction(1, 1000)


def written(container, codec, pix_fmt, **options):
    file, packets, time = io.BytesIO(), [], 0
    with av.open(file, "w", format=container, options=options) as out:
        stream = out.add_stream(codec, rate=Fraction(4000, sum(TIMES)))
        stream.width, stream.height, stream.pix_fmt = 64, 64, pix_fmt
        stream.codec_context.time_base = MS
        stream.codec_context.flags |= Flags.frame_duration
        for number, duration in enumerate(TIMES):
            picture = np.full((64, 64, 3), 60 * number, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format=pix_fmt)
            frame.pts, frame.duration, frame.time_base = time, duration, MS
            time += duration
            packets += stream.encode(frame)
        packets += stream.encode(None)
        durations = [int(packet.duration * packet.time_base * 1000) for packet in packets]
        out.mux(packets)
    delays = []
    with Image.open(file) as animation:
        for number in range(animation.n_frames):
            animation.seek(number)
            animation.load()
            delays.append(round(animation.info["duration"]))
    return durations, delays


print("PyAV", av.__version__, "FFmpeg", av.ffmpeg_version_info, "Pillow", PIL.__version__)
print("Python", platform.python_version())
found = {}
CASES = "gif gif rgb8, apng apng rgb24, webp libwebp_anim yuv420p, webp libwebp yuv420p"
for case in CASES.split(", "):
    container, codec, pix_fmt = case.split()
    durations, found[codec] = written(container, codec, pix_fmt)
    print(f"{container} {codec}: packets {durations}, delays in the file {found[codec]}")
_, advised = written("apng", "apng", "rgb24", final_delay="0.03")
print(f"apng with final_delay=0.03: delays in the file {advised}")
still = found["apng"][-1] == 1000 and found["libwebp_anim"][-1] == 380
right = found["gif"] == found["libwebp"] == advised == TIMES
sys.exit(0 if still and right else 1)
EOF
