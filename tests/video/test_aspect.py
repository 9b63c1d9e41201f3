"""The sample aspect ratio, in every container and codec that can hold it."""

from fractions import Fraction
from io import BytesIO

import av
import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.video.segments import cuts
from snellen.video.sink.aspect import AspectWriter, display_size, with_room
from snellen.video.sink.encoding import Encoding
from support.video.clips import make
from support.video.converting import convert
from support.video.segments import Run

RATIO = Fraction(16, 11)
FAST = {
    "libx264": Encoding(codec="libx264", preset="ultrafast"),
    "libsvtav1": Encoding(codec="libsvtav1", preset="11"),
    "libvpx-vp9": Encoding(codec="libvpx-vp9", options={"deadline": "realtime"}),
    "ffv1": Encoding(codec="ffv1"),
    "prores_ks": Encoding(codec="prores_ks"),
}


@pytest.fixture
def source(tmp_path):
    return make(tmp_path / "in.mkv", aspect=RATIO, frames=2, audio="aac", title="Länge")


def stated(path):
    with av.open(str(path)) as back:
        found = [stream.sample_aspect_ratio for stream in back.streams.video]
    return {Fraction(one.numerator, one.denominator) for one in found if one}


@pytest.mark.parametrize(
    ("codec", "suffix"),
    [
        ("libx264", ".mkv"), ("libsvtav1", ".mkv"), ("libvpx-vp9", ".mkv"), ("ffv1", ".mkv"),
        ("prores_ks", ".mkv"), ("libsvtav1", ".webm"), ("libvpx-vp9", ".webm"),
        ("libsvtav1", ".mp4"), ("libvpx-vp9", ".mp4"), ("prores_ks", ".mov"),
    ],
)  # fmt: skip
def test_films(source, tmp_path, step, codec, suffix):
    target = tmp_path / f"out{suffix}"
    summary = convert(source, target, step, encoding=FAST[codec])
    assert not any("aspect" in one for one in summary.warnings)
    assert stated(target) == {RATIO}


def test_nothing_else_of_a_matroska_film_changes(source, tmp_path, step):
    target = tmp_path / "out.mkv"
    convert(source, target, step, encoding=FAST["ffv1"])
    data = target.read_bytes()
    assert b"\x01" * 40 not in data
    with av.open(str(target), options={"err_detect": "crccheck+explode"}) as back:
        film = back.streams.video[0]
        assert film.metadata["title"] == "Länge" and back.streams.audio[0].metadata
        assert sum(1 for _ in back.decode(film)) == 2
        back.seek(0, stream=film)
        assert next(back.decode(film)).pts == 0


def test_an_animated_avif(source, tmp_path, step):
    summary = convert(source, tmp_path / "out.avif", step, encoding=FAST["libsvtav1"])
    assert not any("aspect" in one for one in summary.warnings)
    assert RATIO in stated(tmp_path / "out.avif")


def test_gif_states_sixty_fourths(tmp_path, step):
    for ratio, held in ((Fraction(5, 4), Fraction(5, 4)), (RATIO, Fraction(93, 64))):
        source = make(tmp_path / "in.mkv", aspect=ratio, frames=2)
        summary = convert(source, tmp_path / "out.gif", step, overwrite=True)
        said = [one for one in summary.warnings if "aspect" in one]
        assert said == [f"sample aspect ratio {ratio}: .gif states {held}"] * (held != ratio)
        assert stated(tmp_path / "out.gif") == {held}


def test_pictures_do_not_blame_their_format(source, tmp_path, step):
    summary = convert(source, tmp_path / "out-%d.png", step)
    assert "sample aspect ratio 16/11: it is not written into .png" in summary.warnings


@pytest.mark.parametrize("pix_fmt", ["yuv420p", "gray", "yuv422p10le"])
def test_y4m(tmp_path, step, pix_fmt):
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt=pix_fmt, frames=2)
    convert(source, tmp_path / "plain.y4m", step)
    plain = (tmp_path / "plain.y4m").read_bytes()
    wide = tmp_path / "wide.y4m"
    wide.write_bytes(plain.replace(b" A0:0", b" A16:11", 1))
    convert(wide, tmp_path / "wide-2.y4m", step)
    convert(wide, pipe := BytesIO(), step)
    convert(wide, tmp_path / "wide.mkv", step, encoding=FAST["ffv1"])
    convert(tmp_path / "plain.y4m", unstated := BytesIO(), step)
    want = unstated.getvalue().replace(b" A0:0", b" A16:11", 1)
    assert b" A16:11" in want and pipe.getvalue() == want
    assert (tmp_path / "wide-2.y4m").read_bytes() == want
    assert stated(tmp_path / "wide.mkv") == {RATIO}


def test_a_film_in_segments(tmp_path, step, monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    source = make(tmp_path / "in.mkv", aspect=RATIO, frames=60, options={"g": "12"})
    run = Run(source, tmp_path / "out.mkv", step, encoding=FAST["ffv1"])
    assert run.error is None and "segments" in run.said[0]
    assert stated(tmp_path / "out.mkv") == {RATIO}


@pytest.mark.parametrize(
    ("size", "ratio", "want"),
    [
        ((1440, 1080), Fraction(4, 3), (1920, 1080)),
        ((1440, 1152), RATIO, (2100, 1155)),  # exact: 20:11
        ((720, 480), Fraction(10, 11), (660, 484)),
        ((100, 50), Fraction(1237, 1234), (100, 50)),  # rounded
        ((2, 900), Fraction(1, 9), (1, 900)),
    ],
)
def test_size_at_which_pictures_are_shown(size, ratio, want):
    assert display_size(*size, ratio) == want


@pytest.mark.parametrize("muxer", ["matroska", "webm"])
@pytest.mark.parametrize("title", ["", "a title"])
def test_sizes_that_take_more_bytes(muxer, title):
    """Also where the header states HDR, projection or a second track."""
    file, size = BytesIO(), Format(16000, 9000, 8, (1, 1))
    header = AspectWriter(file, muxer, size, Fraction(200, 3))
    with av.open(header.target, "w", format=muxer) as out:
        stream = out.add_stream("libvpx-vp9", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.color_primaries, stream.codec_context.color_trc = 9, 16
        stream.set_display_rotation(90)
        out.add_stream("libopus", rate=48000)
        stream.metadata.update(with_room({"title": title} if title else {}))
        frame = av.VideoFrame.from_ndarray(np.zeros((48, 64), np.uint8), format="gray")
        out.mux(stream.encode(frame.reformat(format="yuv420p")))
        out.mux(stream.encode(None))
    before = len(file.getvalue())
    header.finish()
    assert len(file.getvalue()) == before
    file.seek(0)
    with av.open(file, options={"err_detect": "crccheck+explode"}) as back:
        film = back.streams.video[0]
        assert film.metadata.get("title", "") == title
        assert int(next(back.decode(film)).color_trc) == 16
        shape = Fraction(*display_size(16000, 9000, Fraction(200, 3)))
        assert float(film.sample_aspect_ratio) == pytest.approx(float(shape * 48 / 64), rel=1 / 255)
