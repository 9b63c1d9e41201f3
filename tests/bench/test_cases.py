"""The cases of each method, at small sizes: right results pass, wrong ones do not."""

from __future__ import annotations

import json
from inspect import getsource, signature
from itertools import product

import numpy as np
import pytest

from snellen.bench import aplus, cnn, inputs, luma, mad, mia, runner
from snellen.bench.mia import OPTIONS, PLAIN, Found
from snellen.bench.reference import cnn as reference
from snellen.errors import ModelError, SnellenError
from snellen.mia.definition import SIDES
from support.aplus.oriented import oriented_model
from support.aplus.reference import bicubic
from support.cnn.reference import residual


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(aplus, "SIZES", ((2, 90, 70),))
    monkeypatch.setattr(cnn, "SIZES", ((2, 90, 70),))
    monkeypatch.setattr(luma, "WINDOW", 30)
    monkeypatch.setattr(mad, "SIZES", ((96, 64),))
    monkeypatch.setattr(mia, "SIDES", (32,))
    monkeypatch.setattr(mia, "BATCH", 3)
    monkeypatch.setattr(mia, "OPTIONS", ())


def measured(method, device, quick=False):
    report = runner.run(method, 1, lambda line: None, device=device, quick=quick)
    report = json.loads(json.dumps(report, allow_nan=False))
    assert report["failed"] == 0 and report["cells"]
    for cell in report["cells"]:
        assert cell["kernel_ms"]["median"] > 0
    return report


@pytest.mark.cases
@pytest.mark.parametrize("method", ["aplus", "cnn", "mad", "mia"])
def test_on_the_cpu(small, method):
    names = [cell["kind"] for cell in measured(method, "cpu")["cells"]]
    kinds = {"aplus": ["luma"], "cnn": ["fast", "fine"], "mad": list(mad.KINDS)}
    assert names == (kinds | {"mia": ["Poisson"] * 2})[method]


@pytest.mark.gpu
@pytest.mark.parametrize("method", ["aplus", "cnn", "mad", "mia"])
def test_on_a_gpu(small, method):
    report = measured(method, "cuda")
    assert report["device"] == "cuda:0" and report["copy_gb_s"] > 0
    assert "call_ms" in report["cells"][0]


@pytest.mark.gpu
def test_options_on_a_gpu(monkeypatch):
    monkeypatch.setattr(mia, "SIDES", ())
    monkeypatch.setattr(mia, "OPTIONS_SIDE", 32)
    monkeypatch.setattr(mia, "BATCH", 2)
    found = measured("mia", "cuda")["cells"]
    assert [(cell["kind"], cell["batch"]) for cell in found] == [
        (option.name, count) for count in (1, 2) for option in OPTIONS
    ]


def test_what_the_cases_call_on_a_gpu_is_there():
    """A renamed backend is seen without a GPU, too."""
    from snellen.aplus.cuda.luma import Luma
    from snellen.cnn.cuda.luma import Luma as Network
    from snellen.mad.cuda.backend import Backend, stage
    from snellen.mia.cuda import fused

    signature(Luma).bind("model", "source", "target")
    signature(Luma.__call__).bind("self", "plane", "out")
    signature(Network).bind("model", "source", "target")
    signature(Network.__call__).bind("self", "plane", "out")
    assert "self.layout = " in getsource(Network)
    signature(Backend).bind("definition", "format", 255.0, "cuda:0")
    signature(Backend.fetch).bind("self", maps=False, host=True)
    signature(stage).bind("reference", None, "samples")
    written = getsource(Backend)
    for name in ("samples", "run_pair", "run_reference", "run_comparison"):
        assert f"self.{name} = " in written
    signature(fused.Backend).bind("definition", (32, 32), 1, 2, "cuda:0")
    for name in ("start", "iterate", "estimate", "psf", "close"):
        assert hasattr(fused.Backend, name)
    assert "self.layout" in getsource(fused.Backend)


def test_quick_has_fewer_cases():
    for module, device in product((aplus, cnn, mad, mia), ("cpu", "cuda:0")):
        every, few = (
            {(case.size, case.batch, case.kind) for case in module.cases(device, quick)}
            for quick in (False, True)
        )
        assert few < every


def test_no_two_cells_have_one_name():
    for module in (aplus, cnn, mad, mia):
        names = [case.name for case in module.cases("cuda:0", False)]
        assert len(set(names)) == len(names)


class TestNetworks:
    @pytest.mark.parametrize("scale", [2, 3, 4])
    def test_both_references_agree(self, random, scale):
        model, codes = cnn.drawn("fast", scale), random.uniform(0, 255, (9, 11))
        ours = reference.upscale(codes, model)
        other = bicubic(codes, scale) + residual(codes, model)
        np.testing.assert_allclose(ours, other, rtol=0, atol=1e-9)
        assert 0.5 < residual(codes, model).std() < 20

    def test_differences_are_found(self):
        case = cnn.Upscale("fast", 2, 90, 70)
        right = case.on_cpu
        assert case.check(right, "cpu")["float64"] <= cnn.DIFFERING
        for change in (lambda a: a[:, :-1], lambda a: a.astype(np.float32), np.flipud,
                       lambda a: a ^ 2):  # fmt: skip
            with pytest.raises(SnellenError):
                case.check(change(right), "cpu")
        wrong = right.copy()
        wrong[1::50] ^= 1
        with pytest.raises(SnellenError, match="from the reference, by up to 1"):
            case.differing(wrong, right)


