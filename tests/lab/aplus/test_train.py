"""The pipeline from images to a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from snellen.aplus.model import Model
from snellen.aplus.training import Settings
from snellen.errors import InputError
from snellen_lab.aplus import projections, samples
from snellen_lab.aplus.train import psnr_table, train
from snellen_lab.protocol import luma, planes
from support.aplus.drawings import drawing

TINY = Settings(2, anchors=16, iterations=3, samples=3000, sizes=3, neighbours=64)


@pytest.fixture(scope="module")
def drawings():
    return {f"d{k}": drawing(k) for k in range(5)}


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
def test_a_trained_model_is_better_than_bicubic(scale, window):
    images = {f"d{k}": drawing(k, (80, 84)) for k in range(4)}
    settings = replace(TINY, scale=scale, window=window)
    model, report = train(images, settings)
    assert (model.scale, model.window, report.seed) == (scale, window, 0)
    assert model.projections.dtype == np.float16
    assert report.energy >= 0.999 and report.dims == model.basis.shape[1]
    assert report.samples <= 3000 and report.candidates == ()
    held = {"new": drawing(99, (80, 84))}
    bicubic = replace(model, projections=np.zeros_like(model.projections))
    # A tenth of a decibel is far over any rounding, far under what was seen (0.5 dB and more).
    gain = psnr_table(held, model)["new"] - psnr_table(held, bicubic)["new"]
    assert gain > 0.1


def same(a, b):
    return all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes()
        for name in ("anchors", "basis", "projections")
    )


def test_the_seed_settles_the_model(drawings):
    one, _ = train(drawings, TINY, threads=1)
    two, _ = train(drawings, TINY, threads=2)
    assert same(one, two) and one.about == two.about
    other, _ = train(drawings, replace(TINY, seed=1))
    assert not same(one, other)


@pytest.mark.slow
def test_the_best_seed_on_images_held_out_is_taken(drawings):
    calls = []
    settings = replace(TINY, seed=4, seeds=3, hold_out=2)
    model, report = train(drawings, settings, progress=lambda *what: calls.append(what))
    assert report.held_out == ("d1", "d3")
    assert [seed for seed, _ in report.candidates] == [4, 5, 6]
    assert report.seed == max(report.candidates, key=lambda c: c[1])[0]
    assert model.about["train_seed"] == str(report.seed)
    assert f"seed {report.seed}" in model.about["candidates"]
    assert {stage for stage, _ in calls} >= {"samples", "projections", "K-SVD, seed 6"}
    assert max(done for _, done in calls) == 1.0

    # The dictionary of this seed from the other images, the projections from all.
    seen = {name: drawings[name] for name in ("d0", "d2", "d4")}
    again, _ = train(seen, replace(TINY, seed=report.seed))
    assert again.anchors.tobytes() == model.anchors.tobytes()
    assert again.basis.tobytes() == model.basis.tobytes()
    assert not same(again, model)


@pytest.mark.slow
def test_retraining_from_the_authors_dictionary(shared_data, pool):
    with np.load(shared_data / "aplus" / "model_x2.npz") as file:
        theirs = Model(2, 3, file["anchors"], file["basis"], file["projections"])
    images = list(planes(shared_data / "T91").values())
    factors = [0.98**k for k in range(12)]
    some = samples.pyramid(images, 2, 3, theirs.basis, factors=factors, most=5_000_000, pool=pool)
    found = projections.learn(some, theirs.anchors, neighbours=2048, ridge=0.1, pool=pool)
    held = planes(shared_data / "Set5")
    models = (found, found.astype(np.float16), theirs.projections)
    ours, half, wanted = (
        np.mean(list(psnr_table(held, replace(theirs, projections=p)).values())) for p in models
    )
    # METHODS: two independent trainings on one dictionary differ by under 0.0006 dB.
    assert abs(ours - wanted) < 0.0006
    assert abs(half - ours) < 0.0001  # METHODS: what float16 costs at most


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scale": 5}, "scale=5"),
        ({"window": 2}, "window=2.*odd"),
        ({"window": -1}, "window=-1"),
        ({"anchors": 0}, "anchors=0"),
        ({"energy": 0.0}, "energy"),
        ({"energy": 1.5}, "energy"),
        ({"ratio": 1.2}, "ratio"),
        ({"ridge": 0.0}, "ridge"),
        ({"sparsity": 17}, "sparsity=17"),
        ({"seeds": 2}, "held out"),
        ({"hold_out": -1}, "hold_out"),
        ({"neighbours": 4000}, "neighbours=4000.*3000 samples"),
        ({"iterations": 0}, "iterations=0"),
    ],
)
def test_settings_that_make_no_sense(wrong, message):
    with pytest.raises(InputError, match=message):
        replace(TINY, **wrong)


@pytest.mark.parametrize(
    ("anchors", "ridge"), [(512, 0.01), (1024, 0.1), (2048, 1.0), (4096, 1.0), (8192, 5.0)]
)
def test_the_ridge_goes_with_the_anchors(anchors, ridge):
    assert Settings(2, anchors=anchors).damping == ridge
    assert Settings(2, anchors=anchors, ridge=0.3).damping == 0.3


def test_images_too_small_or_too_few(drawings):
    with pytest.raises(InputError, match=r"speck is 60×9 pixels.*at least 10"):
        train({**drawings, "speck": drawings["d0"][:9]}, TINY)
    with pytest.raises(InputError, match=r"5 training images, 5 of them to be held out"):
        train(drawings, replace(TINY, hold_out=5))
    with pytest.raises(InputError, match=r"\d+ samples, but 2999 neighbours"):
        train({"d0": drawings["d0"]}, replace(TINY, neighbours=2999))
    with pytest.raises(InputError, match=r"flat|any detail"):
        train({"flat": np.full((60, 60), 0.5, np.float32)}, TINY)


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
