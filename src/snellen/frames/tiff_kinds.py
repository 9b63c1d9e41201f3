"""Tags of a TIFF picture say what its samples are, and so who reads them: we, Pillow or nobody.

TIFF 6.0; Adobe's Photoshop TIFF Technical Notes (ICC L*a*b*); TIFF Technical Note 2 (JPEG).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL.TiffImagePlugin import ImageFileDirectory_v2

from snellen.errors import InputError

BITS, COMPRESSION, PHOTOMETRIC, FILL_ORDER, SAMPLES = 258, 259, 262, 266, 277
PLANAR, WHITE_POINT, INK_SET, EXTRA, FORMAT = 284, 318, 332, 338, 339

NAMES = {
    1: "raw", 5: "tiff_lzw", 8: "tiff_adobe_deflate", 32773: "packbits", 32946: "tiff_deflate",
    34925: "lzma", 50000: "zstd",
}  # fmt: skip
"""Pillow's names of the compressions without loss that are read and written."""
_OTHERS = {2: "fax", 3: "fax", 4: "fax", 6: "old JPEG", 7: "JPEG", 32771: "words of 16 bits"}
"""Further compressions that Pillow reads, and those that nobody reads here."""
_UNREAD = {34712: "JPEG 2000", 34887: "LERC", 34892: "JPEG", 50001: "WebP", 50002: "JPEG XL"}
JPEG = 7

WHITE_IS_ZERO, GREY, RGB, PALETTE, CMYK, YCC, CIE_LAB, ICC_LAB = 0, 1, 2, 3, 5, 6, 8, 9
_COLOURS = {
    WHITE_IS_ZERO: (1, "grey"), GREY: (1, "grey"), RGB: (3, "RGB"), PALETTE: (1, "a palette"),
    4: (1, "a mask"), CMYK: (4, "CMYK"), YCC: (3, "YCbCr"), CIE_LAB: (3, "CIE L*a*b*"),
    ICC_LAB: (3, "ICC L*a*b*"), 10: (3, "ITU L*a*b*"), 32803: (1, "a sensor's mosaic"),
    32844: (1, "LogL"), 32845: (3, "LogLuv"), 34892: (3, "a sensor's linear data"),
}  # fmt: skip
"""Samples of a pixel, but the extra ones, and names, by PhotometricInterpretation."""
UINT, INT, FLOAT, VOID = 1, 2, 3, 4
_FORMATS = {UINT: "", INT: "signed ", FLOAT: "float ", VOID: "", 5: "complex ", 6: "complex "}
UNSPECIFIED, ASSOCIATED, STRAIGHT, COREL = 0, 1, 2, 999
"""Kinds of extra samples. The last one is Corel Draw's, for the one before."""
_MOST = 256
"""Samples of a pixel that are read at most."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The samples of a TIFF picture."""

    photometric: int
    samples: int
    """Samples of a pixel, the extra ones among them."""
    bits: int | None
    """Bits of a sample; None: they differ."""
    format: int | None
    """SampleFormat; None: they differ."""
    extras: tuple[int, ...]
    """The meanings of samples that follow the colours."""
    compression: int
    planar: bool
    """Each sample has strips of its own."""
    reversed: bool
    """The bits of each byte are in the other order."""
    other_inks: bool
    """The inks of photometric `CMYK` are others than these."""

    @property
    def colours(self) -> int:
        """Samples of a pixel that are colours."""
        return self.samples - len(self.extras)

    @property
    def alpha(self) -> int | None:
        """Which of the samples is alpha: the first that is declared as such."""
        for place, extra in enumerate(self.extras, self.colours):
            if extra in (ASSOCIATED, STRAIGHT, COREL):
                return place
        return None

    @property
    def is_ours(self) -> bool:
        """Return whether we read these samples, as Pillow does not, not wholly, or wrongly."""
        return self._is_readable and (self.reversed or not self._is_plain)

    @property
    def _is_readable(self) -> bool:
        """Return whether we can read these samples."""
        if self.compression not in NAMES or not 1 <= self.samples <= _MOST or self.bits is None:
            return False
        if self.photometric in (WHITE_IS_ZERO, GREY, RGB):
            if self.format == FLOAT:
                return self.bits in (16, 32, 64) and self.colours >= 1
            return self.format in (UINT, VOID) and 1 <= self.bits <= 16 and self._is_whole
        if self.format not in (UINT, VOID) or not (self._is_whole or self._is_lightness):
            return False
        if self.photometric in (CIE_LAB, ICC_LAB):
            return self.bits in (8, 16)
        return self.photometric == CMYK and 1 <= self.bits <= 16 and not self.other_inks

    @property
    def _is_whole(self) -> bool:
        """Return whether a pixel has all of its colours."""
        return self.photometric in _COLOURS and self.colours == _COLOURS[self.photometric][0]

    @property
    def _is_lightness(self) -> bool:
        """Return whether it is L*a*b* without a* and b*."""
        return self.photometric in (CIE_LAB, ICC_LAB) and self.samples == 1

    @property
    def _is_plain(self) -> bool:
        """Return whether Pillow reads these samples as they are meant, all of them."""
        one, bits = self.samples == 1, self.bits
        if self.format == FLOAT:
            return self.photometric == GREY and one and bits == 32
        if self.photometric == GREY and one and self.format in (UINT, INT):
            return bits in (1, 2, 4, 16, 32) or (bits == 8 and self.format == UINT)
        if self.format != UINT:
            return False
        if self.photometric == WHITE_IS_ZERO:
            return one and bits in (1, 2, 4, 8)
        if bits != 8:
            return self.photometric == PALETTE and one and bits in (1, 2, 4)
        if self.photometric == RGB:
            return self.samples == 3 or (
                self.samples == 4 and self.alpha is not None and not self.planar
            )
        if self.photometric == PALETTE:
            return one or self.samples == 2
        return (self.photometric == YCC and self.samples in (1, 3)) or (
            self.photometric == CMYK and self.samples == 4 and not self.other_inks
        )

    @property
    def _is_pillows(self) -> bool:
        """Return whether Pillow reads these samples, of which some may be left out."""
        if self.compression not in NAMES and self.compression not in _OTHERS:
            return False
        more = self.format == UINT and self.bits == 8 and self.samples <= 6
        if self.photometric == CMYK:
            return self._is_plain or (more and not any(self.extras) and not self.other_inks)
        if self.photometric == CIE_LAB:
            return more and self.samples == 3
        return self._is_plain or (more and self.photometric in (GREY, RGB))

    def __str__(self) -> str:
        """Return what it is, in words."""
        name = _COLOURS.get(self.photometric, (0, f"colours of kind {self.photometric}"))[1]
        if self.other_inks:
            name = "inks other than CMYK"
        form = _FORMATS.get(self.format or 0, "odd ")
        bits = "different numbers of bits" if self.bits is None else _counted(self.bits, "bit")
        packed = {**_OTHERS, **_UNREAD}.get(self.compression)
        if packed is None:
            packed = "" if self.compression in NAMES else f"compression {self.compression}"
        more = f", {_counted(len(self.extras), 'extra')} among them" if self.extras else ""
        return (
            f"{name} with {_counted(self.samples, form + 'sample')} a pixel{more}, of {bits}"
            f"{' in ' if packed else ''}{packed}"
        )


