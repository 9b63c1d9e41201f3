"""Numbers among an encoder's settings reach it as they are, or are refused."""

from __future__ import annotations

from dataclasses import replace

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.sink.encoders import choose
from snellen.video.sink.goals import aimed, qualities
from snellen.video.sink.numbers import notes
from snellen.video.sink.registry import names, traits
from snellen.video.source.decode import Source
from support.video.clips import make, read
from support.video.converting import convert
from support.video.steps import Nearest

FASTEST = {"libsvtav1": "10", "libx264": "ultrafast", "libx265": "ultrafast"}


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return make(tmp_path_factory.mktemp("numbers") / "in.mkv", codec="ffv1", frames=2)


@pytest.fixture(scope="module")
def picture(film):
    source = Source(film, Clip())
    source.close()
    return source.info.picture


@pytest.mark.parametrize("crf", [0, 0.25, 1, 30, 30.25, 62.75])
def test_av1_gets_quarters_and_zero(film, tmp_path, crf):
    """What its own parameters give: the bytes are those of no other number."""
    others = [Encoding("libsvtav1", "10", 30.5), Encoding("libsvtav1", "10", 35)]
    params = {"svtav1-params": f"crf={crf}"}
    own = Encoding("libsvtav1", "10", options=params)
    sizes = []
    for number, one in enumerate((Encoding("libsvtav1", "10", crf), own, *others)):
        target = tmp_path / f"{number}.mkv"
        convert(film, target, Nearest(), encoding=one)
        sizes.append(video_bytes(target))
    assert sizes[0] == sizes[1] and sizes[0] not in sizes[2:]


def video_bytes(path):
    with av.open(str(path)) as container:
        return b"".join(bytes(packet) for packet in container.demux(video=0))


@pytest.mark.parametrize(
    ("codec", "pix_fmt"),
    [("libsvtav1", "yuv420p"), ("libsvtav1", "yuv420p10le"), ("libx264", "yuv420p"),
     ("libvpx-vp9", "yuv420p")],
)  # fmt: skip
def test_zero_is_without_loss(tmp_path, codec, pix_fmt):
    film = make(tmp_path / "in.mkv", codec="ffv1", frames=2, pix_fmt=pix_fmt)
    encoding = Encoding(codec, FASTEST.get(codec), 0)
    summary = convert(film, tmp_path / "out.mkv", Nearest(), encoding=encoding)
    convert(film, tmp_path / "exact.mkv", Nearest(), encoding=Encoding("ffv1"))
    found = [read(tmp_path / name).frames for name in ("out.mkv", "exact.mkv")]
    for one, other in zip(*found, strict=True):
        for plane, wanted in zip(one.planes, other.planes, strict=True):
            np.testing.assert_array_equal(plane, wanted)
    assert any("without any loss" in text for text in summary.warnings) == (codec == "libsvtav1")


@pytest.mark.parametrize(
    ("codec", "bits", "settings", "words"),
    [
        ("libsvtav1", 8, {"crf": 30.1}, "libsvtav1 has quarters: expected 30 or 30.25"),
        ("libsvtav1", 8, {"options": {"crf": "30.25"}}, "a whole number there; give crf, which"),
        ("libsvtav1", 8, {"options": {"crf": "0"}}, "takes for 35"),
        ("libsvtav1", 8, {"preset": "11", "crf": 10}, "cannot be decoded; .* preset=10"),
        ("libsvtav1", 8, {"options": {"preset": "11", "crf": "10"}}, "cannot be decoded"),
        ("libsvtav1", 8, {"options": {"qp": "0"}}, "takes for 35"),
        ("libsvtav1", 8, {"preset": "13", "crf": 10}, "cannot be decoded"),
        ("libsvtav1", 8, {"preset": "14"}, "got preset=14; .* to 13"),
        ("libsvtav1", 8, {"preset": "-2"}, "from -1"),
        ("libsvtav1", 8, {"preset": "5.5"}, "whole number"),
        ("libsvtav1", 8, {"options": {"preset": "-2"}}, "from -1"),
        ("libvpx-vp9", 8, {"crf": 30.5}, "libvpx-vp9 has whole numbers: expected 30 or 31"),
        ("libvpx", 8, {"crf": 30.5}, "whole numbers"),
        ("libvpx", 8, {"options": {"crf": "30"}}, "ignores without b"),
        ("libvpx-vp9", 8, {"options": {"cpu-used": "1.5"}}, "cpu-used=1.5; .* whole number"),
        ("libx264", 8, {"crf": 0.5}, "less than 1 for 0 at 8 bit"),
        ("libx264", 8, {"options": {"crf": "0.5"}}, "less than 1 for 0 at 8 bit"),
        ("libx264", 8, {"options": {"qp": "20.5"}}, "qp=20.5; libx264 expects a whole number"),
        ("libx264", 8, {"options": {"g": "12.5"}}, "g=12.5; libx264 expects a whole number"),
        ("libx264", 8, {"crf": 52}, "0 to 51"),
        ("libx264", 8, {"options": {"crf": "52"}}, "0 to 51"),
        ("libx265", 8, {"crf": 20.004}, "hundredths: expected 20 or 20.01"),
        ("hevc_qsv", 8, {"crf": 20.5}, "whole numbers: expected 20 or 21"),
    ],
)
def test_what_would_become_another_number_is_refused(picture, codec, bits, settings, words):
    shown = replace(picture, format=replace(picture.format, bits=bits))
    with pytest.raises(InputError, match=words):
        choose(shown, "matroska", Encoding(codec, **settings))


