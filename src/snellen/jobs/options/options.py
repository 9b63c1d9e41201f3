"""Options that several jobs share: how files are read and written, and where work is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from snellen.errors import InputError
from snellen.frames import values
from snellen.frames.brief import Brief
from snellen.jobs.options.fields import MOST, check_types
from snellen.jobs.options.serial import Job
from snellen.schema import ENCODING, FILES, IMAGES, MACHINE, REPORT, VIDEO, option
from snellen.video.clip import DECODERS, MANY, Clip, rate
from snellen.video.sink.encoding import Encoding

File = str | Path
Time = float | str | Fraction
"""Seconds as a number, or as text: "90.5", "1:30.5"."""


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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, init=False, eq=False)
class RunOptions(Job):
    """Options of all jobs that read and write files; a base, of which there are no objects."""

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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, init=False, eq=False)
class FileOptions(RunOptions):
    """Options of the jobs that make a file of a file; likewise."""

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

    They are "auto", "cpu", "cuda", "cuda:N", or several of these, in a sequence or between commas.
    DeviceError: neither a str nor a sequence of them.
    """
    from snellen.gpu import device as devices

    return ",".join(devices.names(device))
