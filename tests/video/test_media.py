"""MediaInfo: what the sink and the copied streams know of an input, as a value."""

from __future__ import annotations

import ast
import dataclasses
import pickle
from fractions import Fraction
from pathlib import Path

import pytest

import snellen.video
from snellen.video.clip import Clip
from snellen.video.source.decode import Source
from support.video.clips import HEIGHT, SRT, WIDTH, make


@pytest.fixture
def info(tmp_path):
    path = make(
        tmp_path / "in.mkv", audio="aac", subtitles=SRT, chapters=((0, 400, "one"),),
        tags={"title": "film"}, aspect=Fraction(4, 3), colour=(1, 1, 1, 1), rotation=90,
    )  # fmt: skip
    source = Source(path, Clip(duration=Fraction(1, 2)))
    source.close()
    return source.info


@pytest.mark.slow
def test_it_describes_the_input(info):
    assert [stream.type for stream in info.streams] == ["video", "audio", "subtitle"]
    assert info.video is info.streams[info.video_index]
    assert str(info.streams[1]) == "audio stream 1 (aac, eng)"
    unknown = dataclasses.replace(info.streams[1], tags={"language": "und"})  # as mp4 says it
    assert str(unknown) == "audio stream 1 (aac)"
    (chapter,) = info.chapters
    assert (chapter.start, chapter.end) == (0, Fraction(2, 5))
    assert chapter.tags["title"] == "one" and info.tags["title"] == "film"
    picture = info.picture
    assert (picture.format.width, picture.format.height) == (WIDTH, HEIGHT)
    assert (picture.color_range, picture.colorspace, picture.color_trc) == (1, 1, 1)
    assert picture.sample_aspect_ratio == Fraction(4, 3) and picture.display_matrix is not None
    assert (info.rate, info.zero, info.end) == (25, 0, Fraction(1, 2))
    assert (info.frames, info.decoder, info.decoder_notice) == (12, "cpu", None)


def test_it_is_a_value(info):
    """It stays the same after the input is closed, in another process too."""
    assert pickle.loads(pickle.dumps(info)) == info
    with pytest.raises(dataclasses.FrozenInstanceError):
        info.zero = Fraction(1)


def test_a_clip_of_frames_ends_in_an_item(tmp_path):
    """Where the clip ends is known with its last frame, and reaches the sink with it."""
    source = Source(make(tmp_path / "in.mkv", frames=9), Clip(frames=4))
    assert source.info.end is None
    items = list(source.items())
    source.close()
    assert [item.clip_end for item in items] == [None] * 3 + [Fraction(4, 25)] * 2
    assert [item.report is None for item in items] == [True] * 4 + [False]
    assert items[-1].frame is None and items[-1].report.damage == ()


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["sink", "passthrough"])
def test_nothing_there_knows_the_source(folder):
    for path in (Path(snellen.video.__file__).parent / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                assert not any(name.startswith("snellen.video.source") for name in names), path
