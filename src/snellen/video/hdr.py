"""HDR10 light levels and rotation: what an output states of its pictures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

HDR_TRANSFERS = (16, 18)
"""AVCOL_TRC numbers of PQ and HLG."""


@dataclass(frozen=True, slots=True)
class Light:
    """HDR10 static metadata: SMPTE ST 2086 and CTA-861.3."""

    primaries: tuple[Fraction, ...] = ()
    """x and y of red, green, blue and white; empty: not stated."""
    luminance: tuple[Fraction, Fraction] | None = None
    """Darkest and brightest level of the mastering display, cd/m²; None: not stated."""
    levels: tuple[int, int] | None = None
    """MaxCLL and MaxFALL, cd/m²; None: not stated."""

    def __bool__(self) -> bool:
        return self.mastering or self.levels is not None

    @property
    def mastering(self) -> bool:
        """Return whether the mastering display is known completely, as encoders require."""
        return bool(self.primaries) and self.luminance is not None


def scaled_matrix(matrix: tuple[int, ...], across: Fraction, down: Fraction) -> tuple[int, ...]:
    """Return the display matrix for pictures scaled by two factors: its shift is scaled too.

    A shift stays within the 32 bits that a file has for it.
    """
    shift = (round(matrix[6] * across), round(matrix[7] * down))
    x, y = (max(-(2**31), min(one, 2**31 - 1)) for one in shift)
    return (*matrix[:6], x, y, matrix[8])


def options(
    light: Light, names: tuple[str, str] | None, plain: bool = False
) -> dict[str, str] | None:
    """Return an encoder's own parameters that write `light`; None: it has none.

    `names` are those of the mastering display and of the levels, `plain` says that they are plain
    numbers.
    """
    if names is None:
        return None
    out = {}
    if light.mastering and light.luminance is not None:
        # Chromaticities in steps of 0.00002 and cd/m² in steps of 0.0001, as in the bitstream.
        xy = [_number(v, 50000, plain) for v in light.primaries]
        dark, bright = (_number(v, 10000, plain) for v in light.luminance)
        display = (
            f"G({xy[2]},{xy[3]})B({xy[4]},{xy[5]})R({xy[0]},{xy[1]})"
            f"WP({xy[6]},{xy[7]})L({bright},{dark})"
        )
        out[names[0]] = display
    if light.levels is not None:
        out[names[1]] = f"{light.levels[0]},{light.levels[1]}"
    return out


def _number(value: Fraction, steps: int, plain: bool) -> str:
    return f"{float(value):.6f}" if plain else str(round(value * steps))
