"""Damage inside films: what FFmpeg logs and frames that are missing are said; no false alarms."""

import random
from contextlib import closing
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest

from fuzz.case import Case
from snellen.video.clip import Clip
from snellen.video.comparing.compare import compare
from snellen.video.logs.complaints import Complaints
from snellen.video.source.decode import Source
from snellen.video.source.ends import mpeg
from snellen.video.source.gaps import Gaps
from snellen.video.source.truncation import frames_after, samples_short
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_two_films_at_once_do_not_take_each_others_messages(tmp_path):
    whole = film(tmp_path / "a.mkv", options=X264)
    broken = zeroed(film(tmp_path / "b.mkv", options=X264), 0.02)
    summary = compare(whole, broken, Difference(), lambda result: None)
    assert summary.lost and all(text.startswith(f"{broken}: ") for text in summary.lost)


@pytest.mark.slow
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


def test_a_size_that_cannot_be_is_damage_of_the_container():
    """FFmpeg refuses it while the container is opened; the decoder finds another one."""
    complaints = Complaints("avi", {"mjpeg"})
    refused = (ERROR, "IMGUTILS", "Picture size 0x0 is invalid")
    complaints.hear([refused, (ERROR, "mjpeg", "bad")], opening=True)
    assert complaints.sentences() == ("1 error of the avi demuxer (Picture size 0x0 is invalid)",)


@pytest.mark.parametrize(
    "text",
    [
        "Drop frame is only allowed with multiples of 30000/1001 FPS",
        "can't parse creation_time",
        "Unknown spherical metadata",
        "Error parsing cover art.",
        "Invalid attached picture size: 7.",
        "Invalid APE tag key 'x'.",
    ],
)
def test_what_demuxers_say_of_tags_and_side_data_is_no_damage(text):
    complaints = Complaints("mov,mp4", {"h264"})
    complaints.hear([(ERROR, "mov,mp4", text)] * 2)
    assert complaints.sentences() == ()
    (said,) = complaints.beside()
    assert said.endswith(f"the mov demuxer does not take: {text}")
    complaints.hear([(ERROR, "h264", "Invalid data in language"), (ERROR, "mov,mp4", "bad header")])
    assert len(complaints.sentences()) == 2 and complaints.beside() == (said,)


def test_a_rare_gap_in_asf_counts_unless_sound_goes_on():
    for kept, missing in (((6,), 1), ((3, 6, 9), 0)):
        found = Gaps("asf", Fraction(40), Fraction(1, 1000))
        for number in range(15):
            if number not in kept:
                found.read(Positioned(529, 100, 40 * number), True)
                found.see(40 * number)
        assert found.missing(0, ()) == missing


