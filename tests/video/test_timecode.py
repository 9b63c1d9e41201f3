"""Time codes of clips."""

from fractions import Fraction

import pytest

from snellen.video.passthrough.timecode import advanced

NTSC = Fraction(30000, 1001)


@pytest.mark.parametrize(
    ("code", "frames", "rate", "want"),
    [
        ("01:00:00:00", 10, Fraction(25), "01:00:00:10"),
        ("00:59:59:24", 1, Fraction(25), "01:00:00:00"),
        ("23:59:59:24", 2, Fraction(25), "00:00:00:01"),
        ("00:00:59:23", 1, Fraction(24000, 1001), "00:01:00:00"),
        ("00:00:59:29", 1, NTSC, "00:01:00:00"),
        ("00:00:59;29", 1, NTSC, "00:01:00;02"),  # SMPTE 12M: ;00 and ;01 do not exist
        ("00:09:59;29", 1, NTSC, "00:10:00;00"),
        ("00:00:00;00", 17982, NTSC, "00:10:00;00"),
        ("00:00:00;00", 107892, NTSC, "01:00:00;00"),
        ("00:00:59;59", 1, 2 * NTSC, "00:01:00;04"),
    ],
)
def test_advanced(code, frames, rate, want):
    assert advanced(code, frames / rate, rate) == want
    rounded = Fraction(round(frames / rate * 1000), 1000)  # as in Matroska
    assert advanced(code, rounded, rate) == want


def test_unknown():
    assert advanced("one o'clock", Fraction(1), Fraction(25)) is None
    assert advanced("00:00:00:00", Fraction(1, 50), Fraction(25)) is None  # between two frames
    assert advanced("00:00:00:00", Fraction(1), Fraction(247, 10)) is None  # an average
