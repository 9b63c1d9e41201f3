"""What must be right before the GPU is timed: each check passes on what is right only."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.model import load
from snellen.bench import cases, exact, stages
from snellen.bench.exact import Findings, examine, refuse
from snellen.errors import SnellenError
from snellen.frames.frame import Format
from support.aplus import reference
from support.aplus.stand_in import Luma


def examined(model, bits=8, kind="drawn", spoil=None):
    """Figures of the stand-in's result, refused or not."""
    plane = cases.codes(cases.kinds(48, 34)[kind], bits)
    source = Format(48, 34, bits)
    target = source.scaled(model.scale)
    luma, out = Luma(model, source, target), np.empty((target.height, target.width), target.dtype)
    if spoil:
        name, place, change = spoil
        stage = getattr(luma, name)

        def spoilt(*arguments):
            stage(*arguments)
            change(arguments[place])

        setattr(luma, name, spoilt)
    found = examine(luma, model, source, plane, out, np)
    tied = exact.under(found.undecided, model)
    found.output = exact.pixels(out, exact.reference(plane, model), bits, tied)
    refuse(found, bits, "float64", "a picture")
    return found


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("bits", [0, 8, 10])
@pytest.mark.parametrize("kind", ["drawn", "noise", "flat"])
def test_what_is_right_passes(scale, bits, kind):
    found = examined(load(None, scale), bits, kind)
    assert found.patches == 48 * 34 and found.rescored == found.patches // 10
    assert found.feature_error <= exact.FEATURES and found.beyond_rounding == 0
    assert set(found.json()) >= {"rescored", "feature_error", "other_anchor", "largest_loss"}


def add(size):
    def change(array):
        array[5] += np.asarray(size).astype(array.dtype)

    return change


def nan(array):
    array[5] = np.nan


def zero(array):
    array[:] = 0


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (("features", 3, add(1e-3)), "features are off by"),
        (("features", 3, nan), "features are off by inf"),
        (("match", 1, zero), "anchors are wrong beyond float32 rounding"),
        (("overlap", 2, add(1)), "of the pixels are off by a code value"),
        (("overlap", 2, add(2)), "pixels are off by more than a code value"),
    ],
)
def test_a_wrong_stage_stops_the_report(spoil, message):
    with pytest.raises(SnellenError, match=f"a picture: .*{message}.*: nothing is timed"):
        examined(load(None, 2), 8, "drawn", spoil)


@pytest.mark.parametrize("change", [add(1e-3), nan])
def test_wrong_floats_stop_the_report(change):
    with pytest.raises(SnellenError, match="dB from float64: nothing is timed"):
        examined(load(None, 2), 0, "drawn", ("overlap", 2, change))


def test_beside_the_cpu_arm_a_pixel_may_be_off_by_one_but_not_two():
    found = Findings(np.zeros((2, 2), bool), patches=4)
    wanted, tied = np.full((4, 4), 7), np.zeros((4, 4), bool)
    found.output = exact.pixels(np.full((4, 4), 8, np.uint8), wanted, 8, tied)
    refuse(found, 8, "cpu", "a picture")
    assert found.output["off_by_one"] == 1
    found.output = exact.pixels(np.full((4, 4), 9, np.uint8), wanted, 8, tied)
    with pytest.raises(SnellenError, match="16 pixels are off by more"):
        refuse(found, 8, "cpu", "a picture")
    tied[0, :2] = True
    found.output = exact.pixels(np.where(tied, 9, 7).astype(np.uint8), wanted, 8, tied)
    refuse(found, 8, "cpu", "a picture")  # under ties both are right
    assert found.output["off_by_more"] == 2 and found.output["off_by_more_decided"] == 0
    found.output = exact.pixels(np.full((4, 4), 7, np.uint8), wanted, 8, ~tied)
    with pytest.raises(SnellenError, match="tie at 88%"):  # too many to say anything
        refuse(found, 8, "cpu", "a picture")


def test_ties_are_found_and_their_pixels_left_out(random_model):
    model = random_model(2, anchors=24, dims=7)
    anchors = model.anchors.astype(np.float64)
    # The third feature lies between two anchors; the last is that, but too weak to be seen.
    between = anchors[3] + anchors[9]
    feature = np.stack([anchors[1], anchors[2], between, 1e-9 * between]).astype(np.float32)
    index = np.abs(feature @ model.anchors.T).argmax(axis=1)
    found = Findings(np.zeros((2, 2), bool))
    mask = exact.judge(feature, index, anchors, 1.0, 1e-6, found, np)
    assert list(mask) == [False, False, True, False] and found.beyond_rounding == 0
    touched = exact.under(np.eye(5, dtype=bool)[[0] * 4 + [4]], model)
    assert touched.shape == (10, 10) and touched[:, :4].all() and not touched[:6, 4:].any()


def test_an_anchor_that_loses_is_counted(random_model):
    model = random_model(2)
    anchors = model.anchors.astype(np.float64)
    found = Findings(np.zeros((1, 2), bool))
    exact.judge(model.anchors[:2] * 3, np.array([0, 5]), anchors, 1.0, 1e-6, found, np)
    assert found.other_anchor == 1 and found.beyond_rounding == 1
    lost = 1 - abs(anchors[1] @ anchors[5]) / (anchors[1] @ anchors[1])
    assert found.largest_loss == pytest.approx(lost, rel=1e-5)  # norms of 1 in float32


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("size", [(23, 17), (9, 30)])
def test_the_reference_is_the_tests_own(random, random_model, scale, size):
    model = random_model(scale)
    plane = random.random(size)
    wanted, _ = reference.upscale(plane, model)
    # Float64 in another order.
    np.testing.assert_allclose(exact.reference(plane, model), wanted, rtol=0, atol=1e-13)


def test_psnr():
    assert exact.psnr(np.full((3, 3), 0.1)) == pytest.approx(20)
    assert exact.psnr(np.zeros((3, 3))) is None and exact.psnr(np.zeros(0)) is None


def test_a_watched_stage_is_put_back():
    class Holder:
        def stage(self, x):
            seen.append(x)

    seen, holder = [], Holder()
    before = holder.stage
    with stages.watched(holder, "stage", lambda: seen.append("before"), seen.append):
        holder.stage(1)
        assert holder.stage.__name__ == "stage"
    assert seen == ["before", 1, (1,)] and holder.stage == before


def test_pictures(monkeypatch):
    monkeypatch.delenv("SNELLEN_DATA", raising=False)
    assert set(cases.kinds(20, 10)) == {"drawn", "noise", "flat"}
    assert all(low.shape == (10, 20) for low in cases.kinds(20, 10).values())
    small = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert cases.tiled(small, 5, 3).tolist() == [[0, 1, 2, 2, 1], [3, 4, 5, 5, 4], [3, 4, 5, 5, 4]]
    assert cases.tiled(small, 2, 1).tolist() == [[0, 1]]
    assert cases.codes(small / 5, 8).tolist() == [[0, 51, 102], [153, 204, 255]]
    assert cases.codes(small / 5, 10).dtype == np.uint16
