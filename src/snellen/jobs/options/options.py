"""Options that several jobs share: the treatment of videos, and settings of the methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from snellen.errors import InputError
from snellen.frames import values
from snellen.frames.brief import Brief
from snellen.jobs.options.fields import MOST, Psf, check_types
from snellen.jobs.options.serial import Job
from snellen.schema import (
    BLUR,
    ENCODING,
    FILES,
    IMAGES,
    MACHINE,
    REPORT,
    VIDEO,
    option,
)
from snellen.video.clip import DECODERS, Clip, rate
from snellen.video.clip import MANY as MANY
from snellen.video.clip import seconds as seconds
from snellen.video.sink.encoding import Encoding

File = str | Path
Time = float | str | Fraction
"""Seconds as a number, or as text: "90.5", "1:30.5"."""

FRAMES = "frames"
"""The prior "auto" of stills, for each frame of a video, too."""


def decoder_option(**about: Any) -> Any:
    """Return the field for what decodes video."""
    text = (
        "What decodes video; auto is the CPU, by FFmpeg. nvdec, experimental (never yet run on "
        "hardware), is NVIDIA's, and falls back to the CPU."
    )
    return option("auto", text, choices=DECODERS, **about)


@dataclass(frozen=True, slots=True, repr=False)
class VideoOptions(Brief):
    """How videos are read and written; images ignore all of it."""

    clip: Clip = option(Clip)
    """Part of the video, and what becomes of interlaced pictures."""
    encoding: Encoding = option(Encoding, group=ENCODING)
    """Encoder and its options."""
    decoder: str = decoder_option()
    audio: str = option(
        "copy", choices=("copy", "aac", "opus", "none"), group=ENCODING, effect="result",
        help="Copy audio as it is, make AAC or Opus of what is not so yet, or leave it out (none).",
    )  # fmt: skip
    fps: Fraction | None = option(
        None, accepts="float | str | Fraction | None", media="sequence", metavar="RATE",
        help="Make one film of the pictures of a source that is a folder or a pattern, as "
        "frames/%05d.png: so many a second, as 25 or 24000/1001. Or the rate of a film that "
        "states none (y4m of F0:0, SER).",
    )  # fmt: skip

    def __post_init__(self) -> None:
        object.__setattr__(self, "fps", rate(self.fps))
        check_types(self)
        values.check_options(self, "decoder", "audio")
        if self.fps is not None:
            object.__setattr__(self, "clip", replace(self.clip, fps=self.fps))


@dataclass(frozen=True, slots=True, repr=False)
class MiaSettings(Brief):
    """Settings of MIA, as `snellen.deblur` has them; None: its default."""

    psf: Psf | None = option(
        None, more="Or an array (…, K, K), as for `snellen.deblur`.", accepts="Any", reads=True,
        group=BLUR,
        help="The blur, where it is known: a .npy file, or a grey image.",
    )  # fmt: skip
    psf_size: int | None = option(
        None, unset="31", least=1, group=BLUR,
        help="Side in pixels of the blur that is estimated, at most the picture's; even ones "
        "count one more.",
    )  # fmt: skip
    psf_start: float | Psf | None = option(
        None, more="Or an array.", unset="2", accepts="Any", metavar="SIGMA|FILE", group=BLUR,
        help="Where the search starts: a Gaussian's σ in pixels, or a file as `psf`.",
    )  # fmt: skip
    iterations: int | None = option(None, "At most so many iterations.", unset="200", least=1)
    tolerance: float = option(
        0.0,
        "Stop when ten iterations change the picture by less, relative to it, as 0.001; 0: never.",
        least=0,
    )
    noise: str = option(
        "poisson", choices=("poisson", "gaussian"),
        help="Noise of light that is counted (poisson), or equal everywhere (gaussian).",
    )  # fmt: skip
    read_noise: float = option(
        0.0, least=0,
        help="Standard deviation of Gaussian noise added to Poisson's, white being 1; up to 1000.",
    )  # fmt: skip
    tv: float | None = option(
        None, unset="0; with a prior by the noise: 0.001, 0.002 or 0.004", least=0,
        help="Weight of total variation, against noise, as 0.004, up to 0.1.",
    )  # fmt: skip
    prior: str | None = option(
        "auto", more="None: none.", choices=("auto", FRAMES, "l0", "none"), group=BLUR,
        help="l0: find the blur from sharp edges, as of a single photograph that was shaken. "
        "auto: that for images, of which those without blur stay as they are, with a notice, and "
        "those that are too noisy, or whose blur is not plausible, with a warning; none with "
        "`psf`, `psf_start`, several images of one object, and videos. frames: auto, for each "
        "frame of a video, too. none: find the blur along with the picture, by plain MIA.",
    )  # fmt: skip
    edges: str = option(
        "extend", choices=("extend", "taper", "circular"),
        help="What is beyond the picture: estimated (extend), blended (taper), or its other side "
        "(circular).",
    )  # fmt: skip
    recentre: bool | str = option(
        True, command=False,
        help="Whether a blur that was found, and the picture with it, is moved so that its centre "
        'of mass is the middle; "whole": by whole pixels.',
    )  # fmt: skip
    tile: int | None = option(
        None, unset="one for the whole picture", least=1, group=BLUR,
        help="Side in pixels of tiles, each with a blur of its own.",
    )  # fmt: skip
    data_range: float | None = option(
        None,
        "Sample value of white of float images; that of others goes by their bits.",
        unset="1, or the brightest sample where that is beyond 2, which is said",
    )
    dtype: str | None = option(
        None, unset="float32", choices=("float32", "float64"),
        help="Precision of the computation.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.psf is not None or self.psf_start is not None:
            from snellen.jobs.options.psf_files import inline, start_value

            object.__setattr__(self, "psf", inline(self.psf, "psf"))
            object.__setattr__(self, "psf_start", start_value(self.psf_start))
        check_types(self)
        if self.prior == "none":
            object.__setattr__(self, "prior", None)

    def given(self) -> dict[str, Any]:
        """Return the settings that differ from None, and `prior`, by the names of `snellen.deblur`.

        `psf`, `psf_start`, `tile` and `data_range` are left out: each needs a file or the picture.
        """
        chosen = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("psf", "psf_start", "tile", "data_range"):
            del chosen[name]
        given = {name: value for name, value in chosen.items() if value is not None}
        prior = "auto" if self.prior == FRAMES else self.prior
        return {**given, "prior": prior}  # whose None is no default


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunOptions(Job):
    """Options of all jobs that read and write files."""

    overwrite: bool = option(
        False, short="-y", group=FILES, effect="result", single=False,
        help="Replace existing outputs.",
    )  # fmt: skip
    device: str = option(
        "auto", accepts="str | Sequence[str]", metavar="auto|cpu|cuda:N|cuda:all|…", group=MACHINE,
        effect="machine",
        help="auto: the first GPU that works, else the CPU, which also does what the memory of "
        "that GPU does not suffice for, with a warning; cuda:all: every GPU; cuda:0,cuda:1 or "
        "cuda:0,1: these. Several share the segments of a long film, several files, and what is "
        "scored; all else is the first one's.",
    )  # fmt: skip
    threads: int | None = option(
        None, unset="one for each core of this process", least=1, most=1024, group=MACHINE,
        effect="machine",
        help="CPU threads, those of decoder and encoder too.",
    )  # fmt: skip
    max_pixels: int | None = option(
        None, unset="by the memory of this machine", least=1, group=MACHINE, effect="result",
        help="Refuse pictures and videos of more pixels.",
    )  # fmt: skip
    profile: bool = option(
        False, group=REPORT, effect="result",
        help="Time each stage; the result has the table, which the command writes to stderr.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", device_list(self.device))
        check_types(self)
        values.check_options(self, "max_pixels", "threads", most=MOST)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FileOptions(RunOptions):
    """Options of the jobs that make a file of a file."""

    video: VideoOptions = option(VideoOptions, group=VIDEO, media="video")
    """How a video is read and written."""
    quality: int | None = option(
        None, unset="JPEG 95, AVIF 90, WebP without loss, animated 90", least=1, most=100,
        group=IMAGES, effect="result",
        help="Of images that are coded with loss, and of animated WebP.",
    )  # fmt: skip
    strict: bool = option(
        False, group=FILES, effect="result",
        help="An error, before work starts, where something would be lost (streams, tags, a "
        "colour profile …), or nvenc replaced.",
    )  # fmt: skip
    segments: bool = option(
        True, group=FILES, effect="result",
        help="Whether a film of more than a minute, or of more work than half a minute, is made "
        "in segments beside the target (.mp4, .mov, .m4v, .mkv), in the folder "
        "film-4k.mkv.segments: after a kill the same call goes on with those that are finished. "
        "False: in one piece.",
        no="Make a long film in one piece, not in segments with which the same command goes on "
        "after a kill.",
    )  # fmt: skip
    keep_segments: bool = option(
        False, "Leave them there when the film is complete.", group=FILES, effect="result"
    )
    discard_segments: bool = option(
        False, "Remove those of an earlier run first.", group=FILES, effect="result"
    )
    workers: int | None = option(
        None, unset="1; of several GPUs one each", least=1, most=1024, group=FILES,
        effect="machine", single=False,
        help="Processes that share several files, and the segments of a long film, with the same "
        "results; they share the CPU's threads, and the GPUs that `device` names.",
    )  # fmt: skip
    cluster: str | None = option(
        None, metavar="ADDRESS", group=FILES, effect="machine", single=False,
        help="Work on a cluster of Ray (snellen[cluster]), whose tasks make the segments of a "
        "film, or several files: auto, HOST:PORT, ray://HOST:PORT; local: one of this machine, "
        "for this call.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        from snellen.jobs.options.cluster_connection import check_cluster

        RunOptions.__post_init__(self)
        values.check_options(self, "quality", "workers")
        check_cluster(self.cluster, self.workers)
        if self.keep_segments and not self.segments:
            raise InputError(
                "got `keep_segments`, but none are to be made", parameter="keep_segments"
            )


@dataclass(frozen=True, slots=True, repr=False)
class MadSettings(Brief):
    """Settings of MAD, as `snellen.Scorer` has them."""

    variant: str = option(
        "2011", choices=("2011", "paper"),
        help="The lightness of the authors' code of 2011, or of their article (paper).",
    )  # fmt: skip
    hi_scale: float = option(
        200.0, metavar="NUMBER",
        help="Factor of HI, any positive number: 200 as the code of 2011, 10 as ST-MAD, 1 as the "
        "code of April 2010.",
    )  # fmt: skip
    eight_bit_lut: bool = option(False, "White as the authors' table for 8 bits has it.")
    dtype: str | None = option(
        None, unset="float64 on the CPU, and on a GPU for small pictures",
        choices=("float32", "float64"), help="Precision of MAD.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        from snellen.mad.definition import Definition

        Definition(self.variant, self.hi_scale, self.eight_bit_lut)  # which checks them
        check_types(self)


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
    from snellen.gpu import device as devices

    return ",".join(devices.names(device))