@pytest.mark.parametrize("suffix", ["mpg", "vob"])  # with packs of MPEG-1 and of MPEG-2
def test_frames_that_were_erased_from_a_program_stream(tmp_path, suffix):
    """Its packets have lengths, but no counters; a gap in time alone may be one between films."""
    path = film(tmp_path / f"a.{suffix}", frames=99, codec="mpeg2video", options={"b": "1M"})
    data = path.read_bytes()
    packs = [n for n in range(0, len(data), 2048) if data[n : n + 4] == b"\0\0\1\xba"]
    begin, end = packs[len(packs) // 2], packs[len(packs) // 2 + 9]
    shift = 0 if suffix == "vob" else 40  # before packs of MPEG-1 there may be zeros
    for harmed in (
        data[: begin - shift] + bytes(end - begin) + data[end - shift :],
        data[: begin + 30] + bytes(end - begin - 60) + data[end - 30 :],
        data[: begin + 99] + data[end + 700 :],
    ):
        path.write_bytes(harmed)
        frames, said = read(path)
        assert said[0] == f"{99 - frames} frames missing inside, by the times of the others"
        assert frames < 99


def test_the_end_of_a_program_stream_is_not_read_twice(tmp_path):
    """Its times are wrong just behind the place where reading begins, in packets of many frames."""
    case = Path(__file__).parents[1] / "fuzz" / "found" / "zeroed_mpeg2video_vob.json"
    path = tmp_path / "a.mpg"
    path.write_bytes(Case.from_json(case.read_text()).original)
    with av.open(str(path)) as container:
        last = max(frame.pts for frame in container.decode(video=0))
    assert list(frames_after(last, path, "a.mpg", ())) == []
    assert len(list(frames_after(last - 3 * 3600, path, "a.mpg", ()))) == 3


@pytest.mark.slow
def test_program_streams_that_were_joined_are_whole(tmp_path):
    first = film(tmp_path / "a.mpg", frames=20, codec="mpeg2video", options={"b": "3M"})
    for late in (30, 24, 300):  # frames, from the first one's beginning
        second = film(tmp_path / "b.mpg", frames=20, codec="mpeg2video", options={"b": "3M"},
                      times=list(range(late, late + 20)))  # fmt: skip
        path = tmp_path / "c.mpg"
        path.write_bytes(first.read_bytes() + second.read_bytes())
        assert read(path) == (40, ())


def test_what_counts_as_erased_of_a_program_stream(monkeypatch):
    def erased(data, last=None):
        return mpeg.erased(BytesIO(data), 0, len(data) if last is None else last)

    pack = b"\0\0\1\xba\x44" + bytes(9)
    sound, video = (b"\0\0\1" + bytes((one, 0, 40)) + bytes(20) for one in (0xC0, 0xE0))
    sound, stuffed, zeroed = sound + b"x" * 20, video + b"\1" * 20, video + b"x" * 20
    whole = pack + sound + stuffed + b"\0\0\1\xb9"
    assert not erased(whole)
    assert erased(pack + zeroed) and not erased(pack + zeroed, last=14)
    assert erased(whole + b"\0" + pack) and erased(whole + b"\0\0\1") and erased(b"\0\0\1\xba")
    assert erased(whole, len(whole) - 9)  # a packet ends elsewhere
    monkeypatch.setattr(mpeg, "_REGION", 20)
    assert not erased(whole)


def test_a_program_stream_with_stuffed_bytes_and_a_pause_is_whole(tmp_path):
    rate = {"b": "2M", "minrate": "2M", "maxrate": "2M", "bufsize": "200k"}
    path = film(tmp_path / "a.mpg", frames=40, codec="mpeg2video", options=rate,
                times=[n + 9 * (n > 20) for n in range(40)])  # fmt: skip
    assert bytes(16) + b"\1" in path.read_bytes()
    assert read(path) == (40, ())


def test_video_cds_that_were_joined_are_whole(tmp_path):
    """They have zeros between their packets."""
    rate, path, data = "1150000", tmp_path / "a.mpg", b""
    options = {"b": rate, "minrate": rate, "maxrate": rate, "bufsize": "327680"}
    for late in (0, 140):
        with av.open(str(path), "w", format="vcd") as out:
            stream = out.add_stream("mpeg1video", rate=25, options=options)
            stream.width, stream.height, stream.codec_context.bit_rate = 352, 288, int(rate)
            for number in range(late, late + 30):
                frame = av.VideoFrame.from_ndarray(np.full((432, 352), 128, np.uint8), "yuv420p")
                frame.pts = number
                out.mux(stream.encode(frame))
            out.mux(stream.encode())
        data += path.read_bytes()
    path.write_bytes(data)
    assert read(path) == (60, ())


def _without_start_code(data, at):
    """The packet of a transport stream at `at` with a broken start code in its payload."""
    payload = at + 4 + (1 + data[at + 4] if data[at + 3] & 0x20 else 0)
    return data[:payload] + b"\xff" + data[payload + 1 :]


def test_whole_packets_of_a_transport_stream_that_are_gone(tmp_path):
    path = film(tmp_path / "a.ts", frames=30, options={**X264, "crf": "40"})
    data = path.read_bytes()
    starts = [n for n in range(0, len(data), 188) if data[n + 1] & 0x41 == 0x41]
    first, second = starts[16], starts[19]
    for harmed in (
        data[:first] + bytes(second - first) + data[second:],
        data[:first] + data[second:],
        data[:first] + data[second - 100 :],
        _without_start_code(data, first),
    ):
        path.write_bytes(harmed)
        frames, said = read(path)
        assert frames < 30
        assert any("missing inside" in text for text in said)


def test_sixteen_packets_of_a_transport_stream_that_are_gone():
    """Their own counters go on; those of sound do not, which lie further apart."""
    counters = {256: 0, 257: 0}
    packets = []
    for number in range(400):
        stream = 257 if number % 50 == 7 else 256
        begin = 0x40 if stream == 256 and number % 10 == 0 else 0
        counter = counters[stream]
        counters[stream] = (counter + 1) & 15
        head = bytes((0x47, begin | stream >> 8, stream & 255, 0x10 | counter))
        packets.append((head + b"\0\0\1").ljust(188, b"\xff"))
    places = [n for n, one in enumerate(packets) if one[1] & 0x40]
    first = places[10]
    last = next(n for n in places[11:] if sum(one % 50 != 7 for one in range(first, n)) % 16 == 0)
    for lost in (0, last - first):
        file = BytesIO(b"".join(packets[:first] + packets[first + lost :]))
        before, behind = 188 * places[9], 188 * (first if lost else places[10])
        assert not mpeg.skipped(file, before, behind, False)
        assert mpeg.skipped(file, before, behind, True) == bool(lost)


def test_fragments_behind_boxes_that_are_none(tmp_path):
    container = {"movflags": "frag_every_frame+empty_moov+default_base_moof"}
    path = film(tmp_path / "a.mp4", frames=20, options={**X264, "bf": "0"}, container=container)
    data = path.read_bytes()
    at = [n - 4 for n in range(len(data)) if data.startswith(b"moof", n)]
    here = at[12]
    path.write_bytes(data[:here] + b"\0\0\0\x0cwhat1234" + data[here:])
    assert read(path) == (20, ())  # a box of others
    for harmed in (
        data[:here] + bytes(60) + data[here + 60 :],
        data[: here + 4] + b"m00f" + data[here + 8 :],
        data[: here - 9] + data[here:],
        data[:here] + bytes(60) + data[data.index(b"mfra") - 4 :],
        data[:here] + data[-70:],
        data[: at[-1]] + bytes(60) + data[at[-1] + 60 : data.index(b"mfra") - 4],
        data[:here] + data[here : here + 40] + data[here:],
    ):
        path.write_bytes(harmed)
        frames, said = read(path)
        assert 3 < frames < 20
        assert said


def test_samples_that_fragments_state_are_counted(tmp_path):
    container = {"movflags": "frag_keyframe+empty_moov"}
    options = {**X264, "bf": "0", "g": "5"}
    path = film(tmp_path / "a.mp4", frames=20, options=options, container=container)
    assert samples_short(path, "mov,mp4", 1, 20) is None
    assert samples_short(path, "mov,mp4", 2, 0) is None
    assert "1 of 20 video packets" in samples_short(path, "mov,mp4", 1, 19)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["avi", "nut"])
