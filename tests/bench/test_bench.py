"""The benchmark tells no time of a wrong result."""

from __future__ import annotations

import json

import numpy as np
import pytest

from snellen.aplus import cpu
from snellen.aplus.model import load
from snellen.aplus.upscaler import Upscaler
from snellen.bench import aplus, clock, host, origin, plain, steps, truth
from snellen.bench.aplus import run
from snellen.bench.cases import Case, codes, picture
from snellen.bench.host import check
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Frame
from support.aplus import reference


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_check_passes(scale):
    assert 0 < check(scale) < host.AGREE


def skewed(stage, place, change):
    """The stage, and after it one of its outputs changed."""

    def broken(*arguments, **options):
        stage(*arguments, **options)
        change(arguments[place])

    return broken


def shift(out):
    out[:] = np.roll(out, 1, axis=-1)


def grow(out):
    out *= np.float32(1.01)


def other(out):
    out[::7] = 5


@pytest.mark.parametrize(
    ("name", "change"),
    [("bicubic", shift), ("match", other), ("regress", grow), ("overlap", shift)],
)
def test_check_fails_on_a_broken_stage(monkeypatch, name, change):
    place = {"bicubic": 2}.get(name, -1)
    monkeypatch.setattr(cpu, name, skewed(getattr(cpu, name), place, change))
    with pytest.raises(SnellenError, match=r"differ by .* nothing is timed"):
        check(2)


def test_check_fails_on_nan(monkeypatch):
    def nothing(out):
        out[:] = np.nan

    monkeypatch.setattr(cpu, "overlap", skewed(cpu.overlap, -1, nothing))
    with pytest.raises(SnellenError, match="nothing is timed"):
        check(2)


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("size", [(9, 11), (40, 23)])
def test_the_plain_port_is_the_authors(random, random_model, scale, window, size):
    """Against float64; the ring of `scale` pixels stays bicubic there."""
    model = random_model(scale, window)
    low = random.random(size, np.float32)
    total, count, unsure = reference.windows_of(low, model, 1.0)
    inside = (count > 0) & ~unsure
    assert unsure.mean() < 0.03
    found = plain.upscale(low, model)
    norm = np.linalg.norm(model.projections, axis=2).max()
    # Bicubic's 1e-6 and, through the projection, the features' error, as for the fast arm.
    error = 1e-6 + norm * reference.rounding(len(model.basis), 1.0)
    np.testing.assert_allclose(found[inside], total[inside] / count[inside], rtol=0, atol=error)
    outside = count == 0
    np.testing.assert_allclose(
        found[outside], reference.bicubic(low, scale)[outside], rtol=0, atol=1e-6
    )


def test_the_picture_has_edges_texture_and_flat_parts():
    found = picture(300, 200)
    assert found.shape == (200, 300) and found.dtype == np.float32
    assert 0 <= found.min() < 0.2 and 0.8 < found.max() <= 1
    assert (picture(300, 200) == found).all()


def test_in_float64_it_is_float64(random, random_model):
    model = random_model(3)
    low = random.random((20, 23))
    total, count, _ = reference.windows_of(low, model, 1.0)
    inside = count > 0
    # Both in float64: a few units of 1e-16 through some hundred sums.
    np.testing.assert_allclose(
        plain.upscale(low, model)[inside], total[inside] / count[inside], rtol=0, atol=1e-13
    )


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(aplus, "CASES", (Case(2, 33, 21), Case(3, 20, 31)))
    monkeypatch.setattr(host, "sgemm", lambda: 12.5)
    monkeypatch.setattr(truth, "SIZE", (64, 48))
    monkeypatch.delenv("SNELLEN_DATA", raising=False)


def test_run_is_json(tiny):
    lines = []
    report = json.loads(json.dumps(run(2, lines.append, device="cpu"), allow_nan=False))
    assert [case["case"] for case in report["cases"]] == ["33×21 ×2", "20×31 ×3"]
    assert report["repeats"] == 2 and report["sgemm_gflops"] == 12.5
    assert report["machine"]["cpu"] and report["date"].endswith("+00:00")
    assert report["device"] == "cpu" and "gpu_cases" not in report and "video" not in report
    for case in report["cases"]:
        assert 0 < case["max_difference"] < host.AGREE
        assert {"snellen", "plain NumPy", "bicubic, Pillow"} <= set(case["lines"])
        assert case["lines"]["snellen"]["ratio"] == 1
        for line in case["lines"].values():
            assert 0 < line["min"] <= line["median"] <= line["max"]
        assert case["peak_memory_mb"] >= case["memory_before_mb"] > 0
    assert set(report["cpu_steps"]["steps"]) == set(steps.STEPS)
    assert report["truth"]["truth_cpu"] > report["truth"]["truth_bicubic"] > 20
    assert "truth_gpu" not in report["truth"] and report["truth"]["pictures"] == "drawn"
    assert any("33×21 ×2" in line for line in lines)


def test_quick_has_fewer_cases(tiny):
    assert len(run(1, lambda line: None, device="cpu", quick=True)["cases"]) == 1


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_the_measured_steps_are_the_arm(monkeypatch, scale):
    """So their times are those of the frame: the bytes are the same, in strips of any height."""
    model, plane = load(None, scale), codes(picture(70, 45), 8)
    made = []

    def kept(shape, dtype):
        made.append(np.zeros(shape, dtype))
        return made[-1]

    monkeypatch.setattr(steps, "room", kept)
    found = steps.measure(plane, model, 1)
    with Upscaler(scale, model, "cpu") as upscaler:
        upscaler.prepare(Format(70, 45))
        wanted = upscaler.run(Frame((plane,))).planes[0]
    # Strips of another height put other columns side by side in a product: float32 rounding.
    assert np.abs(made[0].astype(int) - wanted).max() <= 1
    assert (made[0] != wanted).mean() < 1e-3
    assert all(step["median"] > 0 for step in found.values())


def test_spread():
    assert clock.spread(iter([3.0, 1.0, 2.0])) == {"median": 2.0, "min": 1.0, "max": 3.0}


def test_sgemm_counts_two_operations_a_term(monkeypatch):
    def two_seconds(line, repeats):
        assert line().shape == (1000, 1000)
        return {"median": 2.0}

    monkeypatch.setattr(host, "timed", two_seconds)
    assert host.sgemm(1000) == pytest.approx(1.0)  # 2·10⁹ operations in 2 s


def test_no_time_after_a_failed_check(monkeypatch, tiny):
    def failed(scale):
        raise SnellenError("nothing is timed")

    monkeypatch.setattr(host, "check", failed)
    monkeypatch.setattr(host, "timed", None)  # a call would be a TypeError
    with pytest.raises(SnellenError, match="nothing is timed"):
        run(1, lambda line: None, device="cpu")


def test_the_commit_is_told_where_there_is_git(monkeypatch):
    def missing(*arguments, **options):
        raise FileNotFoundError

    monkeypatch.setattr(origin.subprocess, "run", missing)
    assert origin.commit() is None
