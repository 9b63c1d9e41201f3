#!/usr/bin/env bash
# The tag PhotometricInterpretation of a grey TIFF says whether 0 is black (1) or white (0). Pillow has no mode for
# "0 is white": at 8 bits it inverts the samples, so that 0 is black whatever the file says. A good engineer expects
# the same at 16 bits and with floats. There the samples come as they are stored, in the same modes as of a file
# whose 0 is black, so that the picture is a negative, and nothing is said.
#
# Seen with Pillow 13.0.0, NumPy 2.5.5 and Python 3.13.0:
#
#   uint8, 0 is black: stored [0, 1, 255], mode L, read [0, 1, 255]
#   uint8, 0 is white: stored [0, 1, 255], mode L, read [255, 254, 0]
#   uint16, 0 is black: stored [0, 1, 65535], mode I;16, read [0, 1, 65535]
#   uint16, 0 is white: stored [0, 1, 65535], mode I;16, read [0, 1, 65535]
#   float32, 0 is black: stored [0, 0.25, 1], mode F, read [0.0, 0.25, 1.0]
#   float32, 0 is white: stored [0, 0.25, 1], mode F, read [0.0, 0.25, 1.0]
#
# A user can look at image.tag_v2[262] and invert samples of more than 8 bits where it is 0.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q pillow==13.0.0 numpy==2.5.5
"$work/venv/bin/python" - <<'EOF'
import io
import platform
import struct
import sys

import numpy as np
import PIL
from PIL import Image


def tiff(samples, zero_is_black):
    data = samples.tobytes()
    sample_format = 3 if samples.dtype.kind == "f" else 1
    tags = {256: samples.size, 257: 1, 258: 8 * samples.itemsize, 259: 1, 262: int(zero_is_black)}
    tags |= {273: 0, 277: 1, 278: 1, 279: len(data), 339: sample_format}
    tags[273] = 8 + 2 + 12 * len(tags) + 4
    entries = b"".join(struct.pack("<HHIHH", tag, 3, 1, value, 0) for tag, value in tags.items())
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + data


print("Pillow", PIL.__version__, "NumPy", np.__version__, "Python", platform.python_version())
inverted = {}
for dtype, values in (("u1", [0, 1, 255]), ("<u2", [0, 1, 65535]), ("<f4", [0, 0.25, 1])):
    found = {}
    for zero_is_black in (True, False):
        with Image.open(io.BytesIO(tiff(np.array(values, dtype), zero_is_black))) as image:
            found[zero_is_black] = np.asarray(image)[0].tolist()
            zero = "black" if zero_is_black else "white"
            print(f"{np.dtype(dtype).name}, 0 is {zero}: stored {values},", end=" ")
            print(f"mode {image.mode}, read {found[zero_is_black]}")
    inverted[dtype] = found[False] != found[True]
sys.exit(0 if inverted == {"u1": True, "<u2": False, "<f4": False} else 1)
EOF
