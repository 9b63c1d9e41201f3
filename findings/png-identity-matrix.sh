#!/usr/bin/env bash
# A PNG file is read by FFmpeg and its picture is converted to yuv420p. A good engineer expects a grey picture to
# carry no matrix, as one from TIFF, and expects no picture in yuv420p to carry that of RGB. FFmpeg's decoder of PNG
# gives grey pictures, like those in colour, colour space 0 (RGB, or the identity matrix). PyAV's reformat keeps a
# frame's colour space unless another is named, so that the yuv420p frame still has it. A program that hands the
# frame's colour space on to its encoder then meets one of two ends: libsvtav1 refuses to open, since the identity
# matrix is only for 4:4:4, and libx264 writes a 4:2:0 film that claims that its planes are green, blue and red.
#
# Seen with PyAV 19.0.2 (FFmpeg 9.0.2, SVT-AV1 4.2.0), Pillow 13.0.0 and Python 3.13.0:
#
#   TIFF gray: colour space 2, 2 as yuv420p by None; film of libx264 2, of libsvtav1 2
#   Svt[error]: Identity matrix (matrix_coefficient = 0) may be used only with 4:4:4 color format.
#   PNG gray: colour space 0, 0 as yuv420p by None; film of libx264 0, of libsvtav1 ArgumentError
#   Svt[error]: Identity matrix (matrix_coefficient = 0) may be used only with 4:4:4 color format.
#   PNG rgb24: colour space 0, 0 as yuv420p by None; film of libx264 0, of libsvtav1 ArgumentError
#   PNG gray: colour space 0, 1 as yuv420p by ITU709; film of libx264 1, of libsvtav1 1
#
# A user can name the matrix, with reformat(format="yuv420p", dst_colorspace="ITU709"), or set the frame's
# colorspace to 2 (unspecified) for grey pictures, before anything is converted or encoded.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q av==19.0.2 pillow==13.0.0
SVT_LOG=1 "$work/venv/bin/python" - 2>&1 <<'EOF'
import io
import platform
import sys

import av
import PIL
from PIL import Image


def read(mode, kind):
    file = io.BytesIO()
    Image.new(mode, (64, 64), "grey").save(file, kind)
    file.seek(0)
    with av.open(file) as container:
        return next(container.decode(video=0))


def film(encoder, frame):
    file = io.BytesIO()
    try:
        with av.open(file, "w", format="matroska") as out:
            stream = out.add_stream(encoder, rate=25)
            stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
            stream.codec_context.colorspace = frame.colorspace
            frame.pts = 0
            out.mux(stream.encode(frame))
            out.mux(stream.encode(None))
    except av.error.ArgumentError as error:
        return type(error).__name__
    file.seek(0)
    with av.open(file) as container:
        return int(next(container.decode(video=0)).colorspace)


print("PyAV", av.__version__, "FFmpeg", av.ffmpeg_version_info, "Pillow", PIL.__version__)
print("Python", platform.python_version())
found = []
for mode, kind, matrix in (("L", "TIFF", None), ("L", "PNG", None), ("RGB", "PNG", None), ("L", "PNG", "ITU709")):
    frame = read(mode, kind)
    yuv = frame.reformat(format="yuv420p", dst_colorspace=matrix)
    spaces = (int(frame.colorspace), int(yuv.colorspace))
    films = (film("libx264", yuv), film("libsvtav1", yuv))
    print(f"{kind} {frame.format.name}: colour space {spaces[0]}, {spaces[1]} as yuv420p by {matrix};", end=" ")
    print(f"film of libx264 {films[0]}, of libsvtav1 {films[1]}", flush=True)
    found.append(spaces + films)
wrong = (0, 0, 0, "ArgumentError")
sys.exit(0 if found == [(2, 2, 2, 2), wrong, wrong, (0, 1, 1, 1)] else 1)
EOF
