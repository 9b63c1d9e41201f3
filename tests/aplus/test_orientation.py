"""Orientations: signs, turned features and patches, and results that turn with the picture."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus import cpu
from snellen.aplus.orientation import orientations, turn
from snellen.aplus.regress import BLOCK, regress
from snellen.aplus.symmetry import Kind, kinds, places, turned
from snellen.errors import ModelError
from snellen.frames.frame import Format
from support.aplus import reference
from support.aplus.frames import enlarged, tolerance
from support.aplus.images import noise
from support.aplus.oriented import oriented_model, tied_pictures

MORE = [(2, 16), (3, 8), (3, 16), (4, 8), (4, 16)]  # scales and depths


def signs_of(plane, first=0, rows=None):
    out = np.full(
        (plane.shape[0] - first if rows is None else rows, 3, plane.shape[1]), 99, np.int8
    )
    orientations(plane, first, out)
    return out


def turns(sign):
    """All orientations that three signs mean."""
    return [g for g in range(8)
            if all(value * (-1) ** (g >> k & 1) >= 0 for k, value in enumerate(sign))]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("bits", [0, 8, 10, 16])
@pytest.mark.parametrize("size", [(1, 1), (1, 6), (5, 2), (9, 13)])
def test_signs(random, bits, size):
    pictures = [noise(random, bits, size)]
    if bits and size == (9, 13):
        pictures += tied_pictures(random, bits).values()
    for plane in pictures:
        found = signs_of(plane)
        assert np.isin(found, (-1, 0, 1)).all()
        for row, column in np.ndindex(plane.shape):
            wanted = reference.orientations(plane.astype(np.float64), row, column)
            assert turns(found[row, :, column]) == wanted


def test_signs_of_a_strip_with_a_pitch(random):
    plane = noise(random, 8, (17, 40))
    whole = signs_of(np.ascontiguousarray(plane[:, 3:28]))
    assert (signs_of(plane[:, 3:28], 5, 7) == whole[5:12]).all()


def test_samples_that_are_not_finite_tie():
    plane = np.ones((7, 7), np.float32)
    plane[3, 3] = np.nan
    assert (signs_of(plane)[1:6, :, 1:6][[0, 0, 4], 0, [0, 4, 4]] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_features_turn_like_windows(random, scale):
    model = oriented_model(scale)
    kind, side = kinds(model.basis), 3 * scale
    assert set(Kind) <= set(kind.tolist())
    raw = random.normal(size=(len(model.basis), 27)).astype(np.float32)
    sign = np.array(np.meshgrid(*[(-1, 0, 1)] * 3)).reshape(3, -1).astype(np.float32)
    features = model.basis.T @ raw
    before = features.copy()
    strength = np.full(27, 99, np.int32)
    edges = np.array([0.5, 2.0], np.float32)
    turn(features, sign, kind, edges, strength)
    norms = (features.astype(np.float64) ** 2).sum(axis=0)
    assert (strength == (norms >= 0.5).astype(int) + (norms >= 2)).all()
    for n in range(27):
        wanted = np.mean(
            [model.basis.T.astype(np.float64) @ reference.turn_window(raw[:, n], side, g)
             for g in turns(sign[:, n])], axis=0,
        )  # fmt: skip
        # Sums of products of orthonormal columns with samples up to 4, each rounded.
        atol = len(raw) * reference.UNIT * 4
        np.testing.assert_allclose(features[:, n], wanted, rtol=0, atol=atol)
        if not (sign[:, n] == 0).any():  # signs and swaps only
            assert sorted(abs(features[:, n])) == sorted(abs(before[:, n]))


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_windows_turn_like_pictures(random, scale):
    raw = random.normal(size=4 * (3 * scale) ** 2).astype(np.float32)
    for g in range(8):
        assert (turned(raw, g) == reference.turn_window(raw, 3 * scale, g)).all()


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, BLOCK, 5 * BLOCK + 3])
def test_patches_are_turned_back(random, count):
    dims, side, anchors = 5, 6, 7
    features = random.normal(size=(dims, count)).astype(np.float32)
    index = random.integers(0, anchors, count).astype(np.int32)
    projections = random.normal(size=(anchors, dims, side * side)).astype(np.float32)
    sign = random.integers(-1, 2, (3, count)).astype(np.float32)
    plain, out = np.full((2, side * side, count), np.nan, np.float32)
    regress(features, index, projections, plain)
    regress(features, index, projections, out, sign, places(side))
    for n in range(count):
        patch = plain[:, n].reshape(side, side, order="F").astype(np.float64)
        all_turns = turns(sign[:, n])
        wanted = np.mean([reference.turn_picture_back(patch, g) for g in all_turns], axis=0)
        found = out[:, n].reshape(side, side, order="F")
        # At most eight sums of values up to the patch's greatest.
        atol = 8 * reference.UNIT * np.abs(patch).max() * (len(all_turns) > 1)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)


def upscaled(model, plane):
    bits = {1: 8, 2: 16, 4: 0}[plane.itemsize]
    (out,) = enlarged(model, [plane], Format(plane.shape[1], plane.shape[0], bits), 0)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 5), (6, 17), (20, 23)])
def test_luma(random, scale, size):
    model = oriented_model(scale)
    plane = random.random(size, np.float32)
    wanted, unsure = reference.upscale(plane, model)
    # Ties of anchors, and norms at the edge of a class; a small picture may have one such window.
    assert unsure.sum() <= 0.05 * unsure.size + (3 * scale) ** 2
    found = upscaled(model, plane)
    np.testing.assert_allclose(found[~unsure], wanted[~unsure], rtol=0, atol=tolerance(model))


@pytest.mark.slow
def test_another_window_and_many_strips(random, monkeypatch):
    monkeypatch.setattr(cpu, "STRIP", 1)
    monkeypatch.setattr(cpu, "CHUNK", 7)
    model = oriented_model(2, 5)
    plane = random.random((12, 17), np.float32)
    wanted, unsure = reference.upscale(plane, model)
    found = upscaled(model, plane)
    np.testing.assert_allclose(found[~unsure], wanted[~unsure], rtol=0, atol=tolerance(model))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_the_reference_turns_with_the_picture_also_in_ties(random, scale):
    model = _scaled(oriented_model(scale), 255)
    pictures = tied_pictures(random, 8, 9) | {"noise": noise(random, 8, (7, 9))}
    for name, picture in pictures.items():
        plane = picture.astype(np.float64)
        whole, unsure = reference.upscale(plane, model, 255)
        for g in (1, 2, 4):  # of which all others consist
            found, again = reference.upscale(reference.turn_picture(plane, g), model, 255)
            back = reference.turn_picture_back(found, g)
            keep = ~(unsure | reference.turn_picture_back(again, g))
            # float64; where anchors do not tie, and norms are not at the edge of a class
            np.testing.assert_allclose(back[keep], whole[keep], rtol=0, atol=1e-9, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "bits"), [(2, 8), *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE)]
)
def test_results_turn_with_the_picture_also_in_ties(random, scale, bits):
    model = oriented_model(scale)
    white = (1 << bits) - 1
    pictures = tied_pictures(random, bits) | {"noise": noise(random, bits, (11, 14))}
    sure = 0
    for name, plane in pictures.items():
        whole = upscaled(model, plane)
        exact, unsure = reference.upscale(plane.astype(np.float64), _scaled(model, white), white)
        sure += (~unsure).mean() / len(pictures)
        assert np.abs(whole - exact)[~unsure].max() <= tolerance(model, white), name
        for g in (1, 2, 4, 7):
            turned_plane = np.ascontiguousarray(reference.turn_picture(plane, g))
            back = reference.turn_picture_back(upscaled(model, turned_plane), g)
            # Both round: bicubic and the sums of a product go in another order.
            np.testing.assert_allclose(
                back[~unsure],
                whole[~unsure],
                rtol=0,
                atol=2 * tolerance(model, white),
                err_msg=name,
            )
    assert sure > 0.9


def _scaled(model, white):
    """The model for samples up to white."""
    from dataclasses import replace

    return replace(model, strengths=model.strengths * np.float32(white))


def test_the_depth_does_not_change_the_class_of_strength(random):
    """10-bit samples are 8-bit ones times four, but for white, 1023 instead of 1020."""
    model = oriented_model(2)
    plane = noise(random, 8, (12, 12))
    as_float = upscaled(model, (plane / np.float32(255)).astype(np.float32))
    np.testing.assert_allclose(upscaled(model, plane) / 255, as_float, rtol=0, atol=1e-5)


def test_a_basis_that_does_not_turn_is_refused(random_model):
    model, other = oriented_model(2), random_model(2)
    with pytest.raises(ModelError, match="column 0 of the basis is not adapted"):
        type(model)(2, 3, other.anchors, other.basis, other.projections, {},
                    np.empty(0, np.float32))  # fmt: skip
    swapped = np.roll(model.basis, 1, axis=1)
    with pytest.raises(ModelError, match=r"odd column|not adapted"):
        type(model)(2, 3, model.anchors, swapped, model.projections, {}, model.strengths)
    for strengths in ([2, 1], [0, 1], [1, 1]):
        with pytest.raises(ModelError, match="ascending"):
            _with_strengths(model, strengths)
    with pytest.raises(ModelError, match="projections of shape"):
        _with_strengths(model, [1])


def _with_strengths(model, strengths):
    from dataclasses import replace

    return replace(model, strengths=np.array(strengths, np.float32))
