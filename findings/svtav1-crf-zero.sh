#!/usr/bin/env bash
# FFmpeg lists the option crf of its encoder libsvtav1 as a whole number from 0 to 63, where less is better. A
# good engineer expects crf=0 to give the best quality and the largest stream. It gives exactly the bytes of
# crf=35, which is what the encoder takes if no crf is given: 0 stands for "not given", and nothing is said.
#
# Seen with PyAV 19.0.2 (FFmpeg 9.0.2, SVT-AV1 4.2.0), NumPy 2.5.5 and Python 3.13.0:
#
#   crf is listed from 0 to 63
#   no crf: 9568 bytes, those of crf=35: True, RMS difference 3.59
#   svtav1-params=crf=0: 18664 bytes, those of crf=35: False, RMS difference 0.00
#   crf=0: 9568 bytes, those of crf=35: True, RMS difference 3.59
#   crf=1: 22060 bytes, those of crf=35: False, RMS difference 0.16
#   crf=35: 9568 bytes, those of crf=35: True, RMS difference 3.59
#   crf=36: 9194 bytes, those of crf=35: False, RMS difference 3.70
#
# A user can give the number to SVT-AV1 itself, by svtav1-params=crf=0, or begin at crf=1.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q av==19.0.2 numpy==2.5.5
SVT_LOG=1 "$work/venv/bin/python" - <<'EOF'
import platform
import sys
from fractions import Fraction

import av
import numpy as np

texture = np.random.default_rng(0).integers(60, 190, (160, 160)).astype(np.uint8)
SOURCE = [texture[number : number + 96, 2 * number : 2 * number + 128] for number in range(8)]


def encoded(**options):
    encoder = av.CodecContext.create("libsvtav1", "w")
    encoder.width, encoder.height, encoder.pix_fmt = 128, 96, "yuv420p"
    encoder.time_base, encoder.framerate = Fraction(1, 25), Fraction(25)
    encoder.options = {"preset": "8", **options}
    packets = []
    for number, luma in enumerate(SOURCE):
        planes = np.full((144, 128), 128, np.uint8)
        planes[:96] = luma
        frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
        frame.pts = number
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    decoder = av.CodecContext.create("libdav1d", "r")
    frames = [frame.to_ndarray()[:96] for packet in [*packets, None] for frame in decoder.decode(packet)]
    error = np.sqrt(np.mean((np.array(frames, float) - SOURCE) ** 2))
    return b"".join(map(bytes, packets)), error


print("PyAV", av.__version__, "FFmpeg", av.ffmpeg_version_info, "NumPy", np.__version__)
print("Python", platform.python_version())
for option in av.CodecContext.create("libsvtav1", "w").supported_options.private:
    if option.name == "crf":
        print(f"crf is listed from {option.min:g} to {option.max:g}")
cases = {"no crf": {}, "svtav1-params=crf=0": {"svtav1-params": "crf=0"}}
cases |= {f"crf={crf}": {"crf": crf} for crf in ("0", "1", "35", "36")}
found = {name: encoded(**options) for name, options in cases.items()}
same = [name for name, (stream, _) in found.items() if stream == found["crf=35"][0]]
for name, (stream, error) in found.items():
    print(f"{name}: {len(stream)} bytes, those of crf=35: {name in same}, RMS difference {error:.2f}")
sys.exit(0 if same == ["no crf", "crf=0", "crf=35"] else 1)
EOF
