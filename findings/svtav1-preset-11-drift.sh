#!/usr/bin/env bash
# Small pictures of 8 bits, which move by two columns a frame, are encoded by libsvtav1 with crf=5, nearly without
# loss. A good engineer expects a faster preset to give larger or somewhat worse films. With presets 8 and 10
# the root mean square (RMS) difference between the decoded luma and the source stays below one step of 255. With
# preset 11 it grows over the film to more than 50 steps, and no call raises an error. SVT-AV1
# does warn that artefacts are possible with presets from 10 on, but 10 shows none here, and the same preset 11
# stays below 2 steps with crf=16. Presets 12 and 13 are taken for 11.
#
# Seen with PyAV 19.0.2 (FFmpeg 9.0.2, SVT-AV1 4.2.0; decoded by dav1d), NumPy 2.5.5 and Python 3.13.0, on x86-64:
#
#   preset=8 crf=5: RMS of every fourth frame 0.0 0.1 0.1 0.1 0.2 0.2
#   preset=10 crf=5: RMS of every fourth frame 0.0 0.1 0.1 0.2 0.2 0.2
#   preset=11 crf=5: RMS of every fourth frame 0.0 21.1 27.5 34.4 41.2 54.2
#   preset=11 crf=16: RMS of every fourth frame 0.6 0.7 0.7 0.8 1.0 1.0
#
# A user can take preset 10, or a crf of 16 and more, and compare what was decoded with the source.
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

rng = np.random.default_rng(0)
rng.integers(0, 256, (200, 200))
coarse = np.kron(rng.normal(0, 40, (100, 100)), np.ones((2, 2)))
texture = np.clip(128 + coarse + rng.normal(0, 12, (200, 200)), 0, 255).astype(np.uint8)
SOURCE = [texture[number : number + 96, 2 * number : 2 * number + 128] for number in range(24)]


def errors(preset, crf):
    encoder = av.CodecContext.create("libsvtav1", "w")
    encoder.width, encoder.height, encoder.pix_fmt = 128, 96, "yuv420p"
    encoder.time_base, encoder.framerate = Fraction(1, 25), Fraction(25)
    encoder.options = {"preset": preset, "crf": crf}
    packets = []
    for number, luma in enumerate(SOURCE):
        planes = np.full((144, 128), 128, np.uint8)
        planes[:96] = luma
        frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
        frame.pts = number
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    decoder = av.CodecContext.create("libdav1d", "r")
    frames = [frame for packet in [*packets, None] for frame in decoder.decode(packet)]
    return [
        float(np.sqrt(np.mean((frame.to_ndarray()[:96] - luma.astype(float)) ** 2)))
        for frame, luma in zip(frames, SOURCE, strict=True)
    ]


print("PyAV", av.__version__, "FFmpeg", av.ffmpeg_version_info, "NumPy", np.__version__)
print("Python", platform.python_version())
found = {}
for preset, crf in (("8", "5"), ("10", "5"), ("11", "5"), ("11", "16")):
    try:
        found[preset, crf] = errors(preset, crf)
        shown = " ".join(f"{error:.1f}" for error in found[preset, crf][::4])
    except av.error.InvalidDataError as error:
        found[preset, crf] = [float("inf")]
        shown = repr(error)
    print(f"preset={preset} crf={crf}: RMS of every fourth frame {shown}")
fine = max(found["8", "5"] + found["10", "5"]) < 1 and max(found["11", "16"]) < 2
sys.exit(0 if fine and found["11", "5"][-1] > 10 else 1)
EOF
