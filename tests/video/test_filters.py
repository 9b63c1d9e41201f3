"""FFmpeg's filter graphs on the source side: any filters, colour and shape of samples stated."""

from __future__ import annotations

import pickle
from fractions import Fraction

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video.filtering.graph import Filter
from snellen.video.source.filters import _properties, deinterlacing, graph_of
from support.video.clips import luma, make, picture

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
