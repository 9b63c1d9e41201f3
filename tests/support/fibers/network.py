"""The kernel of network.cu on a CPU: its source, compiled by g++ with fibers for CUDA's threads."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

from snellen.cnn.cuda.layout import Layout, factors, numbers, operands
from snellen.cnn.cuda.luma import kernel
from snellen.frames.frame import Format
from snellen.frames.quantise import recode
from snellen.gpu.nvrtc import PACKAGE
from support.fibers import COMPILER, HERE

MEMORY = "extern __shared__ uint4 memory[];"
PITCH, GUARD = 5, 3
"""Samples after each row of the plane; after each row of the result, and rows after it."""


def built(folder: Path, layout: Layout, source: Format, target: Format) -> Path:
    """Compile the kernel for a layout; return the program."""
    made = kernel(layout, source, target)
    text = made.file.read_text(encoding="utf-8")
    assert MEMORY in text
    text = text.replace(
        MEMORY, "uint4 *memory = reinterpret_cast<uint4 *>(fibers::shared[0].data());"
    )
    text = re.sub(r'extern "C" __global__', "static", text)
    (folder / "kernel.inc").write_text(text, encoding="utf-8")
    macros = [f"-D{name}={value}" for name, value in made.constants.items()]
    program = folder / "network"
    subprocess.run(
        [COMPILER, "-std=c++17", "-O1", "-w", *macros, f"-I{folder}", f"-I{HERE}", f"-I{PACKAGE}",
         HERE / "network.cpp", "-o", program],
        check=True,
    )  # fmt: skip
    return program


def run(program, model, layout, plane, source, target, seed=0):
    """Enlarge a plane, the threads in random order; what is beside the result stays."""
    height, width = plane.shape
    poison = 0xEE if source.bits else 1e30
    given = np.full((height, width + PITCH), poison, plane.dtype)
    given[:, :width] = plane
    rows, columns = height * model.scale, width * model.scale
    out = np.zeros((rows + GUARD, columns + GUARD), target.dtype)
    out.view(np.uint8)[...] = 0xEE
    white = float((1 << target.bits) - 1)
    weights = operands(model, warpgroups=layout.warpgroups)
    parts = [given, weights, numbers(model), out]
    words = [width, height, width + PITCH, columns + GUARD, seed, layout.shared]
    scales = (*factors(source), *recode(source, target, chroma=False), white)
    done = subprocess.run(
        [program, *map(str, (*words, *scales, *(part.nbytes for part in parts)))],
        input=b"".join(part.tobytes() for part in parts), capture_output=True,
    )  # fmt: skip
    assert not done.returncode, done.stderr.decode()
    found = np.frombuffer(done.stdout, target.dtype).reshape(out.shape)
    assert (found[rows:].view(np.uint8) == 0xEE).all()
    beside = np.ascontiguousarray(found[:, columns:])
    assert (beside.view(np.uint8) == 0xEE).all()
    return found[:rows, :columns]
