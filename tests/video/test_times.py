"""When things happen: variable rates, starts, missing and jumbled times, clips."""

from fractions import Fraction

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip, Encoding
from snellen.video.timestamps import Clock
from snellen.video.timestamps import fraction as time_fraction
from support.video.clips import fraction, luma, make, picture, read
from support.video.converting import convert
from support.video.steps import Nearest

FAST = Encoding(preset="ultrafast", crf=0)
MS = Fraction(1, 1000)


def test_clock_lets_rising_times_through():
    clock = Clock(Fraction(1, 1000), Fraction(40))
    assert [clock(t) for t in (5, 40, 1000)] == [5, 40, 1000]
    assert (clock.missing, clock.moved, clock.first) == (0, 0, 5)


def test_clock_makes_up_missing_times_without_drift():
    clock = Clock(Fraction(1, 1000), Fraction(1000, 30))
    assert [clock(None) for _ in range(7)] == [0, 33, 67, 100, 133, 167, 200]
    assert clock(300) == 300
    assert clock(None) == 333
    assert clock.missing == 8


def test_clock_moves_jumbled_times_by_a_tick():
    clock = Clock(Fraction(1, 1000), Fraction(40))
    assert [clock(t) for t in (0, 40, 40, 30, 80)] == [0, 40, 41, 42, 80]
    assert clock.moved == 2


def test_clock_goes_on_after_a_jump_back():
    clock = Clock(Fraction(1, 1000), Fraction(40))
    assert [clock(t) for t in (5000, 5040, 0, 40, 90)] == [5000, 5040, 5080, 5120, 5170]
    assert clock.moved == 1


def test_a_second_backwards_is_a_jump_and_less_is_disorder():
    clock = Clock(Fraction(1, 1000), Fraction(40))
    assert [clock(t) for t in (5000, 4001, 4041)] == [5000, 5001, 5002]
    clock = Clock(Fraction(1, 1000), Fraction(40))
    assert [clock(t) for t in (5000, 4000, 4040)] == [5000, 5040, 5080]


VARIABLE = [0, 40, 50, 173, 174, 500, 1001, 1002, 1450]


@pytest.mark.slow
@pytest.mark.parametrize("container", [".mp4", ".mkv", ".mov"])
@pytest.mark.parametrize("target", [".mp4", ".mkv", ".mov"])
def test_variable_frame_rate_is_exact(tmp_path, step, container, target):
    source = make(tmp_path / f"in{container}", times=VARIABLE, time_base=MS, last=77, audio="aac",
                  audio_seconds=1.5)  # fmt: skip
    out = tmp_path / f"out{target}"
    convert(source, out, step, encoding=FAST)
    before, after = read(source), read(out)
    assert [t - before.times[0] for t in before.times] == [t * MS for t in VARIABLE]
    assert [t - after.times[0] for t in after.times] == [t * MS for t in VARIABLE]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [Fraction(30000, 1001), Fraction(24000, 1001), Fraction(60)])
def test_ntsc_rates_stay_exact_in_mp4(tmp_path, step, rate):
    source = make(tmp_path / "in.mp4", rate=rate, frames=40)
    convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    after = read(tmp_path / "out.mp4")
    assert after.times == [i / rate for i in range(40)]
    video = after.container.streams.video[0]
    assert fraction(video.average_rate) == rate
    assert video.duration * fraction(video.time_base) == 40 / rate


def test_last_frame_keeps_its_duration(tmp_path, step):
    source = make(tmp_path / "in.mp4", times=[0, 40, 80], time_base=MS, last=500)
    convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    video = read(tmp_path / "out.mp4").container.streams.video[0]
    assert video.duration * fraction(video.time_base) == Fraction(580, 1000)
    convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert read(tmp_path / "out.mkv").container.duration == 580_000


