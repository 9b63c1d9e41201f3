"""Model files of format 2 whose projections are packed: what they give, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from snellen.aplus import packed as module
from snellen.aplus.model import read
from snellen.aplus.packed import UNIT, Packed
from snellen.errors import ModelError
from snellen_lab.aplus.packing import packed
from support.aplus.oriented import oriented_model


def drawn(random, count=36, patch=36, rank=7, dims=14):
    return Packed(
        random.integers(-(2**14), 2**14 + 1, (patch, rank)).astype(np.int16),
        random.integers(-127, 128, (rank, dims, count)).astype(np.int8),
        random.uniform(1e-5, 1e-3, count).astype(np.float32),
        random.uniform(0.2, 1, dims).astype(np.float32),
    )


@pytest.fixture
def model(random):
    """Of twelve anchors with three classes."""
    small = drawn(random)
    return replace(oriented_model(2), projections=small.unpacked(), packed=small)


@pytest.mark.parametrize("chunk", [5, 256])
def test_projections_are_exact_products(random, monkeypatch, chunk):
    monkeypatch.setattr(module, "CHUNK", chunk)
    given = drawn(random)
    whole = np.einsum("pr,rdk->kpd", given.patch_basis.astype(int), given.codes.astype(int))
    steps = UNIT * given.weights.astype(np.float64) * given.scales.astype(np.float64)[:, None]
    wanted = whole * steps[:, None]
    assert given.unpacked().dtype == np.float16
    assert given.unpacked().tobytes() == wanted.astype(np.float16).tobytes()


def test_a_file_of_packed_projections(model, tmp_path):
    path = tmp_path / "m.safetensors"
    model.save(path)
    assert set(load_file(path)) == {
        "anchors", "basis", "strengths", "patch_basis", "codes", "scales", "weights"
    }  # fmt: skip
    found = read(path)
    assert found.digest == model.digest
    assert (found.projections == model.projections).all()
    assert "codes=<int8 (7, 14, 36)>" in repr(found) and "\n" not in repr(found)
    found.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_other_projections_are_not_saved_as_packed(model, tmp_path):
    other = replace(model, projections=model.projections + np.float16(1))
    with pytest.raises(ValueError, match="other projections"):
        other.save(tmp_path / "m.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": lambda a: a.astype(np.int16)}, "codes as int16"),
        ({"codes": lambda a: a[:, :-1]}, "codes of shape"),
        ({"codes": lambda a: a[:-1]}, "codes of shape"),
        ({"codes": lambda a: a[:, :, :-1]}, "codes of shape"),
        ({"weights": lambda a: a[:-1]}, "codes of shape"),
        ({"weights": lambda a: a[:-1], "codes": lambda a: a[:, :-1]}, "projections of shape"),
        ({"weights": lambda a: a.astype(np.float64)}, "weights as float64"),
        ({"patch_basis": lambda a: a[:-1]}, "projections of shape"),
        ({"patch_basis": lambda a: a[:0]}, "projections of shape"),
        ({"patch_basis": lambda a: a.astype(np.float32)}, "patch_basis as float32"),
        ({"scales": lambda a: a[None]}, "scales as float32 of 2 dimensions"),
        ({"scales": lambda a: a * np.float32(np.nan)}, "NaN or infinity in projections"),
        ({"scales": lambda a: a * np.float32(1e12)}, "NaN or infinity in projections"),
        ({"scales": None}, "not an A\\+ model"),
    ],
)
def test_what_is_no_model(model, tmp_path, change, message):
    path = tmp_path / "m.safetensors"
    model.save(path)
    tensors = load_file(path)
    for name, changed in change.items():
        if changed is None:
            del tensors[name]
        else:
            tensors[name] = np.ascontiguousarray(changed(tensors[name]))
    meta = {"format": "snellen-aplus-2", "scale": "2", "window": "3"}
    save_file(tensors, path, metadata=meta)
    with pytest.raises(ModelError, match=message):
        read(path)


def test_a_small_file_of_huge_projections_is_refused():
    """Before memory is taken: 4 MB of codes, 8 TB of projections."""
    with pytest.raises(ModelError, match=r"4000000 projections of 1000000 × 1"):
        Packed(np.zeros((10**6, 1), np.int16), np.zeros((1, 1, 4 * 10**6), np.int8),
               np.ones(4 * 10**6, np.float32), np.ones(1, np.float32))  # fmt: skip


@pytest.mark.parametrize("correlated", [0.0, 0.9])
def test_what_packing_costs(random, correlated):
    """The noise that was asked for; fewer dimensions add what the strongest patches leave."""
    directions, _ = np.linalg.qr(random.normal(size=(36, 36)))
    strength = 0.5 ** np.arange(36)
    projections = np.einsum("pr,r,krd->kpd", directions, strength, random.normal(size=(20, 36, 8)))
    gram = (1 - correlated) * np.diag(4.0 ** -np.arange(8)) + correlated * np.full((8, 8), 0.1)
    grams = np.geomspace(0.01, 1, 20)[:, None, None] * gram
    given = projections.astype(np.float32)

    def lost(found):
        error = found.unpacked() - projections
        noise, whole = (np.einsum("kpd,kde,kpe->", a, grams, a) for a in (error, projections))
        return noise / whole

    # Rounding to nearest has this noise on average, and less where numbers are below a step.
    assert 1e-3 < lost(packed(given, grams, 36, 0.01)) < 0.012
    few = packed(given, grams, 10, 0.01)
    assert few.codes.shape == (10, 8, 20)
    assert np.abs(few.patch_basis.T.astype(float) @ few.patch_basis * UNIT**2
                  - np.eye(10)).max() < 1e-3  # fmt: skip
    assert lost(few) < 0.012  # 4⁻¹⁰ of it are dimensions left out
    coarse = packed(given, grams, 10, 0.04)  # of twice the step
    assert np.abs(coarse.codes).max() < 0.6 * np.abs(few.codes).max()


def test_projections_of_nothing():
    found = packed(np.zeros((3, 36, 4), np.float32), np.zeros((3, 4, 4)), 5, 0.001)
    assert not found.unpacked().any()


def test_a_packed_model_of_format_1(random_model, random, tmp_path):
    whole = random_model(2)
    count, patch, dims = whole.projections.shape
    small = drawn(random, count, patch, 7, dims)
    model = replace(whole, projections=small.unpacked(), packed=small)
    model.save(tmp_path / "m.safetensors")
    assert "projections" not in load_file(tmp_path / "m.safetensors")
    found = read(tmp_path / "m.safetensors")
    assert found.strengths is None and found.digest == model.digest
