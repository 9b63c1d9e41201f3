"""Encoder settings as values: what a user asks for, and what is chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, quoted
from snellen.frames.brief import Brief
from snellen.frames.values import choice, integer, plain, real, text, texts
from snellen.metrics.registry import METRICS, goals
from snellen.metrics.vmaf_models import AUTO, NAMES
from snellen.schema import option
from snellen.video.sink import registry
from snellen.video.sink.registry import LOSSLESS, WORST, Traits

if TYPE_CHECKING:  # it would import PyAV, which pictures do without
    from snellen.video.pixels import PixelFormat

COLOURS = {
    "bt709": (1, 1, 1), "bt601-625": (5, 5, 6), "bt601-525": (6, 6, 6), "bt2020": (9, 9, 14),
}  # fmt: skip
"""FFmpeg's numbers of matrix (AVCOL_SPC), primaries (AVCOL_PRI) and transfer (AVCOL_TRC)."""
_CHOICES = ("auto", "keep", *COLOURS)

_POOLS = tuple(dict.fromkeys(one for goal in goals().values() for one in goal.pools))
_TEXTS = ("codec", "preset", "pix_fmt", "colour", "target_pool", "vmaf_model")
_BIT_RATE = re.compile(r"(\d{1,10}(?:\.\d{1,9})?)([kKmMgG]?)", re.ASCII)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_LEAST_RATE, _MOST_RATE = 10_000, 2_000_000_000


@dataclass(frozen=True, slots=True)
class Target:
    """A quality that an encoder's settings are to give."""

    metric: str
    """Its name in the registry, where it has a goal."""
    value: float
    pool: str
    """How the scores of frames become one: one of the goal's `pools`."""
    setting: tuple[str, ...] = ()
    """The value of the metric's `setting`, if it has one."""

    @property
    def parameter(self) -> str:
        """The name of the parameter."""
        return f"target_{self.metric}"

    @property
    def name(self) -> str:
        """The metric's name in messages."""
        title, own = METRICS[self.metric].title, [one for one in self.setting if one != AUTO]
        return f"{title} ({own[0]})" if own else title


