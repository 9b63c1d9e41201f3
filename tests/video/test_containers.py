"""Outputs in WebM and in transport streams."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video.convert import Encoding
from support.video.checks import FAST
from support.video.clips import SRT, fraction, luma, make, read
from support.video.converting import convert

QUICK = {
    ".webm": Encoding("libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8"}),
    ".ts": FAST,
    ".m2ts": FAST,
}


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    return make(tmp_path_factory.mktemp("rich") / "rich.mkv", audio="aac", subtitles=SRT,
                tags={"title": "A film"}, chapters=((0, 400, "Dawn"), (400, 1000, "Dusk")),
                attachments=(("a.ttf", "application/x-truetype-font", b"font" * 9),))  # fmt: skip


@pytest.mark.parametrize(
    "suffix", [".ts", *(pytest.param(s, marks=pytest.mark.slow) for s in (".webm", ".m2ts"))]
)
def test_frames_and_times(rich, tmp_path, step, suffix):
    target = tmp_path / f"out{suffix}"
    summary = convert(rich, target, step, encoding=QUICK[suffix])
    assert (summary.frames, summary.lost) == (25, ())
    after = read(target)
    assert [t - after.times[0] for t in after.times] == [Fraction(n, 25) for n in range(25)]
    again = convert(target, tmp_path / "again.mkv", step, encoding=FAST)  # it is whole
    assert (again.frames, again.lost) == (25, ())


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".ts", ".m2ts"])
def test_audio_of_a_transport_stream_stays_in_step(rich, tmp_path, step, suffix):
    target = tmp_path / f"out{suffix}"
    convert(rich, target, step, encoding=FAST)

    def offset(path):
        with av.open(str(path)) as container:
            streams = container.streams.video[0], container.streams.audio[0]
            starts = [s.start_time * fraction(s.time_base) for s in streams]
        return starts[1] - starts[0]

    # AAC's priming, 1,024 samples, is heard before the video: a transport stream cannot skip it.
    assert offset(target) == pytest.approx(offset(rich) - Fraction(1024, 48000), abs=0.001)
    assert target.read_bytes()[4 * (suffix == ".m2ts")] == 0x47  # of 192 bytes, with a time


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".ts", pytest.param(".m2ts", marks=pytest.mark.slow)])
def test_what_a_transport_stream_does_not_hold_is_named(rich, tmp_path, step, suffix):
    lost = convert(rich, tmp_path / f"out{suffix}", step, encoding=FAST).dropped
    for what in ("subtitle stream 2 (subrip, fre)", "attachment stream 3", "2 chapters"):
        assert any(text.startswith(what) for text in lost), what
    assert f"audio stream 1 (aac, eng): {suffix} cannot hold its title" in lost


@pytest.mark.slow
def test_webm(rich, tmp_path, step):
    target = tmp_path / "out.webm"
    summary = convert(rich, target, step, encoding=QUICK[".webm"], audio="opus")
    assert "subtitle stream 2 (subrip, fre) becomes webvtt, which .webm holds" in summary.warnings
    assert summary.dropped == ("attachment stream 3 (a.ttf): .webm cannot hold it",)
    with av.open(str(target)) as back:
        assert [s.codec_context.name for s in back.streams][1:] == ["opus", "webvtt"]
        assert back.metadata["title"] == "A film"
        assert len(back.chapters()) == 2
    summary = convert(rich, tmp_path / "copy.webm", step, encoding=QUICK[".webm"])
    assert "audio stream 1 (aac, eng): .webm cannot hold it; `audio`=opus encodes it anew" in (
        summary.dropped
    )


@pytest.mark.slow
def test_the_codec_of_webm_keeps_chroma(tmp_path, step):
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt="yuv444p", frames=2)
    summary = convert(source, tmp_path / "out.webm", step)
    assert (summary.encoder, summary.pixel_format) == ("libvpx-vp9", "yuv444p")


def test_video_that_a_transport_stream_does_not_take(rich, tmp_path, step):
    with pytest.raises(InputError, match=r"\.ts does not take video of ffv1"):
        convert(rich, tmp_path / "out.ts", step, encoding=Encoding("ffv1"))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_video_that_nobody_can_read_back(rich, tmp_path, step):
    """Raw samples in a mov have no name for their layout."""
    with pytest.raises(InputError, match=r"what rawvideo writes into \.mov cannot be read back"):
        convert(rich, tmp_path / "out.mov", step,
                encoding=Encoding("rawvideo", pix_fmt="yuv420p10le"))  # fmt: skip
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_pictures_are_those_of_other_containers(rich, tmp_path, step):
    frames = {}
    for suffix in (".mkv", ".ts"):
        convert(rich, tmp_path / f"out{suffix}", step, encoding=FAST)
        frames[suffix] = [luma(frame) for frame in read(tmp_path / f"out{suffix}").frames]
    assert np.array_equal(frames[".mkv"], frames[".ts"])
