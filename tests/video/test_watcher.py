"""What changes or appears after a film's first frame is converted or said, wherever it begins."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.frame import CENTRE, LEFT, Format
from snellen.video import pixels, side_data
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.segments import cuts
from snellen.video.source.decode import Source
from snellen.video.source.recolour import Coding, recolour
from snellen.video.source.watcher import Colours, Watcher
from support.video.clips import make, read
from support.video.comparisons import Difference, compared
from support.video.converting import convert
from support.video.joined import BT601, BT709, BT2020, joined, remuxed, scene
from support.video.segments import Run
from support.video.steps import Nearest

FAST = Encoding(codec="libx264", preset="ultrafast", crf=0)
CAPTIONS = "closed captions inside the pictures (CEA-608/708) are lost"
LATE = (
    ("range", {}, {"full": True}, "full range instead of limited range: they are converted"),
    ("matrix", {}, {"colours": (6, 1, 1)}, "matrix smpte170m instead of bt709: they are converted"),
    ("primaries", {}, {"colours": (1, 9, 1)}, "primaries bt2020 instead of bt709: they are not"),
    ("transfer", {}, {"colours": (1, 1, 16)}, "function smpte2084 instead of bt709: they are not"),
    ("aspect", {"aspect": Fraction(16, 11)}, {"aspect": Fraction(12, 11)}, "aspect ratio 12:11"),
    ("captions", {}, {"captions": True}, CAPTIONS),
)  # fmt: skip


def shown(path):
    """The pictures of a film as they are shown, in RGB."""
    return [frame.to_ndarray(format="rgb24").astype(float) for frame in read(path).frames]


@pytest.mark.parametrize(
    ("first", "second", "text", "suffix"),
    [
        pytest.param(*one[1:], suffix, id=one[0] + suffix)
        for one in LATE
        for suffix in (".ts", ".mkv")
        if (one[0], suffix) != ("aspect", ".mkv")  # it states one ratio itself, which players use
    ],
)
def test_what_begins_late_is_said(tmp_path, step, first, second, text, suffix):
    source = joined(tmp_path / "in.ts", first, second)
    if suffix != ".ts":
        source = remuxed(source, tmp_path / f"in{suffix}")
    said = []
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST, on_warning=said.append)
    late = [one for one in summary.warnings if one.startswith("from ")]
    assert len(late) == 1 and text in late[0] and late[0].startswith("from 0:00:00.240 on, ")
    assert late[0] in said
    target = tmp_path / "strict.mkv"
    if "are converted" in text:
        assert convert(source, target, Nearest(), encoding=FAST, strict=True).frames == 12
    else:
        with pytest.raises(InputError, match=r"strict, and this was lost: from 0:00:00\.240 on"):
            convert(source, target, Nearest(), encoding=FAST, strict=True)
        assert not target.exists()


@pytest.mark.parametrize("second", [{"full": True}, {"colours": (6, 1, 1)},
                                    {"full": True, "colours": (6, 1, 1)}])  # fmt: skip
def test_what_is_converted_looks_as_before(tmp_path, step, second):
    source = joined(tmp_path / "in.ts", {}, second, {})
    convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    before, after = shown(source), shown(tmp_path / "out.mkv")
    large = [one.repeat(2, 0).repeat(2, 1) for one in before]
    for one, other in zip(large, after, strict=True):
        assert abs(one - other).mean() < 2


def test_limited_range_behind_full_range(tmp_path):
    """FFmpeg decodes both as yuvj420p, whose name says full range, and states each one's range."""
    with closing(Source(joined(tmp_path / "in.ts", {"full": True}, {}), Clip())) as source:
        frames = [item.frame for item in source.items() if item.frame is not None]
        (change,) = source.report().changes
    assert change.text.startswith("the pictures have limited range instead of full range: they are")
    assert change.since == Fraction(6, 25) and not change.lost
    for one in frames[6:]:
        assert abs(one.planes[0].astype(int) - frames[0].planes[0]).mean() < 1.5


