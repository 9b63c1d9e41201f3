"""What is copied, and what is named when it cannot be."""

from fractions import Fraction
from io import BytesIO

import av
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip, Encoding
from support.video.clips import SRT, make, picture, png, read
from support.video.converting import convert
from support.video.steps import Nearest

FAST = Encoding(preset="ultrafast")
CHAPTERS = ((0, 400, "Dawn"), (400, 1000, "Dusk"))
TAGS = {"title": "A film", "comment": "äöü ☃"}


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """Matroska with everything."""
    return make(
        tmp_path_factory.mktemp("rich") / "rich.mkv",
        audio="aac",
        subtitles=SRT,
        chapters=CHAPTERS,
        tags={**TAGS, "ODD_KEY": "kept"},
        title="The picture",
        attachments=(("font.ttf", "application/x-truetype-font", b"\0\1\2 not a font" * 50),
                     ("cover.png", "image/png", png())),
    )  # fmt: skip


def payloads(path, kind):
    container = av.open(str(path))
    stream = next(s for s in container.streams if s.type == kind)
    return [(p.pts * p.time_base, p.duration, bytes(p)) for p in container.demux(stream) if p.size]


@pytest.mark.slow
def test_matroska_to_matroska_keeps_everything(rich, tmp_path, step):
    target = tmp_path / "out.mkv"
    summary = convert(rich, target, step, encoding=FAST, strict=True)
    assert summary.warnings == summary.dropped == ()
    before, after = read(rich), read(target)
    assert sorted(after.types) == sorted(before.types)
    for kind in ("audio", "subtitle"):
        assert payloads(target, kind) == payloads(rich, kind)
    assert [c[2]["title"] for c in after.chapters] == ["Dawn", "Dusk"]
    assert [(c[0], c[1]) for c in after.chapters] == [(c[0], c[1]) for c in before.chapters]
    assert before.tags.keys() >= {"title", "COMMENT", "ODD_KEY"}
    assert {k: v for k, v in after.tags.items() if k != "ENCODER"} == {
        k: v for k, v in before.tags.items() if k != "ENCODER"
    }
    files = {s.name: (s.mimetype, s.data) for s in after.container.streams.attachments}
    assert files == {"font.ttf": ("application/x-truetype-font", b"\0\1\2 not a font" * 50)}


def test_languages_titles_and_dispositions(rich, tmp_path, step):
    target = tmp_path / "out.mkv"
    convert(rich, target, step, encoding=FAST)
    streams = av.open(str(target)).streams
    video, audio, subtitle = streams.video[0], streams.audio[0], streams.subtitles[0]
    assert (video.language, video.metadata["title"]) == ("ger", "The picture")
    assert (audio.language, audio.metadata["title"]) == ("eng", "tone")
    assert subtitle.language == "fre"
    assert subtitle.disposition & av.stream.Disposition.forced
    before = av.open(str(rich)).streams
    assert [int(s.disposition) for s in streams] == [int(s.disposition) for s in before]


@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".mov"])
def test_cover_picture(rich, tmp_path, step, suffix):
    target = tmp_path / f"out{suffix}"
    summary = convert(rich, target, step, encoding=FAST)
    container = av.open(str(target))
    covers = [s for s in container.streams.video if s.disposition & 1024]
    if suffix == ".mov":
        assert not covers
        assert any("cover picture" in w and ".mov" in w for w in summary.dropped)
        return
    assert not any("cover" in w for w in summary.warnings)
    assert [bytes(p) for p in container.demux(covers[0]) if p.size] == [png()]
    assert len(container.streams.video) == 2


def test_cover_of_mp4_reaches_both(tmp_path, step):
    source = make(tmp_path / "in.mp4", cover=png(), frames=5)
    for suffix in (".mp4", ".mkv"):
        target = tmp_path / f"out{suffix}"
        summary = convert(source, target, step, encoding=FAST)
        assert summary.frames == 5
        assert summary.dropped == ()
        container = av.open(str(target))
        cover = next(s for s in container.streams.video if s.disposition & 1024)
        assert [bytes(p) for p in container.demux(cover) if p.size] == [png()]


