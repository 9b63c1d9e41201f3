"""The plain port is the definition: it is the truth of the benchmark's checks."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.bench.mia import cases, plain
from snellen.bench.mia.cases import OPTIONS, PLAIN, STABLE, Option
from snellen.mia.definition import SIDES, Definition
from support.mia import drawn, reference

TWO = Option("two things", Definition(blind=False, tv=STABLE))


@pytest.mark.parametrize("option", [PLAIN, *OPTIONS, TWO], ids=lambda option: option.name)
@pytest.mark.parametrize("margin", [(0, 0), (8, 5)])
def test_it_is_the_reference(random, option, margin):
    definition = option.definition
    settings = {name: getattr(definition, name) for name in ("noise", "read_noise", "blind", "tv")}
    given = drawn.problem(
        random, (32, 45), option.frames, noise=definition.noise, margin=margin,
        given=not definition.blind,
    )  # fmt: skip
    found = plain.restore(given.y, given.f, given.h, 60, definition)
    wanted = reference.iterated(given.y, given.f, given.h, 60, **settings)
    for one, other in zip(found, wanted, strict=True):
        # Both in float64, by transforms that round differently.
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-11 * other.max())


@pytest.mark.parametrize("option", [PLAIN, *OPTIONS], ids=lambda option: option.name)
def test_problems(option):
    side = 64
    given = cases.problem(side, option)
    assert given.y.shape == given.h.shape == (1, option.frames, side, side)
    assert given.f.shape == (1, side, side) and given.f.dtype == given.y.dtype == np.float32
    np.testing.assert_allclose(given.h.sum((-2, -1)), 1, rtol=1e-6)
    seen = given.y >= 0
    assert seen.all() == (option.edges != "extend") and given.f.min() >= 0
    assert given.y[seen].std() > 0.1 and given.y.max() < 1.3  # white and its photons
    if option.frames > 1:
        assert (given.y[0, 0] != given.y[0, 1]).mean() > 0.9


@pytest.mark.parametrize("side", SIDES)
def test_a_support_is_no_larger_than_the_period_and_psfs_fill_it(side):
    size = cases.support(side)
    assert size % 2 == 1 and size <= side // 2
    blur = cases.walk(np.random.default_rng(1), size)
    assert blur.shape == (size, size) and blur.sum() == pytest.approx(1)
    down, right = np.nonzero(blur)
    assert max(np.ptp(down), np.ptp(right)) >= size // 2


@pytest.mark.parametrize(("side", "batch"), [(32, 1024), (64, 2112), (128, 132), (256, 132)])
def test_shifts_are_all_different(side, batch):
    found = {tuple(by % side for by in cases.shift(number, side)) for number in range(batch)}
    assert len(found) == batch


def test_a_shifted_problem_has_the_shifted_solution():
    option = OPTIONS[-1]  # with a margin, which is shifted too
    given = cases.problem(32, option)
    batch = cases.shifted(given, 3)
    assert batch.y.shape == (3, 1, 32, 32) and batch.f.shape == (3, 32, 32)
    assert (batch.h[0] == batch.h[2]).all()
    states = [
        plain.restore(*(array[i].astype(float) for array in (batch.y, batch.f, batch.h)), 40,
                      option.definition)
        for i in (0, 2)
    ]  # fmt: skip
    moved = np.roll(states[0][0], cases.shift(2, 32), (0, 1))
    np.testing.assert_allclose(states[1][0], moved, rtol=0, atol=1e-11)
    np.testing.assert_allclose(states[1][1], states[0][1], rtol=0, atol=1e-12)


def test_quick_has_fewer_cases():
    every, few = cases.cases(False), cases.cases(True)
    assert set(few) < set(every)
    assert {case.side for case in every} == set(SIDES) and {c.side for c in few} == {32, 128}
    assert [case.batch for case in every if case.side == 64] == [1, 132, 528, 2112]
    assert [case.batch for case in every if case.side == 256] == [1, 132]
