"""A whole conversion beside its encoder: the same frames go through both."""

from __future__ import annotations

import av
import pytest

from snellen.bench import aplus, road
from snellen.frames.frame import Format
from snellen.video.sink.encoding import Encoding


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(road, "SIZE", (64, 36))
    monkeypatch.setattr(road, "CODECS", (("libx264", "veryfast"), ("libsvtav1", "12")))


def test_measure(small):
    lines = []
    found = road.measure(None, 5, "cpu", 1, lines.append)
    assert found["frames"] == 5 and found["drain_fps"]["median"] > 0
    assert [row["codec"] for row in found["encoders"]] == ["libx264", "libsvtav1"]
    for row in found["encoders"]:
        assert row["ratio"] == row["whole_s"]["median"] / row["encoder_s"]["median"] > 0
        assert row["fps"] == 5 / row["whole_s"]["median"]
    assert any("libsvtav1 12" in line for line in lines)


def test_a_short_clip_is_looped(small, tmp_path):
    short = road.long_clip(road.bundled(), 3, tmp_path / "short.mkv")
    long = road.long_clip(short, 8, tmp_path / "long.mkv")
    with av.open(str(long)) as film:
        pictures = list(film.decode(video=0))
    assert len(pictures) == 8 and {(p.width, p.height) for p in pictures} == {(64, 36)}


def test_both_encode_the_same(small, tmp_path):
    """Byte for byte the same pictures come out: the encoder got the same frames and options."""
    source = road.long_clip(road.bundled(), 4, tmp_path / "source.mkv")
    keep = road.Keep(road.Upscaler(2, device="cpu"))
    road.drain(source, keep)
    frames = [keep.kept[pts] for pts in sorted(keep.kept)]
    encoding = Encoding(codec="libx264", preset="veryfast")
    assert road.alone(source, frames, encoding, tmp_path / "alone.mkv") > 0
    road.convert(source, tmp_path / "whole.mkv", road.Upscaler(2, device="cpu"), encoding=encoding)

    def decoded(name):
        with av.open(str(tmp_path / name)) as film:
            return [picture.to_ndarray().tobytes() for picture in film.decode(video=0)]

    assert decoded("alone.mkv") == decoded("whole.mkv") and len(frames) == 4


def test_results_are_copied_and_kept():
    keep = road.Keep(road.Upscaler(2, device="cpu"))
    keep.prepare(Format(16, 12))
    assert keep.slots >= 1
    keep.close()


def test_without_a_clip_the_reason_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(road, "BUNDLED", "nothing-such.mp4")
    lines = []
    found = aplus.converted(None, 5, "cpu", 1, lines.append)
    assert "give --clip FILE" in found["no_video"] and "left out" in lines[0]
