"""Hostile arguments for the Python face: only our own errors, nothing on stderr, no hang."""

from __future__ import annotations

import random
import time

import pytest

from fuzz.api import Fuzzer


def test_a_fixed_seed(tmp_path):
    """The same calls each time: a change that lets one of them fail is seen at once."""
    fuzzer = Fuzzer(14, tmp_path)
    assert [said for number in range(300) if (said := fuzzer.fault(number))] == []


@pytest.mark.slow
def test_a_fresh_seed(tmp_path):
    fuzzer = Fuzzer(random.SystemRandom().randrange(10**9), tmp_path)
    end, number, faults = time.monotonic() + 60, 0, []
    while time.monotonic() < end:
        faults.append(fuzzer.fault(number))
        number += 1
    assert [said for said in faults if said] == []
