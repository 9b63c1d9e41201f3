#!/usr/bin/env bash
# Two films are compared by FFmpeg's filter xpsnr, in 8 bits and as the same pictures in 10 bits (each sample times
# four). A good engineer expects nearly the same decibels, as for widths of 64, 96 or 128. Where a row of samples is
# followed by padding in memory, as for widths of 100 or 1366, the score of 10 bits is about 20 dB too low, without a
# word: it has nothing to do with the pictures any more, and can be negative. Decoders pad rows as they like, so that
# the score of a film depends on who decoded it.
#
# Seen with PyAV 19.0.2 (FFmpeg 9.0.2), the same with PyAV 18.1.0 (FFmpeg 8.1.2), NumPy 2.5.5 and Python 3.13.0:
#
#   width 64: luma 31.20 dB in 8 bits; 31.22 in 10 bits, whose rows of 128 bytes take 128
#   width 96: luma 31.98 dB in 8 bits; 32.00 in 10 bits, whose rows of 192 bytes take 192
#   width 100: luma 31.93 dB in 8 bits; 10.93 in 10 bits, whose rows of 200 bytes take 208
#   width 1366: luma 34.89 dB in 8 bits; 15.23 in 10 bits, whose rows of 2732 bytes take 2736
#
# A user can feed frames whose rows have no padding, or crop the pictures to a width that needs none.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q av==19.0.2 numpy==2.5.5
"$work/venv/bin/python" - <<'EOF'
import platform
import sys
from fractions import Fraction

import av
import numpy as np
from av.filter import Graph

HEIGHT = 64


def picture(width, noise):
    """Return luma and both chroma planes of 8 bits."""
    y, x = np.mgrid[:HEIGHT, :width]
    luma = 128 + 60 * np.sin(x / 9) + 40 * np.cos(y / 7)
    chroma = np.full((HEIGHT // 2, width // 2), 128.0)
    random = np.random.default_rng(1)
    noisy = (plane + noise * random.normal(size=plane.shape) for plane in (luma, chroma, chroma))
    return [plane.clip(0, 255).round().astype(np.uint8) for plane in noisy]


def frame(planes, layout, shift):
    """Return a frame as PyAV allocates it, and the bytes of its rows of luma."""
    height, width = planes[0].shape
    made = av.VideoFrame(width, height, layout)
    made.pts, made.time_base = 0, Fraction(1, 25)
    for plane, samples in zip(made.planes, planes):
        wide = (samples.astype("<u2") << shift) if shift else samples
        rows = wide.view(np.uint8).reshape(plane.height, -1)
        padded = np.zeros((plane.height, plane.line_size), np.uint8)
        padded[:, : rows.shape[1]] = rows
        plane.update(padded)
    return made, made.planes[0].line_size


def score(width, layout, shift):
    graph = Graph()
    given = (f"video_size={width}x{HEIGHT}:pix_fmt={layout}:pixel_aspect=1/1:"
             "time_base=1/25:frame_rate=25")
    inputs = [graph.add("buffer", given) for _ in range(2)]
    compared, sink = graph.add("xpsnr", ""), graph.add("buffersink")
    for number, node in enumerate(inputs):
        node.link_to(compared, 0, number)
    compared.link_to(sink)
    graph.configure()
    for node, noise in zip(inputs, (0, 6)):
        made, row = frame(picture(width, noise), layout, shift)
        node.push(made)
    for node in inputs:
        node.push(None)
    return float(sink.pull().metadata["lavfi.xpsnr.xpsnr.y"]), row


print("PyAV", av.__version__, "FFmpeg", av.ffmpeg_version_info, "NumPy", np.__version__)
print("Python", platform.python_version())
same = True
for width in (64, 96, 100, 1366):
    eight, _ = score(width, "yuv420p", 0)
    ten, row = score(width, "yuv420p10le", 2)
    print(f"width {width}: luma {eight:.2f} dB in 8 bits; {ten:.2f} in 10 bits, "
          f"whose rows of {2 * width} bytes take {row}")
    same &= (abs(eight - ten) > 10) if row > 2 * width else abs(eight - ten) < 0.1
sys.exit(not same)
EOF