@pytest.mark.slow
def test_what_mp4_cannot_hold_is_named(rich, tmp_path, step):
    target = tmp_path / "out.mp4"
    summary = convert(rich, target, step, encoding=FAST)
    assert "subtitle stream 2 (subrip, fre) becomes mov_text, which .mp4 holds" in summary.warnings
    assert not any("subrip" in w for w in summary.dropped)
    assert any(w.startswith("attachment stream 3") for w in summary.dropped)
    assert set(summary.dropped) <= set(summary.warnings)
    assert "tags that .mp4 cannot hold: ODD_KEY" in summary.warnings
    after = read(target)
    assert payloads(target, "audio")[0][2] == payloads(rich, "audio")[0][2]
    assert after.tags["title"] == "A film"
    assert [c[2]["title"] for c in after.chapters] == ["Dawn", "Dusk"]


def test_strict_refuses_before_work(rich, tmp_path, step):
    with pytest.raises(InputError, match=r"attachment stream 3.*\.mp4 cannot hold it"):
        convert(rich, tmp_path / "out.mp4", step, encoding=FAST, strict=True)
    assert step.prepared is None
    assert not list(tmp_path.iterdir())


def test_chapter_tracks_of_mp4_do_not_multiply(tmp_path, step):
    """mp4 keeps chapters as a hidden text track: copied as data there would be two of them."""
    source = make(tmp_path / "in.mp4", chapters=CHAPTERS, audio="aac")
    assert "data" in read(source).types
    first = convert(source, tmp_path / "a.mp4", step, encoding=FAST)
    second = convert(tmp_path / "a.mp4", tmp_path / "b.mp4", Nearest(1), encoding=FAST)
    assert first.warnings == second.warnings == ()
    for name in ("a.mp4", "b.mp4"):
        after = read(tmp_path / name)
        assert after.types == read(source).types
        assert [c[2]["title"] for c in after.chapters] == ["Dawn", "Dusk"]
    third = convert(source, tmp_path / "c.mkv", Nearest(1), encoding=FAST)
    assert third.warnings == ()
    assert read(tmp_path / "c.mkv").types == ["video", "audio"]


@pytest.mark.slow
def test_pcm_from_mov_to_matroska(tmp_path, step):
    source = make(tmp_path / "in.mov", audio="pcm_s16le")
    for suffix in (".mkv", ".mov"):
        convert(source, tmp_path / f"out{suffix}", step, encoding=FAST)
        assert b"".join(d for *_, d in payloads(tmp_path / f"out{suffix}", "audio")) == b"".join(
            d for *_, d in payloads(source, "audio")
        )


@pytest.mark.slow
def test_opus_of_webm(tmp_path, step):
    source = make(tmp_path / "in.webm", codec="libvpx-vp9", audio="libopus", frames=10,
                  options={"deadline": "realtime", "cpu-used": "8"})  # fmt: skip
    for suffix in (".mkv", ".mp4"):
        target = tmp_path / f"out{suffix}"
        summary = convert(source, target, step, encoding=FAST)
        assert summary.dropped == ()
        assert [d for *_, d in payloads(target, "audio")] == [
            d for *_, d in payloads(source, "audio")
        ]
        before, after = read(source), read(target)
        old = before.packets[1][0][0] - before.times[0]
        assert abs((after.packets[1][0][0] - after.times[0]) - old) <= Fraction(1, 1000)


@pytest.mark.slow
def test_aac_of_a_transport_stream_loses_only_its_framing(tmp_path, step):
    """In TS every AAC packet begins with 7 bytes of ADTS, which mp4 and Matroska do not want."""
    source = make(tmp_path / "in.ts", audio="aac")
    for suffix in (".mkv", ".mp4"):
        target = tmp_path / f"out{suffix}"
        summary = convert(source, target, step, encoding=FAST)
        assert summary.dropped == ()
        assert [d for *_, d in payloads(target, "audio")] == [
            d[7:] for *_, d in payloads(source, "audio")
        ]


def test_bitmap_subtitles_without_durations(tmp_path, step):
    """A PGS stream of empty pictures, without durations."""
    plain = make(tmp_path / "plain.mkv", frames=50)
    source = tmp_path / "in.mkv"
    inside = av.open(str(plain))
    out = av.open(str(source), "w")
    video = out.add_stream_from_template(inside.streams.video[0], opaque=True)
    subtitle = out.add_mux_stream("hdmv_pgs_subtitle")
    subtitle.metadata["language"] = "eng"
    out.start_encoding()
    marks = []
    for packet in inside.demux(0):
        if not packet.size:
            continue
        if len(marks) < 3 and packet.pts >= 300 * len(marks):
            # Presentation segment (1920×1080, nothing composed), end segment.
            segment = [0x16, 0, 11, 7, 128, 4, 56, 16, 0, len(marks), 128, 0, 0, 0, 0x80, 0, 0]
            sign = av.Packet(bytes(segment))
            sign.stream, sign.time_base = subtitle, Fraction(1, 1000)
            sign.pts = sign.dts = 300 * len(marks)
            marks.append(bytes(sign))
            out.mux(sign)
        packet.stream = video
        out.mux(packet)
    out.close()
    convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert payloads(tmp_path / "out.mkv", "subtitle") == payloads(source, "subtitle")
    assert len(payloads(source, "subtitle")) == 3
    summary = convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    assert summary.dropped == ("subtitle stream 1 (hdmv_pgs_subtitle, eng): .mp4 cannot hold it",)


