"""Encoder settings as values: what a user asks for, and what is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from snellen.errors import InputError, quoted
from snellen.frames.brief import Brief
from snellen.frames.values import choice, number, text

if TYPE_CHECKING:  # it would import PyAV, which pictures do without
    from snellen.video.pixels import PixelFormat

COLOURS = ("auto", "keep", "bt709", "bt601-625", "bt601-525", "bt2020")

_FRAME_CLOCK = frozenset(("mpeg1video", "mpeg2video", "mpeg4", "libxvid", "msmpeg4v2", "msmpeg4"))
"""Encoders that read a time base of 1/12800 s as 12800 frames/s, or take none below 1/65535 s."""

WORST = 63
"""The greatest `crf` of any encoder: that of AV1 and VP9."""


@dataclass(frozen=True, slots=True, repr=False)
class Encoding(Brief):
    """How to encode; None: our choice."""

    codec: str | None = None
    """FFmpeg's name of an encoder; None: libx264, above 8 bit or of HDR libx265, of AV1 and VP9
    libsvtav1, of transparent films in .webm libvpx-vp9, as far as the container takes it. Where
    one of NVIDIA's does not work (h264_nvenc, hevc_nvenc, av1_nvenc), the CPU encodes the same
    codec."""
    preset: str | None = None
    """The encoder's name of it; NVIDIA's: p1 (fastest) to p7 (best)."""
    crf: float | None = None
    """Constant quality, smaller is better; NVIDIA's encoders call it cq."""
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Further options of the encoder, FFmpeg's names."""
    pix_fmt: str | None = None
    """FFmpeg's name; None: the one of the encoder's formats that loses nothing, or least."""
    colour: str = "auto"
    """What the output states of its colours: "auto": as the input, but where it states nothing and
    players would guess otherwise of the larger picture, their guess of the input; "keep": as the
    input; or what they are: "bt709", "bt601-625", "bt601-525", "bt2020"."""

    def __post_init__(self) -> None:
        for name in ("codec", "preset", "pix_fmt"):
            if getattr(self, name) is not None:
                text(name, getattr(self, name), "text or None")
        choice("colour", self.colour, COLOURS)
        if self.crf is not None:
            quality = number(self.crf)
            if quality is None or not 0 <= quality <= WORST:
                raise InputError(
                    f"got `crf`={quoted(self.crf)}; expected a number from 0 to {WORST}, "
                    "or up to 51 for H.264 and HEVC",
                    parameter="crf",
                )
        if not isinstance(self.options, Mapping):
            raise InputError(
                f"got `encoder_options`={quoted(self.options)}; expected a mapping of text to text",
                parameter="encoder_options",
            )
        for pair in self.options.items():
            for word in pair:
                text("encoder_options", word, "a mapping of text to text")
        # A copy, which a change of the caller's leaves alone.
        object.__setattr__(self, "options", dict(self.options))


@dataclass(frozen=True, slots=True)
class Encoder:
    """The chosen encoder, complete except for the size of the pictures."""

    codec: str
    """FFmpeg's name of the encoder."""
    pixels: PixelFormat
    options: dict[str, str]
    losses: tuple[str, ...]
    """What the encoder cannot keep of the pictures: one phrase each."""

    @property
    def bits(self) -> int:
        """Depth of the samples that it takes."""
        return self.pixels.bits

    @property
    def frame_clock(self) -> bool:
        """Whether its time base has to be the duration of a frame."""
        return self.codec in _FRAME_CLOCK
