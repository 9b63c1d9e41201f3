"""Films that are denoised: in segments and in one piece, of several depths, with times kept."""

from __future__ import annotations

from fractions import Fraction

import pytest

from snellen.filters.nlm.step import Denoiser
from snellen.video.segments import cuts
from support.video.clips import make
from support.video.segments import KEYS, check

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("radius", [0, 2])
def test_segments_have_the_frames_of_one_piece(tmp_path, monkeypatch, radius):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    run = check(source, tmp_path, step=lambda: Denoiser(2, radius, noise=9, device="cpu"))
    assert run.summary.frames == 40
