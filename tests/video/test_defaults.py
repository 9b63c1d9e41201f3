"""What is chosen where the user says nothing: the encoder, and what is stated of colours."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import av
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip, Encoding
from snellen.video.ffmpeg import chroma_location
from snellen.video.sink import registry
from snellen.video.sink.colour import guessed
from snellen.video.sink.defaults import default_codec, holds
from snellen.video.sink.encoders import choose
from snellen.video.source.decode import Source
from support.video.checks import FAST
from support.video.clips import make, read
from support.video.converting import convert
from support.video.steps import Nearest

CODECS = [one.codec for one in registry.ENCODERS.values() if one.codec]


@pytest.fixture(scope="module")
def info(tmp_path_factory):
    path = make(tmp_path_factory.mktemp("plain") / "in.mkv", codec="ffv1", frames=1)
    source = Source(path, Clip())
    source.close()
    return source.info.picture


@pytest.mark.cases
@pytest.mark.parametrize(
    ("source", "bits", "transfer", "muxer", "encoder"),
    [
        ("h264", 8, 1, "matroska", "libx264"),
        ("ffv1", 8, 2, "mp4", "libx264"),
        ("h264", 10, 1, "matroska", "libx265"),
        ("prores", 12, 1, "mov", "libx265"),
        ("h264", 8, 18, "mp4", "libx265"),
        ("hevc", 10, 16, "mp4", "libx265"),
        ("av1", 8, 1, "mp4", "libsvtav1"),
        ("vp9", 10, 16, "matroska", "libsvtav1"),
        ("vp9", 12, 1, "matroska", "libx265"),
        ("h264", 8, 1, "webm", "libsvtav1"),
    ],
)
def test_the_encoder(info, source, bits, transfer, muxer, encoder):
    format = replace(info.format, width=256, height=192, bits=bits)
    picture = replace(info, format=format, color_trc=transfer)
    assert default_codec(picture, bits, source, muxer, format) == encoder
    assert choose(picture, muxer, Encoding(), source, format).codec == encoder


@pytest.mark.parametrize("short", CODECS)
def test_the_name_of_a_codec_stands_for_its_encoder(info, short):
    """With the same defaults, and as the same value: in plans, manifests and reports."""
    brief, full = Encoding(codec=short), Encoding(codec=registry.encoder_of(short))
    assert brief == full and repr(brief) == repr(full)
    if short != "webp":  # its pictures are no YUV in a film
        assert choose(info, "matroska", brief) == choose(info, "matroska", full)
    assert choose(info, "matroska", Encoding(codec="hevc")).options["crf"] == "16"


def test_no_other_name_stands_for_an_encoder():
    """FFmpeg takes no name of a codec that is not in the table."""
    found = set()
    for name in av.codec.codecs_available:
        with suppress(ValueError):
            codec = av.Codec(name, "w")
            found |= {name} if codec.type == "video" and codec.name != name else set()
    assert "hevc" in found and found <= set(CODECS)


def test_the_encoder_of_what_av1_would_lose(info):
    format = replace(info.format, width=256, height=192, subsampling=(0, 0))
    assert default_codec(info, 8, "av1", "mp4", format) == "libx264"


def test_the_encoder_of_deep_pictures_that_are_too_small_for_x265(info):
    format = replace(info.format, width=256, height=64, bits=10)
    picture = replace(info, format=format)
    assert choose(picture, "mp4", Encoding(), "h264", format).codec == "libx264"


def test_a_preset_of_x264_is_none_of_av1(info):
    format = replace(info.format, width=256, height=192)
    for preset, encoder in (("fast", "libx264"), ("8", "libsvtav1")):
        found = choose(info, "mp4", Encoding(preset=preset), "av1", format)
        assert (found.codec, found.options["preset"]) == (encoder, preset)


def test_a_depth_that_is_asked_for_counts(info):
    format = replace(info.format, width=256, height=192)
    encoding = Encoding(pix_fmt="yuv420p10le")
    assert choose(info, "mp4", encoding, "h264", format).codec == "libx265"


def test_what_containers_take():
    assert holds("matroska", "ffv1")
    assert not holds("webm", "libx264")


@pytest.mark.parametrize(
    ("size", "colour"),
    [
        ((720, 576), "bt601-625"),
        ((1024, 576), "bt601-625"),
        ((720, 480), "bt601-525"),
        ((720, 486), "bt601-525"),
        ((640, 360), "bt601"),
        ((1280, 536), "bt709"),
        ((960, 720), "bt709"),
    ],
)
def test_the_guess_of_players(size, colour):
    assert guessed(*size) == colour


def stated(path):
    """Matrix, primaries and transfer."""
    frame = read(path).frames[0]
    return int(frame.colorspace), int(frame.color_primaries), int(frame.color_trc)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Untagged, and HD when it is enlarged."""
    path = tmp_path_factory.mktemp("small") / "in.mkv"
    return make(path, codec="ffv1", size=(96, 480), frames=1)


class TestColour:
    def test_of_an_untagged_film_that_becomes_hd(self, small, tmp_path, step):
        summary = convert(small, tmp_path / "out.mkv", step, encoding=FAST)
        assert stated(tmp_path / "out.mkv") == (6, 6, 6)
        (warning,) = summary.warnings
        assert "the output states BT.601 with the primaries of 525 lines" in warning
        assert "`colour` overrides" in warning

    def test_of_one_that_stays_small(self, small, tmp_path):
        assert convert(small, tmp_path / "out.mkv", Nearest(1), encoding=FAST).warnings == ()
        assert stated(tmp_path / "out.mkv") == (2, 2, 2)

    @pytest.mark.cases(3)
    @pytest.mark.parametrize(
        ("colour", "numbers"),
        [("keep", (2, 2, 2)), ("bt709", (1, 1, 1)), ("bt601-625", (5, 5, 6)),
         ("bt2020", (9, 9, 14))],
    )  # fmt: skip
    def test_that_the_user_knows(self, small, tmp_path, step, colour, numbers):
        encoding = replace(FAST, colour=colour)
        assert convert(small, tmp_path / "out.mkv", step, encoding=encoding).warnings == ()
        assert stated(tmp_path / "out.mkv") == numbers

    def test_that_the_user_knows_better(self, tmp_path, step):
        source = make(tmp_path / "in.mkv", colour=(1, 5, 1, 16), frames=1)
        convert(source, tmp_path / "out.mkv", step, encoding=replace(FAST, colour="bt2020"))
        assert stated(tmp_path / "out.mkv") == (9, 9, 16)  # PQ belongs to BT.2020, too

    def test_in_y4m_which_states_none(self, small, tmp_path, step):
        assert convert(small, tmp_path / "out.y4m", step).warnings == ()

    def test_that_does_not_exist(self):
        with pytest.raises(InputError) as caught:
            Encoding(colour="bt470")
        assert caught.value.parameter == "colour"


def located(path):
    with av.open(str(path)) as back:
        return chroma_location(back, back.streams.video[0])


def test_the_chroma_location_of_422(tmp_path, step):
    """Matroska holds it where the codec does not; mp4 has no place for it, which is said."""
    options = {"chroma_sample_location": "center"}
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt="yuv422p", frames=2, options=options)
    assert located(source) == "center"
    encoding = Encoding(codec="ffv1")
    assert convert(source, tmp_path / "out.mkv", step, encoding=encoding).warnings == ()
    assert located(tmp_path / "out.mkv") == "center"
    summary = convert(source, tmp_path / "out.mp4", Nearest(), encoding=FAST)
    assert summary.dropped == ("chroma location center: libx264 can only state left",)
