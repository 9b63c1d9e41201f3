"""Segments of films where a result depends on several frames: temporal steps, fields, telecine."""

from __future__ import annotations

from fractions import Fraction

import pytest

from snellen.video.chain import Chain, reach_of
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.segments import cuts
from support.video.clips import make
from support.video.segments import KEYS, Run, check, difficult
from support.video.steps import Between, Double, Even, Median, Nearest

NTSC = Fraction(30000, 1001)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Films of more than a second are long, and cut after each second."""
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})


def temporal():
    return Chain(Median(), Between(), Nearest())


STEPS = {
    "median": Median, "between": Between, "even": lambda: Even(83.4), "chain": temporal,
    "far": lambda: Median(15),
}  # fmt: skip
"""Steps whose results depend on several frames, for a film of 12 frames a second in ms."""


def test_reach_adds_up_over_a_chain():
    assert reach_of(Nearest()) == 0
    assert reach_of(Double()) is None
    assert reach_of(Chain(Nearest(), Median(3), Nearest())) == 3
    assert reach_of(Chain(Between(), Median(3))) == 1 + 2
    assert reach_of(Chain(Even(1), Median(3))) == 8
    assert reach_of(Chain(Median(3), Double())) is None


@pytest.mark.parametrize(
    "name", [name if name == "chain" else pytest.param(name, marks=pytest.mark.slow)
             for name in STEPS]
)  # fmt: skip
def test_steps_that_see_several_frames(tmp_path, name):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS, audio="aac")
    check(source, tmp_path, step=STEPS[name])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["open", "refresh", "variable", "ts", "edits"])
@pytest.mark.parametrize("name", ["chain", "far"])
def test_films_whose_steps_see_several_frames(tmp_path, kind, name):
    check(difficult(kind, tmp_path), tmp_path, step=STEPS[name])


def fields(folder, kind, frames=100, suffix=".mkv", **settings):
    """Make a film of 30 frames a second that is "woven" or "telecined", its samples exact."""
    options = {"preset": "ultrafast", "crf": "0", "g": "14", "keyint_min": "14", "bf": "2"}
    return make(folder / f"in{suffix}", fields=kind, interlaced=True, rate=NTSC, frames=frames,
                options=options, **settings)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mkv", ".ts"])
@pytest.mark.parametrize("step", [Nearest, temporal])
@pytest.mark.parametrize("how", ["frame", "field"])
def test_interlaced_films(tmp_path, how, step, suffix):
    source = fields(tmp_path, "woven", suffix=suffix)
    run = check(
        source, tmp_path, step=step, after=60 if how == "frame" else 120, clip=Clip(deinterlace=how)
    )
    assert run.summary.frames == 100 * (2 if how == "field" else 1) * (2 if step is temporal else 1)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".ts"])
@pytest.mark.parametrize("step", [Nearest, temporal])
def test_telecined_films(tmp_path, step, suffix):
    source = fields(tmp_path, "telecined", suffix=suffix, audio="mp2" if suffix == ".ts" else "aac")
    run = check(source, tmp_path, step=step, after=60, clip=Clip(ivtc=True))
    assert run.summary.frames == 80 * (2 if step is temporal else 1)


@pytest.mark.slow
@pytest.mark.parametrize("phase", [1, 2, 3, 4])
def test_telecine_that_begins_within_a_cycle(tmp_path, phase):
    """The frame to be dropped may be the first of a cycle: the one before it is needed."""
    source = fields(tmp_path, "telecined", phase=phase)
    check(source, tmp_path, after=60, clip=Clip(ivtc=True))


@pytest.mark.slow
def test_deinterlacing_only_where_it_is_marked(tmp_path):
    """What the film is found to be holds for all segments, also for those that begin otherwise."""
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=50, options=KEYS, interlaced=True)
    run = check(source, tmp_path, clip=Clip(deinterlace="field"))
    assert any("its pictures are progressive" in text for text in run.summary.warnings)


@pytest.mark.slow
def test_telecine_with_gaps_is_undone_in_one_piece(tmp_path):
    times = [n * 1001 + (30000 if n >= 50 else 0) for n in range(100)]
    source = make(tmp_path / "in.mkv", fields="telecined", interlaced=True, times=times,
                  time_base=Fraction(1, 30000), options={"g": "14"})  # fmt: skip
    run = Run(source, tmp_path / "out.mkv", clip=Clip(ivtc=True))
    assert run.error is None, run.error
    assert "do not follow one another at one rate" in run.said[0]


@pytest.mark.slow
def test_transparent_films(tmp_path):
    class Clear(Nearest):
        def alpha(self):
            return Nearest()

    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt="yuva420p", rate=Fraction(12),
                  frames=50)  # fmt: skip
    run = check(source, tmp_path, step=Clear, encoding=Encoding(codec="ffv1"))
    assert run.summary.pixel_format == "yuva420p"
    beside = Run(source, tmp_path / "out.mkv", Clear(), encoding=Encoding(codec="libvpx-vp9"))
    assert "beside the packets" in beside.said[0]