@pytest.mark.parametrize(
    ("codec", "crf", "options"),
    [
        ("libx264", 23.4567891, {"crf": "23.4567891"}),
        ("libx265", 20.01, {"crf": "20.01"}),
        ("h264_nvenc", 20.5, {"cq": "20.5", "rc": "vbr"}),
        ("hevc_qsv", 20, {"global_quality": "20"}),
        ("libsvtav1", 20, {"crf": "20"}),
        ("libsvtav1", 20.75, {"svtav1-params": "crf=20.75"}),
    ],
)
def test_all_digits_are_passed_on(picture, codec, crf, options):
    found = choose(picture, "matroska", Encoding(codec, crf=crf)).options
    assert options.items() <= found.items()


@pytest.mark.parametrize("codec", ["libvpx", "libvpx-vp9", "libx264"])
def test_a_smaller_crf_is_a_better_film(film, tmp_path, codec):
    """VP8's too, whose encoder would take any of them for 256 kbit/s; none is our default."""
    sizes = []
    for crf in (4, None, 30, 50):
        target = tmp_path / f"{crf}.mkv"
        speed = {"cpu-used": "5"} if codec.startswith("libvpx") else {}
        convert(film, target, Nearest(), encoding=Encoding(codec, crf=crf, options=speed))
        sizes.append(len(video_bytes(target)))
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 4


def test_a_quality_beside_a_bit_rate_is_that_of_the_encoder(picture):
    found = choose(picture, "webm", Encoding("libvpx", crf=20, options={"b": "1M"})).options
    assert found == {"crf": "20", "b": "1M"}


@pytest.mark.parametrize("settings", [{"preset": "12"}, {"options": {"preset": "13"}}])
def test_presets_that_are_another_one_are_said(film, tmp_path, settings):
    words = []
    for name, one in (("out", settings), ("same", {"preset": "11"})):
        summary = convert(film, tmp_path / f"{name}.mkv", Nearest(),
                          encoding=Encoding("libsvtav1", crf=30, **one), strict=True)  # fmt: skip
        words.append([text for text in summary.warnings if "preset" in text])
    assert len(words[0]) == 1 and "takes it for 11" in words[0][0] and words[1] == []
    assert video_bytes(tmp_path / "out.mkv") == video_bytes(tmp_path / "same.mkv")


def test_what_is_limited_is_not_without_loss(picture):
    for encoding, said in ((Encoding("libsvtav1", crf=0), True),
                           (Encoding("libsvtav1", crf=0, max_bitrate="300k"), False),
                           (Encoding("libsvtav1", crf=0, options={"maxrate": "300k"}), False),
                           (Encoding("libsvtav1", crf=1), False)):  # fmt: skip
        assert bool(notes(choose(picture, "matroska", encoding), encoding)) == said


@pytest.mark.parametrize(("preset", "best"), [("10", 1), ("11", 16), ("13", 16), (None, 1)])
def test_a_search_leaves_out_what_cannot_be_decoded(picture, preset, best):
    encoder = choose(picture, "matroska", Encoding("libsvtav1", preset, target_mad=3))
    assert qualities(encoder) == (best, *traits("libsvtav1").search[1:])


@pytest.mark.parametrize("codec", names(lambda one: one.search and not one.on_cpu))
def test_a_search_takes_only_what_the_encoder_has(picture, codec):
    """Each quality on its scale is one that a user may give, and becomes the same options."""
    best, worst, step, start = traits(codec).search
    given = {"svtav1-params": "keyint=12"} if codec == "libsvtav1" else {}
    target = choose(picture, "matroska", Encoding(codec, target_mad=3, options=given))
    for crf in (best, best + step, start + 3 * step, worst - step, worst):
        wanted = choose(picture, "matroska", Encoding(codec, crf=crf, options=given)).options
        found = aimed(target, crf).options
        assert {k: sorted(v.split(":")) for k, v in found.items()} == {
            k: sorted(v.split(":")) for k, v in wanted.items()
        }


@pytest.mark.cases
@pytest.mark.parametrize(
    ("encoding", "key", "name"),
    [
        (Encoding("libsvtav1", crf=30, options={"svtav1-params": "tune=0:crf=20"}), "crf", "crf"),
        (Encoding("libx264", crf=20, options={"x264opts": "bitrate=900"}), "bitrate", "crf"),
        (Encoding("libx265", crf=20, options={"x265-params": "qp=9"}), "qp", "crf"),
        (Encoding("libsvtav1", "8", options={"svtav1-params": "preset=3"}), "preset", "preset"),
        (Encoding("libx264", max_bitrate="1M", options={"x264-params": "vbv_maxrate=9"}),
         "vbv-maxrate", "max_bitrate"),
    ],
)  # fmt: skip
def test_a_parameter_that_sets_what_a_setting_does(picture, encoding, key, name):
    with pytest.raises(InputError, match=f"got {name} and {key} in the encoder's option") as caught:
        choose(picture, "matroska", encoding)
    assert caught.value.parameter == name


def test_a_parameter_in_place_of_a_setting(picture):
    options = {"x264-params": "crf=30"}
    assert choose(picture, "matroska", Encoding("libx264", options=options)).options == {
        "preset": "medium", "crf": "16", **options,
    }  # fmt: skip
