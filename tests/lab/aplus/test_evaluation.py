"""PSNR of a model over images."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.model import Model
from snellen.errors import InputError
from snellen.stills.protocol import luma
from snellen_lab.aplus.evaluation import psnr_table


def test_psnr_table_of_zero_projections_is_bicubic(random):
    basis = np.linalg.qr(random.normal(size=(144, 5)))[0].astype(np.float32)
    model = Model(2, 3, np.eye(5, dtype=np.float32), basis, np.zeros((5, 36, 5), np.float16))
    ramp = np.add.outer(np.linspace(0, 0.5, 41), np.linspace(0, 0.5, 30) ** 2).astype(np.float32)
    table = psnr_table({"ramp": ramp}, model)
    assert set(table) == {"ramp"} and table["ramp"] > 50  # smooth: bicubic hardly errs
    with pytest.raises(InputError, match=r"tiny is 5×9.*6"):
        psnr_table({"tiny": ramp[:9, :5]}, model)


@pytest.mark.slow
def test_psnr_of_the_authors_model(shared_data):
    with np.load(shared_data / "aplus" / "model_x2.npz") as file:
        model = Model(2, 3, file["anchors"], file["basis"], file["projections"])
    plane = luma(shared_data / "Set5" / "bird_GT.png")
    # The authors report four digits; float32 sums move a few pixels across a rounding edge.
    assert psnr_table({"bird": plane}, model)["bird"] == pytest.approx(41.2082, abs=5e-4)
