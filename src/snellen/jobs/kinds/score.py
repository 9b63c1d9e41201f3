"""The job that scores videos, images or folders of images by MAD, and its result."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, SnellenError
from snellen.frames import values
from snellen.frames.brief import Brief
from snellen.frames.values import check_options
from snellen.jobs.inputs.inputs import PIPE
from snellen.jobs.options.methods import MadSettings
from snellen.jobs.options.options import RunOptions, decoder_option, optional_path, path
from snellen.metrics import registry
from snellen.metrics.registry import MAD
from snellen.metrics.vmaf_models import AUTO, NAMES
from snellen.schema import COMPARED, FILES, MACHINE, VIDEO, named, option, parameters
from snellen.video.clip import Clip

if TYPE_CHECKING:
    from snellen.jobs.kinds.score_step import Method
    from snellen.jobs.options.profile import Profile
    from snellen.jobs.steps.score_table import ScoreTable
    from snellen.mad.temporal import TemporalScore
    from snellen.video.comparing.compare import Summary
else:
    # For `typing.get_type_hints`; the modules of these types take long to import.
    Method = Profile = ScoreTable = Summary = TemporalScore = Any

FILM, FOLDER, IMAGE = "a video", "a folder", "an image"
MANY = ("every", "frames")
"""Parameters for videos and folders."""
SHORTEST = 34
"""Frames of ST-MAD at least: its slices through time are scored as pictures are."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScoreOptions(RunOptions):
    """Options of what is scored, and by which metrics."""

    metrics: tuple[str, ...] = option(
        (MAD,), accepts="str | Sequence[str]", metavar="LIST",
        help=f"Some of {','.join(registry.known())}, with commas, of luma but "
        f"{','.join(one.name for one in registry.of_colours(registry.METRICS))}, and of videos "
        f"{','.join(one.name for one in registry.of_films(registry.METRICS))}, where the FFmpeg in "
        "PyAV has them (vmaf: 19, for Python 3.12 or later).",
    )  # fmt: skip
    vmaf_model: str = option(
        AUTO, choices=NAMES, metavar="NAME", media="video",
        help="VMAF's model: auto (v0.6.1, from 2560×1440 pixels on 4k), neg (no gain by "
        "enhancement), phone, or one of version 1, which scores otherwise and looks at chroma.",
    )  # fmt: skip
    mad: MadSettings = option(MadSettings)
    """The settings of MAD."""
    data_range: float | None = option(
        None, unset="1", metavar="NUMBER", group=COMPARED,
        help="The value of white of float images, and samples far beyond it are refused; that of "
        "others goes by their bits.",
    )  # fmt: skip
    align: bool = option(
        False, group=COMPARED, media="video",
        help="Find the offset of each video, up to 300 frames either way, from what both show.",
    )  # fmt: skip
    every: int = option(
        1, least=1, group=COMPARED,
        help="Score the first frame that has a partner, then every so many; of folders, of the "
        "images.",
    )  # fmt: skip
    clip: Clip = option(Clip, group=VIDEO, media="video", without=("map",))
    """Part of the reference; `frames`: at most so many pairs, of images too."""
    decoder: str = decoder_option(group=VIDEO, media="video", effect="machine")

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", registry.chosen(self.metrics, films=True))
        RunOptions.__post_init__(self)
        check_options(self, "every", "decoder", "vmaf_model")
        if self.data_range is not None:
            from snellen.frames.white import stated

            object.__setattr__(self, "data_range", stated(self.data_range))

    @property
    def models(self) -> dict[str, str]:
        """The values of parameters that name models of metrics."""
        return {"vmaf_model": self.vmaf_model}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScoreJob(ScoreOptions):
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
    resize: bool = option(
        False, group=COMPARED,
        help="Scale what is scored to the size of the reference (Lanczos); else a difference of "
        "size is an error.",
    )  # fmt: skip
    offset: int = option(
        0, group=COMPARED, media="video",
        help="Frames by which the video that is scored lags behind the reference; negative: by "
        "which it is ahead.",
    )  # fmt: skip
    temporal: bool = option(
        False, media="video",
        help="ST-MAD too: of its own scale, for 34 frames or more with motion, all kept in memory.",
    )  # fmt: skip
    table: Path | None = option(
        None, accepts="File | None", flag="--csv", writes=True, group=FILES,
        help="CSV file with a row for each frame, or each pair.",
    )  # fmt: skip
    maps: Path | None = option(
        None, accepts="File | None", flag="--map-out", writes=True, group=FILES,
        help="Folder for heat maps of the worst frames, as PNG with an index in JSON; of a list of "
        "pairs one in it for each pair.",
    )  # fmt: skip
    worst: int = option(
        1, least=1, group=FILES,
        help="So many frames are named, and drawn as `maps`: of the highest MAD, or without it by "
        "the first other metric.",
    )  # fmt: skip
    workers: int | None = option(
        None, unset="1; for lists and folders one for each of several GPUs", least=1, most=1024,
        group=MACHINE, effect="machine",
        help="Processes that share the pairs of a list or of folders, or the frames of two "
        "videos, with the same results; not where standard input, ST-MAD, VMAF, `frames` with "
        "`start` or an unknown number of frames ask for one process.",
    )  # fmt: skip
    cluster: str | None = option(
        None, metavar="ADDRESS", group=MACHINE, effect="machine",
        help="Work on a cluster of Ray (snellen[cluster]), whose nodes all see the files under the "
        "same names: auto, HOST:PORT, ray://HOST:PORT; local: one of this machine.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        from snellen.jobs.options.cluster_connection import check_cluster

        object.__setattr__(self, "reference", path(self.reference, "reference"))
        object.__setattr__(self, "distorted", path(self.distorted, "distorted"))
        object.__setattr__(self, "table", optional_path(self.table, "table"))
        object.__setattr__(self, "maps", optional_path(self.maps, "maps"))
        ScoreOptions.__post_init__(self)
        check_options(self, "workers")
        check_cluster(self.cluster, self.workers)
        check_options(self, "worst")
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
            self.metrics,
            {
                **given, "temporal": self.temporal, "maps": self.maps,
                "vmaf_model": self.vmaf_model != AUTO,
            },
        )  # fmt: skip
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
        from snellen.files.kinds import are_images, names_unread

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
        from snellen.jobs.kinds import score_outputs

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
        known = parameters(ScoreJob)
        for name in named(self) if kind != FILM else ():
            many = name in MANY
            if (kind == FOLDER and many) or not (many or known[name].about.media):
                continue
            also = " and folders" if many else ""
            raise InputError(f"got `{name}` with {kind}; it is for videos{also}", parameter=name)
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
    """True: `align` could tell the offset; None: it was not asked for."""
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
            from snellen.files.opening import missing

            raise missing(one, "file or folder")
