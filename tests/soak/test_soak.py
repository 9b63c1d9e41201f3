"""The soak runs, and sees what grows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from soak.meter import MIB, Meter
from support.gpu import ALONE

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")

ON_GPU = [pytest.mark.gpu, pytest.mark.alone]


def meter(**series):
    made = Meter("phase", 64)
    made.samples = [dict(zip(series, values, strict=True)) for values in zip(*series.values())]  # noqa: B905
    return made


def test_growth_is_seen():
    flat = [100 * MIB] * 64
    rising = [100 * MIB + number * MIB for number in range(64)]
    filling = [min(number, 16) * 50 * MIB for number in range(64)]
    descriptors = [5 + number // 32 for number in range(64)]
    assert meter(memory=flat, descriptors=[9] * 64).grown() == []
    assert meter(memory=filling, descriptors=[9] * 64).grown() == []
    assert meter(memory=rising, descriptors=descriptors).grown() == ["memory", "descriptors"]
    assert "GREW: memory" in meter(memory=rising).line()


def test_samples_are_spread():
    made = Meter("phase", 1000)
    for number in range(1, 1001):
        made.tick(number, collect=False)
    assert len(made.samples) == 64 and set(made.samples[0]) >= {"memory", "threads"}


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=ON_GPU)])
def test_a_short_soak(device):
    if device != "cpu" and not ALONE:
        pytest.skip("other tests take memory of the GPU meanwhile")
    done = subprocess.run(
        [sys.executable, "-m", "soak", "--frames", "256", "--calls", "256", "--jobs", "128",
         "--device", device],
        cwd=Path(__file__).parent.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("flat") == 4