@pytest.mark.slow
def test_b_frames_keep_their_times(tmp_path, step):
    source = make(tmp_path / "in.mkv", options={"preset": "medium", "bf": "3"}, audio="aac")
    assert read(source).container.streams.video[0].codec_context.has_b_frames
    summary = convert(source, tmp_path / "out.mp4", step, encoding=Encoding(crf=0))
    after, before = read(tmp_path / "out.mp4"), read(source)
    assert summary.frames == 25
    assert [t - after.times[0] for t in after.times] == [Fraction(i, 25) for i in range(25)]
    distance = before.packets[1][0][0] - before.times[0]
    assert abs((after.packets[1][0][0] - after.times[0]) - distance) <= MS


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".ts", ".m2ts"])
@pytest.mark.parametrize("target", [".mp4", ".mkv"])
def test_transport_stream_start_is_subtracted_alike(tmp_path, step, suffix, target):
    source = make(tmp_path / f"in{suffix}", audio="mp2", container={"output_ts_offset": "1.4"},
                  options={"preset": "medium"})  # fmt: skip
    before = read(source)
    start = Fraction(before.container.start_time, 1_000_000)
    assert start > 1
    convert(source, tmp_path / f"out{target}", step, encoding=FAST)
    after = read(tmp_path / f"out{target}")
    slack = MS if target == ".mkv" else 0
    want = [t - start for t in before.times]
    assert all(
        abs(a - b) <= slack + Fraction(1, 90000) for a, b in zip(after.times, want, strict=True)
    )
    assert [d for _, d in after.packets[1]] == [d for _, d in before.packets[1]]
    for (old, _), (new, _) in zip(before.packets[1], after.packets[1], strict=True):
        assert abs((old - start) - new) <= slack + Fraction(1, 48000)


WRAP = Fraction(2**33, 90000)
"""Seconds after which the clock of a transport stream begins anew."""


def wrapping(path, before):
    """Two seconds around the wrap, which FFmpeg lets begin `before` seconds below 0."""
    offset = {"output_ts_offset": f"{float(WRAP - before):.6f}"}
    source = make(path, frames=50, audio="mp2", container=offset)
    assert av.open(str(source)).start_time < 0
    return source


@pytest.mark.slow
@pytest.mark.parametrize("before", [1, 0.01])
@pytest.mark.parametrize("target", [".mp4", ".mkv"])
def test_a_clock_that_begins_below_zero_costs_no_frame(tmp_path, step, before, target):
    source = wrapping(tmp_path / "in.ts", before)
    out = tmp_path / f"out{target}"
    summary = convert(source, out, step, encoding=FAST)
    was, now = read(source), read(out)
    assert (summary.frames, len(now.frames), summary.lost) == (50, 50, ())
    assert now.times[0] >= 0
    assert len(now.packets[1]) == len(was.packets[1])
    apart = was.packets[1][0][0] - was.times[0]
    assert abs(now.packets[1][0][0] - now.times[0] - apart) <= MS


@pytest.mark.slow
def test_a_clip_of_a_clock_that_begins_below_zero(tmp_path, step):
    source = wrapping(tmp_path / "in.ts", Fraction(3, 2))
    clip = Clip(start=Fraction(6, 5), frames=5)
    convert(source, tmp_path / "out.mkv", step, clip=clip, encoding=FAST)
    was, now = read(source), read(tmp_path / "out.mkv")
    begin = Fraction(was.container.start_time, 1_000_000) + clip.start
    first = min(i for i, t in enumerate(was.times) if t >= begin)
    assert 25 < first < 35
    for old, new in zip(was.frames[first:], now.frames, strict=False):
        assert np.array_equal(luma(old).repeat(2, 0).repeat(2, 1), luma(new))
    assert now.times == [Fraction(i, 25) for i in range(5)]


