"""Kernels of square.cu on a CPU: their source, compiled by g++ with fibers for CUDA's threads."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

from snellen.fft.square import INVERSE, REAL, Variant, kernels
from snellen.gpu.nvrtc import PACKAGE

COMPILER = shutil.which("g++")
HERE = Path(__file__).parent
MEMORY = "extern __shared__ __align__(128) float4 memory[];"


def built(folder: Path, kind: str, side: int, variant: Variant, without: str = "") -> Path:
    """Compile a variant, without a text of its source; return the program."""
    made = kernels(kind, side, variant)[0]
    source = made.file.read_text(encoding="utf-8")
    assert MEMORY in source and without in source
    source = source.replace(without, "")
    source = source.replace(MEMORY, "float4 *memory = fibers::shared[fibers::now->block].data();")
    source = re.sub(r'extern "C" __global__', "static", source)
    (folder / "kernel.inc").write_text(source, encoding="utf-8")
    macros = [f"-D{name}={value}" for name, value in made.constants.items()]
    program = folder / "square"
    subprocess.run(
        [COMPILER, "-std=c++17", "-O1", "-w", *macros, f"-I{folder}", f"-I{HERE}", f"-I{PACKAGE}",
         HERE / "square.cpp", "-o", program],
        check=True,
    )  # fmt: skip
    return program


def run(program: Path, kind: str, side: int, x: np.ndarray, seed: int) -> np.ndarray:
    """Transform pictures, the threads in random order."""
    done = subprocess.run([program, str(len(x)), str(seed)], input=x.tobytes(), capture_output=True)
    assert not done.returncode, done.stderr.decode()
    real = kind in REAL and kind in INVERSE
    width = side // 2 + 1 if kind == "rfft2" else side
    return np.frombuffer(done.stdout, "float32" if real else "complex64").reshape(-1, side, width)
