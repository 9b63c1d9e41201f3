"""The offset of two films is found from what they show, or it is said that it cannot be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from snellen import score_files
from snellen.errors import InputError
from snellen.jobs import Clip
from snellen.video.comparing.align import LEAST, SEARCH, Alignment, align, best, shrunk


def scene(number, size=(48, 64), bits=8):
    """A frame of a film that moves: (height, width)."""
    y, x = (np.mgrid[: size[0], : size[1]] + 0.5) / size[0]
    light = 0.5 + 0.3 * np.sin(9 * x + 0.4 * number) * np.cos(7 * y - 0.23 * number)
    return np.rint(light * ((1 << bits) - 1)).astype(np.uint8 if bits == 8 else np.uint16)


def film(path, numbers, size=(48, 64), noise=0.0, offset=0):
    """Write a grey y4m film of some frames of the scene."""
    random = np.random.default_rng(len(path.name))
    head = f"YUV4MPEG2 W{size[1]} H{size[0]} F25:1 Ip A1:1 Cmono\n".encode()
    with path.open("wb") as file:
        file.write(head)
        for number in numbers:
            frame = scene(number, size) + offset + random.normal(0, noise or 1e-9, size)
            file.write(b"FRAME\n" + np.rint(frame).clip(0, 255).astype(np.uint8).tobytes())
    return path


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1, -1, 7, -12])
def test_the_offset_of_a_noisy_film_of_another_size_and_brightness(tmp_path, lag):
    one = film(tmp_path / "one.y4m", range(20, 60))
    other = film(tmp_path / "two.y4m", range(20 - lag, 60 - lag), (66, 88), noise=6, offset=9)
    assert align(one, other, Clip()).offset == lag


def test_from_the_start_of_a_clip(tmp_path):
    """A still beginning tells nothing; what is searched is what follows `start`."""
    one = film(tmp_path / "one.y4m", [*[0] * 30, *range(40)])
    other = film(tmp_path / "two.y4m", [*[0] * 35, *range(40)])
    assert align(one, other, Clip(start=Fraction(31, 25))).offset == 5


@pytest.mark.slow
def test_what_cannot_be_told(tmp_path):
    still, again = (film(tmp_path / f"{name}.y4m", [3] * 40, noise=4) for name in ("one", "still"))
    moving = film(tmp_path / "moving.y4m", range(40))
    for one, other in [(still, again), (still, moving), (moving, still)]:
        assert align(one, other, Clip()).offset is None
    random = np.random.default_rng(2)
    noise = [[shrunk(random.integers(0, 256, (48, 64)), 255) for _ in range(40)] for _ in "ab"]
    assert best(*noise).offset is None


def test_the_search_is_bounded():
    frames = [shrunk(scene(number), 255) for number in range(2 * SEARCH)]
    assert best(frames, frames) == Alignment(0, SEARCH)
    assert best(frames[:20], frames[:20]) == Alignment(0, 10)
    assert best(frames[: LEAST - 1], frames) == Alignment(None, 0)
    assert best(frames[: 2 * LEAST], frames[5 : 5 + 2 * LEAST]) == Alignment(-5, LEAST)
    assert best(frames[3:40], frames[:40], 0).offset == 3
    assert best(frames[3:40], frames[:40], -3).offset == 0  # numbered from 3, and from 0


@pytest.mark.parametrize(
    ("shape", "values"), [((11, 12), 121), ((48, 64), 256), ((2160, 3840), 256)]
)
def test_small_pictures(shape, values):
    small = shrunk(np.full(shape, 7, np.uint8), 255)
    assert small.dtype == np.float32 and np.abs(small).max() < 1e-6
    assert small.size == (values if min(shape) >= 16 else 11 * 12)


def test_scores_of_aligned_films(tmp_path):
    one = film(tmp_path / "one.y4m", range(10, 40))
    other = film(tmp_path / "two.y4m", range(7, 37))
    found = score_files(one, other, align=True, metrics="psnr", table=tmp_path / "scores.csv")
    assert (found.offset, found.aligned) == (3, True)
    assert [row.psnr for row in found.table.rows] == [np.inf] * 27
    plain = score_files(one, other, offset=3, metrics="psnr")
    assert plain.table == found.table and plain.aligned is None
    still = film(tmp_path / "still.y4m", [3] * 12)
    found = score_files(still, still, align=True, metrics="psnr")
    assert (found.offset, found.aligned) == (0, False)
    assert "no offset within 4 frames" in found.warnings[0] and "unless offset" in found.warnings[0]


def test_what_align_does_not_go_with(tmp_path):
    one = film(tmp_path / "one.y4m", range(12))
    for how, words in [({"offset": 2}, "align with offset=2"), ({"reference": "-"}, "read once")]:
        with pytest.raises(InputError, match=words) as caught:
            score_files(**{"reference": one, "distorted": one, "align": True, **how})
        assert caught.value.parameter == "align"