def test_a_second_video_stream_is_copied_and_reported(tmp_path, step):
    large, small = make(tmp_path / "l.mkv"), make(tmp_path / "s.mkv", size=(32, 32))
    source = tmp_path / "in.mkv"
    out = av.open(str(source), "w")
    inside = [av.open(str(small)), av.open(str(large))]
    streams = [out.add_stream_from_template(c.streams.video[0], opaque=True) for c in inside]
    out.start_encoding()
    for container, stream in zip(inside, streams, strict=True):
        for packet in container.demux():
            if packet.size:
                packet.stream = stream
                out.mux(packet)
    out.close()
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert (summary.width, summary.height) == (128, 96)
    assert any("copied unchanged" in w for w in summary.warnings)
    after = av.open(str(tmp_path / "out.mkv"))
    assert sorted(s.width for s in after.streams.video) == [32, 128]


@pytest.mark.slow
def test_statistics_of_the_old_coding_do_not_survive(tmp_path, step):
    source = make(tmp_path / "in.mkv")
    out = av.open(str(tmp_path / "reported.mkv"), "w")
    inside = av.open(str(source))
    stream = out.add_stream_from_template(inside.streams.video[0], opaque=True)
    stream.metadata.update({"BPS-eng": "1", "_STATISTICS_TAGS-eng": "BPS", "note": "stays"})
    for packet in inside.demux():
        if packet.size:
            packet.stream = stream
            out.mux(packet)
    out.close()
    convert(tmp_path / "reported.mkv", tmp_path / "out.mkv", step, encoding=FAST)
    tags = {k.lower() for k in read(tmp_path / "out.mkv").stream_tags[0]}
    assert "note" in tags
    assert not tags & {"bps-eng", "_statistics_tags-eng", "bps"}


@pytest.mark.slow
def test_clip_cuts_chapters_by_the_number_of_frames(rich, tmp_path, step):
    convert(rich, tmp_path / "out.mkv", step, clip=Clip(frames=15), encoding=FAST)
    marks = read(tmp_path / "out.mkv").chapters
    assert [m[2]["title"] for m in marks] == ["Dawn", "Dusk"]
    assert float(marks[1][1]) == 0.6


@pytest.mark.slow
@pytest.mark.parametrize("frames", [4, 6, 20])
def test_a_subtitle_ends_where_so_many_frames_end(rich, tmp_path, step, frames):
    """Its packet is read long before the decoder knows where the clip ends.

    FFV1 gives each frame at once: the muxer asks for the subtitle before that is known.
    """
    target = tmp_path / "out.mkv"
    convert(rich, target, step, clip=Clip(frames=frames), encoding=Encoding("ffv1"))
    shown = [(0.1, 0.5), (0.6, 0.9)]  # of clips.SRT
    end = frames / 25
    with av.open(str(target)) as found:
        stream = found.streams.subtitles[0]
        times = [
            (float(p.pts * stream.time_base), float((p.pts + p.duration) * stream.time_base))
            for p in found.demux(stream)
            if p.size
        ]
    wanted = [(begin, min(last, end)) for begin, last in shown if begin < end]
    assert len(times) == len(wanted)
    assert [t for pair in times for t in pair] == pytest.approx(
        [t for pair in wanted for t in pair], abs=0.0011
    )


def test_subtitles_alone_in_memory_show_the_fixture_is_sound():
    container = av.open(BytesIO(SRT.encode()), format="srt")
    assert [bytes(p) for p in container.demux() if p.size] == [b"first", b"second"]


