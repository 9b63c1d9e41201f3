"""Choosing variants of transforms from what was measured."""

from __future__ import annotations

import json
from dataclasses import asdict

from benchmarks.fft_candidates import candidates
from benchmarks.fft_variants import CUFFT, TODAY, cells, choose
from snellen.fft import square
from snellen.fft.square import Variant

ONE, OTHER = Variant(8, 1), Variant(8, 4, overlap=True)


def row(batch, **ms):
    variants = {"one": asdict(ONE), "other": asdict(OTHER), "today": TODAY, "cufft": CUFFT}
    return {
        "kind": "fft2", "side": 64, "batch": batch, "wrong": {},
        "lines": [
            {"variant": variants[name], "ms": {"median": time}, "relative_l2": 1e-7,
             "ratio": {"median": ms["cufft"] / time}}
            for name, time in ms.items()
        ],
    }  # fmt: skip


def test_the_fastest_is_chosen_and_todays_kernels_where_they_are_as_fast(tmp_path, monkeypatch):
    said = []
    report = {
        "date": "now",
        "rows": [
            row(1, today=4.0, one=2.0, other=1.5, cufft=3.0),
            row(132, today=4.0, one=3.99, other=5.0, cufft=6.0),
            row(1024, today=9.0, cufft=6.0),
        ],
    }
    found = choose(report, said.append)
    assert [one["variant"] for one in found["rows"]] == [asdict(OTHER), None, None]
    assert said[-1] == "cuFFT takes 1.50 × in the median cell, 0.67 × at least"
    file = tmp_path / "choices.json"
    file.write_text(json.dumps(found))
    monkeypatch.setattr(square, "CHOICES", file)
    square.choices.cache_clear()
    assert square.choices() == {("fft2", 64): {1: OTHER, 132: None, 1024: None}}
    square.choices.cache_clear()


def test_every_cell_has_variants():
    assert all(candidates(*cell) for cell in cells(False))
    assert set(cells(True)) < set(cells(False))
