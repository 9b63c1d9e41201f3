"""The cases of small transforms: right results pass, wrong ones do not."""

from __future__ import annotations

import json
from inspect import signature

import numpy as np
import pytest

from snellen.errors import DeviceError, SnellenError
from snellen_lab.bench import fft


@pytest.mark.gpu
def test_transforms_on_a_gpu(monkeypatch):
    monkeypatch.setattr(fft, "SIDES", (32,))
    monkeypatch.setattr(fft, "REPEATED", {1: 3, 132: 2})
    report = fft.run("fft", 1, lambda line: None, device="cuda")
    found = json.loads(json.dumps(report, allow_nan=False))["cells"]
    assert report["failed"] == 0 and all(cell["kernel_ms"]["median"] > 0 for cell in found)
    assert len(found) == 4 * 2 + 3 * 4 and all(cell["graph"] for cell in found)


def test_what_the_cases_call_on_a_gpu_is_there():
    """A renamed plan is seen without a GPU, too."""
    from snellen.fft.plan import Plan

    signature(Plan).bind("r2c", 32, 32, "float32", 2)


def test_transforms_are_for_gpus():
    with pytest.raises(DeviceError, match="run on a GPU"):
        fft.run("fft", 1, lambda line: None, device="cpu")


def test_cases_have_names_of_their_own_and_quick_has_fewer():
    every, few = ([case.name for case in fft.cases("cuda:0", quick)] for quick in (False, True))
    assert set(few) < set(every) and len(set(every)) == len(every)


@pytest.mark.cases
@pytest.mark.parametrize("kind", fft.KINDS)
def test_wrong_transforms_are_found(kind):
    case = fft.Transform(kind, 32, 64, 130)
    right = fft.truth(kind, 32, 64)[np.arange(130) % fft.DISTINCT]
    assert case.check(right, "cuda:0")["relative_l2"] == 0
    assert case.planes().shape[0] == 130
    for place in (0, 129):
        wrong = right.copy()
        wrong[place, 3] = wrong[place, 4]
        with pytest.raises(SnellenError, match="relative, L2"):
            case.check(wrong, "cuda:0")
