"""Damaged input: all that can be decoded is written, and what is missing is said."""

import random
from fractions import Fraction

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video.damage import clock_time
from snellen.video.pipeline import Encoding, convert
from video.clips import Nearest, luma, make, picture, read

FAST = Encoding(preset="ultrafast", crf=0)
FAST_START = {"movflags": "faststart"}


def large(path, **settings):
    """A film with enough bytes to damage."""
    return make(
        path, frames=60, size=(160, 120), options={"preset": "medium", "g": "12"}, **settings
    )


def cut(path, part):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
    return path


def flip(path, start, end, count=40):
    data = bytearray(path.read_bytes())
    chance = random.Random(7)
    for _ in range(count):
        place = chance.randrange(int(len(data) * start), int(len(data) * end))
        data[place] ^= 0xFF
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("audio", [None, "aac"])
def test_mp4_cut_in_its_data(tmp_path, step, audio):
    whole = large(tmp_path / "in.mp4", container=FAST_START, audio=audio)
    frames = read(whole).frames
    keep = [luma(f) for f in frames]
    del frames
    source = cut(whole, 0.5)
    summary = convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    assert any("ends early" in w and "of 60 video packets" in w for w in summary.lost)
    after = read(tmp_path / "out.mp4")
    assert 15 < len(after.frames) == summary.frames < 50
    for old, new in zip(keep[: len(after.frames) - 4], after.frames, strict=False):
        assert np.array_equal(old.repeat(2, 0).repeat(2, 1), luma(new))
    whole_film = [Fraction(i, 25) for i in range(60)]
    assert after.times[:15] == whole_film[:15]
    assert after.times == sorted(set(after.times) & set(whole_film))  # gaps stay gaps


def test_nothing_decodable_is_left_behind_at_a_cut(tmp_path, step):
    """The decoder reorders and works in threads: what waits inside it must still come out."""
    whole = large(tmp_path / "in.mp4", container=FAST_START)
    source = cut(whole, 0.6)
    container = av.open(str(source))
    stream = container.streams.video[0]
    stream.codec_context.thread_type = "NONE"
    times = set()
    packets = [p for p in container.demux(stream) if p.size and not p.is_corrupt]
    for packet in packets:
        times.update(f.pts for f in packet.decode())
    times.update(f.pts for f in stream.decode(None))
    summary = convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    assert summary.frames >= len(times)


@pytest.mark.parametrize("audio", [None, "aac"])
def test_matroska_cut(tmp_path, step, audio):
    source = cut(large(tmp_path / "in.mkv", audio=audio), 0.5)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert any("ends early" in w and "s of the 2.4" in w for w in summary.lost)
    assert 15 < summary.frames < 50


def test_whole_files_are_not_called_damaged(tmp_path):
    for name, settings in {
        "a.mp4": {"audio": "aac"},
        "b.mkv": {"audio": "aac", "audio_seconds": 5},
        "c.ts": {"audio": "mp2"},
        "d.avi": {"codec": "mpeg4", "audio": "mp2"},
        "e.mov": {"audio": "pcm_s16le"},
        "f.webm": {"codec": "libvpx-vp9", "options": {"deadline": "realtime", "cpu-used": "8"}},
        "g.mkv": {"codec": "libsvtav1", "options": {"preset": "12"}},
        "h.mp4": {"codec": "libx265", "frames": 40},
        "i.mpg": {"codec": "mpeg2video", "audio": "mp2"},
        "j.flv": {"audio": "aac"},
    }.items():
        source = make(tmp_path / name, **{"frames": 30, **settings})
        out = tmp_path / f"{name}.mkv"
        summary = convert(source, out, Nearest(), encoding=FAST)
        assert summary.lost == (), name
        assert summary.frames == settings.get("frames", 30), name


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_flipped_bytes(tmp_path, step, suffix):
    source = flip(large(tmp_path / f"in{suffix}", audio="aac"), 0.3, 0.6)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert summary.lost
    assert summary.frames > 30
    times = read(tmp_path / "out.mkv").times
    assert times == sorted(set(times))


