"""One convolution in machine code, against float64; for other processors, too."""

from __future__ import annotations

import platform

import llvmlite.binding as llvm
import numpy as np
import pytest

from snellen.cnn import convolution
from snellen.cnn.convolution import Convolution, padded
from snellen.cpu import assembler, machine
from support.cnn.reference import convolved


def check(random, given, made, side, activated=True, onto=False):
    weight = random.normal(0, 0.2, (made, given, side, side)).astype(np.float32)
    bias, slope = random.normal(0, 0.3, (2, made)).astype(np.float32)
    in_memory = 1 if given == 1 else padded(given)
    made_of = Convolution(weight, None if onto else bias, slope if activated else None, in_memory)
    rows, count = 3, 29  # one block and a part of one, or several
    spare = made_of.block
    source = np.full((rows + side - 1, count + side + spare, in_memory), np.nan, np.float32)
    source[:, : count + side - 1] = 0
    source[:, : count + side - 1, :given] = random.normal(0, 1, (rows + side - 1, 1, 1))
    source[:, : count + side - 1, :given] += random.normal(0, 1, (len(source), 1, given))
    source[:, : count + side - 1, :given] *= np.arange(1, count + side)[:, None] / count
    out = random.normal(0, 1, (rows + 1, count + spare, made_of.made)).astype(np.float32)
    before = out.copy()
    made_of(source, out, rows, count)
    planes = list(source[:, : count + side - 1, :given].transpose(2, 0, 1).astype(np.float64))
    found = convolved(planes, weight, np.zeros(made) if onto else bias)
    wanted = np.stack(found, -1)
    if onto:
        wanted += before[:rows, :count, :made]
    if activated:
        wanted = np.where(wanted < 0, wanted * slope, wanted)
    # Float32 sums of up to 288 products, whose magnitudes add up to less than 200.
    np.testing.assert_allclose(out[:rows, :count, :made], wanted, rtol=0, atol=200 * 2**-20)
    np.testing.assert_array_equal(out[rows:], before[rows:])
    beyond = -(-count // spare) * spare
    np.testing.assert_array_equal(out[:rows, beyond:], before[:rows, beyond:])
    return out[:rows, :count]


@pytest.mark.parametrize(
    ("given", "made", "side", "activated", "onto"),
    [(1, 16, 3, True, False), (16, 16, 3, True, False), (5, 33, 3, True, False),
     (32, 4, 3, False, False), (1, 9, 5, False, True), (16, 4, 3, False, True)],
)  # fmt: skip
def test_a_convolution(random, given, made, side, activated, onto):
    check(random, given, made, side, activated, onto)


LESSER = {
    "x86-64": ("avx", "fma"),
    "sandybridge": ("avx2", "avx512", "fma"),
    "haswell": ("avx512",),
}
"""Processor → how the names of features begin that it lacks."""


@pytest.mark.skipif(platform.machine() not in {"x86_64", "AMD64"}, reason="names x86 processors")
@pytest.mark.parametrize("name", LESSER)
def test_lesser_processors(random, monkeypatch, name):
    """Without AVX; with AVX, but without fused multiply-add; with both, but 16 registers."""
    features = llvm.get_host_cpu_features()
    for one in features:
        if one.startswith((*LESSER[name], "amx", "xop", "vaes", "vpclmul", "f16c")):
            features[one] = False
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: name)
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: features)
    monkeypatch.delitem(machine._state, "target", raising=False)
    forget()
    try:
        check(random, 16, 16, 3)
        check(random, 16, 4, 3, activated=False)
    finally:
        forget()


def forget():
    convolution._code.cache_clear()
    assembler.registers.cache_clear()


def test_what_was_compiled_asks_llvm_for_nothing(random, monkeypatch):
    """Its lock may be held by another thread of the parent when a child is forked."""
    check(random, 16, 16, 3)
    for name in ("get_process_triple", "get_host_cpu_name", "get_host_cpu_features"):
        monkeypatch.setattr(llvm, name, None)
    check(random, 16, 16, 3)
