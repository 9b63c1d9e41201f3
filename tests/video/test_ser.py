"""SER, films of planetary cameras, whose samples have the depth that their header states."""

import struct

import numpy as np
import pytest

from snellen import score_files
from snellen.video.clip import Clip
from snellen.video.source.decode import Source

GREY, BAYER, RGB = 0, 8, 100
"""Kinds of samples in the header (SER format description, version 3)."""
SIZE = 64, 48


def ser(path, samples, depth, kind=GREY):
    """Write frames of 16-bit samples."""
    numbers = struct.pack("<7i", 0, kind, 0, *SIZE, depth, len(samples))
    path.write_bytes(b"LUCAM-RECORDER" + numbers + bytes(136) + samples.astype("<u2").tobytes())
    return path


def frames(path):
    """Return the format, and luma of all frames."""
    film = Source(path, Clip())
    found = [one.frame.planes[0].copy() for one in film.items() if one.frame is not None]
    film.close()
    return film.info.picture, np.stack(found)


def noise(random, depth, channels=1):
    samples = random.integers(0, 1 << depth, (3, SIZE[1], SIZE[0] * channels), np.uint16)
    samples[:, 0, 0] = (1 << depth) - 1
    return samples


@pytest.mark.cases
@pytest.mark.parametrize(
    ("depth", "wanted"), [(9, 9), (10, 10), (11, 16), (12, 12), (14, 14), (15, 16), (16, 16)]
)
def test_grey_has_the_depth_of_the_header(tmp_path, random, depth, wanted):
    samples = noise(random, depth)
    picture, found = frames(ser(tmp_path / "a.ser", samples, depth))
    assert picture.format.bits == wanted
    assert picture.pixel_format == f"gray{wanted}le"
    assert (found == samples << (wanted - depth)).all()


@pytest.mark.parametrize(("kind", "channels"), [(BAYER, 1), (RGB, 3)])
def test_colours_are_as_bright_as_those_of_16_bits(tmp_path, random, kind, channels):
    samples = noise(random, 12, channels)
    dark = frames(ser(tmp_path / "a.ser", samples, 12, kind))[1]
    assert (dark == frames(ser(tmp_path / "b.ser", samples << 4, 16, kind))[1]).all()
    assert dark.max() > 200 << 8


def test_a_header_that_states_too_little_is_not_believed(tmp_path, random):
    """Some programs stretch samples to 16 bits; what is larger in a later frame becomes white."""
    samples = noise(random, 16)
    picture, found = frames(ser(tmp_path / "a.ser", samples, 12))
    assert picture.format.bits == 16 and (found == samples).all()
    samples[0] >>= 4
    picture, found = frames(ser(tmp_path / "a.ser", samples, 12))
    assert picture.format.bits == 12 and (found == np.minimum(samples, 4095)).all()


def test_both_sides_of_a_score(tmp_path, random):
    samples = noise(random, 10)
    one, other = (ser(tmp_path / f"{n}.ser", samples << n, 10 + n) for n in (0, 6))
    (pooled,) = score_files(one, other, metrics="psnr", device="cpu").table.pooled().values()
    # White is 1023 of the one and 65535 of the other: code k is 64·k of 64·1023.98, so that
    # samples differ by at most 63/65535.
    assert pooled.min > 20 * np.log10(65535 / 63) - 0.01
