"""Which MAD is computed, and the constants that several stages share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from snellen.errors import InputError, quoted
from snellen.frames import values, white

Variant = Literal["2011", "paper"]
VARIANTS: tuple[str, ...] = get_args(Variant)

WHITE = 255.0  # grey is 0 … 255, whatever the samples' range: the luminance step is for 8 bits
BLOCK = 16  # side of the blocks of both stages; Larson & Chandler 2010, 3.1 and 3.2
STEP = 4  # pixels from a block to the next (75 % overlap), and the side of its tile in a map
MARGIN = (16, 17)  # rows and columns at the top left, at the bottom right, that are not pooled
MOST = 1e30  # of hi_scale: float32 holds its square
SMALLEST = sum(MARGIN) + 1  # pixels of a side: one is pooled


@dataclass(frozen=True, slots=True)
class Definition:
    """Which of the published versions of MAD is meant (InputError: no such version)."""

    variant: str = "2011"
    """How grey I becomes lightness: "2011", k·I^(2.2/3), as in the authors' MATLAB code of
    2011_10_07; "paper", (k·I)^(2.2/3), as in their article and their CUDA."""
    hi_scale: float = 200.0
    """HI is so many times the detection map's root mean square: 200 in 2011, 10 in ST-MAD, 1 in the
    authors' code of April 2010."""
    eight_bit_lut: bool = False
    """True: lightness is read from the authors' table for 8-bit pictures, which takes white for
    254: what their code does when it is given integers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "variant", values.choice("variant", self.variant, VARIANTS))
        scale = values.number(self.hi_scale)
        if scale is None or not 0 < scale <= MOST:
            raise InputError(
                f"`hi_scale`={quoted(self.hi_scale)}; expected a number above 0, as 200, 10 or 1",
                parameter="hi_scale",
            )
        object.__setattr__(self, "hi_scale", scale)
        lut = values.flag("eight_bit_lut", self.eight_bit_lut)
        object.__setattr__(self, "eight_bit_lut", lut)


def grid(height: int, width: int) -> tuple[int, int]:
    """Return rows and columns of blocks: their corners are 0, 4, 8 … < size − 15."""
    return (height - BLOCK) // STEP + 1, (width - BLOCK) // STEP + 1


def peak(data_range: float | None, bits: int, name: str = "data_range") -> float:
    """Return the sample value of white, checked; None: the greatest of `bits`.

    `name` is that of the parameter, for errors. InputError: missing where samples are float (bits
    0), or no positive number.
    """
    if data_range is None:
        if bits:
            return float((1 << bits) - 1)
        raise InputError(
            f"got float samples without `{name}`",
            parameter=name,
            advice="state the value of white, as 1 or 255",
        )
    return white.stated(data_range, name)
