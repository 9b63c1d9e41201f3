"""K-SVD against KSVDBox's formulas in plain NumPy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from snellen.cpu.blas import single_threaded
from snellen.errors import InputError
from snellen_lab.aplus import ksvd as dictionary
from support.aplus import training_reference as reference


@pytest.mark.slow
@pytest.mark.parametrize("sparsity", [1, 2, 3, 5])
def test_code_is_orthogonal_matching_pursuit(random, pool, sparsity):
    atoms = reference.unit_rows(random, (40, 9))
    signals = random.normal(size=(300, 9))
    signals[7] = 0
    signals[8] = 3 * atoms[11]
    index = np.full((300, sparsity), 99, np.int32)
    weight = np.full((300, sparsity), np.nan)
    dictionary.code(signals, atoms, index, weight, pool)
    for p, signal in enumerate(signals):
        chosen, wanted = reference.pursue(signal, atoms, sparsity)
        if p == 8:  # one atom explains it; what is left is rounding
            chosen, wanted = chosen[:1], wanted[:1]
        n = len(chosen)
        assert index[p, :n].tolist() == chosen
        if p != 8:
            assert (index[p, n:] == -1).all()
        # Double arithmetic; condition of 5 of 40 random atoms in 9 dimensions under 1e4.
        np.testing.assert_allclose(weight[p, :n], wanted, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_ksvd_is_ksvdbox(random, pool):
    atoms = reference.unit_rows(random, (14, 6))
    code = random.normal(size=(260, 14)) * (random.random((260, 14)) < 0.15)
    signals = code @ atoms + 0.05 * random.normal(size=(260, 6))
    signals[:3] = 0
    found = dictionary.ksvd(signals, 12, sparsity=2, iterations=4, seed=3, pool=pool)
    wanted = reference.ksvd(signals, 12, sparsity=2, iterations=4, seed=3)
    # Rounding of double (1e-16) amplified by four rounds of power steps.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-12)


def test_ksvd_replaces_atoms_without_use(random, pool):
    """More atoms than directions: some go unused and others coincide in every round."""
    signals = random.normal(size=(80, 1)) * np.array([[1.0, 0, 0, 0]])
    signals = np.concatenate([signals, random.normal(size=(40, 4))])
    found = dictionary.ksvd(signals, 24, sparsity=1, iterations=3, seed=0, pool=pool)
    wanted = reference.ksvd(signals, 24, sparsity=1, iterations=3, seed=0)
    # As above.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_ksvd_is_settled_by_the_seed(random):
    signals = random.normal(size=(20_000, 8)).astype(np.float32)  # more than two blocks

    def learn(seed, threads):
        with ThreadPoolExecutor(threads) as pool, single_threaded():
            return dictionary.ksvd(
                signals, 32, sparsity=3, iterations=2, seed=seed, pool=pool
            ).tobytes()

    assert learn(1, 1) == learn(1, 2) == learn(1, 3)
    assert learn(1, 2) != learn(2, 2)


def test_ksvd_refuses_too_few_signals(random, pool):
    with pytest.raises(InputError, match=r"3 of 30 training windows.*8 anchors"):
        signals = np.zeros((30, 4))
        signals[:3] = random.normal(size=(3, 4))
        dictionary.ksvd(signals, 8, sparsity=2, iterations=1, seed=0, pool=pool)
