"""The PSNR that the models of this package promise, by the authors' protocol."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from snellen.upscaling.methods import method_of
from snellen.upscaling.models import load
from snellen_lab.protocol import planes, psnr_table

# As measured after training, lab/cnn.md and lab/aplus2.md, less 0.01 dB: the training computed in
# float32 on a GPU, the CPU backend sums in another order.
WANTED = {
    ("aplus-clean", 2): (36.78, 32.44), ("aplus-clean", 3): (32.73, 29.23),
    ("aplus-clean", 4): (30.43, 27.44), ("cnn-fast-clean", 2): (37.04, 32.73),
    ("cnn-fast-clean", 3): (33.10, 29.45), ("cnn-fast-clean", 4): (30.74, 27.64),
    ("cnn-fine-clean", 2): (37.27, 32.99), ("cnn-fine-clean", 3): (33.38, 29.68),
    ("cnn-fine-clean", 4): (31.07, 27.85),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scale"),
    [
        pytest.param(*key, marks=[] if key == ("cnn-fine-clean", 2) else pytest.mark.slow)
        for key in WANTED
    ],
)
@pytest.mark.parametrize(
    ("folder", "number"), [("Set5", 0), pytest.param("Set14", 1, marks=pytest.mark.slow)]
)
def test_models_of_the_package(shared_data, name, scale, folder, number):
    model = load(f"{name}-x{scale}", scale)
    table = psnr_table(planes(shared_data / folder), scale, partial(method_of(model).on_cpu, model))
    assert len(table) == int(folder[3:])
    assert np.mean(list(table.values())) >= WANTED[name, scale][number]