def test_equal_colours_of_other_names_are_no_change(tmp_path, step):
    same = {"colours": (6, 6, 1)}, {"colours": (5, 7, 6)}, {"colours": (5, 6, 14)}
    source = joined(tmp_path / "in.ts", *same)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST, strict=True)
    assert not [one for one in summary.warnings if one.startswith("from")]


def test_deinterlaced_frames_are_converted_too(tmp_path, step):
    parts = {"interlaced": True}, {"interlaced": True, "full": True}
    source = joined(tmp_path / "in.ts", *parts, moves=False)
    clip = Clip(deinterlace=True, interlaced="top")
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST, clip=clip)
    assert any("full range instead of limited" in one for one in summary.warnings)
    after = shown(tmp_path / "out.mkv")
    assert abs(after[2] - after[-3]).mean() < 2


def test_a_clip_begins_with_its_own_colours(tmp_path, step):
    source = joined(tmp_path / "in.ts", {"keys": 1}, {"full": True, "captions": True, "keys": 1})
    clip = Clip(start=Fraction(6, 25))
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST, clip=clip)
    assert summary.dropped == (CAPTIONS,)
    assert not [one for one in summary.warnings if one.startswith("from")]


@pytest.fixture
def short(monkeypatch):
    """Films of more than a second are long, and cut after each second."""
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})


@pytest.mark.slow
def test_segments_say_and_convert_what_a_whole_film_does(tmp_path, short):
    """Segments 2 and 3 of this film begin as nothing of the first one does."""
    late = {"full": True, "colours": (6, 9, 1), "captions": True, "keys": 5, "frames": 50}
    source = joined(tmp_path / "in.ts", {"frames": 20, "keys": 5}, late, moves=True)
    whole = convert(source, tmp_path / "whole.mkv", Nearest(), encoding=FAST)
    run = Run(source, tmp_path / "cut.mkv", encoding=FAST)
    assert run.error is None and any("segments" in text for text in run.said)
    wanted = [one for one in whole.warnings if one.startswith("from ")]
    assert len(wanted) == 4 and all(one.startswith("from 0:00:00.800 on") for one in wanted)
    assert [one for one in run.summary.warnings if one.startswith("from ")] == wanted
    for one, other in zip(shown(tmp_path / "whole.mkv"), shown(tmp_path / "cut.mkv"), strict=True):
        assert np.array_equal(one, other)
    strict = Run(source, tmp_path / "strict.mkv", encoding=FAST, strict=True)
    assert "this was lost: from 0:00:00.800 on" in str(strict.error)


def test_records_outlive_a_run(tmp_path, short):
    """What a finished segment saw is said by the run that goes on."""
    parts = {"frames": 10, "keys": 5}, {"captions": True, "frames": 50, "keys": 5}
    source = joined(tmp_path / "in.ts", *parts, moves=True)
    from support.video.segments import Dying

    target = tmp_path / "out.mkv"
    assert Run(source, target, Dying(40), encoding=FAST).error is not None
    run = Run(source, target, encoding=FAST)
    assert any("goes on" in text for text in run.said) and run.error is None
    assert f"from 0:00:00.400 on, {CAPTIONS}" in run.summary.warnings


def test_a_comparison_says_what_one_film_alone_has(tmp_path):
    source = joined(tmp_path / "in.ts", {}, {"colours": (1, 1, 16), "captions": True})
    other = joined(tmp_path / "other.ts", {}, {})
    summary = compared(source, other, Difference())[-1]
    (said,) = [one for one in summary.warnings if "from " in one]
    assert said.startswith(f"{source}: from 0:00:00.240 on, the pictures have the transfer")
    again = compared(source, source, Difference())[-1]
    assert again.warnings == ()


