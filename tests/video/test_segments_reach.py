"""Segments of films where a result depends on several frames: temporal steps, fields, telecine."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from snellen.errors import InputError
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.filtering import overlaps
from snellen.video.filtering.parse import parse
from snellen.video.filtering.step import FilterStep
from snellen.video.segments import begin, cuts
from snellen.video.segments.cuts import scan
from snellen.video.sink.registry import Traits
from snellen.video.source.decode import Source
from snellen.video.steps.alpha import WithAlpha
from snellen.video.steps.chain import Chain
from support.video.clips import make
from support.video.converting import convert
from support.video.segments import DIFFICULT, KEYS, LOSSLESS, Run, check, difficult, same
from support.video.steps import Between, Double, Even, Median, Nearest

NTSC = Fraction(30000, 1001)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Films of more than a second are long, and cut after each second."""
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    monkeypatch.setattr(cuts, "LEADING", 0)


def temporal():
    return Chain(Median(), Between(), Nearest())


STEPS = {
    "even": lambda: Even(83.4), "chain": temporal, "far": lambda: Median(15),
}  # fmt: skip
"""Steps whose results depend on several frames, for a film of 12 frames a second in ms."""


def test_reach_adds_up_over_a_chain():
    assert Nearest().traits.reach == 0
    assert Double().traits.reach is None
    assert Chain(Nearest(), Median(3), Nearest()).traits.reach == 3
    assert Chain(Between(), Median(3)).traits.reach == 1 + 2
    assert Chain(Even(1), Median(3)).traits.reach == 8
    assert Chain(Median(3), Double()).traits.reach is None
    assert WithAlpha(Nearest(), Median(2)).traits.reach == 2


def test_telecine_of_a_later_part_is_undone_in_one_piece(tmp_path):
    """Its cycles are counted from where decoding begins."""
    with closing(Source(make(tmp_path / "in.mkv", frames=2), Clip())) as source:
        info = source.info
    plan = SimpleNamespace(alpha=False, encoder=SimpleNamespace(options={}, traits=Traits()))
    output = SimpleNamespace(suffix=".mkv")

    def why(**clip):
        return cuts.hindrance(replace(info, clip=Clip(**clip)), plan, Nearest(), output)

    assert why(ivtc=True) is None and why(start=Fraction(1)) is None
    assert "cycles of telecine" in why(ivtc=True, start=Fraction(1))


@pytest.mark.parametrize(
    "name", [name if name == "chain" else pytest.param(name, marks=pytest.mark.slow)
             for name in STEPS]
)  # fmt: skip
def test_steps_that_see_several_frames(tmp_path, name):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS, audio="aac")
    check(source, tmp_path, step=STEPS[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [*((kind, "chain") for kind in DIFFICULT), ("refresh", "far"), ("edits", "far")],
)
def test_films_whose_steps_see_several_frames(tmp_path, kind, name):
    check(difficult(kind, tmp_path), tmp_path, step=STEPS[name])


def fields(folder, kind, frames=100, suffix=".mkv", **settings):
    """Make a film of 30 frames a second that is "woven" or "telecined", its samples exact."""
    options = {"preset": "ultrafast", "crf": "0", "g": "14", "keyint_min": "14", "bf": "2"}
    return make(folder / f"in{suffix}", fields=kind, interlaced=True, rate=NTSC, frames=frames,
                options=options, **settings)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "step", "suffix"),
    [("frame", Nearest, ".ts"), ("frame", temporal, ".mkv"), ("field", Nearest, ".mkv"),
     ("field", temporal, ".ts")],
)  # fmt: skip
def test_interlaced_films(tmp_path, how, step, suffix):
    source = fields(tmp_path, "woven", suffix=suffix)
    run = check(
        source, tmp_path, step=step, after=60 if how == "frame" else 120, clip=Clip(deinterlace=how)
    )
    assert run.summary.frames == 100 * (2 if how == "field" else 1) * (2 if step is temporal else 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "suffix"), [(Nearest, ".mkv"), (temporal, ".mp4"), (Nearest, ".ts")]
)
def test_telecined_films(tmp_path, step, suffix):
    source = fields(tmp_path, "telecined", suffix=suffix, audio="mp2" if suffix == ".ts" else "aac")
    run = check(source, tmp_path, step=step, after=60, clip=Clip(ivtc=True))
    assert run.summary.frames == 80 * (2 if step is temporal else 1)


