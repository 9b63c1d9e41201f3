"""FFmpeg's filter graphs on the source side, and the edges that a container hides."""

from __future__ import annotations

import pickle
from fractions import Fraction

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.filtering.graph import Filter
from snellen.video.segments import cuts
from snellen.video.source.decode import Source
from snellen.video.source.filters import _properties, deinterlacing, graph_of
from snellen.video.source.places import sample
from support.video.clips import luma, make, picture, read
from support.video.comparisons import Difference, compared
from support.video.converting import convert, dry_run
from support.video.framed import framed
from support.video.segments import Run
from support.video.steps import Nearest

BASE = Fraction(1, 1000)


@pytest.fixture
def opened(tmp_path):
    """Container, stream and decoded frames of a clip in BT.2020, 10 bit."""
    path = make(
        tmp_path / "in.mkv", codec="ffv1", pix_fmt="yuv444p10le", frames=3,
        colour=(1, 9, 9, 14),
    )  # fmt: skip
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        yield stream, list(container.decode(stream))


def filtered(opened, *chain):
    stream, frames = opened
    filters = [Filter.of(name, **options) for name, options in chain]
    graph = graph_of(filters, stream, frames[0], BASE)
    return [one for frame in [*frames, None] for one in graph.push(frame)]


def test_filters_follow_one_another(opened):
    found = filtered(opened, ("hflip", {}), ("vflip", {}))
    assert [ticks for _, ticks in found] == [0, 40, 80]
    for number, (frame, _) in enumerate(found):
        expected = luma(picture(number, "yuv444p10le"))[::-1, ::-1]
        assert (luma(frame) == expected).all()


def test_options(opened):
    ((first, _), *rest) = filtered(opened, ("crop", {"w": "32", "h": "16", "x": "8", "y": "4"}))
    assert (first.width, first.height, len(rest)) == (32, 16, 2)
    assert (luma(first) == luma(picture(0, "yuv444p10le"))[4:20, 8:40]).all()


def test_special_characters_of_an_option(opened):
    """Quoted once for the list of options: commas and colons belong to the value."""
    found = filtered(opened, ("select", {"expr": "not(eq(n,1))"}))
    assert [ticks for _, ticks in found] == [0, 80]
    found = filtered(opened, ("lutyuv", {"y": "if(gt(val,500),val,0)"}))
    plane = luma(picture(0, "yuv444p10le"))
    assert (luma(found[0][0]) == np.where(plane > 500, plane, 0)).all()


@pytest.mark.parametrize(("matrix", "same"), [("bt2020nc", True), ("bt601", False)])
def test_the_colour_matrix_is_stated(opened, matrix, same):
    """Without options of the filter, RGB is that of the stream's own matrix."""
    by_itself = filtered(opened, ("format", {"pix_fmts": "gbrp10le"}))
    stated = ("scale", {"in_color_matrix": matrix, "in_range": "tv"})
    asked = filtered(opened, stated, ("format", {"pix_fmts": "gbrp10le"}))
    assert (luma(by_itself[0][0]) == luma(asked[0][0])).all() == same


def test_what_is_stated(opened, tmp_path):
    stream, (frame, *_) = opened
    assert _properties(stream, frame, BASE) == {
        "video_size": "64x48", "pix_fmt": "yuv444p10le", "time_base": "1/1000",
        "pixel_aspect": "1/1", "colorspace": "9", "range": "1", "frame_rate": "25/1",
    }  # fmt: skip
    with av.open(str(make(tmp_path / "wide.mkv", frames=1, aspect=Fraction(4, 3)))) as container:
        stream = container.streams.video[0]
        frame = next(container.decode(stream))
        assert _properties(stream, frame, BASE)["pixel_aspect"] == "4/3"
        graph = graph_of([Filter.of("scale", w="iw*sar", h="ih")], stream, frame, BASE)
        ((found, _),) = graph.push(frame) + graph.push(None)
    assert found.width == 85  # of 64 columns, to square samples


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        ((("nosuch", {}),), "no filter 'nosuch'"),
        ((("hflip", {}), ("crop", {"nosuch": "1"})), "filters hflip, crop: crop: .*nosuch"),
        ((("crop", {"w": "nonsense("}),), "filters crop: .*nonsense"),
        ((("overlay", {}),), "overlay has 2 inputs and 1 output"),
    ],
)
def test_what_ffmpeg_does_not_take(opened, chain, message):
    with pytest.raises(InputError, match=message):
        filtered(opened, *chain)


def test_deinterlacing_goes_by_the_flags(opened):
    stream, (frame, *_) = opened
    assert [str(one) for one in deinterlacing(stream, frame)] == [
        "bwdif=mode=send_frame:deint=all"  # nothing states the order
    ]
    assert [str(one) for one in deinterlacing(stream, frame, "bottom", per_field=True)] == [
        "setfield=mode=bff", "bwdif=mode=send_field:deint=all",
    ]  # fmt: skip


def test_a_filter_is_a_value():
    bwdif = Filter.of("bwdif", mode="send_frame")
    assert pickle.loads(pickle.dumps(bwdif)) == bwdif


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
