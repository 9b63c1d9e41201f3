"""The MIA reference of the benchmarks is the definition: against the tests' own reference."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.bench.mia import OPTIONS, PLAIN, STABLE, Option, Restoration, shift
from snellen.bench.reference import mia
from snellen.mia.definition import Definition
from support.mia import drawn, reference

TWO = Option("two things", Definition(blind=False, tv=STABLE))


@pytest.mark.cases(6)
@pytest.mark.parametrize("option", [PLAIN, *OPTIONS, TWO], ids=lambda option: option.name)
@pytest.mark.parametrize("margin", [(0, 0), (8, 5)])
def test_it_is_the_reference(random, option, margin):
    definition = option.definition
    settings = {name: getattr(definition, name) for name in ("noise", "read_noise", "blind", "tv")}
    given = drawn.problem(
        random, (32, 45), option.frames, noise=definition.noise, margin=margin,
        given=not definition.blind,
    )  # fmt: skip
    found = mia.restore(given.y, given.f, given.h, 60, definition)
    wanted = reference.iterated(given.y, given.f, given.h, 60, **settings)
    for one, other in zip(found, wanted, strict=True):
        # Both in float64, by transforms that round differently.
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-11 * other.max())


def test_a_shifted_problem_has_the_shifted_solution():
    option = OPTIONS[-1]  # with a margin, which is shifted too
    batch = Restoration(32, 3, option).problem()
    assert batch.y.shape == (3, 1, 32, 32) and batch.f.shape == (3, 32, 32)
    assert (batch.h[0] == batch.h[2]).all()
    states = [
        mia.restore(*(array[i].astype(float) for array in (batch.y, batch.f, batch.h)), 40,
                      option.definition)
        for i in (0, 2)
    ]  # fmt: skip
    moved = np.roll(states[0][0], shift(2, 32), (0, 1))
    np.testing.assert_allclose(states[1][0], moved, rtol=0, atol=1e-11)
    np.testing.assert_allclose(states[1][1], states[0][1], rtol=0, atol=1e-12)
