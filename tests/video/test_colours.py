"""What films are scored by their colours, and how their samples stand for these."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.coding import BT601, BT709
from snellen.metrics.colours import Picture
from snellen.video.clip import Clip
from snellen.video.comparing.colours import coding
from snellen.video.comparing.compare import compare
from snellen.video.comparing.turning import oriented
from snellen.video.source.decode import Source
from support.video.clips import make
from support.video.comparisons import Difference


class Colours(Difference):
    """Takes the colours of pairs."""

    colours, whole = "Colour", True

    def __init__(self):
        super().__init__()
        self.pictures = []

    def submit(self, reference, distorted, *pictures):
        self.pictures.append(pictures)
        return super().submit(reference, distorted)


def seen(reference, distorted, **settings):
    """The first pair of pictures, and the warnings."""
    step = Colours()
    summary = compare(reference, distorted, step, lambda one: None, **settings)
    return step.pictures[0], summary.warnings


def described(path):
    with closing(Source(path, Clip(frames=1))) as source:
        return source.info


@pytest.mark.parametrize(
    ("colour", "why"),
    [
        ((1, 9, 9, 16), "transfer function is PQ"),
        ((1, 9, 9, 18), "transfer function is HLG"),
        ((1, 9, 9, 14), "primaries are those of BT.2020"),
        ((1, 9, 2, 2), "matrix is that of BT.2020, and it states no primaries"),
        ((1, 1, 12, 13), "primaries are those of Display P3"),
        ((1, 8, 1, 1), "matrix is number 8 of"),
    ],
)
def test_other_colours_than_those_of_sdr_are_refused(tmp_path, colour, why):
    other = make(tmp_path / "hdr.mkv", codec="ffv1", pix_fmt="yuv420p10le", colour=colour, frames=2)
    film = make(tmp_path / "sdr.mkv", codec="ffv1", pix_fmt="yuv420p10le", frames=2)
    for both in ((film, other), (other, film)):
        with pytest.raises(InputError, match=f"{why}.*Colour is defined for SDR") as error:
            compare(*both, Colours(), lambda one: None)
        assert "metrics of luma" in error.value.advice
    compare(film, other, Difference(), lambda one: None)


@pytest.mark.parametrize(
    ("colour", "matrix"),
    [((1, 1, 1, 1), BT709), ((1, 6, 6, 6), BT601), ((1, 5, 5, 4), BT601), ((1, 2, 2, 2), BT601)],
)
def test_films_of_sdr(tmp_path, colour, matrix):
    film = make(tmp_path / "a.mkv", codec="ffv1", colour=colour, frames=1)
    (one, other), warnings = seen(film, film)
    assert one.coding == other.coding and one.coding.matrix == matrix
    assert not one.coding.format.full_range
    assert (any("states no colour matrix: bt601 is assumed" in w for w in warnings)) == (
        colour[1] == 2
    )
    shapes = [plane.shape for plane in one.planes]
    assert shapes == [(48, 64), (24, 32), (24, 32)]


def test_each_film_has_its_own_coding(tmp_path):
    """Other depths, ranges and subsamplings meet in linear light."""
    one = make(tmp_path / "a.mkv", codec="ffv1", frames=1, colour=(1, 1, 1, 1))
    other = make(tmp_path / "b.mkv", codec="ffv1", pix_fmt="yuv444p10le", frames=1,
                 colour=(2, 1, 1, 1))  # fmt: skip
    pair, _ = seen(one, other)
    formats = [picture.coding.format for picture in pair]
    assert [one.bits for one in formats] == [8, 10]
    assert [one.subsampling for one in formats] == [(1, 1), (0, 0)]
    assert [one.full_range for one in formats] == [False, True]
    first, second = (picture.linear() for picture in pair)
    assert first.shape == second.shape == (3, 48, 64) and np.abs(first - second).max() > 0.01


def test_a_film_of_another_size_is_scaled_with_its_chroma(tmp_path):
    one = make(tmp_path / "a.mkv", codec="ffv1", frames=1)
    other = make(tmp_path / "b.mkv", codec="ffv1", pix_fmt="yuv422p", size=(32, 25), frames=1)
    pair, _ = seen(one, other, resized=True)
    assert [plane.shape for plane in pair[1].planes] == [(48, 64), (48, 32), (48, 32)]
    assert pair[1].linear().shape == (3, 48, 64)


def test_a_film_on_its_side_is_turned_with_its_chroma(tmp_path):
    one = make(tmp_path / "a.mp4", frames=1, pix_fmt="yuv422p", rotation=90,
               options={"qp": "0"})  # fmt: skip
    info = described(one)
    upright = coding(info.picture, "a", "X")
    turned = coding(info.picture, "a", "X", turned=True)
    assert (upright.format.width, upright.format.subsampling) == (64, (1, 0))
    assert (turned.format.width, turned.format.subsampling) == (48, (0, 1))
    other = make(tmp_path / "b.mkv", codec="ffv1", size=(48, 64), frames=1)
    pair, _ = seen(one, other)
    assert [plane.shape for plane in pair[0].planes] == [(64, 48), (32, 48), (32, 48)]
    with closing(Source(one, Clip(frames=1))) as source:
        stored = Picture(next(source.items()).frame.planes, upright).linear()
    # The same colours, turned; a weight of chroma is rounded elsewhere.
    wanted = np.stack([oriented(plane, info.picture.display_matrix) for plane in stored])
    assert np.abs(pair[0].linear() - wanted).max() < 1e-6


def test_alpha_and_rgb_are_told_of(tmp_path):
    film = make(tmp_path / "a.mkv", codec="ffv1", pix_fmt="gbrp10le", frames=1)
    (one, _), warnings = seen(film, film)
    assert one.coding.matrix == BT709 and len(one.planes) == 3
    assert any("BT.709 luma in limited range" in text for text in warnings)
    assert not any("states no colour matrix" in text for text in warnings)
    film = make(tmp_path / "b.mkv", codec="ffv1", pix_fmt="yuva420p", frames=1)
    (one, _), warnings = seen(film, film)
    assert len(one.planes) == 3
    assert any("transparency does not count" in text for text in warnings)
