"""Time codes of clips."""

import re
from fractions import Fraction

import av
import pytest

from snellen.video.passthrough.tags import advanced
from snellen.video.sink.encoding import Encoding
from snellen.video.source.headers import with_time_code
from support.video.clips import picture, read
from support.video.converting import convert

NTSC = Fraction(30000, 1001)


@pytest.mark.parametrize(
    ("code", "frames", "rate", "want"),
    [
        ("01:00:00:00", 10, Fraction(25), "01:00:00:10"),
        ("00:59:59:24", 1, Fraction(25), "01:00:00:00"),
        ("23:59:59:24", 2, Fraction(25), "00:00:00:01"),
        ("00:00:59:23", 1, Fraction(24000, 1001), "00:01:00:00"),
        ("00:00:59:29", 1, NTSC, "00:01:00:00"),
        ("00:00:59;29", 1, NTSC, "00:01:00;02"),  # SMPTE 12M: ;00 and ;01 do not exist
        ("00:09:59;29", 1, NTSC, "00:10:00;00"),
        ("00:00:00;00", 17982, NTSC, "00:10:00;00"),
        ("00:00:00;00", 107892, NTSC, "01:00:00;00"),
        ("00:00:59;59", 1, 2 * NTSC, "00:01:00;04"),
    ],
)
def test_advanced(code, frames, rate, want):
    assert advanced(code, frames / rate, rate) == want
    rounded = Fraction(round(frames / rate * 1000), 1000)  # as in Matroska
    assert advanced(code, rounded, rate) == want


def test_unknown():
    assert advanced("one o'clock", Fraction(1), Fraction(25)) is None
    assert advanced("00:00:00:00", Fraction(1, 50), Fraction(25)) is None  # between two frames
    assert advanced("00:00:00:00", Fraction(1), Fraction(247, 10)) is None  # an average


def coded(path, rate, code, flags):
    """Write a mov whose time code has these flags, whatever its rate; return its path."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.metadata["timecode"] = code
        for number in range(3):
            out.mux(stream.encode(picture(number)))
        out.mux(stream.encode(None))
    data = bytearray(path.read_bytes())
    at = re.search(rb"stsd\0{7}\x01.{4}tmcd", bytes(data), re.DOTALL).end() + 12
    data[at + 3] = flags
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("suffix", [".mov", ".mp4", ".mkv"])
@pytest.mark.parametrize(("rate", "code"), [(24, "10:20:30:05"), (25, "23:59:59:24")])
def test_a_drop_frame_flag_at_a_rate_without_it(tmp_path, step, rate, code, suffix):
    source = coded(tmp_path / "in.mov", rate, code, flags=1)
    with av.open(str(source)) as back:
        assert "timecode" not in back.streams.video[0].metadata  # FFmpeg refuses it
    encoding = Encoding(codec="libx264", preset="ultrafast")
    summary = convert(source, tmp_path / f"out{suffix}", step, encoding=encoding)
    assert summary.lost == () and summary.dropped == ()
    assert [one for one in summary.warnings if "Drop frame" in one] == list(summary.warnings)
    tags = read(tmp_path / f"out{suffix}").stream_tags[0]
    assert {key.lower(): value for key, value in tags.items()}["timecode"] == code


def test_a_counter_is_no_time_code(tmp_path):
    source = coded(tmp_path / "in.mov", 24, "10:20:30:05", flags=9)
    with av.open(str(source)) as container:
        found = with_time_code(container, container.streams.video[0], source)
    assert not any("timecode" in one.tags for one in found)
