"""Headers say what FFmpeg does not read: rates of untimed films, depth of SER, time codes."""

import io
import os
import re
import struct
import threading
from contextlib import closing
from fractions import Fraction

import av
import numpy as np
import pytest

from snellen import score_files, upscale_file
from snellen.errors import InputError
from snellen.jobs import UpscaleJob, VideoOptions
from snellen.jobs.calls.previews import preview
from snellen.video.clip import Clip
from snellen.video.passthrough.tags import advanced
from snellen.video.sink.encoding import Encoding
from snellen.video.source.decode import Source
from snellen.video.source.headers import with_time_code
from support.cli import run
from support.video.clips import make, picture, read
from support.video.converting import convert

FRAMES = 6
SAID = "no frame rate is stated: 25 frames a second are taken (`fps` states another one)"


def y4m(path, rate):
    """Write a y4m of grey frames, whose header has these words about its rate."""
    head = " ".join(("YUV4MPEG2 W64 H48", *rate, "Ip C420jpeg"))
    frames = [b"FRAME\n" + bytes([40 * n]) * (64 * 48) + b"\x80" * (64 * 24) for n in range(FRAMES)]
    path.write_bytes(head.encode() + b"\n" + b"".join(frames))
    return path


def grey_ser(path):
    """Write a SER of grey frames (the format's description, version 3)."""
    numbers = struct.pack("<7i", 0, 0, 0, 64, 48, 8, FRAMES)
    frames = [bytes([40 * n]) * (64 * 48) for n in range(FRAMES)]
    path.write_bytes(b"LUCAM-RECORDER" + numbers + bytes(136) + b"".join(frames))
    return path


UNSTATED = {
    "F0:0": lambda folder: y4m(folder / "a.y4m", ["F0:0"]),
    "F0:1": lambda folder: y4m(folder / "a.y4m", ["F0:1"]),
    "no F": lambda folder: y4m(folder / "a.y4m", []),
    "ser": lambda folder: grey_ser(folder / "a.ser"),
    "mjpeg": lambda folder: make(
        folder / "a.mjpeg", codec="mjpeg", pix_fmt="yuvj420p", frames=FRAMES, size=(64, 48)
    ),
}


def opened(source, **clip):
    """Return the rate, the times of the frames in seconds and what is lost."""
    film = Source(source, Clip(**clip))
    times = [one.frame.pts * film.info.time_base for one in film.items() if one.frame is not None]
    film.close()
    return film.info.rate, times, film.info.picture.losses


@pytest.mark.cases
@pytest.mark.parametrize("kind", UNSTATED)
def test_a_rate_that_nobody_states_is_said_and_stated_by_fps(tmp_path, kind):
    source = UNSTATED[kind](tmp_path)
    rate, times, lost = opened(source)
    assert rate == 25 and SAID in lost
    assert times == [Fraction(n, 25) for n in range(FRAMES)]
    for fps in (Fraction(30), Fraction(24000, 1001)):
        rate, times, lost = opened(source, fps=fps)
        assert rate == fps and SAID not in lost
        assert times == [n / fps for n in range(FRAMES)]
    _, times, _ = opened(source, fps=Fraction(10), start=Fraction(2, 10), duration=Fraction(3, 10))
    assert times == [0, Fraction(1, 10), Fraction(2, 10)]


def test_standard_input(tmp_path):
    file = io.BytesIO(y4m(tmp_path / "a.y4m", ["F0:0"]).read_bytes())
    assert opened(file)[0] == 25
    file.seek(0)
    rate, times, lost = opened(file, fps=Fraction(50))
    assert rate == 50 and times[1] == Fraction(1, 50) and SAID not in lost


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", ["pipe.y4m", "pipe"])
def test_a_pipe_with_a_name(tmp_path, name):
    data = y4m(tmp_path / "a.y4m", ["F0:0"]).read_bytes()
    os.mkfifo(pipe := tmp_path / name)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
    writer.start()
    how = {"method": "cnn-fast", "device": "cpu", "strict": True, "segments": False}
    upscale_file(pipe, tmp_path / "b.mkv", fps=50, **how)
    writer.join()
    with closing(Source(tmp_path / "b.mkv", Clip())) as source:
        assert source.info.rate == 50


def test_a_rate_that_is_stated_is_kept(tmp_path):
    """Also that of raw streams: their headers state it, and FFmpeg takes 25 all the same."""
    sources = [
        y4m(tmp_path / "a.y4m", ["F30:1"]),
        make(tmp_path / "a.mkv", rate=Fraction(30), frames=FRAMES),
    ]
    for suffix, codec in (("h264", "libx264"), ("hevc", "libx265"), ("m2v", "mpeg2video")):
        sources.append(
            make(tmp_path / f"a.{suffix}", codec=codec, rate=Fraction(30), frames=FRAMES)
        )
    for source in sources:
        rate, times, lost = opened(source)
        assert rate == 30 and SAID not in lost, source
        steps = np.diff([float(one) for one in times])
        assert steps == pytest.approx(1 / 30, abs=1e-3), source  # Matroska's clock
        with pytest.raises(InputError, match=r"has 30 frames a second; `?fps"):
            opened(source, fps=Fraction(24))


