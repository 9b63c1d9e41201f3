"""Training of models of format 2: its parts against float64, and the pipeline."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PIL import Image

from snellen.aplus.symmetry import Kind, adapted, kinds, turned
from snellen.upscaling.models import load
from snellen_lab.aplus.__main__ import main
from snellen_lab.aplus.clusters import clusters, nearest
from snellen_lab.aplus.equations import Equations
from snellen_lab.aplus.oriented import Settings, clean, train
from snellen_lab.aplus.train import psnr_table
from snellen_lab.sources import pack
from snellen_lab.sources.pack import Item
from support.aplus import reference
from support.aplus.drawings import drawing

TINY = Settings(2, anchors=16, classes=2, clustered=4, iterations=3)


def pairs(scale, count=4, shape=(64, 68)):
    return [partial(clean, drawing(k, shape), scale, factor)
            for factor in (1.0, 0.9) for k in range(count)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, pytest.param(3, marks=pytest.mark.slow),
                                   pytest.param(4, marks=pytest.mark.slow)])  # fmt: skip
def test_a_trained_model_is_better_than_bicubic(tmp_path, scale):
    model = train(pairs(scale), replace(TINY, scale=scale))
    assert model.classes == 2 and len(model.projections) == 32
    assert model.projections.dtype == np.float16
    held = {"new": drawing(99, (80, 84))}
    bicubic = replace(model, projections=np.zeros_like(model.projections))
    # A tenth of a decibel is far over any rounding, far under what was seen.
    gain = psnr_table(held, model)["new"] - psnr_table(held, bicubic)["new"]
    assert gain > 0.1
    model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors", scale)
    assert again.digest == model.digest
    assert {name: a.tobytes() for name, a in again.tensors.items()} == {
        name: a.tobytes() for name, a in model.tensors.items()
    }


def test_the_seed_settles_the_model():
    one, two = (train(pairs(2), TINY, threads=threads) for threads in (1, 2))
    assert one.digest == two.digest
    assert train(pairs(2), replace(TINY, seed=1)).digest != one.digest


def test_turned_pictures_give_the_same_equations(random):
    """The basis is that of windows in all orientations, however the pictures are turned."""
    windows = random.normal(size=(144, 5))
    wanted, energy = adapted(windows @ windows.T, 0.9)
    for g in range(1, 8):
        other = turned(windows, g)
        found, share = adapted(other @ other.T, 0.9)
        # Eigenvectors of well separated values, in float32; where two elements are the greatest,
        # rounding settles their signs.
        overlap = np.abs(np.einsum("nd,nd->d", found, wanted))
        np.testing.assert_allclose(overlap, 1, rtol=0, atol=1e-5)
        assert share == pytest.approx(energy)


def test_the_basis_is_the_pca_of_windows_in_all_orientations(random):
    windows = random.normal(size=(144, 3))
    every = np.concatenate([turned(windows, g) for g in range(8)], axis=1)
    basis, share = adapted(windows @ windows.T, 0.8)
    found = kinds(basis).tolist()
    assert set(found) == set(Kind)
    assert all(k % 2 == 0 for k, kind in enumerate(found) if kind == Kind.ACROSS)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-5)
    kept = (np.asarray(basis.T, np.float64) @ every) ** 2
    assert kept.sum() / (every**2).sum() == pytest.approx(share, abs=1e-6)
    values = np.sort(np.linalg.eigvalsh(every @ every.T))[::-1]
    assert values[: basis.shape[1]].sum() / values.sum() == pytest.approx(share, abs=1e-9)
    assert share >= 0.8


def test_clusters_find_axes(random, pool):
    axes = np.linalg.qr(random.normal(size=(6, 6)))[0][:3].astype(np.float32)
    which = random.integers(0, 3, 600)
    sign = random.choice([-1, 1], 600)[:, None]
    features = axes[which] * sign * random.uniform(0.1, 3, (600, 1)) + random.normal(
        scale=1e-3, size=(600, 6)
    )
    found = clusters(features.astype(np.float32), 12, iterations=8, seed=1, pool=pool)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert np.abs(found @ axes.T).max(axis=0).min() > 0.999
    index = nearest(features.astype(np.float32), found, pool)
    assert (np.abs(found[index] @ axes.T).argmax(axis=1) == which).all()


def test_more_clusters_than_features(random, pool):
    features = random.normal(size=(5, 4)).astype(np.float32)
    found = clusters(features, 9, iterations=2, seed=0, pool=pool)
    assert np.isfinite(found).all() and found.shape == (9, 4)


def test_projections_are_ridge_regressions(random, pool):
    features = random.normal(size=(400, 5)).astype(np.float32)
    patches = random.normal(size=(400, 7)).astype(np.float32)
    cells = random.integers(0, 5, 400).astype(np.int32)  # of 3 · 2: the last one stays empty
    equations = Equations(3, 2, 5, 7)
    for start in range(0, 400, 150):
        part = slice(start, start + 150)
        equations.add(features[part], patches[part], cells[part], pool)
    found = equations.solved(0.5, 2.0)

    def ridge(chosen, weight, towards):
        a, b = features[chosen].astype(np.float64), patches[chosen].astype(np.float64)
        extra = np.sqrt(weight) * np.eye(5)
        return np.linalg.lstsq(np.vstack([a, extra]), np.vstack([b, extra @ towards]), rcond=None)[
            0
        ]

    whole = ridge(slice(None), 0.5, np.zeros((5, 7)))
    for anchor in range(3):
        mine = ridge(cells // 2 == anchor, 0.5, whole)
        for cell in (2 * anchor, 2 * anchor + 1):
            wanted = ridge(cells == cell, 2.0, mine).T
            # Written as float32; the solutions are well conditioned.
            atol = 4 * reference.UNIT * np.abs(wanted).max()
            np.testing.assert_allclose(found[cell], wanted, rtol=0, atol=atol)


def test_the_command_learns_from_a_folder_or_a_pack(tmp_path, capsys):
    pictures = [np.round(drawing(k, (64, 68)) * 255).astype(np.uint8) for k in range(5)]
    (tmp_path / "folder").mkdir()
    for k in range(4):
        Image.fromarray(pictures[k]).save(tmp_path / "folder" / f"{k}.png")
    items = [Item(f"{k}", pictures[k], held_out=k == 4) for k in range(5)]
    pack.write(tmp_path / "p.pack", items, {"source": "clean"})
    low, _ = clean(pictures[0].astype(np.float32), 2)
    low = np.round(low).clip(0, 255).astype(np.uint8)
    pack.write(tmp_path / "made.pack", [Item("0", pictures[0], {2: low})], {"source": "film"})
    tiny = [word for name, value in (("anchors", 8), ("classes", 2), ("iterations", 2))
            for word in ("--set", f"{name}={value}")]  # fmt: skip
    found = {}
    for source in ("folder", "p.pack", "made.pack"):
        out = tmp_path / f"{source}.safetensors"
        assert main([str(tmp_path / source), str(out), "--sizes", "2", *tiny]) == 0
        found[source] = load(out, 2)
    assert found["folder"].digest == found["p.pack"].digest != found["made.pack"].digest
    assert found["p.pack"].about["pack_source"] == "clean"
    assert float(found["p.pack"].about["psnr_held_out"]) > 15
    assert main([str(tmp_path / "folder"), str(out), "--set", "colour=3"]) == 2
    assert "anchors" in capsys.readouterr().err
