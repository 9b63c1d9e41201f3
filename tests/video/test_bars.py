"""Black bars: found where there are some, and not in dark scenes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.video.filtering.crop import Area, inside
from snellen.video.source.places import is_balanced, picture_area, sample
from support.video.clips import make

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
