"""Damaged input: all that can be decoded is written, and what is missing is reported."""

import errno
import os
import random
from fractions import Fraction
from types import SimpleNamespace

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip, Encoding
from snellen.video.sink import sink
from snellen.video.source.damage import clock_time
from snellen.video.source.decode import Source
from snellen.video.source.read import Reader
from support.video.clips import luma, make, picture, read
from support.video.converting import convert
from support.video.steps import Nearest

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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("audio", [None, "aac"])
def test_matroska_cut(tmp_path, step, audio):
    source = cut(large(tmp_path / "in.mkv", audio=audio), 0.5)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert any("ends early" in w and "s of the 2.4" in w for w in summary.lost)
    assert 15 < summary.frames < 50


def shortened(path, count):
    """Cut `count` bytes off the end."""
    path.write_bytes(path.read_bytes()[:-count])
    return path


@pytest.mark.slow
def test_mp4_cut_in_its_index(tmp_path):
    """FFmpeg reads what is left of the index and says nothing."""
    accepted = 0
    for count in (1, 20, 200, 400, 600, 800):
        source = shortened(large(tmp_path / "in.mp4", audio="aac"), count)
        try:
            summary = convert(source, tmp_path / "out.mkv", Nearest(), encoding=FAST,
                              overwrite=True)  # fmt: skip
        except InputError:
            continue
        accepted += 1
        assert any("within its box 'moov'" in word for word in summary.lost)
    assert accepted


@pytest.mark.slow
def test_a_clip_does_without_data_beyond_it_but_not_without_index(tmp_path):
    clip = Clip(frames=5)
    source = shortened(large(tmp_path / "a.mp4", container=FAST_START), 50)
    assert convert(source, tmp_path / "a.mkv", Nearest(), clip=clip, encoding=FAST).lost == ()
    source = shortened(large(tmp_path / "b.mp4"), 1)
    assert convert(source, tmp_path / "b.mkv", Nearest(), clip=clip, encoding=FAST).lost


@pytest.mark.slow
def test_matroska_cut_behind_its_last_picture(tmp_path, step):
    source = shortened(large(tmp_path / "in.mkv", audio="aac"), 1)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert summary.frames == 60
    assert any("within its segment" in word for word in summary.lost)


@pytest.mark.slow
def test_matroska_that_was_never_closed_lacks_two_frames(tmp_path, step):
    """Only the duration tells, and by little: at 60 frames a second 33 ms."""
    source = make(tmp_path / "in.mkv", frames=60, rate=Fraction(60))
    ends = [p.pos for p in av.open(str(source)).demux() if p.size]
    data = source.read_bytes()[: ends[-2] - 4]
    start = data.index(bytes.fromhex("18538067")) + 4
    source.write_bytes(data[:start] + b"\x01" + b"\xff" * 7 + data[start + 8 :])
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert summary.frames in (57, 58)
    assert any("ends early: at 0.9" in word for word in summary.lost)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".ts", ".m2ts"])
def test_transport_stream_cut_within_a_packet(tmp_path, step, suffix):
    source = shortened(large(tmp_path / f"in{suffix}", audio="mp2"), 3000)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    size = 188 if suffix == ".ts" else 192
    assert any(f"of {size} bytes" in word for word in summary.lost)


def emptied(path, first, **settings):
    """A film of HEVC with two packets that have no picture inside: `first`, and the next."""
    inside = av.open(str(make(path.with_stem("good"), codec="libx265", frames=50, **settings)))
    with av.open(str(path), "w") as out:
        stream = out.add_stream_from_template(inside.streams.video[0])
        for number, packet in enumerate(p for p in inside.demux() if p.size):
            if number in (first, first + 1):
                empty = av.Packet(bytes.fromhex("00000003460150"))  # an access unit delimiter
                empty.pts, empty.dts, empty.duration = packet.pts, packet.dts, packet.duration
                packet = empty
            packet.stream = stream
            out.mux(packet)
    return path


@pytest.mark.parametrize("clip", [None, Clip(start=Fraction(6, 5))])
def test_packets_that_the_decoder_swallows(tmp_path, step, clip):
    """The decoder skips what follows, and gives no error."""
    source = emptied(tmp_path / "in.mp4", 40)
    summary = convert(source, tmp_path / "out.mkv", step, clip=clip, encoding=FAST)
    missing = (50 if clip is None else 20) - summary.frames
    assert missing >= 2
    assert summary.lost[0] == f"{missing} video packets gave no picture"


def test_damage_before_a_clip_is_not_the_clips(tmp_path, step):
    groups = {"x265-params": "keyint=15:min-keyint=15:open-gop=0:log-level=error"}
    source = emptied(tmp_path / "in.mp4", 5, options=groups)
    summary = convert(
        source, tmp_path / "a.mkv", step, clip=Clip(start=Fraction(4, 5)), encoding=FAST
    )
    assert summary.frames == 30 and summary.lost == ()
    whole = convert(source, tmp_path / "b.mkv", Nearest(), encoding=FAST)
    assert whole.frames < 50 and whole.lost


