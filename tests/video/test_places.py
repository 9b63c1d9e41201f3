"""A film looked at in several places: its frames, its codec, its bits."""

from __future__ import annotations

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video import pixels
from snellen.video.source import places
from snellen.video.source.places import PLACES, sample
from support.video.clips import make


@pytest.mark.slow
@pytest.mark.parametrize("short", [400, 9])
@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv420p10le", "gray", "yuv444p"])
def test_frames_are_spread(tmp_path, monkeypatch, pix_fmt, short):
    """Of a long film those at key frames, which come every five frames here."""
    monkeypatch.setattr(places, "SHORT", short)
    codec = "ffv1" if pix_fmt == "gray" else "libx264"
    path = make(tmp_path / "a.mkv", codec=codec, pix_fmt=pix_fmt, frames=80, options={"g": "5"})
    found = sample(path)
    assert len(found.planes) == PLACES and found.codec == codec.removeprefix("lib").replace(
        "x264", "h264"
    )
    assert {plane.dtype for plane in found.planes} == {np.dtype(np.uint8)}
    assert {plane.shape for plane in found.planes} == {(48, 64)}
    assert len({plane.tobytes() for plane in found.planes}) == PLACES
    again = sample(path)
    assert [p.tobytes() for p in again.planes] == [p.tobytes() for p in found.planes]
    seconds, size = 80 / 25, path.stat().st_size
    assert found.bits == pytest.approx(
        8 * size / seconds / (64 * 48 * 25), rel=0.1
    )  # with the container
    with av.open(str(path)) as container:
        frames = [pixels.planes(frame)[0] for frame in container.decode(video=0)]
    frames = [plane >> 2 if "10" in pix_fmt else plane for plane in frames]
    wanted = range(5, 80, 10)  # a middle of each eighth, which is a key frame
    assert all((a == frames[n]).all() for a, n in zip(found.planes, wanted, strict=True))


@pytest.mark.parametrize("short", [400, 9])
def test_audio_is_no_video(tmp_path, monkeypatch, short):
    """In Matroska no video states its bits, nor FLAC its own; PCM has 17 times as many here."""
    monkeypatch.setattr(places, "SHORT", short)
    silent, *loud = (
        sample(make(tmp_path / f"{audio}.mkv", frames=50, audio=audio)).bits
        for audio in (None, "flac", "pcm_s16le")
    )
    assert loud == pytest.approx([silent, silent], rel=0.1)


def test_short_and_damaged_films(tmp_path):
    path = make(tmp_path / "a.mkv", frames=1)
    assert len(sample(path).planes) == 1
    path = make(tmp_path / "b.mkv", frames=60, options={"g": "10"})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert 1 <= len(sample(path).planes) < PLACES
    path.write_bytes(b"no film\0" * 100)
    with pytest.raises(InputError, match=r"b\.mkv cannot be read as a video file"):
        sample(path)
