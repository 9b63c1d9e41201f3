"""The GPU's part of the benchmark, on small pictures; and what it does without a GPU."""

from __future__ import annotations

import json

import pytest

from snellen.bench import aplus, gpu, host, sizes, throughput, truth
from snellen.bench.cases import Case
from snellen.errors import DeviceError, SnellenError
from support.aplus.stand_in import Luma


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(aplus, "CASES", (Case(2, 64, 48), Case(3, 50, 44)))
    extra = Case(2, 50, 44, beside=False)
    monkeypatch.setattr(aplus, "GPU_CASES", (*aplus.CASES, Case(4, 40, 41), extra))
    monkeypatch.setattr(gpu, "SMALL", (48, 40))
    monkeypatch.setattr(sizes, "SMALL", (40, 30))
    monkeypatch.setattr(sizes, "LARGE", (64, 48))
    monkeypatch.setattr(throughput, "SIZE", (64, 48))
    monkeypatch.setattr(truth, "SIZE", (64, 48))
    monkeypatch.setattr(host, "sgemm", lambda: 12.5)
    monkeypatch.delenv("SNELLEN_DATA", raising=False)


@pytest.mark.gpu
@pytest.mark.parametrize("quick", [False, True])
def test_run_is_json(tiny, quick):
    report = aplus.run(1, lambda line: None, device="cuda", quick=quick)
    report = json.loads(json.dumps(report, allow_nan=False))
    assert report["device"] == "cuda:0" and "cases" not in report
    assert len(report["gpu_cases"]) == (3 if quick else 4)
    for case in report["gpu_cases"]:
        assert {"features", "match", "regress", "overlap"} <= set(case["stages"])
        assert case["launches"]["median"] > 0 and "no_graph" not in case
        assert 0 <= case["rescored"] <= 1
    assert {row["picture"] for row in report["exactness"]} == {"drawn", "noise", "flat"}
    assert {row["against"] for row in report["exactness"]} == {"cpu", "float64"}
    assert report["seven_steps"]["ratio"] > 0 and report["copy_gb_s"] > 0
    assert len(report["sizes"]) == (2 if quick else len(sizes.SIZES))
    assert [row["planes"] for row in report["throughput"]][:2] == ["luma", "4:2:0"]
    assert report["truth"]["cpu_gpu"] is None or report["truth"]["cpu_gpu"] > 60


@pytest.mark.gpu
def test_a_wrong_stage_stops_the_report(tiny, monkeypatch):
    from snellen.aplus.cuda.overlap import Overlap

    once = Overlap.__call__

    def wrong(self, *arguments):
        once(self, *arguments)
        out = arguments[-1]
        out[3] += 2

    monkeypatch.setattr(Overlap, "__call__", wrong)
    with pytest.raises(SnellenError, match="nothing is timed"):
        aplus.run(1, lambda line: None, device="cuda")


def test_without_a_gpu_asking_for_it_is_an_error(monkeypatch):
    monkeypatch.setattr("snellen.gpu.device.why_not", lambda ordinal=0: "there is none")
    with pytest.raises(DeviceError, match="there is none"):
        aplus.run(1, lambda line: None, device="cuda")


def test_every_group_of_steps_is_somebodys():
    ours = {stage for _, made in gpu.FUSED for stage in made}
    assert ours >= {"features", "match", "settle", "group", "regress", "overlap"}
    assert [name for names, _ in gpu.FUSED for name in names] == list(gpu.PAPER)
    assert all(callable(getattr(Luma(None, None, None), name)) for name in ours - {"settle"})


def test_random_models_are_models():
    model = sizes.random_model(2, 256, 48)
    assert model.anchors.shape == (256, 48) and model.projections.shape == (256, 36, 48)
    assert (16, 256) in sizes.SIZES and (96, 8192) in sizes.SIZES
    assert len(set(sizes.SIZES)) == len(sizes.SIZES)
