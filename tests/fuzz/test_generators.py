"""The generators make files that are taken, and the same ones for the same seed."""

from __future__ import annotations

import json

import pytest

from fuzz import kinds, registry
from fuzz.case import Case, Random
from fuzz.fields import fields
from fuzz.mutators import MUTATORS, mutated, splice
from fuzz.runner import Fuzzer, made, numbered


@pytest.fixture(scope="module")
def fuzzer():
    one = Fuzzer()
    yield one
    one.close()


SLOW = {"plan", "segments"}
"""Kinds for which films are made in segments beforehand."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=pytest.mark.slow) if k in SLOW else k for k in registry.KINDS],
)
def test_a_seed_and_a_number_repeat_a_case(kind):
    one, two = made(7, kind, 3), made(7, kind, 3)
    assert one.words == two.words
    assert one.files.keys() == two.files.keys()
    if kind not in ("film", "film_score", "folder"):  # encoders with threads may vary
        assert _timeless(one.files) == _timeless(two.files)


def test_a_case_is_text_and_back():
    case = made(7, "picture", 3)
    assert Case.from_json(case.to_json()) == case


def test_kinds_follow_their_weights():
    found = numbered(1, None)
    kinds = [next(found)[0] for _ in range(600)]
    assert set(kinds) == set(registry.KINDS) and kinds.count("film") > kinds.count("pipe")


@pytest.mark.parametrize("mutator", [one for one in MUTATORS if one is not splice])
@pytest.mark.parametrize("data", [b"", b"x", b"P5 3 3 255\n123456789", bytes(5000)])
def test_every_harm_takes_any_data(mutator, data):
    for number in range(20):
        mutator(Random(number), bytearray(data))


def test_a_splice_of_anything():
    for number in range(200):
        mutated(Random(number), b"", b"")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["film", "picture", "model"])
def test_headers_have_fields(kind):
    for number in range(30):
        for name, data in made(1, kind, number).files.items():
            assert all(place >= 0 for place, _, _ in fields(data)), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", [one for one in registry.KINDS if one != "folder"])
def test_whole_files_are_taken(kind, fuzzer, monkeypatch):
    monkeypatch.setattr(kinds, "WHOLE", 1.0)
    codes = []
    count = 3 if kind in {*SLOW, "compare", "preview", "target", "tried"} else 8
    for number in range(count):
        outcome, found = fuzzer.run(registry.KINDS[kind].make(Random(f"whole {number}")))
        assert found == [], outcome.case.words
        codes.append(outcome.code)
    assert (
        codes.count(0) >= count // 2 or kind == "folder_score"
    )  # floats and odd names do not meet


def _timeless(files):
    """Animated AVIF states the second in which it was made: only its length can be compared."""
    return {name: len(data) if data[4:12] == b"ftypavis" else data for name, data in files.items()}


@pytest.mark.slow
def test_odd_values_do_not_change_those_of_later_cases():
    before = repr(kinds._ODD)
    for number in range(3000):
        facts = kinds.odd(Random(f"{number}"), {"a": {"b": [1, {"c": 2}]}, "d": [[], {}], "e": "f"})
        json.dumps(facts)  # which no value within itself lets pass
    assert repr(kinds._ODD) == before
