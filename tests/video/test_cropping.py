"""What a container hides at the edges is cut off, as FFmpeg's program does."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.segments import cuts
from snellen.video.source.decode import Source
from snellen.video.source.places import sample
from support.video.clips import read
from support.video.comparisons import Difference, compared
from support.video.converting import convert, dry_run
from support.video.framed import framed
from support.video.segments import Run
from support.video.steps import Nearest

EXACT = Encoding(codec="libx264", preset="ultrafast", crf=0)
EDGES = 16, 8, 2, 10  # left, right, top, bottom of 64×48


def inner(plane, edges=EDGES, unit=1):
    """The part of a plane that is shown; `unit` luma samples are one of it."""
    left, right, top, bottom = (one // unit for one in edges)
    return plane[top : plane.shape[0] - bottom, left : plane.shape[1] - right]


def planes(frame):
    return [np.from_dlpack(plane) for plane in frame.planes]


@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".mov"])
@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv444p"])
def test_hidden_edges_are_cut_off(tmp_path, step, suffix, pix_fmt):
    source = framed(tmp_path / f"in{suffix}", *EDGES, pix_fmt=pix_fmt)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=EXACT, strict=True)
    assert (summary.width, summary.height) == (80, 72)
    assert "its container shows 40×36 of its 64×48 pixels: the rest is cut off" in summary.warnings
    made = read(tmp_path / "out.mkv").frames
    for before, after in zip(read(source).frames, made, strict=True):
        for number, (one, other) in enumerate(zip(planes(before), planes(after), strict=True)):
            shown = inner(one, unit=2 if number and pix_fmt == "yuv420p" else 1)
            assert np.array_equal(shown.repeat(2, 0).repeat(2, 1), other)


def test_edges_within_a_chroma_sample(tmp_path, step):
    """FFmpeg's filter begins and ends at whole ones."""
    source = framed(tmp_path / "in.mkv", 3, 2, 5, 4)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=EXACT)
    assert (summary.width, summary.height) == (116, 76)
    assert any("at whole chroma samples: 58×38 from column 2, row 4" in w for w in summary.warnings)
    before, after = read(source).frames[0], read(tmp_path / "out.mkv").frames[0]
    wanted = planes(before)[0][4:42, 2:60].repeat(2, 0).repeat(2, 1)
    assert np.array_equal(wanted, planes(after)[0])


def test_edges_that_leave_nothing(tmp_path, step):
    source = framed(tmp_path / "in.mkv", 32, 31, 0, 0)  # half a chroma sample
    summary = convert(source, tmp_path / "out.mkv", step, encoding=EXACT)
    assert (summary.width, summary.height) == (128, 96)
    assert any(
        "shows 1×48 of its 64×48 pixels, which is no whole chroma sample" in one
        for one in summary.warnings
    )


def test_a_dry_run_has_the_size_of_the_run(tmp_path, step):
    source = framed(tmp_path / "in.mkv", *EDGES)
    plan = dry_run(source, tmp_path / "out.mkv", step)
    assert (plan.width, plan.height) == (80, 72)
    assert any("the rest is cut off" in one for one in plan.warnings)


def test_deinterlaced_film(tmp_path, step):
    source = framed(tmp_path / "in.mkv", *EDGES, fields="woven")
    clip = Clip(deinterlace="field", interlaced="top")
    summary = convert(source, tmp_path / "out.mkv", step, encoding=EXACT, clip=clip)
    assert (summary.width, summary.height, summary.frames) == (80, 72, 10)


def test_the_alpha_channel_is_cut_too(tmp_path):
    source = framed(tmp_path / "in.mkv", *EDGES, codec="ffv1", pix_fmt="yuva420p")
    opened = Source(source, Clip())
    frame = next(opened.items(alpha=True)).frame
    opened.close()
    assert frame.alpha.shape == frame.planes[0].shape == (36, 40)
    assert np.array_equal(frame.alpha, inner(planes(read(source).frames[0])[3]))


def test_segments_are_cut_alike(tmp_path, monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    source = framed(tmp_path / "in.mkv", *EDGES, frames=60, options={"g": "5"})
    whole, cut = tmp_path / "whole.mkv", tmp_path / "cut.mkv"
    convert(source, whole, Nearest(), encoding=EXACT)
    run = Run(source, cut)
    assert run.error is None and any("segments" in one for one in run.said)
    assert (run.summary.width, run.summary.height) == (80, 72)
    for one, other in zip(read(whole).frames, read(cut).frames, strict=True):
        assert bytes(one.planes[0]) == bytes(other.planes[0])


def test_comparisons_see_what_is_shown(tmp_path):
    source = framed(tmp_path / "in.mkv", *EDGES)
    step = Difference()
    summary = compared(source, source, step)[-1]
    assert (summary.width, summary.height) == (40, 36)
    assert any("the rest is cut off" in one for one in summary.warnings)
    wanted = [inner(planes(frame)[0]) for frame in read(source).frames]
    for (one, _), shown in zip(step.planes, wanted, strict=True):
        assert np.array_equal(one, shown)


def test_black_bars_are_looked_for_in_what_is_shown(tmp_path):
    source = framed(tmp_path / "in.mkv", *EDGES)
    assert {plane.shape for plane in sample(source).planes} == {(36, 40)}
