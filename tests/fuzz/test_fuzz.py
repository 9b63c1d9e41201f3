"""A minute of fuzzing with a fresh seed, which is printed."""

from __future__ import annotations

import os
import random

import pytest

from fuzz.runner import fuzz


@pytest.mark.slow
def test_a_minute_with_a_fresh_seed(tmp_path, capsys):
    seed = random.SystemRandom().randrange(10**9)
    with capsys.disabled():
        failed = fuzz(seed, float(os.environ.get("SNELLEN_FUZZ_SECONDS", "60")), keep=tmp_path)
    assert not failed, f"make fuzz SEED={seed}"