def test_a_comparison_converts_the_range(tmp_path):
    source = joined(tmp_path / "in.ts", {}, {"full": True})
    results = compared(source, joined(tmp_path / "other.ts", {}, {}), Difference())[2]
    assert max(results) < 1


KINDS = {**side_data._LOST, "MASTERING_DISPLAY_METADATA": "are lost",
         "CONTENT_LIGHT_LEVEL": "are lost"}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_side_data_is_watched(tmp_path, kind):
    source = make(tmp_path / "in.mkv", frames=1)
    with av.open(str(source)) as container:
        stream = container.streams.video[0]
        frame = next(container.decode(stream))
        opened = Source(source, Clip())
        later = {}
        watcher = Watcher(stream, opened.info.picture, lambda frame: later)
        opened.close()
        assert watcher.see(frame, 0) is None
        assert watcher.changes(Fraction(1), Fraction(0)) == ()
        content = {"MASTERING_DISPLAY_METADATA": np.ones(22, "i4").tobytes(),
                   "CONTENT_LIGHT_LEVEL": np.array([1000, 400], "u4").tobytes()}  # fmt: skip
        later[kind] = content.get(kind, b"")
        watcher.see(frame, 7)
        watcher.see(frame, 8)
        (change,) = watcher.changes(Fraction(1, 2), Fraction(1))
    assert change.text.endswith(KINDS[kind]) and change.since == Fraction(5, 2)
    assert change.lost and not change.samples


def test_colours_that_only_some_frames_state(tmp_path):
    with Opened(make(tmp_path / "in.mkv", frames=1, colour=(1, 1, 1, 1))) as info:
        watcher = Watcher(None, info.picture, None)
    for colours, text in (
        (Colours(1, 2, 1, 1), "matrix unknown instead of bt709: they are not converted"),
        (Colours(1, 1, 2, 1), "primaries unspecified instead of bt709"),
        (Colours(1, 1, 1, 2), "function unspecified instead of bt709"),
        (Colours(1, 14, 1, 1), "matrix ictcp instead of bt709: they are not converted"),
    ):
        convert, (found,) = watcher._coloured(colours)
        assert convert is None and text in found.text and found.lost and found.samples
    assert watcher._coloured(Colours(0, 1, 1, 1)) == (None, [])  # limited, as players take it


def test_an_aspect_ratio_of_a_transport_stream_is_that_of_its_first_frame(tmp_path):
    """FFmpeg's own description of the stream has the last one that it has probed."""
    parts = {"aspect": Fraction(16, 11)}, {"aspect": Fraction(12, 11)}
    with Opened(joined(tmp_path / "in.ts", *parts)) as info:
        assert info.picture.sample_aspect_ratio == Fraction(16, 11)


def test_a_rotation_that_changes(tmp_path):
    source = make(tmp_path / "in.mkv", frames=1)
    turned = make(tmp_path / "turned.mp4", frames=1, rotation=90)
    with av.open(str(source)) as container, Opened(turned) as info:
        stream = container.streams.video[0]
        frame = next(container.decode(stream))  # a key frame that states none
        watcher = Watcher(stream, info.picture, side_data.SideDataReader())
        watcher.see(frame, 3)
    (change,) = watcher.changes(Fraction(1), Fraction(0))
    assert "another rotation" in change.text and change.lost


class Opened:
    """The description of a film."""

    def __init__(self, path):
        self._source = Source(path, Clip())

    def __enter__(self):
        return self._source.info

    def __exit__(self, *_):
        self._source.close()


def test_a_film_that_does_not_change_is_compared_once(tmp_path, monkeypatch):
    source = make(tmp_path / "in.mkv", frames=30, options={"g": "5"})
    calls = []
    looked = Watcher._coloured
    monkeypatch.setattr(Watcher, "_coloured", lambda *a: calls.append(1) or looked(*a))
    opened = Source(source, Clip())
    assert sum(item.frame is not None for item in opened.items()) == 30
    assert opened.report().changes == ()
    opened.close()
    assert len(calls) <= 4  # with and without x264's own side data, key frames or not


