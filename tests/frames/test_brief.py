"""Every public object has a short `repr`."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import snellen
from snellen.frames.brief import Brief, brief
from snellen.jobs import Clip, MadSettings, ScoreJob, ScoreRow, ScoreTable, UpscaleJob

PLANE = np.zeros((480, 640), np.uint8)


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (PLANE, "<uint8 (480, 640)>"),
        (1 / 3, "0.333333"),
        (np.float64(49.68131234), "49.6813"),
        (Path("a b.png"), "'a b.png'"),
        ((1, 2.5), "(1, 2.5)"),
        ((PLANE,), "(<uint8 (480, 640)>,)"),
        ([1], "[1]"),
        (tuple(range(1000)), "<1000 × int>"),
        ({"a": 1}, "{'a': 1}"),
        (dict.fromkeys(range(9)), "<9 entries>"),
        ("cpu", "'cpu'"),
        (None, "None"),
    ],
)
def test_values(value, said):
    assert brief(value) == said


def test_only_what_differs_from_the_defaults():
    @dataclass(frozen=True, slots=True, repr=False)
    class Thing(Brief):
        one: int
        other: int = 2
        flag: bool = True

    assert repr(Thing(2)) == "Thing(one=2)"
    assert repr(Thing(1, 1, 1)) == "Thing(one=1, other=1, flag=1)"  # 1 is not True


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (snellen.Format(640, 480), "Format(width=640, height=480)"),
        (snellen.Frame((PLANE,), 3), "Frame(planes=(<uint8 (480, 640)>,), pts=3)"),
        (snellen.Score(1 / 3, 2.0, 3.0), "Score(mad=0.333333, hi=2, lo=3)"),
        (
            snellen.Score(np.zeros(3), np.zeros(3), np.zeros(3), PLANE),
            "Score(mad=<float64 (3,)>, hi=<float64 (3,)>, lo=<float64 (3,)>, "
            "detection=<uint8 (480, 640)>)",
        ),
        (
            snellen.Restored(PLANE, np.zeros((7, 7)), 0.5, 200),
            "Restored(image=<uint8 (480, 640)>, psf=<float64 (7, 7)>, fit=0.5, iterations=200)",
        ),
        (
            UpscaleJob(source=Path("a.mkv"), target=Path("b.mkv"), scale=3),
            "UpscaleJob(source='a.mkv', target='b.mkv', scale=3)",
        ),
        (
            ScoreJob(
                reference=Path("a"), distorted=Path("b"), mad=MadSettings("paper"), clip=Clip(3)
            ),
            "ScoreJob(reference='a', distorted='b', mad=MadSettings(variant='paper'), "
            "clip=Clip(start=3))",
        ),
        (
            Clip("1:30.5", fps="24000/1001"),
            "Clip(start=90.5, fps=Fraction(24000, 1001))",
        ),
        (
            ScoreTable((ScoreRow({"mad": 1.0, "hi": 2.0, "lo": 3.0}),) * 9),
            "ScoreTable(rows=<9 × ScoreRow>)",
        ),
        (snellen.Upscaler(device="cpu"), "<Upscaler on cpu, not prepared>"),
        (snellen.Deblurrer(device="cpu"), "<Deblurrer on cpu, not prepared>"),
        (snellen.Scorer(device="cpu"), "<Scorer on cpu, not prepared>"),
    ],
)
def test_public_objects(thing, said):
    assert repr(thing) == said
    if not said.startswith("<"):
        assert repr(pickle.loads(pickle.dumps(thing))) == said


def test_a_model_does_not_print_its_weights():
    assert len(repr(snellen.Upscaler(2, device="cpu").model)) < 400