@pytest.mark.slow
@pytest.mark.parametrize("phase", [1, 3])
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


def filtered(chain):
    """Return a function that makes a step of a chain of FFmpeg's filters."""

    def make(info):
        step = FilterStep(parse(chain, "vf"), info, "vf")
        return Chain(step, Nearest()), replace(
            info, picture=replace(step.picture, format=info.picture.format)
        )

    return lambda: make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chain", "kind"),
    [("atadenoise=s=9", "plain"), ("fps=25,tmix=frames=3", "ts"), ("fps=25", "variable"),
     ("fps=8,scale=48:32,tmedian=radius=1", "plain"), ("bwdif=mode=send_field:deint=all", "plain")],
)  # fmt: skip
def test_filters_of_ffmpeg(tmp_path, chain, kind):
    source = difficult(kind, tmp_path, 40)
    whole, cut = tmp_path / "whole.mkv", tmp_path / "cut.mkv"
    step = filtered(chain)
    convert(source, whole, step(), encoding=LOSSLESS)
    run = Run(source, cut, step())
    assert run.error is None, run.error
    assert "segments" in run.said[-1]
    same(whole, cut)


@pytest.mark.slow
def test_filters_reach_as_far_as_is_said(tmp_path):
    """Of each filter in the table: beginning so many frames before a frame changes nothing."""
    source = Source(make(tmp_path / "in.mkv", frames=20), Clip())
    with closing(source):
        frames = [item.frame for item in source.items() if item.frame is not None]
        info, cut = source.info, 10

    def run(name, given):
        step = FilterStep(parse(name, "vf"), info, "vf")
        with closing(step):
            step.prepare(info.picture.format)
            found = [one for frame in given for one in step.push(frame)] + list(step.push(None))
            begin = frames[cut].pts * step.traits.ticks
            late = [one for one in found if one.pts >= begin]
            samples = [(one.pts, *(plane.tobytes() for plane in one.planes)) for one in late]
            return samples, step.traits.reach

    tried = 0
    names = {*overlaps._SPATIAL, *overlaps._NEIGHBOURS, *overlaps._SIZED} - {"vflip"}
    for name in sorted(names):
        try:
            whole, reach = run(name, frames)
        except (InputError, ValueError):
            continue  # it is not in this FFmpeg, or needs options
        tried += 1
        assert run(name, frames[cut - reach :])[0] == whole, name
    assert tried > 90


@pytest.mark.slow
def test_segments_are_long_beside_what_leads_in_and_out(tmp_path, monkeypatch):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=100, options=KEYS)
    monkeypatch.setattr(cuts, "LEADING", 4)
    run = Run(source, tmp_path / "out.mkv", Median(5))  # 40 frames, at key frames 12 apart
    assert run.error is None, run.error
    assert "in 3 segments" in run.said[0]


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"step": Median()}, {"clip": Clip(frames=40)}])
def test_fields_in_packets_of_their_own(tmp_path, monkeypatch, settings):
    """Then packets do not tell where so many pictures end."""
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=50, options=KEYS)

    def doubled(path, maps):
        found = scan(path, maps)
        return replace(found, times=tuple(sorted(t + h for t in found.times for h in (0, 41))))

    monkeypatch.setattr(begin, "scan", doubled)
    run = Run(source, tmp_path / "out.mkv", **settings)
    assert run.error is None, run.error
    assert "several of its packets make one picture" in run.said[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "step", "clip"),
    [
        ("woven", Nearest, {"deinterlace": "field", "start": Fraction(1, 2)}),
        ("woven", Nearest, {"deinterlace": "frame", "start": Fraction(1, 3), "frames": 90}),
        ("telecined", Nearest, {"ivtc": True, "duration": Fraction(7, 2)}),
        ("woven", temporal, {"interlaced": "ignore", "start": Fraction(1, 3), "frames": 90}),
    ],
)
def test_parts_of_films_of_fields(tmp_path, kind, step, clip):
    source = fields(tmp_path, kind)
    after = 120 if clip.get("deinterlace") == "field" else 60
    check(source, tmp_path, step=step, after=after, clip=Clip(**clip))
