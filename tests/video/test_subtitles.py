"""Subtitles of text that the output's container holds as another kind."""

from __future__ import annotations

from fractions import Fraction
from io import BytesIO

import av
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip
from snellen.video.passthrough.subtitles import convertible
from support.video.checks import FAST
from support.video.clips import make
from support.video.converting import convert

SRT = """1
00:00:00,100 --> 00:00:00,300
plain

2
00:00:00,400 --> 00:00:00,700
two <i>leaning</i>
lines & “more”

"""
ASS = r"""[Script Info]
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,20,&H00FFFFFF,&H0000FFFF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,2,2,2,10,10,10,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:00.10,0:00:00.50,Default,,0,0,0,,{\pos(10,20)}here\Nthere
"""  # noqa: E501


def shown(path):
    """Start, duration in milliseconds and text of each event, tags in it left out."""
    found = []
    with av.open(str(path)) as container:
        stream = container.streams.subtitles[0]
        for packet in container.demux(stream):
            events = stream.codec_context.decode2(packet) if packet.size > 2 else None
            for event in events.rects if events else ():
                base = Fraction(packet.time_base.numerator, packet.time_base.denominator) * 1000
                text = event.dialogue.decode()
                while "{" in text:
                    text = text[: text.index("{")] + text[text.index("}") + 1 :]
                found.append((packet.pts * base, packet.duration * base, text))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".mov"])
def test_srt_becomes_timed_text(tmp_path, step, suffix):
    source, target = make(tmp_path / "in.mkv", subtitles=SRT), tmp_path / f"out{suffix}"
    summary = convert(source, target, step, encoding=FAST)
    note = f"subtitle stream 1 (subrip, fre) becomes mov_text, which {suffix} holds"
    assert note in summary.warnings
    assert shown(target) == shown(source)
    assert shown(target)[1] == (400, 300, "two leaning\nlines & “more”")
    if suffix == ".mov":  # as of any stream, it holds neither language nor mark
        assert summary.dropped[0].endswith(".mov cannot hold its language fre, mark forced")
        return
    assert summary.dropped == ()
    with av.open(str(target)) as back:
        stream = back.streams.subtitles[0]
        assert (stream.language, bool(stream.disposition & av.stream.Disposition.forced)) == (
            "fre", True,
        )  # fmt: skip


def test_a_part_of_a_film(tmp_path, step):
    source, target = make(tmp_path / "in.mkv", subtitles=SRT), tmp_path / "out.mp4"
    clip = Clip(start=Fraction(1, 5), duration=Fraction(3, 10))
    convert(source, target, step, clip=clip, encoding=FAST)
    assert [(a, d) for a, d, _ in shown(target)] == [(0, 100), (200, 100)]


def test_styles_are_lost_and_said(tmp_path, step):
    with av.open(BytesIO(ASS.encode()), format="ass") as script:
        packets = [p for p in script.demux() if p.size]
        plain, source = make(tmp_path / "plain.mkv"), tmp_path / "in.mkv"
        with av.open(str(plain)) as film, av.open(str(source), "w") as out:
            video = out.add_stream_from_template(film.streams.video[0], opaque=True)
            text = out.add_stream_from_template(script.streams.subtitles[0])
            for packet in packets:
                packet.stream = text
                out.mux(packet)
            for packet in film.demux():
                if packet.size:
                    packet.stream = video
                    out.mux(packet)
    summary = convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    assert summary.dropped == ("subtitle stream 1 (ass): mov_text holds no styles and positions",)
    assert shown(tmp_path / "out.mp4") == [(100, 400, "here\nthere")]
    with pytest.raises(InputError, match="no styles"):
        convert(source, tmp_path / "strict.mp4", step, encoding=FAST, strict=True)


def test_what_is_no_text(tmp_path):
    with av.open(str(make(tmp_path / "in.mkv", audio="aac", subtitles=SRT))) as container:
        assert convertible(container.streams.audio[0], "mp4") is None
        assert convertible(container.streams.subtitles[0], "matroska") is None  # it is that
        assert convertible(container.streams.subtitles[0], "yuv4mpegpipe") is None


def test_a_packet_that_is_no_text_is_counted(tmp_path):
    with av.open(str(make(tmp_path / "in.mkv", subtitles=SRT))) as container:
        text = convertible(container.streams.subtitles[0], "mp4")
        out = av.open(BytesIO(), "w", format="mp4")
        stream = text.add(out)
        empty = av.Packet(b"")
        empty.pts = empty.dts = 0
        assert text.converted(empty, stream) is None
        out.close()
