"""Where the samples of an array are converted."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import Deblurrer, deblur
from snellen.frames.axes import Axes
from snellen.frames.frame import Format
from snellen.mia import channels
from snellen.mia.channels import Planes, Work
from snellen.mia.tiles import Tiles


def work(shape, device, **options):
    axes = Axes.of(shape)
    method = Deblurrer(psf_size=3, device="cpu").method(Format(shape[1], shape[0], 0))
    object.__setattr__(method.prepared, "device", device)
    return Work(axes, options.pop("tiles", None), method, peak=255.0, **options)


@pytest.mark.parametrize(
    ("shape", "device", "options", "goes"),
    [
        ((20, 30), "cpu", {}, False),
        ((20, 30), "cuda:0", {}, False),
        ((20, 20, 3), "cuda:0", {}, True),
        ((20, 31), "cuda:0", {}, True),
        ((20, 30), "cuda:0", {"prior": "l0"}, True),
        ((20, 30), "cuda:0", {"tiles": Tiles((20, 30), 14, 3)}, True),
    ],
)
def test_few_samples_stay_in_main_memory(uploaded, random, shape, device, options, goes):
    """Where CuPy would first compile what NumPy does in no time."""
    array = random.integers(0, 256, shape).astype(np.float32)
    planes = Planes.of(array, work(shape, device, **options))
    assert bool(uploaded) == goes
    wanted = np.moveaxis(array.reshape(*shape[:2], -1), -1, 0)[:, None, None]
    np.testing.assert_array_equal(planes.given, wanted)
    np.testing.assert_array_equal(planes.scaled, wanted / np.float32(255))


@pytest.fixture
def uploaded(monkeypatch):
    """What was uploaded; more than 600 samples are many."""
    found = []
    monkeypatch.setattr(channels.arrays, "upload", lambda array: found.append(1) or array.copy())
    monkeypatch.setattr(channels, "FEW", 600)
    return found


@pytest.mark.parametrize(
    ("dtype", "shape", "options", "as_given"),
    [
        ("uint8", (20, 30), {}, True),
        ("uint8", (20, 60), {}, True),
        ("uint16", (20, 30), {}, False),  # white is 255
        ("uint8", (20, 30, 1), {}, True),
        ("uint8", (20, 30, 3), {}, False),
        ("uint8", (20, 30), {"prior": "auto"}, False),
        ("uint8", (20, 30), {"tiles": Tiles((20, 30), 14, 3)}, False),
        ("float32", (20, 30), {}, False),
    ],
)
def test_single_channels_of_integers_go_as_they_are(
    uploaded, random, dtype, shape, options, as_given
):
    array = random.integers(0, 256, shape).astype(dtype)
    planes = Planes.of(array, work(shape, "cuda:0", **options))
    assert (planes.scaled is planes.given) == as_given
    assert not (as_given and uploaded)


@pytest.mark.parametrize("side", [15, 3])
@pytest.mark.parametrize("how", [{}, {"multiframe": True}, {"psf": True}])
def test_integers_and_their_floats_are_restored_alike(random, side, how):
    """To the sample: white is 255 for both."""
    array = random.integers(0, 256, (2, 20, 30), np.uint8)
    array[1] = 77 if how.get("multiframe") is None else array[1]
    psf = np.ones((side, side)) if how.get("psf") else None
    options = {"iterations": 3, "device": "cpu", "psf": psf, "prior": None, "psf_size": side}
    options["multiframe"] = how.get("multiframe", False)
    found = deblur(array, **options)
    wanted = deblur(array.astype(np.float32), **options, data_range=255)
    assert found.image.dtype == np.uint8
    assert (found.image == np.rint(wanted.image).clip(0, 255)).all()
    assert (found.psf == wanted.psf).all() and np.array_equal(found.fit, wanted.fit)
