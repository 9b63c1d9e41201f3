"""Hostile arguments for the Python face: only our own errors, nothing on stderr, no hang."""

from __future__ import annotations

import inspect
import random
from dataclasses import is_dataclass

import pytest

import snellen
from fuzz.api import Fuzzer
from fuzz.api_disguised import USUAL, disguised
from fuzz.api_values import Text
from snellen import jobs
from snellen.errors import InputError

RESULTS = ("CompareResult", "DeblurResult", "DryRun", "PairScore", "PreviewResult", "Progress",
           "Restored", "Score", "ScoreResult", "ScoreRow", "ScoreTable", "TrainResult",
           "UpscaleResult")  # fmt: skip
"""Values that nobody gives."""


def test_every_parameter_of_every_public_name_is_tried(tmp_path):
    known: dict[str, set[str]] = {}
    for target in Fuzzer(1, tmp_path).targets:
        names = known.setdefault(target.name.split()[0], set())
        names.update(target.valid(random.Random(1)), target.more)
    for module in (snellen, jobs):
        for name in module.__all__:
            if not callable(public := getattr(module, name)) or name in RESULTS:
                continue
            given = inspect.signature(public).parameters.values()
            some = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
            plain = {one.name for one in given if one.kind not in some}
            assert plain <= known.get(name, set()), name


def test_values_of_another_library_mean_the_same(tmp_path):
    """What is made of them is equal to what is made of Python's own, or the refusal is."""

    def ended(target, given):
        try:
            return target.call(**given)
        except InputError as error:
            return error.parameter

    rng, tried = random.Random(3), 0
    for target in Fuzzer(1, tmp_path).targets:
        if not is_dataclass(target.call) or target.call is snellen.Frame:
            continue
        for name in {*target.more, *target.valid(rng)} & USUAL.keys():
            for value in USUAL[name]:
                given = target.valid(rng)
                one = ended(target, given | {name: value})
                for _ in range(4):
                    other = ended(target, given | {name: disguised(rng, value, exact=True)})
                    assert one == other, (target.name, name, value)
                    tried += 1
    assert tried > 500


def test_a_fixed_seed(tmp_path):
    """The same calls each time: a change that lets one of them fail is seen at once."""
    fuzzer = Fuzzer(14, tmp_path)
    assert [said for number in range(300) if (said := fuzzer.fault(number))] == []


@pytest.mark.slow
def test_a_text_that_compares_as_it_likes_is_taken_by_every_parameter_or_refused(tmp_path):
    fuzzer, faults = Fuzzer(1, tmp_path), []
    for target in fuzzer.targets:
        for name in {*target.more, *target.valid(random.Random(1))} - {"text"}:
            for value in ("auto", "cpu"):
                given = target.valid(random.Random(1)) | {name: Text(value)}
                faults.append(fuzzer.judged(target, given))
    assert len(faults) > 1000
    assert [said for said in faults if said] == []


@pytest.mark.slow
def test_a_longer_fixed_seed(tmp_path):
    """Fresh seeds are for `make fuzz`: the tests answer the same for the same source."""
    fuzzer = Fuzzer(15, tmp_path)
    assert [said for number in range(10_000) if (said := fuzzer.fault(number))] == []