def test_time_code_of_mov_is_written_anew(tmp_path, step):
    source = tmp_path / "in.mov"
    with av.open(str(source), "w") as out:
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.metadata["timecode"] = "01:00:00:00"
        for number in range(5):
            frame = picture(number)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    assert read(source).types == ["video", "data"]
    for suffix in (".mov", ".mp4"):
        target = tmp_path / f"out{suffix}"
        assert convert(source, target, step, encoding=FAST).warnings == ()
        assert read(target).types == ["video", "data"]
        assert read(target).stream_tags[0]["timecode"] == "01:00:00:00"


def test_tags_that_are_not_utf8_go_through(tmp_path, step):
    source = make(tmp_path / "in.mkv", tags={"artist": "Jurgen"}, frames=2)
    data = source.read_bytes()
    assert data.count(b"Jurgen") == 1
    source.write_bytes(data.replace(b"Jurgen", b"J\xfcrgen"))
    convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert b"J\xfcrgen" in (tmp_path / "out.mkv").read_bytes()


def test_hevc_in_mp4_is_called_as_apple_wants(plain, tmp_path, step):
    encoding = Encoding(codec="libx265", preset="ultrafast")
    convert(plain, tmp_path / "out.mp4", step, encoding=encoding)
    assert av.open(str(tmp_path / "out.mp4")).streams.video[0].codec_context.codec_tag == "hvc1"


def test_timed_text_of_mp4(tmp_path, step):
    plain = make(tmp_path / "plain.mp4", frames=50)
    source = tmp_path / "in.mp4"
    inside = av.open(str(plain))
    with av.open(str(source), "w") as out:
        video = out.add_stream_from_template(inside.streams.video[0], opaque=True)
        text = out.add_mux_stream("mov_text")
        text.metadata["language"] = "spa"
        out.start_encoding()
        for start, duration, line in ((0, 400, b""), (400, 600, b"uno"), (1000, 900, b"dos")):
            message = av.Packet(len(line).to_bytes(2, "big") + line)
            message.stream, message.time_base = text, Fraction(1, 1000)
            message.pts = message.dts = start
            message.duration = duration
            out.mux(message)
        for packet in inside.demux():
            if packet.size:
                packet.stream = video
                out.mux(packet)
    for suffix in (".mp4", ".mov"):
        target = tmp_path / f"out{suffix}"
        summary = convert(source, target, step, encoding=FAST)
        assert summary.warnings == ()
        before, after = payloads(source, "subtitle"), payloads(target, "subtitle")
        assert [(t, d) for t, _, d in after] == [(t, d) for t, _, d in before]
        assert [d[2:] for *_, d in after if d[2:]] == [b"uno", b"dos"]
        assert av.open(str(target)).streams.subtitles[0].language == "spa"
    target = tmp_path / "out.mkv"
    summary = convert(source, target, step, encoding=FAST)
    assert summary.dropped == ()
    assert summary.warnings == (
        "subtitle stream 1 (mov_text, spa) becomes subrip, which .mkv holds",
    )
    ((_, _, first), (_, _, second)) = payloads(target, "subtitle")
    assert (first, second) == (b"uno", b"dos")
    with av.open(str(target)) as back:
        assert back.streams.subtitles[0].codec_context.name in ("srt", "subrip")
        assert back.streams.subtitles[0].language == "spa"


@pytest.mark.slow
def test_gaps_of_timed_text_do_not_multiply(tmp_path):
    plain = make(tmp_path / "plain.mp4", frames=50)
    source = tmp_path / "in.mp4"
    with av.open(str(plain)) as inside, av.open(str(source), "w") as out:
        video = out.add_stream_from_template(inside.streams.video[0], opaque=True)
        text = out.add_mux_stream("mov_text")
        out.start_encoding()
        for start, line in ((100, b"uno"), (600, b"dos"), (1200, b"tres")):
            message = av.Packet(len(line).to_bytes(2, "big") + line)
            message.stream, message.time_base = text, Fraction(1, 1000)
            message.pts = message.dts = start
            message.duration = 300
            out.mux(message)
        for packet in inside.demux():
            if packet.size:
                packet.stream = video
                out.mux(packet)
    first = payloads(source, "subtitle")
    assert [bool(d[2:]) for *_, d in first] == [False, True] * 3  # the muxer's own gaps
    convert(source, tmp_path / "a.mp4", Nearest(), encoding=FAST, strict=True)
    convert(tmp_path / "a.mp4", tmp_path / "b.mp4", Nearest(1), encoding=FAST, strict=True)
    for name in ("a.mp4", "b.mp4"):
        assert [(t, d[2:]) for t, _, d in payloads(tmp_path / name, "subtitle")] == [
            (t, d[2:]) for t, _, d in first
        ]
