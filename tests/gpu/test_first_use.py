"""The first use on a GPU: all kernels of a method have been begun before one is waited for."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import snellen
from snellen.frames import bicubic
from snellen.frames.frame import Format, Frame
from snellen.gpu import ahead, loaded
from snellen.mia.cuda import tiles

pytestmark = pytest.mark.gpu


@pytest.fixture
def late(cuda, monkeypatch, tmp_path):
    """Files that were compiled only where they were needed, as if nothing had run before."""
    snellen.clear_cache()
    for made in (bicubic.kernel, tiles._kernel):
        made.cache_clear()
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path))
    monkeypatch.setattr(loaded, "_sources", OrderedDict())
    monkeypatch.setattr(ahead, "_files", OrderedDict())
    found, take = [], ahead.take

    def taken(file, arch, constants):
        if ahead._key(file, arch, constants) not in ahead._files:
            found.append(file.name)
        return take(file, arch, constants)

    monkeypatch.setattr(ahead, "take", taken)
    yield found
    snellen.clear_cache()


def picture(random, *shape):
    return random.integers(0, 256, shape, np.uint8)


def test_upscaling(late, random):
    snellen.upscale(picture(random, 60, 80), device="cuda")
    snellen.upscale(picture(random, 60, 80, 3), device="cuda")
    with snellen.Upscaler(3, device="cuda", chroma="gpu") as step:
        step.prepare(Format(96, 64, 10, (1, 1)))
        step.run(Frame(tuple(np.zeros(shape, np.uint16) for shape in step._format.shapes)))
    assert not late


def test_scoring(late, random):
    snellen.score(*picture(random, 2, 60, 80), device="cuda")
    assert not late


@pytest.mark.parametrize(
    ("size", "options"),
    [
        ((64, 64), {}),
        ((128, 128), {"tv": 0.004}),
        ((90, 150, 3), {}),
        ((200, 150), {"tile": 64}),
        ((100, 120), {"prior": "l0"}),
    ],
)
def test_deblurring(late, random, size, options):
    how = {"prior": None, "psf_size": 9, "iterations": 2, "device": "cuda", **options}
    snellen.deblur(picture(random, *size), **how)
    assert not late