def test_a_packet_without_its_header(tmp_path, suffix):
    options = {**X264, "bf": "0", "g": "60"}
    path = film(tmp_path / f"a.{suffix}", frames=30, options=options)
    with av.open(str(path)) as container:
        places = [packet.pos for packet in container.demux() if packet.pos]
    data = bytearray(path.read_bytes())
    data[places[20] : places[20] + 4] = b"\xff" * 4
    path.write_bytes(data)
    frames, said = read(path)
    assert frames < 30
    assert said


@pytest.mark.parametrize("codec", ["mpeg1video", "mpeg2video"])
def test_zero_bytes_behind_a_slice_are_no_damage(tmp_path, codec):
    rate = {"b": "2000k", "minrate": "2000k", "maxrate": "2000k", "bufsize": "400k"}
    path = film(tmp_path / "a.mpg", frames=12, codec=codec, options=rate)
    assert path.stat().st_size > 100_000
    assert read(path) == (12, ())


def test_slow_flv_whose_frames_are_reordered(tmp_path):
    options = {"preset": "medium", "bf": "3", "x264-params": "b-pyramid=2:b-adapt=0"}
    path = film(tmp_path / "a.flv", frames=9, rate=Fraction(1), options=options)
    assert read(path) == (9, ())


@pytest.mark.parametrize("codec", ["libx264", "mpeg2video"])
def test_transport_streams_that_were_joined(tmp_path, codec):
    """As by `cat`: the counters of packets break, but every packet is whole."""
    options = X264 if codec == "libx264" else {}
    how = {"codec": codec, "options": options}
    parts = [film(tmp_path / "a.ts", frames=n, audio="mp2", **how).read_bytes() for n in (9, 14)]
    later = [25 + n for n in range(9)], [9000 + n for n in range(9)]
    after = [film(tmp_path / "b.ts", frames=9, times=t, **how).read_bytes() for t in later]
    for first, second in ((0, 0), (0, 1), (1, 0)):
        path = tmp_path / "joined.ts"
        path.write_bytes(parts[first] + parts[second])
        assert read(path) == (sum((9, 14)[n] for n in (first, second)), ())
    path.write_bytes(parts[0] + after[1])  # another clock
    assert read(path) == (18, ())
    path.write_bytes(parts[0] + after[0])
    assert "frames missing inside" in read(path)[1][0]


def test_pictures_of_a_gif_that_nothing_tells_apart(tmp_path):
    """FFmpeg shows the first one of pictures that no extension stands before."""
    path = tmp_path / "a.gif"
    picture = b",\0\0\0\0\2\0\2\0\x80\0\0\0\xff\xff\xff\2\3\x84Q\5\0"
    path.write_bytes(b"GIF89a\2\0\2\0\0\0\0" + 2 * picture + b";")
    frames, said = read(path)
    assert frames == 1 and "1 of 2 pictures are left out" in said[0]
    delay = b"!\xf9\4\0\12\0\0\0"
    path.write_bytes(b"GIF89a\2\0\2\0\0\0\0" + 2 * (delay + picture) + b";")
    assert read(path) == (2, ())


@pytest.mark.parametrize("suffix", ["mp4", "mov"])
def test_times_of_samples_that_cannot_be(tmp_path, suffix):
    """The edit list leaves out what they put behind the end of the film."""
    path = film(tmp_path / f"a.{suffix}", frames=20, options={**X264, "bf": "0"}, audio="aac")
    data = bytearray(path.read_bytes())
    at = data.index(b"stts") + 16
    data[at : at + 4] = (1 << 24).to_bytes(4, "big")
    path.write_bytes(data)
    frames, said = read(path)
    assert frames == 1 and "19 of 20 video packets are not read" in said[0]
