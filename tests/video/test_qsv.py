"""Intel's encoders: their settings, and what replaces them where they do not open."""

from __future__ import annotations

from dataclasses import replace

import av
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip, Encoding
from snellen.video.sink import hardware
from snellen.video.sink.encoders import choose
from snellen.video.sink.registry import names, traits
from snellen.video.source.decode import Source
from support.video.clips import make, read
from support.video.converting import convert

QSV = [name for name in names(lambda one: one.on_cpu) if name.endswith("_qsv")]
HERE = av.codecs_available & set(QSV)
pytestmark = pytest.mark.skipif(not HERE, reason="this FFmpeg has no encoders of Intel's")


@pytest.fixture(scope="module")
def info(tmp_path_factory):
    source = Source(make(tmp_path_factory.mktemp("plain") / "in.mkv", frames=2), Clip())
    source.close()
    return replace(source.info.picture, chroma_location=None)


@pytest.mark.parametrize("codec", QSV)
def test_quality_and_preset(info, codec):
    chosen = choose(info, "matroska", Encoding(codec))
    assert (chosen.pixels.name, chosen.options) == (
        "nv12", {"global_quality": str(traits(codec).crf)},
    )  # fmt: skip
    chosen = choose(info, "matroska", Encoding(codec, "slow", 22))
    assert chosen.options == {"preset": "slow", "global_quality": "22"}
    chosen = choose(info, "matroska", Encoding(codec, options={"b": "5M"}))
    assert chosen.options == {"b": "5M"}


@pytest.mark.cases
@pytest.mark.parametrize(
    ("encoding", "parameter"),
    [(Encoding("hevc_qsv", "p4"), "preset"), (Encoding("h264_qsv", crf=0), "crf"),
     (Encoding("h264_qsv", crf=52), "crf")],
)  # fmt: skip
def test_what_they_would_misread(info, encoding, parameter):
    with pytest.raises(InputError) as caught:
        choose(info, "matroska", encoding)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("codec", "preset", "pix_fmt", "cpu"),
    [
        (
            "h264_qsv",
            "veryfast",
            "nv12",
            Encoding("libx264", "veryfast", 30, {"g": "9"}, "yuv420p"),
        ),
        ("hevc_qsv", "slow", "p010le", Encoding("libx265", "slow", 30, {"g": "9"}, "yuv420p10le")),
        ("av1_qsv", "slow", None, Encoding("libsvtav1", "6", 30, {"g": "9"})),
    ],
)
def test_what_replaces_them(info, monkeypatch, codec, preset, pix_fmt, cpu):
    monkeypatch.setattr(hardware, "probe", lambda *_: "no driver")
    options = {"g": "9", "low_delay_brc": "1"}
    encoding = Encoding(codec, preset, 30, options, pix_fmt)
    found, line = hardware.replacement(choose(info, "mp4", encoding), info.format, encoding)
    assert found == cpu
    assert line.endswith(f"{cpu.codec} is used instead, without low_delay_brc")
    monkeypatch.setattr(hardware, "probe", lambda *_: None)
    assert hardware.replacement(choose(info, "mp4", encoding), info.format, encoding) is None


def test_without_the_hardware_the_cpu_encodes(tmp_path, info, step):
    if hardware.probe("h264_qsv", "nv12", info.format) is None:
        pytest.skip("it works here")
    source = make(tmp_path / "in.mkv", frames=3)
    encoding = Encoding("h264_qsv", "veryfast")
    summary = convert(source, tmp_path / "out.mkv", step, encoding=encoding)
    assert summary.encoder == "libx264"
    assert "h264_qsv does not work here" in summary.warnings[0]
    assert len(read(tmp_path / "out.mkv").frames) == 3
    with pytest.raises(InputError, match="strict, but h264_qsv"):
        convert(source, tmp_path / "o.mkv", step, encoding=encoding, strict=True)
