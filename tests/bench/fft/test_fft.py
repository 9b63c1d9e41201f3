"""The benchmark of small transforms tells no time of a wrong one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from snellen.bench.fft import cases, exact, gpu, host, lines, run
from snellen.bench.fft.cases import DISTINCT, KINDS, Case
from snellen.errors import DeviceError, SnellenError


@pytest.fixture
def tiny(monkeypatch):
    """Two sizes, of two batches."""

    def few(quick):
        sides = (32,) if quick else (32, 64)
        return [Case(kind, (side, side), batch)
                for side in sides for kind in KINDS for batch in (1, 132)]  # fmt: skip

    monkeypatch.setattr(run, "cases", few)


def numpy_s(case, planes):
    """The transform in float64, by NumPy."""
    size = (case.shape,) if case.kind == "irfft2" else ()
    return getattr(np.fft, case.kind)(planes.astype(np.result_type(planes, np.float64)), *size)


@pytest.mark.parametrize("shape", [(32, 32), (64, 128)])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_and_its_truth(kind, shape):
    case = Case(kind, shape, 3)
    planes = cases.drawn(case)
    assert planes.dtype == ("float32" if kind == "rfft2" else "complex64")
    assert planes.shape == (3, *(case.half if kind == "irfft2" else shape))
    wanted = exact.truth(case)
    assert wanted.shape == (3, *case.made) and wanted.dtype.itemsize >= 8
    np.testing.assert_allclose(wanted, numpy_s(case, planes), rtol=0, atol=1e-12 * wanted.max())
    assert wanted.astype(case.dtype).dtype == case.dtype


@pytest.mark.parametrize("kind", KINDS)
def test_errors(kind):
    case = Case(kind, (32, 64), 2 * DISTINCT + 5)
    wanted = exact.truth(case)
    assert len(wanted) == DISTINCT
    found = cases.batched(wanted, case.batch).astype(case.dtype)
    assert 0 < exact.error(found, wanted) < 1e-7
    assert exact.error(found * 8, wanted, 1 / 8) == exact.error(found, wanted)
    for plane in (0, DISTINCT - 1, case.batch - 1):
        spoilt = found.copy()
        spoilt[plane] *= 1 + 2e-6
        assert exact.error(spoilt, wanted) == pytest.approx(2e-6, rel=0.2)
        spoilt[plane, 3, 4] = np.nan
        assert np.isnan(exact.error(spoilt, wanted))
    assert exact.error(np.roll(found, 1, 0), wanted) > 0.5  # another plane's


def test_refuse():
    case = Case("fft2", (32, 32), 132)
    exact.refuse(3e-7, "Snellen", case)
    for off in (5e-7, float("nan")):
        with pytest.raises(SnellenError, match=r"fft2 of 132 × 32×32: off .*nothing is timed"):
            exact.refuse(off, "Snellen", case)
    exact.refuse(5e-7, "fast sine", case, exact.ROUGH)


def test_bytes():
    assert Case("fft2", (32, 64), 3).bytes == 3 * 2 * 8 * 32 * 64
    assert Case("rfft2", (32, 64)).bytes == 32 * (4 * 64 + 8 * 33)


def test_cases():
    every = cases.cases(False)
    assert {case.shape[0] for case in every} == {32, 64, 128, 256}
    assert {case.batch for case in every} == {1, 132, 1024} == set(cases.REPEATED)
    assert set(cases.cases(True)) < set(every) and cases.cases(True)


def test_without_a_gpu_run_is_json(tiny, monkeypatch):
    said = []
    report = json.loads(json.dumps(run.run(1, said.append, device="cpu"), allow_nan=False))
    assert report["benchmark"] == "fft" and report["device"] == "cpu" and report["commit"]
    assert report["machine"]["cpu"] and report["date"].endswith("+00:00")
    assert any("No GPU is measured" in line for line in said)
    assert len(report["cpu_cases"]) == 2 * 4 * 2 and "gpu_cases" not in report
    for row in report["cpu_cases"]:
        assert set(row["lines"]) == set(row["errors"]) == {host.OURS, host.NUMPY}
        assert all(line["median"] > 0 for line in row["lines"].values())
    assert len(run.run(1, said.append, device="cpu", quick=True)["cpu_cases"]) == 8


def test_no_time_of_a_wrong_transform(tiny, monkeypatch):
    right = host.fft.ifft2
    monkeypatch.setattr(host, "in_turns", None)  # a call would be a TypeError
    monkeypatch.setattr(host.fft, "ifft2", lambda *a, **b: right(*a, **b) * (1 + 1e-6))
    with pytest.raises(SnellenError, match=r"ifft2 of 1 × 64×64: off by .*: nothing is timed"):
        host.measure(Case("ifft2", (64, 64)), 1, lambda line: None)


def test_without_a_gpu_asking_for_it_is_an_error(monkeypatch):
    monkeypatch.setattr("snellen.gpu.device.why_not", lambda ordinal=0: "there is none")
    with pytest.raises(DeviceError, match="there is none"):
        run.run(1, lambda line: None, device="cuda")


def test_only_cufft_s_inverses_are_scaled():
    case = Case("irfft2", (32, 64))
    assert lines.scale(lines.CUFFT, case) == 1 / 2048 and lines.scale(lines.OURS, case) == 1
    assert lines.scale(lines.CUFFT, Case("rfft2", (32, 64))) == 1


@pytest.mark.gpu
@pytest.mark.parametrize("quick", [False, True])
def test_run_on_a_gpu_is_json(tiny, quick):
    report = run.run(1, lambda line: None, device="cuda", quick=quick)
    report = json.loads(json.dumps(report, allow_nan=False))
    assert report["device"] == "cuda:0" and len(report["gpu_cases"]) == (8 if quick else 16)
    assert len(report["mixed"]) == 4 * len(cases.MIXED) and report["copy_gb_s"] > 0
    for row in report["gpu_cases"]:
        assert set(row["lines"]) == {lines.OURS, lines.CUFFT} == set(row["errors"])
        assert all(off < exact.WITHIN for off in row["errors"].values())


@pytest.mark.gpu
@pytest.mark.parametrize("name", [lines.OURS, lines.CUFFT])
def test_a_wrong_transform_stops_the_report_on_a_gpu(cuda, monkeypatch, name):
    where = "ours" if name == lines.OURS else "cufft"
    right = getattr(lines, where)

    def spoilt(case):
        transform = right(case)

        def call(array, out):
            transform(array, out)
            out[-1] *= 1 + 1e-5

        return call

    monkeypatch.setattr(lines, where, spoilt)
    monkeypatch.setattr(gpu, "times", None)  # a call would be a TypeError
    with pytest.raises(SnellenError, match=f"{name}, rfft2 of 132 .*: nothing is timed"):
        gpu.measure(Case("rfft2", (64, 64), 132), 1, lambda line: None)
