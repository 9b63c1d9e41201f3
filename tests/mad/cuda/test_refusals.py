"""What is refused before the GPU is asked: no GPU is needed."""

from __future__ import annotations

import pytest

from snellen.errors import InputError
from snellen.mad.scorer import Scorer


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_float64_is_for_the_cpu(monkeypatch, device):
    monkeypatch.setattr("snellen.device.resolve", lambda device: "cuda:0")
    with pytest.raises(InputError, match=r"dtype='float64' came.*choose device='cpu'"):
        Scorer(device=device, dtype="float64")


def test_other_types_than_floats():
    with pytest.raises(InputError, match="dtype='float16' came"):
        Scorer(device="cpu", dtype="float16")