@dataclass(frozen=True, slots=True, repr=False)
class Encoding(Brief):
    """How to encode; None: our choice."""

    codec: str | None = option(
        None,
        "Video encoder by FFmpeg's name, or codec: "
        f"{registry.CODECS}. Those of NVENC and QSV are experimental (never yet run on hardware); "
        "where one does not work, the CPU encodes the same codec.",
        unset=f"{registry.DEFAULT}, which keep the alpha channel of others, too",
        metavar="NAME",
    )
    preset: str | None = option(
        None, unset=registry.defaults(lambda one: one.preset), metavar="NAME",
        help="The encoder's preset; with nvenc p1 (fastest) to p7 (best).",
    )  # fmt: skip
    crf: float | None = option(
        None, metavar="N",
        help="The encoder's quality, smaller is better; cq with nvenc.",
        unset=f"nearly without visible loss: {registry.defaults(lambda one: one.crf)}",
    )  # fmt: skip
    options: Mapping[str, str] = option(
        dict, name="encoder_options", flag="--encoder-option", short="-e",
        accepts="Mapping[str, str] | None", metavar="KEY=VALUE",
        help="Any option of the encoder, by FFmpeg's name.",
    )  # fmt: skip
    pix_fmt: str | None = option(
        None, unset="the input's, or the encoder's that loses least", metavar="NAME",
        help="FFmpeg's pixel format of the output, as yuv420p10le.",
    )  # fmt: skip
    colour: str = option(
        "auto", choices=_CHOICES, metavar="NAME",
        help="What the output states of its colours: keep: as the input; bt709, bt601-625, "
        "bt601-525 or bt2020: that; auto: as the input, but what players assume of an untagged "
        "one where they would take the larger picture for BT.709.",
    )  # fmt: skip
    target_mad: float | None = option(
        None, more="The finished film is scored: `result.summary.reached`.", metavar="X",
        help="Instead of `crf`: the crf that gives the film this MAD (0 is identical) against the "
        "frames that the encoder gets; probes on excerpts find it.",
    )  # fmt: skip
    target_ssimulacra2: float | None = option(
        None, "Likewise, this SSIMULACRA 2 (100 is best, 90 looks equal).", metavar="X"
    )
    target_vmaf: float | None = option(
        None, "Likewise, this VMAF (100 is best); Python 3.12 or later.", metavar="X"
    )
    vmaf_model: str = option(
        AUTO, choices=NAMES, metavar="NAME",
        help="The model of `target_vmaf`: auto (v0.6.1, from 2560×1440 pixels on 4k), neg (no gain "
        "by enhancement), phone, or one of version 1, which scores otherwise.",
    )  # fmt: skip
    target_pool: str | None = option(
        None, unset="mean", choices=_POOLS, metavar="NAME",
        help="How scores of frames become one: mean; of MAD also rms (root mean square) or p95 "
        "(95th percentile), of VMAF harmonic (mean) or p5 (5th percentile), as of SSIMULACRA 2.",
    )  # fmt: skip
    max_bitrate: int | str | None = option(
        None, metavar="RATE",
        help="Most bits a second of the video, as 20M or 800k, over a buffer of one second (of "
        "VP9 on average); it wins over a target.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name in _TEXTS:
            object.__setattr__(self, name, plain(getattr(self, name)))
        for name in ("codec", "preset", "pix_fmt"):
            if getattr(self, name) is not None:
                text(name, getattr(self, name), "text or None")
        object.__setattr__(self, "codec", self.codec and registry.encoder_of(self.codec))
        choice("colour", self.colour, _CHOICES)
        choice("vmaf_model", self.vmaf_model, NAMES)
        if self.crf is not None:
            quality = real(self.crf)
            if quality is None or not 0 <= quality <= WORST:
                raise InputError(
                    f"got `crf`={quoted(self.crf)}; expected a number from 0 to {WORST}, "
                    "or up to 51 for H.264 and HEVC",
                    parameter="crf",
                )
            object.__setattr__(self, "crf", quality)
        # A copy, which a change of the caller's leaves alone.
        given = {} if self.options is None else self.options
        expected = "names and values as text, such as {'tune': 'film'}"
        object.__setattr__(self, "options", texts("encoder_options", given, expected))
        object.__setattr__(self, "max_bitrate", _bit_rate(self.max_bitrate))
        self._check_target()

    @property
    def target(self) -> Target | None:
        """The quality that is to be reached; None: `crf` says it, or our choice."""
        for metric, value in self._targets().items():
            pool, name = self.target_pool or goals()[metric].pools[0], METRICS[metric].setting
            setting = () if name is None else (getattr(self, name),)
            return Target(metric, float(value), pool, setting)
        return None

    @property
    def has_rate(self) -> bool:
        """Return whether a quality, a rate or a preset is given, which lossless encoders lack."""
        given = (self.crf, self.preset, self.target, self.max_bitrate)
        return any(value is not None for value in given)

    def _targets(self) -> dict[str, Any]:
        """Return the targets that are given, by metric: one field for each that has a goal."""
        given = {metric: getattr(self, f"target_{metric}", None) for metric in goals()}
        return {metric: value for metric, value in given.items() if value is not None}

    def _check_target(self) -> None:
        given = self._targets()
        for metric, value in given.items():
            found, name, most = real(value), f"target_{metric}", goals()[metric].most
            if found is None or not 0 < found <= most:
                lossless = found == 0 and METRICS[metric].identical == 0
                raise InputError(
                    f"got `{name}`={quoted(value)}; expected a number above 0, up to {most:g}",
                    parameter=name,
                    advice=f"for no loss at all choose `codec` {LOSSLESS}" if lossless else None,
                )
            object.__setattr__(self, name, found)
        if len(given) > 1:
            one, other, *_ = (f"target_{metric}" for metric in given)
            raise InputError(f"got `{one}` and `{other}`; expected one of them", parameter=other)
        if self.target_pool is not None:
            if not given:
                names = " or ".join(f"`target_{metric}`" for metric in goals())
                raise InputError(f"got `target_pool` without {names}", parameter="target_pool")
            choice("target_pool", self.target_pool, goals()[next(iter(given))].pools)
        if self.vmaf_model != AUTO and "vmaf" not in given:
            raise InputError("got `vmaf_model` without `target_vmaf`", parameter="vmaf_model")
        if given and self.crf is not None:
            raise InputError(
                "got `crf` with a target, by which the crf is chosen",
                parameter="crf",
                advice="leave one of them out",
            )


def _bit_rate(value: object) -> int | None:
    """Return bits a second; InputError: no such rate."""
    if value is None:
        return None
    found = integer(value)
    if isinstance(value, str) and (match := _BIT_RATE.fullmatch(value)):
        found = round(float(match[1]) * _UNITS[match[2].lower()])
    if found is None or not _LEAST_RATE <= found <= _MOST_RATE:
        raise InputError(
            f"got `max_bitrate`={quoted(value)}; expected bits a second, as 20M or 800k, from 10k "
            "to 2G",
            parameter="max_bitrate",
        )
    return found


@dataclass(frozen=True, slots=True)
class Encoder:
    """The chosen encoder, complete except for the size of the pictures."""

    codec: str
    """FFmpeg's name of the encoder."""
    pixels: PixelFormat
    options: dict[str, str]
    losses: tuple[str, ...]
    """Losses of the pictures by the encoder: one phrase each."""

    @property
    def bits(self) -> int:
        """Depth of the samples that it takes."""
        return self.pixels.bits

    @property
    def traits(self) -> Traits:
        """Return the traits of encoders of this name."""
        return registry.traits(self.codec)