def test_transport_stream_with_lost_packets(tmp_path, step):
    source = large(tmp_path / "in.ts", audio="mp2")
    data = source.read_bytes()
    packets = [data[i : i + 188] for i in range(0, len(data), 188)]
    middle = len(packets) // 2
    source.write_bytes(b"".join(packets[:middle] + packets[middle + 7 :]))
    summary = convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    assert summary.lost
    assert 40 < summary.frames <= 60


def test_change_of_size_ends_the_output_there(tmp_path, step):
    first = make(tmp_path / "a.ts", frames=20, audio="mp2")
    second = make(tmp_path / "b.ts", frames=20, size=(96, 64), audio="mp2",
                  container={"output_ts_offset": "0.8"})  # fmt: skip
    source = tmp_path / "in.ts"
    source.write_bytes(first.read_bytes() + second.read_bytes())
    summary = convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    assert summary.frames == 20
    assert any("64×48 to 96×64" in w and "after 20 frames" in w for w in summary.lost)
    after = read(tmp_path / "out.mp4")
    assert len(after.frames) == 20
    assert after.packets[1][-1][0] < after.times[-1] + Fraction(1, 25) + after.times[0]


@pytest.mark.parametrize("part", [0.001, 0.01, 0.02])
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
def test_next_to_nothing_is_an_error_or_a_confession(tmp_path, step, suffix, part):
    source = cut(large(tmp_path / f"in{suffix}"), part)
    out = tmp_path / "out.mkv"
    try:
        summary = convert(source, out, step, encoding=FAST)
    except InputError:
        assert not out.exists()
    else:
        assert summary.frames
        assert summary.lost or suffix == ".ts"  # a transport stream promises nothing


def test_all_pictures_undecodable(tmp_path, step):
    source = tmp_path / "in.mkv"
    inside = av.open(str(make(tmp_path / "good.mkv", frames=5)))
    out = av.open(str(source), "w")
    stream = out.add_stream_from_template(inside.streams.video[0], opaque=True)
    for packet in inside.demux():
        if packet.size:
            bad = av.Packet(bytes(5) + b"\xff" * 40)
            bad.pts, bad.dts, bad.time_base = packet.pts, packet.dts, packet.time_base
            bad.stream = stream
            out.mux(bad)
    out.close()
    with pytest.raises(InputError, match="not one frame could be decoded"):
        convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert step.prepared is None


def test_damage_before_a_clip_is_no_concern(tmp_path, step):
    from snellen.video.pipeline import Clip

    source = flip(large(tmp_path / "in.mkv"), 0.05, 0.15)
    clip = Clip(start=Fraction(3, 2), frames=10)
    summary = convert(source, tmp_path / "out.mkv", step, clip=clip, encoding=FAST)
    assert (summary.frames, summary.lost) == (10, ())


def test_clock_times():
    assert clock_time("00:01:02.500000000") == Fraction(125, 2)
    assert clock_time("later") is None
    assert luma(picture(1)).shape == (48, 64)


def test_audio_that_the_muxer_refuses_costs_only_itself(tmp_path, step, monkeypatch):
    """A packet of nonsense among good ones; the muxer's refusal is made up, for every muxer."""
    from snellen.video import encode

    source = make(tmp_path / "in.mkv", audio="aac")
    real = encode.open_container

    class Choosy:
        def __init__(self, out):
            self.out, self.asked = out, 0

        def __getattr__(self, name):
            return getattr(self.out, name)

        def mux(self, packet):
            self.asked += packet.stream.type == "audio"
            if packet.stream.type == "audio" and self.asked == 9:
                raise av.ArgumentError(22, "Invalid argument")
            self.out.mux(packet)

    monkeypatch.setattr(encode, "open_container", lambda *a: Choosy(real(*a)))
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert summary.lost == ("1 packet refused by the output's container",)
    before, after = read(source), read(tmp_path / "out.mkv")
    assert after.times == before.times
    assert len(after.packets[1]) == len(before.packets[1]) - 1
