"""Tags of streams and films, languages and time codes: kept, translated, or named when lost."""

from fractions import Fraction

import av
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip, Encoding
from support.video.clips import make, picture, read
from support.video.converting import convert
from support.video.steps import Nearest

FAST = Encoding(preset="ultrafast")
CHAPTERS = ((0, 400, "Dawn"), (400, 1000, "Dusk"))
TAGS = {"title": "A film", "comment": "äöü ☃"}


def remux(source, target, tags=None, disposition=None, film=None, shift=0):
    """Copy a file with other tags on stream 1, all its packets `shift` seconds later."""
    options = {"avoid_negative_ts": "disabled"}
    with (
        av.open(str(source)) as inside,
        av.open(str(target), "w", container_options=options) as out,
    ):
        streams = [out.add_stream_from_template(s, opaque=True) for s in inside.streams]
        streams[1].metadata.update({"language": "eng"} | (tags or {}))
        if disposition is not None:
            streams[1].disposition = disposition
        out.metadata.update(film or {})
        for packet in inside.demux():
            if packet.size:
                ticks = round(shift / packet.time_base)
                packet.pts, packet.dts = packet.pts + ticks, packet.dts + ticks
                packet.stream = streams[packet.stream.index]
                out.mux(packet)
    return target


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """Matroska with a video and an audio stream."""
    return make(tmp_path_factory.mktemp("spoken") / "in.mkv", audio="aac", frames=20)


def test_lost_tags_are_losses(tmp_path, step):
    source = make(tmp_path / "in.mkv", frames=2, tags={"FOO": "bar"})
    assert convert(source, tmp_path / "out.mkv", step, encoding=FAST, strict=True).dropped == ()
    summary = convert(source, tmp_path / "out.mp4", Nearest(), encoding=FAST)
    assert summary.dropped == summary.warnings == ("tags that .mp4 cannot hold: FOO",)
    with pytest.raises(InputError, match=r"strict.*FOO"):
        convert(source, tmp_path / "o.mp4", Nearest(), encoding=FAST, strict=True)


@pytest.mark.slow
def test_what_is_reported_of_a_stream_is_named_when_lost(spoken, tmp_path, step):
    marks = av.stream.Disposition.original | av.stream.Disposition.comment
    source = remux(spoken, tmp_path / "in.mkv", {"FOO": "x"}, marks)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST, strict=True)
    assert summary.warnings == ()
    summary = convert(source, tmp_path / "out.mp4", Nearest(), encoding=FAST)
    want = "audio stream 1 (aac, eng): .mp4 cannot hold its FOO, mark original"
    assert summary.dropped == (want,)
    with pytest.raises(InputError, match="FOO, mark original"):
        convert(source, tmp_path / "o.mp4", Nearest(), encoding=FAST, strict=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "mp4", "mov"),
    [("pt-BR", "por", "por"), ("de", "ger", "ger"), ("deu", "deu", "ger"), ("und", "und", None)],
)
def test_languages_are_translated_where_three_letters_are_all(
    spoken, tmp_path, step, language, mp4, mov
):
    source = remux(spoken, tmp_path / "in.mkv", {"language": language})
    for suffix, want in ((".mkv", None if language == "und" else language), (".mp4", mp4),
                         (".mov", mov)):  # fmt: skip
        target = tmp_path / f"out{suffix}"
        assert convert(source, target, Nearest(), encoding=FAST, strict=True).warnings == ()
        assert read(target).stream_tags[1].get("language") == want


def test_a_language_that_mp4_has_no_letters_for_is_named(spoken, tmp_path, step):
    source = remux(spoken, tmp_path / "in.mkv", {"language": "x-elvish"})
    summary = convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    assert len(summary.dropped) == 1
    assert ".mp4 cannot hold its language" in summary.dropped[0]


