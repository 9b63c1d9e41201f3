"""Where the samples of an array are converted."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import Deblurrer
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
def test_few_samples_stay_in_main_memory(monkeypatch, random, shape, device, options, goes):
    """Where CuPy would first compile what NumPy does in no time."""
    uploaded = []
    monkeypatch.setattr(channels.arrays, "upload", lambda array: uploaded.append(1) or array.copy())
    monkeypatch.setattr(channels, "FEW", 600)
    array = random.integers(0, 256, shape, np.uint8)
    planes = Planes.of(array, work(shape, device, **options))
    assert bool(uploaded) == goes
    wanted = np.moveaxis(array.reshape(*shape[:2], -1), -1, 0)[:, None, None]
    np.testing.assert_array_equal(planes.given, wanted)
    np.testing.assert_array_equal(planes.scaled, wanted / np.float32(255))
