"""Kernels of non-local means: the same bytes as on the CPU.

Each test runs twice: on a GPU, and with the kernels compiled for the CPU by g++.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest

from snellen.filters.nlm import cpu
from snellen.filters.nlm.cuda import group
from snellen.filters.nlm.definition import Settings
from snellen.frames.frame import Format
from support import emulated


@pytest.fixture(params=emulated.BOTH)
def there(request, monkeypatch, tmp_path):
    """CuPy, or what stands for it where kernels run on the CPU."""
    if request.param == "gpu":
        return request.getfixturevalue("cuda")
    return emulated.install(monkeypatch, emulated.Kernels(tmp_path), group)


def scene(random, format, planes):
    """Planes with noise, an edge, a part without noise, and samples at both ends."""
    white, found = (1 << format.bits) - 1, []
    for height, width in format.shapes[planes]:
        y, x = np.mgrid[:height, :width]
        plane = (0.4 + 0.3 * np.sin(x / 6 + y / 9) + 0.7 * (y > height // 2)) * white
        plane += random.normal(0, white / 40, plane.shape)
        plane[:3, : width // 2] = white // 3
        found.append(np.clip(np.rint(plane), 0, white).astype(format.dtype))
    return found


CASES = {
    "luma": (Format(67, 30, 8), slice(0, 1), 8),
    "chroma": (Format(81, 59, 8, (1, 1)), slice(1, 3), 8),
    "10 bits": (Format(70, 41, 10, (0, 0)), slice(1, 3), 8),
    "16 bits": (Format(33, 57, 16), slice(0, 1), 16),
    "chroma, 12 bits": (Format(36, 25, 12, (0, 0)), slice(1, 3), 16),
    "tiny": (Format(1, 2, 8), slice(0, 1), 10),
}


@pytest.mark.parametrize("case", CASES)
def test_the_bytes_of_the_cpu(there, random, case):
    """Frames before, after and none; the noise of each, and what stays of no frame before."""
    source, planes, bits = CASES[case]
    target = source.scaled(1, bits)
    settings = Settings(strength=1.2, radius=1)
    mine = cpu.Group(settings, planes, source, target)
    theirs = group.Group(settings, planes, source, target)
    frames = [scene(random, source, planes) for _ in range(3)]
    uploaded = [tuple(there.asarray(plane) for plane in frame) for frame in frames]
    for given in ((1, 1, 0), (0, 1, 1)):
        chosen = [number for number in range(3) if given[number]]
        whole = [[None] * planes.start + frame for frame in frames]
        padded = [mine.padded(whole[number]) for number in chosen]
        wanted = [np.zeros(shape, target.dtype) for shape in target.shapes[planes]]
        with ThreadPoolExecutor(1) as pool:
            wait(mine.tasks(pool, padded, chosen.index(1), wanted))
        threshold = there.empty(2, np.float32)
        theirs.estimate(uploaded[1], threshold)
        np.testing.assert_array_equal(threshold.get(), padded[chosen.index(1)].threshold)
        out = tuple(there.empty(shape, target.dtype) for shape in target.shapes[planes])
        theirs.denoise(uploaded, there.asarray(np.array(given, np.int32)), threshold, out)
        for plane, one in zip(out, wanted, strict=True):
            np.testing.assert_array_equal(plane.get(), one)
    assert any((one != frame).any() for one, frame in zip(wanted, frames[1], strict=True))
