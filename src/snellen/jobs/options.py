"""Options that several jobs share: the treatment of videos, and settings of the methods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Rational
from pathlib import Path
from typing import Any

from snellen.errors import InputError, quoted
from snellen.frames import values
from snellen.frames.brief import Brief
from snellen.gpu import device as devices
from snellen.jobs.fields import check_types
from snellen.jobs.psf_files import Psf, inline, start_value
from snellen.mad.definition import Definition
from snellen.mia.result import AUTO
from snellen.video.clip import LONGEST, Clip
from snellen.video.rate import rate
from snellen.video.sink.encoding import Encoding

File = str | Path
Time = float | str | Fraction
"""Seconds as a number, or as text: "90.5", "1:30.5"."""

MANY = 10**6
"""Files of one call at most."""

DECODERS = ("auto", "cpu", "nvdec")
AUDIO = ("copy", "aac", "opus", "none")

_TIME = re.compile(r"\d{1,9}(\.\d{1,9})?|(\d{1,3}:)?\d{1,3}:[0-5]\d(\.\d{1,9})?")


FRAMES = "frames"
"""The prior "auto" of stills, for each frame of a video, too."""


@dataclass(frozen=True, slots=True, repr=False)
class VideoOptions(Brief):
    """How videos are read and written; images ignore all of it."""

    clip: Clip = field(default_factory=Clip)
    """Part of the video, and what becomes of interlaced pictures."""
    encoding: Encoding = field(default_factory=Encoding)
    """Encoder and its options."""
    decoder: str = "auto"
    """"auto" and "cpu": FFmpeg's decoders; "nvdec": NVIDIA's, the CPU's where it does not work."""
    audio: str = "copy"
    """What becomes of audio: "copy", "aac" or "opus" (what is not so yet is encoded), "none"."""
    fps: Fraction | None = None
    """Pictures a second of an image sequence: the source is a folder or a pattern of pictures, and
    becomes a film. Of a film that states no rate, its frames a second. None: neither."""

    def __post_init__(self) -> None:
        check_types(self)
        check_decoder(self.decoder)
        values.choice("audio", self.audio, AUDIO)
        rate(self.fps)
        if self.fps is not None:
            object.__setattr__(self, "clip", replace(self.clip, fps=self.fps))

    def named(self) -> tuple[str, ...]:
        """Return the parameters that differ from their defaults."""
        chosen: dict[str, Any] = {
            "codec": self.encoding.codec, "preset": self.encoding.preset,
            "crf": self.encoding.crf, "encoder_options": self.encoding.options or None,
            "pix_fmt": self.encoding.pix_fmt,
            "colour": None if self.encoding.colour == "auto" else self.encoding.colour,
            "target_mad": self.encoding.target_mad, "target_vmaf": self.encoding.target_vmaf,
            "target_pool": self.encoding.target_pool, "max_bitrate": self.encoding.max_bitrate,
            "start": self.clip.start,
            "duration": self.clip.duration, "frames": self.clip.frames,
            "deinterlace": self.clip.deinterlace or None,
            "interlaced": None if self.clip.interlaced == "auto" else self.clip.interlaced,
            "ivtc": self.clip.ivtc or None,
            "decoder": None if self.decoder == "auto" else self.decoder,
            "audio": None if self.audio == "copy" else self.audio,
            "map": self.clip.map or None,
        }  # fmt: skip
        return tuple(name for name, value in chosen.items() if value is not None)


@dataclass(frozen=True, slots=True, repr=False)
class MiaSettings(Brief):
    """Settings of MIA, as `snellen.deblur` has them; None: its default."""

    psf: Psf | None = None
    """The blur, where it is known: a file (.npy, or a grey image), or the rows of an array."""
    psf_size: int | None = None
    """Side in pixels of the PSF that is estimated; None: 31."""
    psf_start: float | Psf | None = None
    """Where the search for the PSF starts: σ of a Gaussian in pixels, a file, or rows; None: 2."""
    iterations: int | None = None
    """At most so many; None: 200."""
    tolerance: float = 0.0
    """Stop when ten iterations change the picture by less, relative to it; 0: never."""
    noise: str = "poisson"
    """"poisson" or "gaussian"."""
    read_noise: float = 0.0
    """Standard deviation of Gaussian noise added to Poisson's, white being 1."""
    tv: float | None = None
    """Weight of total variation, 0 to 0.1; None: 0, with a prior by the noise."""
    prior: str | None = AUTO
    """"l0": the PSF is found from sharp edges, coarse to fine. None: by the iterations. "auto": of
    one still without `psf` and `psf_start` as "l0", if that is plausible; else None. "frames":
    "auto", of each frame of a video, too."""
    edges: str = "extend"
    """What is beyond the picture: "extend", "taper" or "circular"."""
    recentre: bool | str = True
    """Whether a PSF that was found, and the picture with it, is moved so that its centre of mass
    is the middle; "whole": by whole pixels."""
    tile: int | None = None
    """Side in pixels of tiles with a PSF of their own; None: one PSF for the whole picture."""
    data_range: float | None = None
    """Sample value of white of float images; None: 1."""
    dtype: str | None = None
    """"float32" or "float64", of the computation; None: float32."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "psf", inline(self.psf, "psf"))
        object.__setattr__(self, "psf_start", start_value(self.psf_start))
        check_types(self)

    def given(self) -> dict[str, Any]:
        """Return the settings that differ from None, and `prior`, by the names of `snellen.deblur`.

        `psf`, `psf_start`, `tile` and `data_range` are left out: each needs a file or the picture.
        """
        names = (
            "psf_size", "iterations", "noise", "read_noise", "tv", "prior", "edges", "recentre",
            "tolerance", "dtype",
        )  # fmt: skip
        chosen = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in chosen.items() if value is not None}
        prior = AUTO if self.prior == FRAMES else self.prior
        return {**given, "prior": prior}  # whose None is no default


@dataclass(frozen=True, slots=True, repr=False)
class MadSettings(Brief):
    """Settings of MAD, as `snellen.Scorer` has them."""

    variant: str = "2011"
    """"2011", as the authors' code of that year, or "paper", as their article."""
    hi_scale: float = 200.0
    """Factor of HI, above 0."""
    eight_bit_lut: bool = False
    """Whether white is what the authors' table for 8 bits has."""
    dtype: str | None = None
    """"float32" or "float64"; None: float64 on the CPU, and on a GPU for small pictures."""

    def __post_init__(self) -> None:
        Definition(self.variant, self.hi_scale, self.eight_bit_lut)  # which checks them
        check_types(self)