def test_tags_that_only_begin_like_technical_ones_stay(tmp_path, step):
    mine = {"ROTATE-INFO": "b", "DURATION-NOTE": "c", "BPS-BOX": "d"}
    source = make(tmp_path / "in.mkv", frames=2, tags=mine | {"XNCODER-SETTINGS": "a"})
    # FFmpeg writes no container tag that begins with ENCODER-: that is reported.
    source.write_bytes(source.read_bytes().replace(b"XNCODER", b"ENCODER"))
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert read(tmp_path / "out.mkv").tags.items() >= mine.items()
    assert summary.dropped == ("tags that .mkv cannot hold: ENCODER-SETTINGS",)


@pytest.mark.slow
def test_technical_tags_of_mp4_stay_in_mp4(spoken, tmp_path, step):
    source = remux(spoken, tmp_path / "in.mp4", {"title": "Director", "vendor_id": "abcd"})
    convert(source, tmp_path / "out.mkv", step, encoding=FAST, strict=True)
    message = read(tmp_path / "out.mkv").stream_tags[1]
    assert message["title"] == "Director"
    assert message.keys() == {"title", "language", "DURATION"}
    back = convert(tmp_path / "out.mkv", tmp_path / "out.mp4", Nearest(1), encoding=FAST)
    assert back.warnings == ()
    assert read(tmp_path / "out.mp4").stream_tags[1]["name"] == "Director"  # FFmpeg's key


@pytest.fixture(scope="module")
def coded(tmp_path_factory):
    """25 frames/s with the time code 01:00:00:00."""
    source = tmp_path_factory.mktemp("coded") / "in.mov"
    with av.open(str(source), "w") as out:
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.metadata["timecode"] = "01:00:00:00"
        for number in range(20):
            frame = picture(number)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return source


@pytest.mark.parametrize("suffix", [".mov", ".mp4", ".mkv"])
def test_the_time_code_begins_where_the_clip_does(coded, tmp_path, suffix):
    for start, want in ((Fraction(2, 5), "01:00:00:10"), (None, "01:00:00:00")):
        target = tmp_path / f"{start is None}{suffix}"
        convert(coded, target, Nearest(), clip=Clip(start=start), encoding=FAST, strict=True)
        message = {k.lower(): v for k, v in read(target).stream_tags[0].items()}
        assert message["timecode"] == want
        if suffix == ".mkv":
            again = tmp_path / f"again{start is None}.mkv"
            clip = Clip(start=Fraction(1, 5))
            convert(target, again, Nearest(1), clip=clip, encoding=FAST, strict=True)
            later = f"{want[:-2]}{int(want[-2:]) + 5:02}"
            assert read(again).stream_tags[0]["TIMECODE"] == later


def test_a_time_code_that_cannot_be_moved_is_dropped(tmp_path, step):
    source = make(tmp_path / "in.mkv", frames=10, tags={"TIMECODE": "noon"})
    summary = convert(
        source, tmp_path / "out.mkv", step, clip=Clip(start=Fraction(1, 5)), encoding=FAST
    )
    assert summary.dropped == ("time code noon: it cannot be moved to the clip's start",)
    assert "TIMECODE" not in read(tmp_path / "out.mkv").tags


def test_audio_that_an_edit_list_skips_is_not_heard_in_matroska(spoken, tmp_path):
    source = remux(spoken, tmp_path / "in.mp4", shift=Fraction(-1, 2))
    assert read(source).packets[1][0][0] < Fraction(-1, 2)
    quiet = convert(source, tmp_path / "out.mp4", Nearest(), encoding=FAST, strict=True)
    assert quiet.warnings == ()
    target = tmp_path / "out.mkv"
    summary = convert(source, target, Nearest(), encoding=FAST, strict=True)
    assert summary.dropped == ()
    assert ["0.521 s before the video" in w for w in summary.warnings] == [True]
    before, after = read(source).packets[1], read(target).packets[1]
    assert Fraction(-1, 10) <= after[0][0] <= 0
    kept = [p for p in before if p[0] >= Fraction(-1, 10)]
    assert [data for _, data in after] == [data for _, data in kept]
