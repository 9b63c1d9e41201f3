"""Collections from callers, which may claim any length, or have no end."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.values import items
from snellen.jobs.options.positions import Region


class Claims:
    """A collection of some length, nothing of which may be looked at."""

    def __len__(self):
        return 11

    def __iter__(self):
        yield from ()
        pytest.fail("it was looked at")


@pytest.mark.parametrize("given", [Claims(), range(11), count(), (None for _ in range(11))])
def test_more_than_there_may_be(given):
    with pytest.raises(InputError, match="more than 10 of") as caught:
        list(items("names", given, 10))
    assert caught.value.parameter == "names"


@pytest.mark.parametrize("given", [range(10), (n for n in range(10)), np.arange(10)])
def test_as_many_as_there_may_be(given):
    assert list(items("names", given, 10)) == list(range(10))


def test_positions_that_repeat_one_for_ever():
    """As the fuzzer found: ten million of them took 17 s before the error."""
    with pytest.raises(InputError, match=r"more than 10,000,000 of"):
        Region(width=8, height=8, positions=np.broadcast_to(np.array(b"ab"), (10**12,)))
