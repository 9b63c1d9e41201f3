"""The job that trains an A+ model on a folder of images, and its result."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.aplus.training import train as training
from snellen.aplus.training.evaluation import psnr_table
from snellen.errors import InputError, SnellenError
from snellen.frames import atomic
from snellen.frames.brief import Brief
from snellen.frames.protocol import EVALUATED, planes, require
from snellen.jobs.events import Events, Progress
from snellen.jobs.fields import check_types
from snellen.jobs.options import check_optional, check_threads, path, paths
from snellen.jobs.serial import Job
from snellen.jobs.stills import damaged

if TYPE_CHECKING:
    from snellen.aplus.model import Model

SHARES = 1000
"""Progress counts so many steps in each stage."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TrainJob(Job):
    """Learn an A+ model from a folder of images.

    A value: it can be pickled, or written as JSON, and run in another process.

    Raises
    ------
    InputError
        Values that do not exist, or do not go together.
    """

    images: Path
    """Folder of training images."""
    target: Path
    """File for the model: .safetensors."""
    settings: training.Settings = field(default_factory=lambda: training.Settings(2))
    """Magnification, and how to learn."""
    validate: tuple[Path, ...] = ()
    """Folders of images on which the finished model is measured."""
    notes: Mapping[str, str] = field(default_factory=dict, hash=False)
    """For the model's header, such as a licence."""
    command: str = ""
    """For the model's header: the command that learns it; empty: no entry."""
    threads: int | None = None
    """CPU threads; None: one for each core of this process."""
    overwrite: bool = False
    """Whether a file called `target` is replaced."""
    max_pixels: int | None = None
    """Most pixels of a picture that is read; None: by the memory of the machine."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "images", path(self.images, "images"))
        object.__setattr__(self, "target", path(self.target, "target"))
        object.__setattr__(self, "validate", paths(self.validate, "validate"))
        check_types(self)
        check_optional(self.max_pixels, "max_pixels")
        object.__setattr__(self, "notes", dict(self.notes))
        check_threads(self.threads)
        if self.target.suffix != ".safetensors":
            raise InputError(
                f"{self.target}: a model file ends in .safetensors", parameter="target"
            )


@dataclass(frozen=True, slots=True, repr=False)
class TrainResult(Brief):
    """What a TrainJob made."""

    images: Path
    """The job's folder."""
    target: Path
    """The file that was written."""
    model: Model = field(repr=False, compare=False)
    """What it holds."""
    report: training.Report
    """What training met on its way."""
    validation: Mapping[str, Mapping[str, float]]
    """PSNR in dB of each image of each folder of `validate`, by names."""
    error: SnellenError | None = None
    """IncompleteError where images were damaged; the model is learnt from what could be decoded."""


def run_train(job: TrainJob, events: Events) -> TrainResult:
    """Learn a model and write it.

    Raises
    ------
    InputError, OutputError
        Nothing is left under the target's name.
    """
    settings = job.settings
    atomic.check_target(job.target, None, job.overwrite)
    broken: dict[Path, tuple[str, ...]] = {}
    validation = {folder_name(folder): planes(folder, broken) for folder in job.validate}
    for name, found in validation.items():
        require(found, EVALUATED * settings.scale, f"validation at ×{settings.scale} on {name}")
    subject = folder_name(job.images)

    def progress(stage: str, done: float) -> None:
        events.progress(Progress(subject, round(SHARES * done), SHARES, 0.0, None, "share", stage))

    model, report = training.train(
        planes(job.images, broken), settings, threads=job.threads, progress=progress
    )
    tables = {name: psnr_table(found, model) for name, found in validation.items()}
    model = _described(model, job, tables)
    model.save(job.target, job.overwrite)
    error = damaged(broken.items(), f"what could be decoded is learnt in {job.target}")
    return TrainResult(job.images, job.target, model, report, tables, error)


def folder_name(folder: Path) -> str:
    """Return a folder's name without its path."""
    return Path(os.path.realpath(folder)).name


def mean(table: Mapping[str, float]) -> float:
    """Return the mean of a table of PSNR."""
    return sum(table.values()) / len(table)


def _described(model: Model, job: TrainJob, tables: Mapping[str, Mapping[str, float]]) -> Model:
    """Return the model with its data, command, date and PSNR in `about`."""
    about: dict[str, Any] = {
        **job.notes,
        **model.about,
        "data": folder_name(job.images),
        **({"command": job.command} if job.command else {}),
        "date": datetime.now(UTC).date().isoformat(),
    }
    for name, table in tables.items():
        about[f"psnr_{name}"] = f"{mean(table):.4f}"
        about[f"psnr_{name}_images"] = ", ".join(f"{k}: {v:.4f}" for k, v in table.items())
    return replace(model, about=about)