class TestAplus:
    @pytest.fixture
    def case(self):
        return aplus.Upscale(2, 90, 70)

    def test_differences_in_windows_are_found(self, case, monkeypatch):
        monkeypatch.setattr(luma, "WINDOW", 30)
        right = case.on_cpu
        assert case.check(right, "cpu")["pixels"] == right.size
        for top, left in ((0, 0), (60, 80), (138, 178)):
            wrong = right.copy()
            wrong[max(0, top - 8) : top + 8, max(0, left - 8) : left + 8] ^= 1
            with pytest.raises(SnellenError, match="pixels differ"):
                case.check(wrong, "cpu")

    def test_on_a_gpu_the_whole_counts(self, case, monkeypatch):
        monkeypatch.setattr(luma, "WINDOW", 20)
        wrong = case.on_cpu.copy()
        assert case.check(wrong, "cuda:0")["cpu"] == 0
        wrong[100:110, 30:40] ^= 1  # in none of the windows
        case.check(wrong, "cpu")
        with pytest.raises(SnellenError, match="pixels differ"):
            case.check(wrong, "cuda:0")

    def test_another_shape_is_wrong(self, case):
        with pytest.raises(SnellenError, match=r"got .* expected"):
            case.check(case.on_cpu[1:], "cuda:0")

    def test_models_of_ones_own(self, monkeypatch, tmp_path):
        """Of format 2; each at the sizes of its scale."""
        monkeypatch.setattr(aplus, "SIZES", ((3, 90, 70), (2, 41, 30), (2, 90, 70)))
        model = tmp_path / "my-x2.safetensors"
        oriented_model(2).save(model)
        report = runner.run(
            "aplus", 1, lambda line: None, device="cpu", quick=True, models=(str(model),)
        )
        assert report["failed"] == 0
        assert [(cell["size"], cell["kind"]) for cell in report["cells"]] == [("41×30 ×2", "my-x2")]
        both = aplus.cases("cpu", False, ("t91-x3", str(model)))
        assert [case.name for case in both] == [
            "90×70 ×3, t91-x3", "41×30 ×2, my-x2", "90×70 ×2, my-x2"
        ]  # fmt: skip

    def test_models_that_cannot_be_timed(self, tmp_path):
        network = tmp_path / "network.safetensors"
        cnn.drawn("fast", 2).save(network)
        for name, wrong in ((network, "not a model of A+"), ("none", "neither a file")):
            with pytest.raises(ModelError, match=wrong):
                aplus.cases("cpu", False, (str(name),))


def test_wrong_scores_are_found():
    case = mad.Pair("pair", 96, 64)
    right = mad.plain(96, 64)
    case.check(right, "cpu")
    case.check(tuple(number * (1 + 5e-6) for number in right), "cuda:0")
    for wrong in ((right[0], right[1], right[2] * 1.001), (float("nan"), *right[1:])):
        with pytest.raises(SnellenError, match="got MAD, HI, LO"):
            case.check(wrong, "cuda:0")


class TestMia:
    def test_every_picture_of_a_batch_counts(self):
        case = mia.Restoration(32, 3)
        f, h = mia.solution(32, PLAIN, mia.SHORT)
        pictures = np.stack([np.roll(f, mia.shift(i, 32), (0, 1)) for i in range(3)])
        right = Found(pictures, np.stack([h] * 3))
        assert case.check(right, "cpu") == {"f": 0, "h": 0}
        for wrong in (pictures[::-1], pictures * 1.001, pictures * np.nan):
            with pytest.raises(SnellenError, match="f is off by"):
                case.check(right._replace(f=wrong), "cpu")
        with pytest.raises(SnellenError, match="h by"):
            case.check(right._replace(h=right.h * 1.001), "cpu")

    @pytest.mark.cases(4)
    @pytest.mark.parametrize("option", [PLAIN, *OPTIONS], ids=lambda option: option.name)
    def test_problems(self, option):
        side = 64
        given = mia.problem(side, option)
        assert given.y.shape == given.h.shape == (1, option.frames, side, side)
        assert given.f.shape == (1, side, side) and given.f.dtype == given.y.dtype == np.float32
        np.testing.assert_allclose(given.h.sum((-2, -1)), 1, rtol=1e-6)
        seen = given.y >= 0
        assert seen.all() != option.margin and given.f.min() >= 0
        assert given.y[seen].std() > 0.1 and given.y.max() < 1.3  # white and its photons

    @pytest.mark.parametrize("side", SIDES)
    def test_a_support_fits_its_period(self, side):
        size = mia.support(side)
        assert size % 2 == 1 and size <= side // 2
        blur = mia.walk(np.random.default_rng(1), size)
        assert blur.shape == (size, size) and blur.sum() == pytest.approx(1)

    @pytest.mark.parametrize(("side", "batch"), [(32, 1024), (64, 2112), (128, 132), (256, 132)])
    def test_shifts_are_all_different(self, side, batch):
        found = {tuple(by % side for by in mia.shift(i, side)) for i in range(batch)}
        assert len(found) == batch


def test_pictures():
    found = inputs.picture(300, 200)
    assert found.shape == (200, 300) and found.dtype == np.float32
    assert 0 <= found.min() < 0.2 and 0.8 < found.max() <= 1
    small = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert inputs.codes(small / 5, 8).tolist() == [[0, 51, 102], [153, 204, 255]]
    assert inputs.codes(small / 5, 10).dtype == np.uint16
