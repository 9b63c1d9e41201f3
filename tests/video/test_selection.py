"""Streams that maps select, as those of FFmpeg's -map."""

from __future__ import annotations

import av
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip
from snellen.video.selection import Described, selected
from snellen.video.source.places import sample
from support.video.checks import FAST
from support.video.clips import SRT, make, picture
from support.video.converting import convert

STREAMS = (
    Described(0, "video", False, {}),
    Described(1, "audio", False, {"language": "eng"}),
    Described(2, "audio", False, {"language": "ger", "title": "comment"}),
    Described(3, "subtitle", False, {"language": "eng"}),
    Described(4, "video", True, {}),
    Described(5, "attachment", False, {}),
)


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("maps", "kept"),
    [
        ((), None), (("0",), [0, 1, 2, 3, 4, 5]), (("0:a:1",), [2]), (("0:2", "0:1"), [2, 1]),
        (("0:v",), [0, 4]), (("0:V",), [0]), (("0:t",), [5]), (("0:a", "0:a:0"), [1, 2]),
        (("-0:a",), [0, 3, 4, 5]), (("0", "-0:m:language:eng"), [0, 2, 4, 5]),
        (("0:m:language:eng",), [1, 3]), (("0:a:m:title",), [2]), (("0:d?",), []),
        (("0:a:7?", "0:s"), [3]), (("0:m:LANGUAGE:ger",), [2]), (("-0:d",), [0, 1, 2, 3, 4, 5]),
    ],
)  # fmt: skip
def test_maps(maps, kept):
    assert selected(maps, STREAMS, "it") == kept


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "1:a", "a", "0:", "0:x", "0:a:", "0:a:b", "[out]", "0:a:1:2", "0:m"),
        *("0:m:a:b:c", "0:p:1", "--0", "0:a??", "0:a:" + "9" * 5000),
    ],
)
def test_what_is_no_map(text):
    with pytest.raises(InputError, match="expected") as caught:
        Clip(map=(text,))
    assert caught.value.parameter == "map"
    assert len(str(caught.value)) < 400


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two videos, the second one larger, AAC and subtitles."""
    folder = tmp_path_factory.mktemp("two")
    source = make(folder / "one.mkv", audio="aac", subtitles=SRT, frames=5)
    with av.open(str(source)) as given, av.open(str(folder / "two.mkv"), "w") as out:
        streams = {s.index: out.add_stream_from_template(s, opaque=True) for s in given.streams}
        more = out.add_stream("ffv1", rate=25)
        more.width, more.height, more.pix_fmt = 128, 96, "yuv420p"
        for packet in given.demux():
            if packet.size:
                packet.stream = streams[packet.stream.index]
                out.mux(packet)
        for number in range(5):
            out.mux(more.encode(picture(number, width=128, height=96)))
        out.mux(more.encode(None))
    return folder / "two.mkv"


def kinds(path):
    with av.open(str(path)) as container:
        return [(s.type, getattr(s, "width", None)) for s in container.streams]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("maps", "expected"),
    [
        (("0:a",), [("video", 256), ("audio", None)]),
        (("0:v:0", "0:s"), [("video", 128), ("subtitle", None)]),
        (("0:s", "0:a"), [("video", 256), ("subtitle", None), ("audio", None)]),
        (("0:v:0", "0:v:1"), [("video", 128), ("video", 128)]),
        (("-0:v:1", "-0:s"), [("video", 128), ("audio", None)]),
        (("0:d?",), [("video", 256)]),
    ],
)  # fmt: skip
def test_streams_of_the_output(two, tmp_path, step, maps, expected):
    target = tmp_path / "out.mkv"
    summary = convert(two, target, step, clip=Clip(map=maps), encoding=FAST)
    assert summary.dropped == ()
    assert kinds(target) == expected


def test_a_stream_that_is_not_there(two, tmp_path, step):
    with pytest.raises(InputError, match=r"got map='0:a:1', and .* has no such stream") as caught:
        convert(two, tmp_path / "out.mkv", step, clip=Clip(map=("0:a:1",)), encoding=FAST)
    assert "0:a:1?" in caught.value.advice
    assert not list(tmp_path.iterdir())


def test_the_kind_of_source_is_that_of_the_video_that_is_named(two):
    assert sample(two).planes[0].shape == (96, 128)
    assert sample(two, ("0:v:0",)).planes[0].shape == (48, 64)
    assert sample(two, ("0:v:0",)).codec == "h264"