def test_raw_h264_without_times_gets_them_from_the_rate(tmp_path, step):
    source = make(tmp_path / "in.h264", options={"preset": "medium"})
    convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    after = read(tmp_path / "out.mp4")
    assert after.times == [Fraction(i, 25) for i in range(25)]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Four seconds, a key frame each second, audio and subtitles."""
    return make(
        tmp_path_factory.mktemp("clip") / "in.mkv",
        frames=100,
        audio="aac",
        options={"preset": "medium", "g": "25"},
        subtitles="1\n00:00:01,500 --> 00:00:02,500\nhalf\n\n"
        "2\n00:00:02,200 --> 00:00:03,900\nlong\n\n3\n00:00:03,500 --> 00:00:03,900\nnever\n",
        chapters=((0, 2300, "one"), (2300, 3500, "two"), (3500, 4000, "three")),
    )


class TestClip:
    @pytest.mark.slow
    def test_start_and_duration(self, source, tmp_path, step):
        clip = Clip(start=Fraction(2), duration=Fraction(1))
        summary = convert(source, tmp_path / "out.mkv", step, clip=clip, encoding=FAST)
        before, after = read(source), read(tmp_path / "out.mkv")
        base = before.times[0]
        first = min(i for i, t in enumerate(before.times) if t >= 2)
        assert summary.frames == 25
        assert abs(after.times[0]) <= MS
        assert [t - after.times[0] for t in after.times] == [Fraction(i, 25) for i in range(25)]
        for old, new in zip(before.frames[first:], after.frames, strict=False):
            assert np.array_equal(luma(old).repeat(2, 0).repeat(2, 1), luma(new))
        cut = before.times[first]
        want = [(t - cut, d) for t, d in before.packets[1] if cut <= t < 3]
        assert [d for _, d in after.packets[1]] == [d for _, d in want]
        assert all(abs(a - b) <= MS for (a, _), (b, _) in zip(after.packets[1], want, strict=True))
        assert base < 1

    @pytest.mark.slow
    def test_subtitles_and_chapters_are_cut(self, source, tmp_path, step):
        clip = Clip(start=Fraction(2), duration=Fraction(1))
        convert(source, tmp_path / "out.mkv", step, clip=clip, encoding=FAST)
        container = av.open(str(tmp_path / "out.mkv"))
        message = [
            (float(p.pts * p.time_base), float(p.duration * p.time_base), bytes(p))
            for p in container.demux(subtitles=0)
            if p.size
        ]
        zero = float(next(t for t in read(source).times if t >= 2))
        assert [text for *_, text in message] == [b"half", b"long"]
        assert message[0][0] == pytest.approx(0, abs=0.002)
        assert message[0][1] == pytest.approx(2.5 - zero, abs=0.03)
        assert message[1][0] == pytest.approx(2.2 - zero, abs=0.03)
        assert message[1][0] + message[1][1] == pytest.approx(3 - zero, abs=0.003)
        marks = read(tmp_path / "out.mkv").chapters
        assert [m["title"] for *_, m in marks] == ["one", "two"]
        assert float(marks[0][0]) == 0
        assert float(marks[0][1]) == pytest.approx(2.3 - zero, abs=0.002)
        assert float(marks[1][1]) == pytest.approx(3 - zero, abs=0.002)

    def test_frames(self, source, tmp_path, step):
        reported = []
        convert(
            source, tmp_path / "out.mp4", step, clip=Clip(frames=10), encoding=FAST,
            on_progress=reported.append,
        )  # fmt: skip
        before, after = read(source), read(tmp_path / "out.mp4")
        assert len(after.frames) == 10
        assert reported[-1].total == 10
        end = before.times[10]
        want = [d for t, d in before.packets[1] if t < end]
        assert [d for _, d in after.packets[1]] == want
        assert len(want) > 15

    @pytest.mark.slow
    def test_frames_longer_than_the_input(self, source, tmp_path, step):
        summary = convert(source, tmp_path / "o.mp4", step, clip=Clip(frames=999), encoding=FAST)
        assert (summary.frames, summary.lost) == (100, ())

    def test_start_between_frames_begins_with_the_next(self, source, tmp_path, step):
        clip = Clip(start=Fraction(101, 100), frames=2)
        convert(source, tmp_path / "out.mkv", step, clip=clip, encoding=FAST)
        before, after = read(source), read(tmp_path / "out.mkv")
        first = next(f for f, t in zip(before.frames, before.times, strict=True) if t >= 1.01)
        assert np.array_equal(luma(first).repeat(2, 0).repeat(2, 1), luma(after.frames[0]))
        assert after.times[0] == 0

    def test_start_beyond_the_end(self, source, tmp_path, step):
        with pytest.raises(InputError, match="no frame at or after 10 s"):
            convert(source, tmp_path / "out.mkv", step, clip=Clip(start=Fraction(10)))
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        "clip",
        [Clip(duration=Fraction(1, 2)), Clip(start=Fraction(1, 2), duration=Fraction(2, 5))],
    )
    def test_a_part_before_the_first_frame(self, tmp_path, step, clip):
        times = [t * 40 for t in range(23, 40)]
        source = make(tmp_path / "in.mkv", times=times, time_base=MS, audio="aac")
        with pytest.raises(InputError, match=r"no frame from 0(\.5)? s to 0\.[59] s"):
            convert(source, tmp_path / "out.mkv", step, clip=clip)

    @pytest.mark.slow
    @pytest.mark.parametrize("suffix", [".ts", ".mp4", ".avi"])
    def test_seeking_in_other_containers_finds_the_same_frame(self, tmp_path, step, suffix):
        codec = "mpeg4" if suffix == ".avi" else "libx264"
        source = make(tmp_path / f"in{suffix}", frames=75, codec=codec)
        clip = Clip(start=Fraction(2), frames=3)
        convert(source, tmp_path / "out.mkv", step, clip=clip, encoding=FAST)
        before, after = read(source), read(tmp_path / "out.mkv")
        start = max(0, Fraction(before.container.start_time, 1_000_000))
        first = min(i for i, t in enumerate(before.times) if t >= start + 2)
        for old, new in zip(before.frames[first:], after.frames, strict=False):
            assert np.array_equal(luma(old).repeat(2, 0).repeat(2, 1), luma(new))
        assert len(after.frames) == 3

    @pytest.mark.parametrize(
        "wrong", [{"start": Fraction(-1)}, {"duration": Fraction(0)}, {"frames": 0}]
    )
    def test_wrong_clips(self, wrong):
        with pytest.raises(InputError):
            Clip(**wrong)


@pytest.mark.slow
def test_audio_longer_than_the_picture_is_no_progress(tmp_path, step):
    source = make(tmp_path / "in.mkv", frames=10, audio="aac", audio_seconds=3)
    reported = []
    convert(source, tmp_path / "out.mkv", step, encoding=FAST, on_progress=reported.append)
    assert {progress.total for progress in reported} == {10}


@pytest.mark.slow
def test_audio_longer_than_the_picture_is_kept(tmp_path, step):
    source = make(tmp_path / "in.mkv", frames=10, audio="aac", audio_seconds=3)
    convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    before, after = read(source), read(tmp_path / "out.mkv")
    assert after.packets[1] == before.packets[1]
    assert after.packets[1][-1][0] > 2.9


def test_packets_lie_in_the_order_of_their_times(plain, tmp_path):
    """Players read a file from front to back: audio must not wait for the encoder's look-ahead."""
    convert(plain, tmp_path / "out.mkv", Nearest(), encoding=Encoding(preset="medium"))
    seen = {0: -1.0, 1: -1.0}
    for packet in av.open(str(tmp_path / "out.mkv")).demux():
        if packet.size:
            seen[packet.stream.index] = float((packet.dts or packet.pts) * packet.time_base)
            assert abs(seen[0] - seen[1]) < 0.3 or -1.0 in seen.values()


