"""Damage inside films: what FFmpeg logs and frames that are missing are said; no false alarms."""

import random
from contextlib import closing
from fractions import Fraction

import av
import pytest

from snellen.video.clip import Clip
from snellen.video.compare import compare
from snellen.video.source.complaints import Complaints
from snellen.video.source.decode import Source
from snellen.video.source.gaps import Gaps
from support.video.clips import make
from support.video.comparisons import Difference

X264 = {"preset": "medium", "g": "12", "threads": "1"}
ERROR, WARNING = av.logging.ERROR, av.logging.WARNING


def read(path, clip=None):
    """Return the number of frames, and what is said of damage."""
    frames, said = 0, ()
    with closing(Source(path, clip or Clip())) as source:
        for item in source.items():
            frames += item.frame is not None
            said = item.report.damage if item.report else said
    return frames, said


def zeroed(path, part, at=0.5):
    data = bytearray(path.read_bytes())
    begin, length = int(len(data) * at), max(4, int(len(data) * part))
    data[begin : begin + length] = bytes(length)
    path.write_bytes(data)
    return path


def film(path, frames=60, **settings):
    return make(path, frames=frames, size=(160, 120), **settings)


@pytest.mark.parametrize("part", [0.01, 0.05, 0.25])
@pytest.mark.parametrize("suffix", ["mkv", "flv", "mp4", "ts"])
def test_frames_lost_inside(tmp_path, suffix, part):
    frames, said = read(zeroed(film(tmp_path / f"a.{suffix}", options=X264), part))
    assert frames < 60 or part == 0.01
    assert said


def test_the_checksum_of_a_slice_is_checked(tmp_path):
    path = film(tmp_path / "a.mkv", frames=10, codec="ffv1",
                options={"level": "3", "slicecrc": "1"})  # fmt: skip
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    frames, said = read(path)
    assert frames == 10
    assert any("of the ffv1 decoder" in text and "CRC" in text for text in said)


def test_two_films_at_once_do_not_take_each_others_messages(tmp_path):
    whole = film(tmp_path / "a.mkv", options=X264)
    broken = zeroed(film(tmp_path / "b.mkv", options=X264), 0.02)
    summary = compare(whole, broken, Difference(), lambda result: None)
    assert summary.lost and all(text.startswith(f"{broken}: ") for text in summary.lost)


def test_damage_outside_of_a_clip_is_not_the_clips(tmp_path):
    path = zeroed(film(tmp_path / "a.mkv", frames=150, options=X264), 0.02, at=0.9)
    assert read(path)[1]
    assert read(path, Clip(frames=50))[1] == ()
    path = zeroed(film(tmp_path / "b.mkv", frames=150, options=X264), 0.02, at=0.1)
    assert read(path)[1]
    assert read(path, Clip(start=Fraction(4)))[1] == ()


def test_transport_streams_cut_at_their_start(tmp_path):
    options = {**X264, "bf": "3", "x264-params": "open-gop=1:keyint=10"}
    data = film(tmp_path / "a.ts", audio="mp2", options=options).read_bytes()
    chance = random.Random(3)
    for _ in range(6):
        path = tmp_path / "cut.ts"
        path.write_bytes(data[chance.randrange(len(data) // 2) :])
        frames, said = read(path)
        assert frames and said == ()


@pytest.mark.parametrize("suffix", ["mkv", "mp4", "flv", "ts"])
def test_films_of_variable_rate(tmp_path, suffix):
    chance = random.Random(4)
    for times in (
        [40 * n + chance.randrange(15) for n in range(40)],
        [40 * n for n in range(60) if n < 1 or chance.random() < 0.7],
        [40 * n + 2000 * (n > 20) for n in range(40)],
    ):
        path = make(tmp_path / f"a.{suffix}", times=times, time_base=Fraction(1, 1000))
        assert read(path) == (len(times), ())


class Positioned:
    """A packet as the demuxer gives it: PyAV lets nobody set its position."""

    def __init__(self, pos, size, dts):
        self.pos, self.size, self.dts, self.pts = pos, size, dts, dts


def test_a_gap_counts_where_bytes_were_skipped_or_a_packet_gave_no_frame():
    def gaps(hole):
        found = Gaps("matroska,webm", Fraction(40), Fraction(1, 1000))
        for number in (0, 1, 2, 3, 4, 8, 9, 10, 11, 12):
            found.read(Positioned(1000 * number if hole else 0, 990, 40 * number), True)
            found.see(40 * number)
        return found

    assert gaps(True).missing(0, ()) == 3
    assert gaps(False).missing(0, ()) == 0
    assert gaps(False).missing(0, {200}) == 1
    assert gaps(True).missing(200, {200}) == 0  # before the clip


def test_sentences_are_few_and_short():
    complaints = Complaints("mov,mp4", {"h264"})
    for number in range(500):
        complaints.hear([(ERROR, "h264", f"error while decoding MB {number} 1\n")])
        complaints.hear([(WARNING, "h264", "Increasing reorder buffer\n")])
        complaints.hear([(ERROR, "aac", "not of the video")])
    for kind in "abcdefg":
        complaints.hear([(ERROR, "h264", kind * 500 + "\x1b[31m")])
    complaints.hear([(ERROR, "mov,mp4", "error reading header")])
    first, second = complaints.sentences()
    assert first.startswith("507 errors of the h264 decoder (error while decoding MB 0 1; aaa")
    assert "and 5 other messages" in first and len(first) < 400 and "\x1b" not in first
    assert second == "1 error of the mov demuxer (error reading header)"


def test_a_rare_gap_in_asf_counts_unless_sound_goes_on():
    for kept, missing in (((6,), 1), ((3, 6, 9), 0)):
        found = Gaps("asf", Fraction(40), Fraction(1, 1000))
        for number in range(15):
            if number not in kept:
                found.read(Positioned(529, 100, 40 * number), True)
                found.see(40 * number)
        assert found.missing(0, ()) == missing