@pytest.mark.parametrize("target", ["b.mkv", "b.y4m"])
def test_files_that_are_made(tmp_path, target):
    source, target = y4m(tmp_path / "a.y4m", ["F0:0"]), tmp_path / target
    how = {"method": "cnn-fast", "device": "cpu", "overwrite": True}
    assert upscale_file(source, target, **how).warnings == (SAID,)
    assert upscale_file(source, target, fps="30", strict=True, **how).warnings == ()
    assert opened(target)[0] == 30
    with pytest.raises(InputError, match=r"strict.*no frame rate is stated"):
        upscale_file(source, target, strict=True, **how)


def test_the_command(tmp_path, capsys):
    source = y4m(tmp_path / "a.y4m", ["F0:0"])
    words = ["upscale", source, "-o", tmp_path / "b.y4m", "--method", "cnn-fast", "--device", "cpu"]
    assert run(*words, "--fps", 12) == 0
    assert "frame rate" not in capsys.readouterr().err
    assert b" F12:1 " in (tmp_path / "b.y4m").read_bytes()[:80]
    assert run(*words, "--overwrite") == 0
    assert "(--fps states another one)" in capsys.readouterr().err
    words = ["deblur", source, "-o", tmp_path / "c.y4m", "--prior", "none", "--iterations", 1]
    assert run(*words, "--frames", 1, "--device", "cpu", "--fps", 12) == 0
    assert b" F12:1 " in (tmp_path / "c.y4m").read_bytes()[:80]


def test_previews_are_at_the_places_of_that_rate(tmp_path, small_model):
    job = UpscaleJob(
        source=y4m(tmp_path / "a.y4m", ["F0:0"]), target=tmp_path / "b.mkv", model=small_model,
        device="cpu", video=VideoOptions(fps=Fraction(2)),
    )  # fmt: skip
    assert job.video.clip.fps == 2
    assert preview(job, tmp_path / "p.html", count=1).pictures
    page = (tmp_path / "p.html").read_text()
    assert "2 a second" in page and "25 a second" not in page


@pytest.mark.cases
@pytest.mark.parametrize("fps", [0, -1, True, "fast", 10**10, [25]])
def test_a_clip_takes_frames_a_second(fps):
    assert Clip(fps=30).fps == Fraction(30) and Clip(fps=23.976).fps == Fraction(24000, 1001)
    with pytest.raises(InputError, match=r"fps.*expected pictures a second"):
        Clip(fps=fps)


GREY, BAYER, RGB = 0, 8, 100
"""Kinds of samples in the header (SER format description, version 3)."""
SIZE = 64, 48


def ser(path, samples, depth, kind=GREY):
    """Write frames of 16-bit samples."""
    numbers = struct.pack("<7i", 0, kind, 0, *SIZE, depth, len(samples))
    path.write_bytes(b"LUCAM-RECORDER" + numbers + bytes(136) + samples.astype("<u2").tobytes())
    return path


def frames(path):
    """Return the format, and luma of all frames."""
    film = Source(path, Clip())
    found = [one.frame.planes[0].copy() for one in film.items() if one.frame is not None]
    film.close()
    return film.info.picture, np.stack(found)


def noise(random, depth, channels=1):
    samples = random.integers(0, 1 << depth, (3, SIZE[1], SIZE[0] * channels), np.uint16)
    samples[:, 0, 0] = (1 << depth) - 1
    return samples


@pytest.mark.cases
@pytest.mark.parametrize(
    ("depth", "wanted"), [(9, 9), (10, 10), (11, 16), (12, 12), (14, 14), (15, 16), (16, 16)]
)
def test_grey_has_the_depth_of_the_header(tmp_path, random, depth, wanted):
    samples = noise(random, depth)
    picture, found = frames(ser(tmp_path / "a.ser", samples, depth))
    assert picture.format.bits == wanted
    assert picture.pixel_format == f"gray{wanted}le"
    assert (found == samples << (wanted - depth)).all()


@pytest.mark.parametrize(("kind", "channels"), [(BAYER, 1), (RGB, 3)])
def test_colours_are_as_bright_as_those_of_16_bits(tmp_path, random, kind, channels):
    samples = noise(random, 12, channels)
    dark = frames(ser(tmp_path / "a.ser", samples, 12, kind))[1]
    assert (dark == frames(ser(tmp_path / "b.ser", samples << 4, 16, kind))[1]).all()
    assert dark.max() > 200 << 8


def test_a_header_that_states_too_little_is_not_believed(tmp_path, random):
    """Some programs stretch samples to 16 bits; what is larger in a later frame becomes white."""
    samples = noise(random, 16)
    picture, found = frames(ser(tmp_path / "a.ser", samples, 12))
    assert picture.format.bits == 16 and (found == samples).all()
    samples[0] >>= 4
    picture, found = frames(ser(tmp_path / "a.ser", samples, 12))
    assert picture.format.bits == 12 and (found == np.minimum(samples, 4095)).all()


def test_both_sides_of_a_score(tmp_path, random):
    samples = noise(random, 10)
    one, other = (ser(tmp_path / f"{n}.ser", samples << n, 10 + n) for n in (0, 6))
    (pooled,) = score_files(one, other, metrics="psnr", device="cpu").table.pooled().values()
    # White is 1023 of the one and 65535 of the other: code k is 64·k of 64·1023.98, so that
    # samples differ by at most 63/65535.
    assert pooled.min > 20 * np.log10(65535 / 63) - 0.01


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
