"""A film looked at in several places: frames, codec, bits; black bars, and not dark scenes."""

from __future__ import annotations

from functools import cache

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.filtering.crop import Area, inside
from snellen.video.source import places
from snellen.video.source.places import PLACES, is_balanced, picture_area, sample
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


HEIGHT, WIDTH = 180, 320


@cache
def scene(seed, low=30, high=200):
    """A picture of smooth shapes between two code values."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    waves = sum(
        np.sin(x * random.uniform(-0.1, 0.1) + y * random.uniform(-0.1, 0.1) + random.uniform(0, 6))
        for _ in range(5)
    )
    return low + (high - low) * (waves + 5) / 10


def planes(pictures):
    return [np.clip(np.round(one), 0, 255).astype(np.uint8) for one in pictures]


def barred(top=0, bottom=0, left=0, right=0, black=16, noise=0.0, soft=0):
    """Eight pictures with bars of these sizes."""
    found = []
    for seed in range(8):
        one = scene(seed)
        weight = np.ones((HEIGHT, WIDTH))
        weight[:top] = weight[HEIGHT - bottom :] = 0
        weight[:, :left] = weight[:, WIDTH - right :] = 0
        if soft:
            weight[top : top + soft] *= np.linspace(0.1, 0.9, soft)[:, None]
        one = black + weight * (one - black)
        found.append(one + np.random.default_rng(seed).normal(0, noise, one.shape))
    return planes(found)


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("black", "noise"),
    [(16, 1.5), *(pytest.param(black, noise, marks=pytest.mark.slow)
                  for black in (0, 18) for noise in (0, 1.5))],
)  # fmt: skip
@pytest.mark.parametrize(
    "sides",
    [{"top": 20, "bottom": 20}, {"left": 40, "right": 40}, {"top": 22, "bottom": 18},
     {"top": 10, "bottom": 10, "left": 30, "right": 30}, {"bottom": 30}],
)  # fmt: skip
def test_bars(sides, black, noise):
    top, bottom = sides.get("top", 0), sides.get("bottom", 0)
    left, right = sides.get("left", 0), sides.get("right", 0)
    found = picture_area(barred(**sides, black=black, noise=noise))
    assert found == Area(WIDTH - left - right, HEIGHT - top - bottom, left, top)


def test_a_soft_edge_is_cut_too():
    found = picture_area(barred(top=20, bottom=20, soft=2))
    assert found is not None and 20 <= found.top <= 22


@pytest.mark.cases
@pytest.mark.parametrize("kind", ["bright", "dark", "night sky", "credits", "vignette", "black"])
def test_scenes_without_bars(kind):
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    pictures = [scene(seed) for seed in range(8)]
    if kind == "dark":
        pictures = [scene(seed, 16, 40) for seed in range(8)]
    elif kind == "night sky":  # over hills
        hills = 90 + 20 * np.sin(x / 40)
        pictures = [np.where(y < hills, 17, one) for one in pictures]
    elif kind == "credits":
        pictures = [np.where((abs(y - 90) < 40) & (abs(x - 160) < 60) & (y % 9 < 4) & (x % 5 < 3),
                             230, 16) for _ in pictures]  # fmt: skip
    elif kind == "vignette":
        away = np.hypot((x - 160) / 160, (y - 90) / 90)
        pictures = [16 + (one - 16) * np.clip(1.3 - away, 0, 1) ** 2 for one in pictures]
    elif kind == "black":
        pictures = [np.full((HEIGHT, WIDTH), 16.0)] * 8
    assert picture_area(planes(pictures)) is None


def test_noise_in_the_dark_is_no_bar():
    """The same straight edge, over something dark that is not flat."""
    found = barred(top=30, bottom=30)
    random = np.random.default_rng(3)
    for one in found:
        one[:30] = random.integers(4, 24, (30, WIDTH))
    area = picture_area(found)
    assert area is not None and area.top == 0


def test_nothing_to_look_at():
    assert picture_area([]) is None


def test_balance():
    form = Format(WIDTH, HEIGHT)
    assert is_balanced(Area(320, 140, 0, 20), form)
    assert not is_balanced(Area(320, 150, 0, 0), form)


def test_bars_of_a_film(tmp_path):
    """They end on whole chroma samples."""
    import av

    source = av.open(str(make(tmp_path / "in.mkv", codec="ffv1", frames=12)))
    out = av.open(str(tmp_path / "bars.mkv"), "w")
    stream = out.add_stream("ffv1", rate=25)
    stream.width, stream.height, stream.pix_fmt = 64, 65 + 15, "yuv420p"
    for frame in source.decode(video=0):
        planes = frame.to_ndarray()[:48]
        tall = np.full((120, 64), 128, np.uint8)
        tall[:80] = 16
        tall[17:65] = planes
        out.mux(stream.encode(av.VideoFrame.from_ndarray(tall, "yuv420p")))
    out.mux(stream.encode(None))
    out.close()
    found = picture_area(sample(tmp_path / "bars.mkv").planes)
    assert found == Area(64, 48, 0, 17)
    assert inside(found, Format(64, 80, 8, (1, 1))) == Area(64, 46, 0, 18)