@pytest.mark.slow
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
        "k.mp4": {"options": {"preset": "medium", "bf": "3"}, "audio": "aac"},
        "l.mp4": {"container": {"movflags": "frag_keyframe+empty_moov"}, "audio": "aac"},
        "m.m2ts": {"audio": "mp2"},
        "n.mkv": {
            "times": [t * 40 + t % 2 for t in range(30)],
            "last": 700,
            "time_base": Fraction(1, 1000),
        },
        "o.mkv": {"rate": Fraction(60000, 1001)},
        "p.avi": {"codec": "mpeg4", "options": {"bf": "2"}},
        "q.avi": {"codec": "mjpeg", "pix_fmt": "yuvj420p"},
        "r.webm": {
            "codec": "libvpx-vp9",
            "options": {"auto-alt-ref": "1", "lag-in-frames": "20", "cpu-used": "5"},
        },
    }.items():
        source = make(tmp_path / name, **{"frames": 30, **settings})
        out = tmp_path / f"{name}.mkv"
        summary = convert(source, out, Nearest(), encoding=FAST)
        assert summary.lost == (), name
        assert summary.frames == settings.get("frames", 30), name


@pytest.mark.slow
def test_pictures_of_two_fields_are_not_called_damaged(tmp_path):
    for name, codec in {"a.ts": "mpeg2video", "b.mkv": "libx264", "c.ts": "libx264"}.items():
        options = {"preset": "medium"} if codec == "libx264" else {}
        source = make(tmp_path / name, codec=codec, frames=30, interlaced=True, options=options)
        summary = convert(source, tmp_path / f"{name}.mkv", Nearest(),
                          clip=Clip(deinterlace=True), encoding=FAST)  # fmt: skip
        assert (summary.lost, summary.frames) == ((), 30), name


@pytest.mark.slow
def test_pictures_left_out_by_an_edit_list_are_not_called_damaged(tmp_path):
    """The first and the last pictures are in the file, but not in the film."""
    inside = av.open(str(make(tmp_path / "good.mp4", frames=30)))
    whole = tmp_path / "in.mp4"
    with av.open(str(whole), "w") as out:
        stream = out.add_stream_from_template(inside.streams.video[0])
        for packet in inside.demux():
            if packet.size:
                packet.pts -= 5 * packet.duration
                packet.dts -= 5 * packet.duration
                packet.stream = stream
                out.mux(packet)
    summary = convert(whole, tmp_path / "out.mkv", Nearest(), encoding=FAST)
    assert summary.lost == ()
    assert summary.frames == len(read(whole).frames)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_flipped_bytes(tmp_path, step, suffix):
    source = flip(large(tmp_path / f"in{suffix}", audio="aac"), 0.3, 0.6)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert summary.lost
    assert summary.frames > 30
    times = read(tmp_path / "out.mkv").times
    assert times == sorted(set(times))


@pytest.mark.slow
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


@pytest.mark.cases
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


@pytest.mark.slow
def test_damage_before_a_clip_is_no_concern(tmp_path, step):
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

    source = make(tmp_path / "in.mkv", audio="aac")
    real = sink.open_container

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

    monkeypatch.setattr(sink, "open_container", lambda *a: Choosy(real(*a)))
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert summary.lost == ("1 packet refused by the output's container",)
    before, after = read(source), read(tmp_path / "out.mkv")
    assert after.times == before.times
    assert len(after.packets[1]) == len(before.packets[1]) - 1


def test_a_file_that_is_changed_while_it_is_read(tmp_path):
    film = tmp_path / "film.y4m"
    header, frame = b"YUV4MPEG2 W64 H48 F25:1 C420jpeg\n", b"FRAME\n" + bytes(64 * 48 * 3 // 2)
    film.write_bytes(header + frame * 300)
    source = Source(film, Clip())
    items = source.items()
    next(items)
    os.truncate(film, len(header) + 100 * len(frame))  # at the end of a frame
    reports = [item.report for item in items if item.report is not None]
    source.close()
    assert "the file was changed while it was read" in reports[-1].damage


@pytest.mark.parametrize("why", [errno.EAGAIN, errno.ENOMEM])
def test_a_decoder_without_threads_or_memory_is_no_fault_of_the_input(tmp_path, why):
    reader = Reader(make(tmp_path / "in.mkv", frames=3), "in.mkv")
    real = reader.stream

    class Poor:
        """The stream of a process that may start no thread."""

        index, type = real.index, real.type
        codec_context = SimpleNamespace(is_open=False, thread_count=2)

        def decode(self, packet):
            av.error.err_check(-why)

    try:
        reader.stream = Poor()
        with pytest.raises(MemoryError, match="no memory, or no threads"):
            list(reader.decode())
        assert not reader.damage.undecodable
    finally:
        reader.stream = real
        reader.close()
