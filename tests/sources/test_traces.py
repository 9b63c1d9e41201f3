"""Traces of coding in one picture: found in frames of films and JPEGs, not in other pictures."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from snellen.sources.traces import looks_coded
from snellen_lab.sources.coder import Coding, coded

SIZE = (192, 256)


def texture(seed: int = 1, slope: float = 2.0):
    """Noise of a spectrum 1/f^slope, as smooth as a face or a cup."""
    frequency = np.hypot(*np.meshgrid(*(np.fft.fftfreq(side) for side in SIZE), indexing="ij"))
    noise = np.fft.fft2(np.random.default_rng(seed).normal(size=SIZE))
    noise[0, 0] = 0
    found = np.fft.ifft2(noise / np.maximum(frequency, 1e-9) ** slope).real
    return np.rint(np.clip(120 + 40 * found / found.std(), 16, 235)).astype(np.uint8)


@pytest.mark.parametrize("crf", [20, 26])
def test_frames_of_a_film_are_found_wherever_they_are_cropped(crf):
    pictures = [np.roll(texture(), 2 * number, 1) for number in range(4)]
    for plane in coded(pictures, Coding("x264", crf)).planes[1:]:
        assert looks_coded(plane) and looks_coded(plane[3:, 5:])
    assert not any(looks_coded(one) for one in pictures)


@pytest.mark.parametrize("quality", [30, 60, 85])
def test_jpegs_are_found(quality):
    Image.fromarray(texture(2)).save(file := io.BytesIO(), "JPEG", quality=quality)
    assert looks_coded(np.asarray(Image.open(file)))


def made():
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    yield "checkerboard", (x // 8 + y // 8) % 2 * 255
    yield "bars", x // 32 * 36
    yield "gradient", x
    yield "flat", np.full(SIZE, 77)
    yield "discs", ((x % 97 - 48) ** 2 + (y % 89 - 44) ** 2 < 900) * 80
    yield "noise", np.random.default_rng(3).integers(0, 256, SIZE)
    yield from ((f"texture {slope}", texture(4, slope)) for slope in (1.0, 1.5, 2.0))


@pytest.mark.parametrize(("name", "picture"), list(made()))
def test_what_was_never_coded_is_not(name, picture):
    assert not looks_coded(picture.astype(np.uint8))


def test_columns_that_are_all_alike_say_nothing():
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    assert not looks_coded(((x + y) % 16 // 8 * 200).astype(np.uint8))


@pytest.mark.parametrize("times", [2, 3, 4, 6, 8, 10, 12, 16])
def test_pixels_that_were_repeated_are_no_blocks(times):
    """On the grid of 8 as well, or on several columns of the eight alike."""
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, 4, (96, 96)).astype(np.uint8) * 40
    for picture in (drawn, texture(6)[:96, :96]):
        assert not looks_coded(np.kron(picture, np.ones((times, times), np.uint8)))


@pytest.mark.parametrize("side", [8, 16, 24, 32])
@pytest.mark.parametrize("contrast", [20, 200])
def test_drawn_squares_with_noise_are_no_blocks(side, contrast):
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    noise = np.random.default_rng(8).normal(0, 2, SIZE) + 10 * np.sin(x / 9) * np.cos(y / 7)
    assert not looks_coded((40 + contrast * ((y // side + x // side) % 2) + noise).astype(np.uint8))


def test_the_middle_says():
    picture = np.random.default_rng(7).integers(0, 256, (512, 640)).astype(np.uint8)
    Image.fromarray(texture()).save(file := io.BytesIO(), "JPEG", quality=75)
    picture[160:352, 192:448] = np.asarray(Image.open(file))
    assert looks_coded(picture) and not looks_coded(picture[:160])


def test_small_pictures_say_too_little():
    assert not looks_coded(np.kron(texture()[:10, :10], np.ones((8, 8), np.uint8)))
