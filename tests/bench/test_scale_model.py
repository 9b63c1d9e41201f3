"""The model of throughput, whose tables are in docs/scale.md."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import scale_model
from benchmarks.scale_model import Machines, busy, limit, limits, returned, stored

KNOWN = scale_model.constants()


def test_it_gives_back_what_was_measured():
    """One GPU with 16 cores: a film of 900 frames took 15.8 s with x264, 12.5 s with SVT-AV1."""
    one = Machines(1, 1, 16)
    assert limit(limits(KNOWN, one)) == ("cores", pytest.approx(900 / 15.842, rel=1e-3))
    assert limit(limits(KNOWN, one, "svt")) == ("cores", pytest.approx(900 / 12.458, rel=1e-3))


def test_what_is_doubled_brings_twice_as_much_until_another_limit():
    one, two = Machines(1, 1, 16), Machines(2, 1, 16)
    assert limit(limits(KNOWN, two))[1] == pytest.approx(2 * limit(limits(KNOWN, one))[1])
    more = replace(one, gpus=8)
    assert limit(limits(KNOWN, more)) == limit(limits(KNOWN, one))
    name, rate = limit(limits(KNOWN, Machines(1000, 1, 16)))
    assert name == "storage" and rate == limit(limits(KNOWN, Machines(2000, 8, 128)))[1]


def test_what_the_storage_and_a_command_carry():
    """Megabytes a frame: 0.2 of the input, 0.3 of the output."""
    assert stored(KNOWN) == pytest.approx(0.2 + 0.3 + 0.2 + 0.3 + 0.3)
    assert returned(KNOWN) == pytest.approx(0.3 + 0.3 + 0.2)
    assert limits(KNOWN, Machines(1, 1, 1))["storage"] == pytest.approx(5000 / 1.3)


def test_cores_that_keep_a_gpu_busy():
    enough = limits(KNOWN, Machines(1, 1, round(busy(KNOWN)) + 1))
    assert limit({name: enough[name] for name in ("GPUs", "cores")})[0] == "GPUs"


def test_each_constant_names_its_source():
    for one in vars(KNOWN).values():
        assert one.value > 0
        if one.measured:
            assert (scale_model.RESULTS / one.source).is_file()
        else:
            known = (scale_model.ROOT / one.source).is_file()
            assert known or one.source == "assumed"
