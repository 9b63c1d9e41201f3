"""The soak runs, and sees what grows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import snellen
from snellen import unfinished
from soak import phases
from soak.meter import MIB, Meter, held
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


def test_samples_are_spread(monkeypatch):
    assert set(held(gpu=False)) == {"memory", "descriptors", "threads", "files"}
    monkeypatch.setattr("soak.meter.held", lambda gpu: {"memory": 1})
    for operations, samples in ((1000, 512), (300, 300), (255, 252), (64, 64)):
        made = Meter("phase", operations)
        for number in range(1, operations + 1):
            made.tick(number, collect=False)
        assert len(made.samples) == samples


@pytest.mark.slow
def test_what_is_left_is_seen(tmp_path):
    made = Meter("phase", 64)
    made.end()
    before = made.left  # by other tests of this process
    deblurrer = snellen.Deblurrer(psf_size=3, iterations=1, device="cpu")
    deblurrer.prepare(snellen.Format(8, 8))
    unfinished.note(str(tmp_path / "a"), lambda: None)
    made.end()
    unfinished.forget(str(tmp_path / "a"))
    deblurrer.close()
    more = {what: before.get(what, 0) + 1 for what in ("prepared objects", "unfinished files")}
    assert made.left == before | more
    made.samples = meter(memory=[MIB] * 64).samples
    assert set(made.grown()) == set(more) | set(before)
    assert "GREW" in made.line() and "LEFT" in made.line()


def test_each_quarter_has_the_same_calls(monkeypatch):
    seen = []
    for name in ("upscale", "score", "deblur"):
        monkeypatch.setattr(
            snellen, name, lambda image, *rest, **more: seen.append((image.sum(), image.shape))
        )
    made = Meter("calls", 102)
    monkeypatch.setattr(made, "tick", lambda number: None)
    phases.calls(made, "cpu", None)
    assert len(seen) == 102 and seen[:26] == seen[26:52] == seen[52:78]


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