def video_options(
    *,
    start: Time | None,
    duration: Time | None,
    frames: int | None,
    deinterlace: bool | str,
    interlaced: str,
    ivtc: bool,
    decoder: str,
    codec: str | None,
    preset: str | None,
    crf: float | None,
    encoder_options: Mapping[str, str] | None,
    pix_fmt: str | None,
    colour: str,
    audio: str,
    map: str | Sequence[str] | None,
    fps: float | str | Fraction | None,
    target_mad: float | None,
    target_vmaf: float | None,
    target_pool: str | None,
    max_bitrate: int | str | None,
) -> VideoOptions:
    """Return the options of a video from plain values, as `snellen.upscale_file` takes them."""
    if encoder_options is not None:
        expected = "names and values as text, such as {'tune': 'film'}"
        encoder_options = values.texts("encoder_options", encoder_options, expected)
    clip = Clip(
        seconds(start, "start"),
        seconds(duration, "duration"),
        frames,
        deinterlace,
        interlaced,
        ivtc,
        maps(map),
    )
    encoding = Encoding(
        codec, preset, crf, encoder_options or {}, pix_fmt, colour, target_mad, target_vmaf,
        target_pool, max_bitrate,
    )  # fmt: skip
    return VideoOptions(clip, encoding, decoder, audio, rate(fps))


def maps(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the maps that a str is, or several in a sequence (InputError: they are none)."""
    if given is None or isinstance(given, str):
        return () if given is None else (given,)
    found = values.items("map", given, MANY)
    return tuple(values.text("map", one, "a map such as 0:a:1, or several") for one in found)


def check_decoder(decoder: str) -> None:
    """Refuse (InputError) a decoder that does not exist."""
    values.choice("decoder", decoder, DECODERS)


def seconds(value: object, parameter: str) -> Fraction | None:
    """Return a time in seconds, exactly.

    Parameters
    ----------
    value : int, float, Fraction, str or None
        A float means the decimal number that Python prints for it: 0.1 is 1/10. A str is seconds
        or [HH:]MM:SS, with up to nine decimals.
    parameter : str
        Name for the error.

    Raises
    ------
    InputError
        No such time.
    """
    if value is None:
        return None
    value = values.plain(value)
    if isinstance(value, str) and _TIME.fullmatch(value):
        total = Fraction(0)
        for part in value.split(":"):
            total = total * 60 + Fraction(part)
        return total
    found = values.number(value)
    if found is not None and abs(found) <= LONGEST:
        return Fraction(value) if isinstance(value, Rational) else Fraction(str(found))
    raise InputError(
        f"got `{parameter}`={quoted(value)}; expected seconds or [HH:]MM:SS, such as 90.5 or "
        "1:30.5",
        parameter=parameter,
    )


def path(value: object, parameter: str) -> Path:
    """Return the path that a str or Path is (InputError: it is neither, or empty)."""
    return values.path(parameter, value)


def paths(files: File | Iterable[File], parameter: str) -> tuple[Path, ...]:
    """Return the paths of one file or of several (InputError: as of `path`, or without an end)."""
    if isinstance(files, str | bytes | Path) or not isinstance(files, Iterable):
        return (path(files, parameter),)
    return tuple(path(one, parameter) for one in values.items(parameter, files, MANY))


def optional_path(value: object, parameter: str) -> Path | None:
    """Return None for None, else as `path`."""
    return None if value is None else path(value, parameter)


def device_list(device: str | Sequence[str]) -> str:
    """Return devices as a job holds them: names with commas between.

    Parameters
    ----------
    device : str or sequence of str
        "auto", "cpu", "cuda", "cuda:N", or several of these, in a sequence or between commas.

    Raises
    ------
    DeviceError
        Neither a str nor a sequence of them.
    """
    return ",".join(devices.names(device))


def check_quality(quality: int | None) -> None:
    """Refuse (InputError) a quality of images outside 1 … 100."""
    if quality is not None:
        values.whole("quality", quality, 1, 100)


def check_optional(value: object, parameter: str) -> None:
    """Refuse (InputError) what is neither None nor a whole number from 1 on."""
    if value is not None:
        values.whole(parameter, value, 1, 2**63 - 1)


def check_threads(value: object) -> None:
    """Refuse (InputError) a number of threads that is not from 1 to 1024, and not None."""
    if value is not None:
        values.whole("threads", value, 1, 1024)


def check_workers(value: object) -> None:
    """Refuse (InputError) a number of workers that is not from 1 to 1024, and not None."""
    if value is not None:
        values.whole("workers", value, 1, 1024)


def check_segments(segments: bool, kept: bool) -> None:
    """Refuse (InputError) to keep segments where none are to be made."""
    if kept and not segments:
        raise InputError("got `keep_segments`, but none are to be made", parameter="keep_segments")


def check_positive(value: object, parameter: str) -> None:
    """Refuse (InputError) what is not a whole number from 1 on."""
    values.whole(parameter, value)