def kind_of(tags: ImageFileDirectory_v2) -> Kind:
    """Return what the samples of a picture are (exceptions of many classes: its tags are wrong)."""
    compression = int(tags.get(COMPRESSION, 1))
    photometric: int | None = tags.get(PHOTOMETRIC)
    usual = 3 if compression == JPEG and photometric in (RGB, YCC) else 1
    samples = int(tags.get(SAMPLES, usual))
    declared = several(tags, EXTRA) if EXTRA in tags else ()
    if photometric is None:  # it must be there, but not all have read the specification
        photometric = RGB if samples >= 3 else GREY
        if compression not in NAMES and samples == 1:
            photometric = WHITE_IS_ZERO  # fax
    colours = _COLOURS.get(photometric, (samples, ""))[0]
    count = max(0, samples - colours)
    if not declared and count == 1 and photometric in (WHITE_IS_ZERO, GREY, RGB):
        declared = (STRAIGHT,)  # what nobody declares is transparency where that is usual
    extras = (*declared, *[UNSPECIFIED] * count)[:count]
    return Kind(
        photometric, samples, _alike(several(tags, BITS, 1)),
        _alike(several(tags, FORMAT, UINT)), extras, compression,
        int(tags.get(PLANAR, 1)) == 2, int(tags.get(FILL_ORDER, 1)) == 2,
        photometric == CMYK and int(tags.get(INK_SET, 1)) != 1,
    )  # fmt: skip


def left_out(kind: Kind) -> list[str]:
    """Return a sentence about the samples that no picture of ours holds, if there are such."""
    count = len(kind.extras) - (kind.alpha is not None)
    if not count:
        return []
    name = _COLOURS[kind.photometric][1] + (" and alpha" if kind.alpha is not None else "")
    verb = "is" if count == 1 else "are"
    return [f"its pixels have {_counted(count, 'sample')} beside {name}, which {verb} left out"]


def check(path: Path, tags: ImageFileDirectory_v2) -> None:
    """Refuse (InputError) a sound TIFF whose samples Pillow does not read, or reads wrongly."""
    try:
        kind = kind_of(tags)
    except Exception:  # of tags that are wrong, which Pillow will say
        return
    if not kind._is_pillows:
        raise InputError(
            f"{path}: got a TIFF of {kind}, which cannot be used",
            advice="convert it to grey or RGB of 8 or 16 bits first",
        )


def several(tags: ImageFileDirectory_v2, tag: int, default: int | None = None) -> tuple[int, ...]:
    """Return the values of a tag that may have one or several."""
    value: Any = tags.get(tag, default)
    return tuple(int(one) for one in value) if isinstance(value, tuple) else (int(value),)


def _alike(values: tuple[int, ...]) -> int | None:
    """Return the value that all have; None: they differ."""
    return values[0] if len(set(values)) == 1 else None


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
