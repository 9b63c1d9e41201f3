"""Audio that is encoded anew: what becomes of which streams, and their times to the sample."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip, Encoding
from support.video.checks import FAST
from support.video.clips import fraction, picture
from support.video.converting import convert

RATE = 48000
CLICKS = (7000, 20011, 40013)
"""Samples of the clicks; elsewhere there is silence."""


def clicks(path, codec, rate=RATE, layout="mono", start=0, seconds=1, packet=960, **options):
    """Write one second of film with clicks; the first sample has the time `start` / `rate`."""
    with av.open(str(path), "w", **options) as out:
        video = out.add_stream("libx264", rate=25, options={"preset": "ultrafast"})
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        audio = out.add_stream(codec, rate=rate, layout=layout)
        audio.bit_rate = 128_000
        kind = audio.codec_context.format.name
        channels = audio.codec_context.layout.nb_channels
        wave = np.zeros(rate * seconds, np.float32)
        for place in CLICKS:
            wave[place * rate // RATE] = 0.9
        if not kind.startswith("flt"):
            wave = (wave * 32767).astype(np.int16)
        out.start_encoding()
        size = audio.codec_context.frame_size or packet
        for first in range(0, len(wave), size):
            part = np.repeat(wave[None, first : first + size], channels, 0)
            if not kind.endswith("p"):
                part = np.ascontiguousarray(part.T).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(part, format=kind, layout=layout)
            frame.sample_rate, frame.pts = rate, start + first
            frame.time_base = Fraction(1, rate)
            out.mux(audio.encode(frame))
        out.mux(audio.encode(None))
        for number in range(25 * seconds):
            frame = picture(number)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
    return path


def heard(path, rate=RATE):
    """Return the times of clicks in samples from the start of the video, and the codec."""
    with av.open(str(path)) as container:
        first = next(container.decode(container.streams.video[0]))
        zero = first.pts * fraction(first.time_base)
    found = []
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        now = None
        samples = []
        for frame in container.decode(stream):
            if now is None:
                now = (frame.pts * fraction(frame.time_base) - zero) * rate
            samples.append(frame.to_ndarray()[0])
        wave = np.abs(np.concatenate(samples).astype(np.float64))
        name = stream.codec_context.codec.canonical_name
    while wave.max(initial=0) > 0.2 * np.iinfo(np.int16).max ** (wave.max(initial=0) > 8):
        place = int(wave.argmax())
        found.append(float(now + place))
        wave[max(0, place - 1500) : place + 1500] = 0
    return name, sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        (".mp4", "aac"), (".mkv", "opus"),
        *(pytest.param(*one, marks=pytest.mark.slow)
          for one in ((".mov", "aac"), (".mkv", "aac"), (".mp4", "opus"))),
    ],
)  # fmt: skip
def test_times_to_the_sample(tmp_path, step, suffix, kind):
    source = clicks(tmp_path / "in.mkv", "flac")
    target = tmp_path / f"out{suffix}"
    summary = convert(source, target, step, encoding=FAST, audio=kind, strict=True)
    assert summary.warnings == summary.lost == ()
    assert heard(target) == (kind, list(CLICKS))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("codec", "suffix", "kind", "near"),
    [
        # AAC's first packet is priming, which an edit list says; Opus' is said by Matroska, whose
        # clock rounds to half a millisecond, 24 samples.
        ("aac", ".mp4", "opus", 0), ("libopus", ".mkv", "aac", 24), ("pcm_s16le", ".avi", "aac", 0),
        ("ac3", ".ts", "aac", 0), ("mp2", ".ts", "opus", 0),
    ],
)  # fmt: skip
def test_codecs_with_priming_and_without(tmp_path, step, codec, suffix, kind, near):
    source, target = clicks(tmp_path / f"in{suffix}", codec), tmp_path / "out.mp4"
    summary = convert(source, target, step, encoding=FAST, audio=kind)
    assert summary.lost == ()
    before, after = heard(source)[1], heard(target)[1]
    assert len(after) == len(CLICKS)
    assert all(abs(a - b) <= near for a, b in zip(after, before, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "codec"), [(".ts", "libx264"), (".webm", "libvpx-vp9")])
def test_containers_with_clocks_of_their_own(tmp_path, step, suffix, codec):
    source, target = clicks(tmp_path / "in.mkv", "flac"), tmp_path / f"out{suffix}"
    kind = "aac" if suffix == ".ts" else "opus"
    convert(source, target, step, encoding=Encoding(codec), audio=kind)
    name, found = heard(target)
    assert (name, found) == (kind, pytest.approx(CLICKS, abs=1))  # of 90 kHz and 48 kHz


@pytest.mark.slow
def test_a_late_start_is_silence(tmp_path, step):
    source = clicks(tmp_path / "in.mkv", "flac", start=4800)
    convert(source, tmp_path / "out.mp4", step, encoding=FAST, audio="aac")
    assert heard(tmp_path / "out.mp4")[1] == [place + 4800 for place in CLICKS]


def test_a_part_begins_and_ends_at_the_sample(tmp_path, step):
    source = clicks(tmp_path / "in.mkv", "flac", seconds=3)
    for number, clip in enumerate(
        (Clip(start=Fraction(2, 5), frames=10), Clip(Fraction(2, 5), Fraction(2, 5)))
    ):
        target = tmp_path / f"out{number}.mkv"
        convert(source, target, step, clip=clip, encoding=FAST, audio="opus")
        assert heard(target)[1] == [20011 - 19200]
        with av.open(str(target)) as back:
            samples = sum(frame.samples for frame in back.decode(audio=0))
        assert samples == pytest.approx(19200, abs=24)  # Matroska's clock


def test_what_is_so_already_is_copied(plain, tmp_path, step):
    target = tmp_path / "out.mkv"
    convert(plain, target, step, encoding=FAST, audio="aac")

    def payloads(path):
        with av.open(str(path)) as container:
            return [bytes(p) for p in container.demux(audio=0) if p.size]

    assert payloads(target) == payloads(plain)


def test_left_out_without_a_word(plain, tmp_path, step):
    target = tmp_path / "out.mp4"
    summary = convert(plain, target, step, encoding=FAST, audio="none", strict=True)
    assert summary.dropped == summary.warnings == ()
    with av.open(str(target)) as back:
        assert [stream.type for stream in back.streams] == ["video"]


@pytest.mark.slow
def test_what_cannot_be_copied_says_how_it_can_be_kept(tmp_path, step):
    source = clicks(tmp_path / "in.avi", "wmav2")
    summary = convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert summary.dropped == (
        "audio stream 1 (wmav2): .mkv cannot hold it; `audio`=aac encodes it anew",
    )
    summary = convert(source, tmp_path / "aac.mkv", step, encoding=FAST, audio="aac")
    assert summary.dropped == ()
    assert heard(tmp_path / "aac.mkv")[0] == "aac"


def test_a_container_without_it_is_refused(plain, tmp_path, step):
    with pytest.raises(InputError, match=r"got audio=opus; \.mov cannot hold it") as caught:
        convert(plain, tmp_path / "out.mov", step, encoding=FAST, audio="opus")
    assert caught.value.parameter == "audio"
    assert "aac" in caught.value.advice
    with pytest.raises(InputError, match="y4m cannot hold it"):
        convert(plain, tmp_path / "out.y4m", step, audio="aac")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_rates_and_channels(tmp_path, step):
    source = clicks(tmp_path / "in.mkv", "flac", rate=44100, layout="5.1(side)")
    target = tmp_path / "out.mp4"
    summary = convert(source, target, step, encoding=FAST, audio="opus")
    assert summary.warnings == ("audio stream 1 (flac): its channels (5.1(side)) become 5.1",)
    with av.open(str(target)) as back:
        stream = back.streams.audio[0]
        assert (stream.rate, stream.layout.name) == (48000, "5.1")
    assert heard(target)[1] == pytest.approx(CLICKS, abs=2)  # a click between two samples


def test_damaged_audio_is_said_and_keeps_its_time(tmp_path, step):
    source = clicks(tmp_path / "in.mkv", "flac", packet=4608)
    data = bytearray(source.read_bytes())
    with av.open(str(source)) as container:
        packets = [bytes(p) for p in container.demux(audio=0) if p.size]
    for broken in packets[1:3]:
        place = data.index(broken)
        data[place : place + len(broken)] = bytes(len(broken))
    source.write_bytes(data)
    target = tmp_path / "out.mp4"
    summary = convert(source, target, step, encoding=FAST, audio="aac")
    assert len(summary.lost) == 1
    assert "audio stream 1 (flac): 2 packets could not be decoded" in summary.lost[0]
    assert heard(target)[1][-1] == CLICKS[-1]


@pytest.mark.slow
def test_samples_that_are_no_numbers(tmp_path, step):
    source = tmp_path / "in.mkv"
    clicks(source, "pcm_f32le")
    data = source.read_bytes()
    place = data.index(np.float32(0.9).tobytes())
    source.write_bytes(data[:place] + np.float32(np.nan).tobytes() + data[place + 4 :])
    convert(source, tmp_path / "out.mp4", step, encoding=FAST, audio="aac")
    assert heard(tmp_path / "out.mp4")[1] == list(CLICKS[1:])
