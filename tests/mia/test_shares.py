"""Restoration shared among devices gives the results of one; the CPU stands for several GPUs."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from snellen.errors import DeviceError
from snellen.mia import image, shares
from support.mia.plain import deblur

HOW = {"psf_size": 5, "iterations": 25, "every": 10}


@pytest.fixture
def several(monkeypatch):
    """Three devices, which are the CPU; return the sets of items that they got."""
    parts, parted = [], shares._slice

    def sliced(numbers):
        found = parted(numbers)
        parts.append((found.start, found.stop, threading.current_thread()))
        return found

    monkeypatch.setattr(shares, "WORTH", 0)
    monkeypatch.setattr(shares, "_slice", sliced)
    monkeypatch.setattr(image, "choose_several", lambda *_: ("cpu",) * 3)
    return parts


def same(found, wanted):
    """Check for the same bytes, but for the means in the history."""
    assert found.image.dtype == wanted.image.dtype and found.image.shape == wanted.image.shape
    assert found.image.tobytes() == wanted.image.tobytes()
    assert found.psf.shape == wanted.psf.shape and found.psf.tobytes() == wanted.psf.tobytes()
    assert np.array_equal(found.fit, wanted.fit) and type(found.fit) is type(wanted.fit)
    assert found.iterations == wanted.iterations
    assert len(found.history) == len(wanted.history) == found.iterations // HOW["every"]
    for one, other in zip(found.history, wanted.history, strict=True):
        assert one.iteration == other.iteration and one.change == other.change
        assert one.fit == pytest.approx(other.fit, rel=1e-12)


@pytest.mark.cases(7)
@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize(
    ("batch", "more", "wanted"),
    [
        ((7,), {}, [(0, 2), (2, 4), (4, 7)]),
        ((2, 2), {"tile": 14}, [(0, 1), (1, 2), (2, 4)]),
        ((2,), {}, [(0, 1), (1, 2)]),
        ((1,), {}, [(0, 1)]),
        ((), {}, [(0, 1)]),
        ((), {"tile": 14}, [(0, 2), (2, 5), (5, 8)]),
        ((2,), {"tile": 14}, [(0, 5), (5, 10), (10, 16)]),
        ((3,), {"psf": np.random.default_rng(2).random((3, 5, 5))}, [(0, 1), (1, 2), (2, 3)]),
        ((), {"psf": np.random.default_rng(2).random((2, 4, 5, 5)), "tile": 14},
         [(0, 2), (2, 5), (5, 8)]),
    ],
)  # fmt: skip
def test_the_results_of_one_device(random, request, batch, more, wanted, channels):
    array = random.integers(0, 255, (*batch, 20, 30, *channels), np.uint8)
    rows, columns = (-3, -2) if channels else (-2, -1)
    np.moveaxis(array, (rows, columns), (0, 1))[:14, :14] = 40  # a tile of one value
    if len(batch) == 1:
        array[-1] = 9
    how = {**HOW, **more, "channel_axis": -1 if channels else None}
    alone = deblur(array, **how, device="cpu")
    parts = request.getfixturevalue("several")
    found = deblur(array, **how)
    assert sorted(part[:2] for part in parts) == wanted
    assert len({part[2] for part in parts}) == len(wanted)  # each in a thread
    same(found, alone)


@pytest.mark.slow
def test_frames_of_one_object_in_tiles(random, request):
    array = random.random((3, 20, 30)).astype(np.float32)
    how = {**HOW, "multiframe": True, "tile": 14}
    alone = deblur(array, **how, device="cpu")
    parts = request.getfixturevalue("several")
    same(deblur(array, **how), alone)
    assert len(parts) == 3


def test_short_work_is_for_the_first(random, several, monkeypatch):
    monkeypatch.setattr(shares, "WORTH", 1e-6)
    array = random.integers(0, 255, (6, 20, 30), np.uint8)
    deblur(array, **{**HOW, "iterations": 1})
    assert [part[:2] for part in several] == [(0, 6)]


@pytest.mark.parametrize("more", [{"tolerance": 1e-9}, {"callback": lambda *_: None}])
def test_what_must_know_of_all_is_for_the_first(random, several, more):
    array = random.integers(0, 255, (3, 20, 30), np.uint8)
    deblur(array, **HOW, **more, channel_axis=None)
    assert several == []


@pytest.mark.parametrize("more", [{}, {"tile": 14}])
def test_a_device_that_fails(random, several, monkeypatch, more):
    """Its error, whatever the others say by then."""
    restored = shares.restored_parts if more else shares.restored_array
    name, calls = restored.__name__, count()

    def failing(*arguments):
        if next(calls) == 1:
            raise DeviceError("the second one is gone")
        return restored(*arguments)

    monkeypatch.setattr(shares, name, failing)
    array = random.integers(0, 255, (20, 30) if more else (3, 20, 30), np.uint8)
    with pytest.raises(DeviceError, match="is gone"):
        deblur(array, **HOW, **more, channel_axis=None)


def test_how_little_pays():
    """A GPU gets 5 ms at least: 152 pictures of 128² for 200 iterations, 1 of 576²."""
    from snellen import Deblurrer
    from snellen.frames.axes import Axes
    from snellen.frames.frame import Format
    from snellen.mia.channels import Work

    def least(side, edges, iterations):
        deblurrer = Deblurrer(edges=edges, iterations=iterations, device="cpu")
        axes = Axes((9,), (), (side, side), ())
        return shares._least(Work(axes, None, deblurrer.method(Format(side, side, 0))), 1)

    assert least(128, "taper", 200) == 153 and least(128, "extend", 200) == 38
    assert least(512, "extend", 200) == 1 and least(512, "extend", 20) == 8


@pytest.mark.gpu
@pytest.mark.parametrize("more", [{}, {"tile": 128}])
@pytest.mark.parametrize("shape", [(9, 300, 280), (300, 500), (2, 260, 300, 3)])
def test_several_gpus(cuda, random, monkeypatch, shape, more):
    """As many as there are: the bytes of one, twice; nothing in the caller's memory."""
    gpus = cuda.cuda.runtime.getDeviceCount()
    if gpus < 2:
        pytest.skip("one GPU")
    monkeypatch.setattr(shares, "WORTH", 0)
    names = [f"cuda:{number}" for number in range(gpus)]
    array = random.integers(0, 255, shape, np.uint8)
    how = {"psf_size": 9, "iterations": 20, **more}
    alone = deblur(array, **how, device="cuda:0")
    held = cuda.get_default_memory_pool().total_bytes()
    for _ in range(2):
        found = deblur(array, **how, device=names)
        assert found.image.tobytes() == alone.image.tobytes()
        assert found.psf.tobytes() == alone.psf.tobytes()
        assert np.array_equal(found.fit, alone.fit)
        assert [replace(s, fit=0) for s in found.history] == [
            replace(s, fit=0) for s in alone.history
        ]
    assert cuda.get_default_memory_pool().total_bytes() == held
