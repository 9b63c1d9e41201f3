#!/usr/bin/env bash
# A film states its colours by numbers of ITU-T H.273. FFmpeg knows those of EBU Tech 3213 (primaries, 22) and of
# the two lossless forms of YCgCo (matrices, 16 and 17), as FFV1, MPEG-2 and containers hold them. A good engineer
# expects that an encoder which has no name for one leaves it out, as libx264 does, since it is a label that changes
# no sample. libx265 refuses to open instead, with "Invalid data" for an exception; which label it was stands on
# standard error only, and for a film of EBU 3213 the list of names there shows that it is simply missing.
#
# Seen with PyAV 19.0.2 (FFmpeg 9.0.2), NumPy 2.5.5 and Python 3.13.0:
#
#   libx264 color_primaries 22: 2 in the decoded film
#   libx264 colorspace 16: 2 in the decoded film
#   libx264 colorspace 17: 2 in the decoded film
#   libx265 color_primaries 22: InvalidDataError
#   libx265 colorspace 16: InvalidDataError
#   libx265 colorspace 17: InvalidDataError
#   libsvtav1 color_primaries 22: 22 in the decoded film
#   libsvtav1 colorspace 16: 16 in the decoded film
#   libsvtav1 colorspace 17: 17 in the decoded film
#
# A user can state 2 (unspecified) in their place before the encoder is opened, and say that the label is lost.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q av==19.0.2 numpy==2.5.5
SVT_LOG=1 "$work/venv/bin/python" - <<'EOF'
import io
import platform
import sys

import av
import numpy as np


def stated(codec, attribute, number):
    """Return the number in a film of one frame, or the name of the error."""
    file = io.BytesIO()
    try:
        with av.open(file, "w", format="nut") as out:
            stream = out.add_stream(codec, rate=25)
            stream.width = stream.height = 64
            stream.pix_fmt = "yuv420p"
            setattr(stream.codec_context, attribute, number)
            frame = av.VideoFrame.from_ndarray(np.full((96, 64), 100, np.uint8), format="yuv420p")
            setattr(frame, attribute, number)
            frame.pts = 0
            for packet in [*stream.encode(frame), *stream.encode(None)]:
                out.mux(packet)
    except av.error.InvalidDataError as error:
        return type(error).__name__
    with av.open(io.BytesIO(file.getvalue())) as film:
        return int(getattr(next(film.decode(video=0)), attribute))


print("PyAV", av.__version__, "FFmpeg", av.ffmpeg_version_info, "NumPy", np.__version__)
print("Python", platform.python_version())
wanted = {"libx264": lambda number: 2, "libx265": lambda number: "InvalidDataError",
          "libsvtav1": lambda number: number}
same = True
for codec, expected in wanted.items():
    for attribute, number in (("color_primaries", 22), ("colorspace", 16), ("colorspace", 17)):
        found = stated(codec, attribute, number)
        ending = "" if isinstance(found, str) else " in the decoded film"
        print(f"{codec} {attribute} {number}: {found}{ending}")
        same &= found == expected(number)
sys.exit(not same)
EOF