def test_jumbled_times_are_put_right_with_a_warning(tmp_path, step):
    source = tmp_path / "in.mkv"
    out = av.open(str(source), "w")
    stream = out.add_stream("ffv1", rate=25)
    stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
    stream.codec_context.time_base = MS
    packets = []
    for number, ticks in enumerate((0, 40, 80, 120, 160)):
        frame = picture(number)
        frame.pts, frame.time_base = ticks, MS
        packets += stream.encode(frame)
    packets += stream.encode(None)
    for packet, ticks in zip(packets, (0, 40, 40, 120, 160), strict=True):
        packet.pts = packet.dts = ticks
        out.mux(packet)
    out.close()
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    times = read(tmp_path / "out.mkv").times
    assert len(times) == 5
    assert times == sorted(set(times))
    assert any("did not rise" in w for w in summary.warnings)


def test_the_movie_clock_of_mp4_holds_delays_exactly(tmp_path, step):
    """Video that starts 902/90000 s after the audio; the default clock of 1 ms would cut it."""
    source = make(tmp_path / "in.ts", audio="mp2", container={"output_ts_offset": "1.4"}, frames=10)
    before = read(source)
    convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    after = read(tmp_path / "out.mp4")
    delay = before.times[0] - before.packets[1][0][0]
    assert delay % MS
    assert after.times[0] - after.packets[1][0][0] == delay


@pytest.mark.slow
@pytest.mark.parametrize("frames", [1, 2, 3])
@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_films_shorter_than_the_encoders_delay(tmp_path, codec, frames):
    """libx265 leaves the decoding times of one or two frames to chance: try it several times."""
    source = make(tmp_path / "in.mp4", frames=frames)
    for number in range(4):
        for suffix in (".mp4", ".mkv"):
            out = tmp_path / f"{number}{suffix}"
            convert(source, out, Nearest(), encoding=Encoding(codec=codec, preset="medium"))
            assert read(out).times == [Fraction(i, 25) for i in range(frames)]


def test_ratios_of_both_pyav_versions():
    """PyAV 18 gives Fractions and None, 19 its own AVRational that is 0 where nothing is known."""
    from av.rational import AVRational

    assert time_fraction(AVRational(1, 25)) == time_fraction(Fraction(1, 25)) == Fraction(1, 25)
    assert type(time_fraction(AVRational(30000, 1001))) is Fraction
    assert time_fraction(AVRational(0, 1)) is time_fraction(None) is None
