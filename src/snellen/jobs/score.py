"""The job that scores videos, images or folders of images by MAD, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.errors import InputError, SnellenError
from snellen.files.kinds import are_images, names_unread
from snellen.files.opening import missing
from snellen.frames import values
from snellen.frames.brief import Brief
from snellen.frames.white import stated
from snellen.jobs import score_outputs
from snellen.jobs.cluster_connection import check_cluster
from snellen.jobs.fields import check_types
from snellen.jobs.inputs import PIPE
from snellen.jobs.options import (
    MadSettings,
    check_decoder,
    check_optional,
    check_positive,
    check_threads,
    check_workers,
    device_list,
    optional_path,
    path,
)
from snellen.jobs.profile import Profile
from snellen.jobs.score_table import ScoreTable
from snellen.jobs.serial import Job
from snellen.metrics import registry
from snellen.video.clip import Clip

if TYPE_CHECKING:
    from snellen.jobs.score_step import Method
    from snellen.mad.temporal import TemporalScore
    from snellen.video.compare import Summary

FILM, FOLDER, IMAGE = "a video", "a folder", "an image"
FILM_ONLY = ("offset", "align", "start", "duration", "deinterlace", "interlaced", "ivtc", "decoder",
             "temporal")  # fmt: skip
MANY_ONLY = ("every", "frames")
SHORTEST = 34
"""Frames of ST-MAD at least: its slices through time are scored as pictures are."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScoreJob(Job):
    """Score how far one video, image or folder of images is from another by MAD.

    A value: it can be pickled, or written as JSON, and run in another process.

    Raises
    ------
    InputError
        Values that do not exist, or do not go together; `error.parameter` names one.
    """

    reference: Path
    """The original: a video ("-": y4m on standard input), an image, or a folder of images."""
    distorted: Path
    """The copy that is scored, of the same kind. Images of two folders meet by name without the
    suffix."""
    mad: MadSettings = field(default_factory=MadSettings)
    """The settings of MAD."""
    metrics: tuple[str, ...] = ("mad",)
    """Some of "mad", "psnr" and "ssim", and of films "vmaf", where FFmpeg has it."""
    data_range: float | None = None
    """Sample value of white of float images; None: 1. That of others goes by their bits."""
    resize: bool = False
    """Whether what is scored is scaled to the reference's size (Lanczos); else a difference of
    size is an error."""
    offset: int = 0
    """Frames by which the distorted video lags behind; negative: by which it is ahead."""
    align: bool = False
    """True: the offset is found from what both videos show, up to 300 frames either way."""
    every: int = 1
    """The first frame that has a partner is scored, then every so many."""
    clip: Clip = field(default_factory=Clip)
    """Part of the reference; `frames`: at most so many pairs, of images too."""
    temporal: bool = False
    """Whether ST-MAD is computed too: of 34 frames or more, which all are kept in memory."""
    table: Path | None = None
    """CSV file with a row for each frame; None: none."""
    maps: Path | None = None
    """Folder for heat maps of the worst frames, as PNG; None: none."""
    worst: int = 1
    """So many frames of the highest MAD get maps."""
    overwrite: bool = False
    """Whether existing outputs are replaced."""
    max_pixels: int | None = None
    """Most pixels of a picture that is read; None: by the memory of the machine."""
    threads: int | None = None
    """CPU threads; None: one for each core of this process."""
    device: str = "auto"
    """"auto", "cpu", "cuda", "cuda:N", or several GPUs, "cuda:0,cuda:1" or "cuda:all". One process
    has them share the frames of two videos, and of two images the work; of two folders a worker
    for each shares the pairs."""
    workers: int | None = None
    """Processes that share the pairs of two folders, or the frames of two videos; None: one, or of
    folders one for each of several GPUs. Two images have one."""
    cluster: str | None = None
    """The cluster of Ray that scores these instead; None: this machine. All nodes see the files
    under the same names."""
    decoder: str = "auto"
    """"auto", "cpu" or "nvdec"."""
    profile: bool = False
    """True: the result has a `profile`, the time of each stage."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", path(self.reference, "reference"))
        object.__setattr__(self, "distorted", path(self.distorted, "distorted"))
        object.__setattr__(self, "table", optional_path(self.table, "table"))
        object.__setattr__(self, "maps", optional_path(self.maps, "maps"))
        object.__setattr__(self, "device", device_list(self.device))
        object.__setattr__(self, "metrics", registry.chosen(self.metrics, films=True))
        check_types(self)
        check_optional(self.max_pixels, "max_pixels")
        check_threads(self.threads)
        check_workers(self.workers)
        check_cluster(self.cluster, self.workers)
        check_positive(self.every, "every")
        check_positive(self.worst, "worst")
        check_decoder(self.decoder)
        if self.data_range is not None:
            object.__setattr__(self, "data_range", stated(self.data_range))
        values.whole("offset", self.offset, -values.MOST)
        if self.reference == self.distorted == PIPE:
            raise InputError(
                "standard input can be one of the two, not both", parameter="distorted"
            )
        if self.align and self.offset:
            raise InputError(
                f"got `align` with `offset`={self.offset}, which it would find", parameter="align"
            )
        if self.align and PIPE in (self.reference, self.distorted):
            raise InputError(
                "`align` reads the beginning of both videos twice; standard input can be read once",
                parameter="align",
            )
        if self.table == PIPE:
            raise InputError(
                "a table cannot go to standard output; name a file as `table`", parameter="table"
            )
        given = {one.name: getattr(self.mad, one.name) != one.default for one in fields(self.mad)}
        registry.check_options(
            self.metrics, {**given, "temporal": self.temporal, "maps": self.maps}
        )
        if self.temporal and self.every > 1:
            raise InputError("`temporal` needs all frames; leave `every` out", parameter="temporal")
        if self.temporal and (self.clip.frames or SHORTEST) < SHORTEST:
            raise InputError(
                f"`temporal` needs {SHORTEST} frames or more, not {self.clip.frames}",
                parameter="temporal",
            )

    def kind(self) -> str:
        """Return what both inputs are: "a video", "a folder" or "an image".

        Raises
        ------
        InputError
            One of them does not exist, or is of another kind than the other.
        """
        both = self.reference, self.distorted
        _check_there(both)
        kinds = [
            FOLDER if one.is_dir() else IMAGE if image else FILM
            for one, image in zip(both, are_images(*both), strict=True)
        ]
        for one, kind, other in zip(both, kinds, reversed(kinds), strict=True):
            if kind == FILM and other == IMAGE and names_unread(one):
                raise InputError(
                    f"{one}: images of this type are not read; convert it to .png first"
                )
        if kinds[0] != kinds[1]:
            raise InputError(
                f"{both[0]} is {kinds[0]}, {both[1]} is {kinds[1]}; expected two videos, two "
                "images, or two folders of images"
            )
        return kinds[0]

    def check(self) -> str:
        """Return what both inputs are; refuse outputs and options that do not suit them.

        Nothing is written.

        Raises
        ------
        InputError
            As `kind`; an option for other inputs; an output that must not be written; VMAF of
            images, or where FFmpeg lacks it.
        """
        kind = self.kind()
        self.check_metrics()
        for metric in registry.of_films(self.metrics) if kind != FILM else ():
            raise InputError(
                f"got `metrics`={','.join(self.metrics)} with {kind}; {metric.name} is for videos",
                parameter="metrics",
            )
        if kind == FILM and self.data_range is not None:
            raise InputError(
                f"got `data_range` with {kind}; it is for float images", parameter="data_range"
            )
        for name in {FILM: (), FOLDER: FILM_ONLY, IMAGE: FILM_ONLY + MANY_ONLY}[kind]:
            if self._is_set(name):
                also = " and folders" if name in MANY_ONLY else ""
                raise InputError(
                    f"got `{name}` with {kind}; it is for videos{also}", parameter=name
                )
        try:
            score_outputs.check(
                (self.reference, self.distorted), self.table, self.maps, self.overwrite
            )
        except SnellenError:
            raise
        except OSError as error:  # a folder that may not be read
            raise InputError(f"{error.filename}: {error.strerror or error}") from error
        return kind

    def check_metrics(self) -> None:
        """Refuse (InputError) metrics of films that cannot be computed here, as VMAF."""
        for metric in registry.of_films(self.metrics):
            if not metric.module.is_there():
                raise metric.module.refused()

    def _is_set(self, name: str) -> bool:
        """Return whether a parameter differs from its default."""
        if name in ("start", "duration", "frames"):
            return getattr(self.clip, name) is not None
        plain = {"offset": 0, "align": False, "every": 1, "decoder": "auto", "temporal": False}
        if name in plain:
            return bool(getattr(self, name) != plain[name])
        return bool(getattr(self.clip, name) != getattr(Clip(), name))


@dataclass(frozen=True, slots=True, repr=False)
class ScoreResult(Brief):
    """The result of a ScoreJob."""

    reference: Path
    """The job's original."""
    distorted: Path
    """The copy that was scored."""
    kind: str
    """The kind of both: "a video", "a folder" (of images) or "an image"."""
    table: ScoreTable
    """The score of every frame or image; `table.pooled()` has the statistics."""
    method: Method
    """The settings of MAD, and the device that scored."""
    seconds: float
    """The duration of the work."""
    summary: Summary | None = None
    """Frames and sizes of videos, what differs, what was damaged; None: images."""
    temporal: TemporalScore | None = None
    """ST-MAD, where the job asks for it and `error` does not say why there is none."""
    maps: Path | None = None
    """Folder of the heat maps; None: none were asked for."""
    offset: int = 0
    """Frames by which the distorted video lags behind, as the job says or `align` has found."""
    aligned: bool | None = None
    """Whether `align` could tell the offset; None: it was not asked for."""
    warnings: tuple[str, ...] = ()
    """Differences between the inputs, and what does not count."""
    error: SnellenError | None = None
    """IncompleteError where an input was damaged; OutputError where table or maps could not be
    written; InputError where the videos are too short for ST-MAD."""
    profile: Profile | None = None
    """Time of each stage, where the job asks for it."""

    def _repr_html_(self) -> str:
        """Return what was scored, and the table of scores, for notebooks."""
        return Brief._repr_html_(self) + self.table._repr_html_()


def _check_there(paths: tuple[Path, ...]) -> None:
    for one in paths:
        try:
            there = one == PIPE or one.exists()
        except OSError as error:
            raise InputError(f"{one}: {error.strerror or error}") from error
        if not there:
            raise missing(one, "file or folder")
