"""What A+ learns from: windows, PCA, the pyramid of samples."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen_lab import protocol
from snellen_lab.aplus import samples
from support.aplus import training_reference as reference
from support.aplus.drawings import drawing


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
def test_windows_are_the_authors(scale, window):
    image = drawing(3, (45, 53))
    truth, mid = samples.degrade(image, scale)
    raw, high = reference.windows(mid, truth - mid, scale, window)
    rows, columns = samples.grid(image.shape, scale, window)
    assert len(raw) == rows * columns
    found = samples.raw_windows(mid, scale, window)
    # Differences of float32 values up to 1, rounded once or twice: 2⁻²⁴ each.
    np.testing.assert_allclose(found.reshape(len(found), -1).T, raw, rtol=0, atol=1.2e-7)
    np.testing.assert_array_equal(samples.patches(truth - mid, scale, window), high)
    apart = samples.dictionary_windows([image, image], scale, window)
    wanted, _ = reference.windows(mid, mid, scale, window, step=2)
    np.testing.assert_allclose(apart, np.concatenate([wanted, wanted]), rtol=0, atol=1.2e-7)


def test_pca_keeps_the_energy(random):
    raw = (random.normal(size=(500, 12)) * 0.4 ** np.arange(12)).astype(np.float32)
    basis, retained = samples.principal(raw, 0.99)
    values = np.linalg.svd(raw.astype(np.float64), compute_uv=False) ** 2
    shares = np.cumsum(values) / values.sum()
    dims = basis.shape[1]
    assert shares[dims - 1] >= 0.99 > shares[dims - 2]
    assert retained == pytest.approx(shares[dims - 1], rel=1e-9)  # double, squared condition
    # Columns rounded to float32.
    np.testing.assert_allclose(basis.T @ basis, np.eye(dims), atol=5e-7)
    assert samples.principal(raw, 1.0)[0].shape == (12, 12)
    with pytest.raises(InputError, match="flat"):
        samples.principal(np.zeros((5, 4), np.float32), 0.99)


def test_unit_divides_as_the_authors():
    low = np.array([[3, 4], [0.03, 0.04], [0, 0]], np.float32)
    high = np.ones((3, 2), np.float32)
    feature, patch = np.full((3, 2), np.nan, np.float32), np.full((3, 2), np.nan, np.float32)
    samples.unit(low, high, feature, patch)
    # One rounding to float32.
    np.testing.assert_allclose(feature, [[0.6, 0.8], [0.6, 0.8], [0, 0]], rtol=2e-7)
    np.testing.assert_allclose(patch, [[0.2, 0.2], [1, 1], [1, 1]], rtol=2e-7)


def test_pyramid_comes_in_order(random, pool):
    images = [drawing(0), drawing(1)]
    basis = np.linalg.qr(random.normal(size=(144, 6)))[0].astype(np.float32)
    factors = [1, 0.9, 0.8]
    low, high = [], []
    for factor in factors:
        for image in images:
            truth, mid = samples.degrade(protocol.shrink(image, factor), 2)
            raw, rest = reference.windows(mid, truth - mid, 2, 3)
            low.append(raw @ basis)
            high.append(rest)
    low, high = np.concatenate(low), np.concatenate(high)
    norm = np.linalg.norm(low, axis=1, keepdims=True)
    clear = np.abs(norm[:, 0] - 0.1) > 1e-6  # near the threshold, either side is correct
    for most in (len(low) + 5, len(low), 1000, 7):
        found = samples.pyramid(images, 2, 3, basis, factors=factors, most=most, pool=pool)
        n = min(most, len(low))
        assert found.features.shape == (n, 6) and found.patches.shape == (n, 36)
        # Features of float32 differences (1e-7 each) over norms that may be small.
        error = np.abs(found.features - (low / (norm + 2.2e-16))[:n]) * norm[:n]
        assert error.max() < 1e-6
        # Float32 patches over norms of 0.1 and more.
        error = np.abs(found.patches - np.where(norm < 0.1, high, high / norm)[:n])
        assert error[clear[:n]].max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "dictionary_count", "pyramid_count"),
    [(2, 315_210, 12_085_128), (3, 135_581, 5_152_472), (4, 73_643, 2_777_306)],
)
def test_window_counts_are_the_authors(shared_data, scale, dictionary_count, pyramid_count):
    shapes = [plane.shape for plane in protocol.planes(shared_data / "T91").values()]
    grids = [samples.grid(shape, scale, 3) for shape in shapes]
    assert sum(-(-rows // 2) * -(-columns // 2) for rows, columns in grids) == dictionary_count
    counts = (np.prod(samples.grid(s, scale, 3, 0.98**k)) for s in shapes for k in range(12))
    assert sum(map(int, counts)) == pyramid_count
