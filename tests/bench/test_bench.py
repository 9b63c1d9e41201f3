"""The benchmark tells no time of a wrong result."""

from __future__ import annotations

import json

import numpy as np
import pytest

from aplus import reference
from snellen.aplus import upscaler
from snellen.bench import aplus, plain
from snellen.bench.aplus import Case, check, picture, run
from snellen.errors import SnellenError


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_check_passes(scale):
    assert 0 < check(scale) < aplus.AGREE


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
    monkeypatch.setattr(upscaler, name, skewed(getattr(upscaler, name), place, change))
    with pytest.raises(SnellenError, match=r"differ by .* nothing is timed"):
        check(2)


def test_check_fails_on_nan(monkeypatch):
    def nothing(out):
        out[:] = np.nan

    monkeypatch.setattr(upscaler, "overlap", skewed(upscaler.overlap, -1, nothing))
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


def test_run_is_json(monkeypatch):
    monkeypatch.setattr(aplus, "CASES", (Case(2, 33, 21), Case(3, 20, 31)))
    monkeypatch.setattr(aplus, "sgemm", lambda: 12.5)
    lines = []
    report = json.loads(json.dumps(run(2, lines.append), allow_nan=False))
    assert [case["case"] for case in report["cases"]] == ["33×21 ×2", "20×31 ×3"]
    assert report["repeats"] == 2 and report["sgemm_gflops"] == 12.5
    assert report["machine"]["cpu"] and report["date"].endswith("+00:00")
    for case in report["cases"]:
        assert 0 < case["max_difference"] < aplus.AGREE
        assert {"snellen", "plain NumPy", "bicubic, Pillow"} <= set(case["lines"])
        assert case["lines"]["snellen"]["ratio"] == 1
        for line in case["lines"].values():
            assert 0 < line["min"] <= line["median"] <= line["max"]
        assert case["peak_memory_mb"] >= case["memory_before_mb"] > 0
    assert any("33×21 ×2" in line for line in lines)


def test_sgemm_counts_two_operations_a_term(monkeypatch):
    def two_seconds(line, repeats):
        assert line().shape == (1000, 1000)
        return {"median": 2.0}

    monkeypatch.setattr(aplus, "timed", two_seconds)
    assert aplus.sgemm(1000) == pytest.approx(1.0)  # 2·10⁹ operations in 2 s


def test_no_time_after_a_failed_check(monkeypatch):
    def failed(scale):
        raise SnellenError("nothing is timed")

    monkeypatch.setattr(aplus, "CASES", (Case(2, 33, 21),))
    monkeypatch.setattr(aplus, "sgemm", lambda: 12.5)
    monkeypatch.setattr(aplus, "check", failed)
    monkeypatch.setattr(aplus, "timed", None)  # a call would be a TypeError
    with pytest.raises(SnellenError, match="nothing is timed"):
        run(1, lambda line: None)


def test_the_commit_is_told_where_there_is_git(monkeypatch):
    def missing(*arguments, **options):
        raise FileNotFoundError

    monkeypatch.setattr(aplus.subprocess, "run", missing)
    assert aplus.commit() is None