def planes_of(format, colours, full, siting=LEFT):
    frame = scene(colours, full, format)
    layout = pixels.parse(format)
    form = Format(frame.width, frame.height, layout.bits, layout.subsampling, siting, full)
    return pixels.planes(frame), form


@pytest.mark.parametrize("format", ["yuv444p", "yuv420p10le", "yuv422p", "yuv444p16le", "gray"])
@pytest.mark.parametrize("full", [False, True])
def test_ranges_there_and_back(format, full):
    """Into the larger range and back every code is itself again."""
    planes, form = planes_of(format, BT709, False)
    there = recolour(Coding(1, False), Coding(1, True), replace(form, full_range=True))
    back = recolour(Coding(1, True), Coding(1, False), form)
    for one, other in zip(planes, back(there(planes)), strict=True):
        assert np.array_equal(one, other) and one.dtype == other.dtype


def test_the_ends_of_the_ranges():
    form = Format(4, 1, 10, (0, 0), full_range=True)
    luma = np.array([[64, 940, 0, 1023]], np.uint16)
    chroma = np.array([[512, 64, 960, 1023]], np.uint16)
    made = recolour(Coding(1, False), Coding(1, True), form)((luma, chroma, chroma))
    assert made[0].tolist() == [[0, 1023, 0, 1023]]
    assert made[1].tolist() == [[512, 0, 1023, 1023]]


@pytest.mark.parametrize("given", [BT601, BT2020])
def test_matrices_by_way_of_rgb(given):
    """4:4:4: the codes are those of RGB in float64, to half a code and float32's rounding."""
    planes, form = planes_of("yuv444p10le", given, False)
    made = recolour(Coding(given[0], False), Coding(1, False), form)(planes)
    shares = {1: (0.2126, 0.0722), 6: (0.299, 0.114), 9: (0.2627, 0.0593)}

    def rgb(planes, matrix):
        red, blue = shares[matrix]
        y = (planes[0].astype(float) - 64) / 876
        b, r = ((one.astype(float) - 512) / 896 for one in planes[1:])
        r, b = y + 2 * (1 - red) * r, y + 2 * (1 - blue) * b
        return r, (y - red * r - blue * b) / (1 - red - blue), b

    for one, other in zip(rgb(planes, given[0]), rgb(made, 1), strict=True):
        # Half a code of luma, and of chroma times its greatest factor, 2 (1 − 0.0722).
        assert abs(one - other).max() <= 0.5 / 876 + 1.8556 * 0.5 / 896 + 1e-5


@pytest.mark.parametrize("siting", [LEFT, CENTRE])
def test_chroma_is_where_luma_needs_it(siting):
    """A ramp of chroma stays a ramp where it is interpolated, at the place of each sample."""
    form = Format(16, 2, 8, (1, 0), siting)
    ramp = np.tile(np.arange(8, dtype=np.uint8) * 16 + 64, (2, 1))
    grey = np.full((2, 16), 128, np.uint8)
    made = recolour(Coding(6, False), Coding(1, False), form)((grey, ramp, np.full_like(ramp, 128)))
    at = np.clip((np.arange(16) + 0.5) / 2 - siting[0], 0, 7) * 16 + 64
    luma = recolour(Coding(6, False), Coding(1, False), replace(form, subsampling=(0, 0)))(
        (grey, np.tile(np.rint(at).astype(np.uint8), (2, 1)), grey)
    )[0]
    assert abs(made[0].astype(int) - luma.astype(int)).max() <= 1


def test_matrices_that_are_no_luma_of_rgb_are_left():
    assert recolour(Coding(14, False), Coding(1, False), Format(4, 4, 8, (1, 1))) is None
    assert recolour(Coding(2, False), Coding(1, True), Format(4, 4, 8, (1, 1))) is None
