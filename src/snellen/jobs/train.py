"""The job that trains a model on a folder of images, and its result."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.training.settings import Report, Settings
from snellen.cnn.training.settings import NetworkReport, NetworkSettings
from snellen.errors import InputError, SnellenError, quoted
from snellen.files import atomic
from snellen.frames.brief import Brief
from snellen.jobs.events import Events, Progress
from snellen.jobs.fields import check_types
from snellen.jobs.options import check_optional, check_threads, path, paths
from snellen.jobs.serial import Job

if TYPE_CHECKING:
    from snellen.aplus.model import Model
    from snellen.cnn.model import Model as Network
    from snellen.frames.frame import Format
    from snellen.stills.evaluation import Luma

Images = Mapping[str, npt.NDArray[np.float32]]
Learnt = tuple["Model | Network", Report | NetworkReport, "Callable[[Format, Format], Luma]"]
"""A model, what its training met, and what enlarges luma by it."""

SHARES = 1000
"""Progress counts so many steps in each stage."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TrainJob(Job):
    """Learn a model of A+, or a compact network, from a folder of images.

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
    settings: Settings | NetworkSettings = field(default_factory=lambda: Settings(2))
    """Magnification, and how to learn: Settings of A+, or NetworkSettings."""
    validate: tuple[Path, ...] = ()
    """Folders of images on which the finished model is measured."""
    notes: Mapping[str, str] = field(default_factory=dict, hash=False)
    """For the model's header, such as a licence."""
    command: str = ""
    """For the model's header: the command that learns it; empty: no entry."""
    threads: int | None = None
    """CPU threads; None: one for each core of this process."""
    device: str = "auto"
    """Where a network is trained: "cpu", "cuda", "cuda:N", or "auto": a GPU if PyTorch finds one.
    A+ is learnt on the CPU."""
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
        if not self.is_network and self.device not in {"auto", "cpu"}:
            raise InputError(
                f"got `device`={quoted(self.device)}; A+ is learnt on the CPU", parameter="device"
            )
        if self.target.suffix != ".safetensors":
            raise InputError(
                f"{self.target}: a model file ends in .safetensors", parameter="target"
            )

    @property
    def is_network(self) -> bool:
        """Whether a compact network is trained."""
        return isinstance(self.settings, NetworkSettings)

    @property
    def checkpoint(self) -> Path:
        """File beside the target in which an interrupted training of a network is kept."""
        return self.target.with_suffix(".checkpoint")


@dataclass(frozen=True, slots=True, repr=False)
class TrainResult(Brief):
    """What a TrainJob made."""

    images: Path
    """The job's folder."""
    target: Path
    """The file that was written."""
    model: Model | Network = field(repr=False, compare=False)
    """What it holds."""
    report: Report | NetworkReport
    """What training met on its way: a NetworkReport for a network."""
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
    # Not for every job: this module is imported for all of them.
    from snellen.jobs.stills import damaged
    from snellen.stills.evaluation import psnr_table
    from snellen.stills.protocol import EVALUATED, planes, require

    if job.is_network:
        _require_torch()
    learn = _network if job.is_network else _regressors
    atomic.check_target(job.target, None, job.overwrite)
    broken: dict[Path, tuple[str, ...]] = {}
    validation = {folder_name(folder): planes(folder, broken) for folder in job.validate}
    scale = job.settings.scale
    for name, found in validation.items():
        require(found, EVALUATED * scale, f"validation at ×{scale} on {name}")
    model, report, measured = learn(job, planes(job.images, broken), events)
    tables = {name: psnr_table(found, scale, measured) for name, found in validation.items()}
    model = _described(model, job, tables)
    model.save(job.target, job.overwrite)
    if job.is_network:
        with suppress(OSError):  # the model is written: what is left does no harm
            job.checkpoint.unlink()
    error = damaged(broken.items(), f"what could be decoded is learnt in {job.target}")
    return TrainResult(job.images, job.target, model, report, tables, error)


def _regressors(job: TrainJob, images: Images, events: Events) -> Learnt:
    """Learn a model of A+."""
    from snellen.aplus.cpu import Luma
    from snellen.aplus.training.train import train

    settings, subject = job.settings, folder_name(job.images)
    assert isinstance(settings, Settings)

    def progress(stage: str, done: float) -> None:
        events.progress(Progress(subject, round(SHARES * done), SHARES, 0.0, None, "share", stage))

    model, report = train(images, settings, threads=job.threads, progress=progress)
    return model, report, partial(Luma, model)


def _network(job: TrainJob, images: Images, events: Events) -> Learnt:
    """Learn a compact network."""
    from snellen.cnn.cpu import Luma
    from snellen.cnn.training.train import train

    settings, subject = job.settings, folder_name(job.images)
    assert isinstance(settings, NetworkSettings)
    begun: list[tuple[int, float]] = []

    def progress(done: int, total: int) -> None:
        begun.append((done, monotonic()))
        steps, seconds = done - begun[0][0], begun[-1][1] - begun[0][1]
        rate = steps / seconds if steps else 0.0
        eta = (total - done) / rate if rate else None
        events.progress(Progress(subject, done, total, rate, eta, "step", "training"))

    model, report = train(
        images, settings, checkpoint=job.checkpoint, device=job.device, threads=job.threads,
        progress=progress,
    )  # fmt: skip
    return model, report, partial(Luma, model)


def _require_torch() -> None:
    """Refuse (InputError) to train a network where PyTorch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"a network is trained by PyTorch, which cannot be imported: {error}",
            advice='run: pip install "snellen[train]"',
        ) from error


def folder_name(folder: Path) -> str:
    """Return a folder's name without its path."""
    return Path(os.path.realpath(folder)).name


def mean(table: Mapping[str, float]) -> float:
    """Return the mean of a table of PSNR."""
    return sum(table.values()) / len(table)


def _described(model: Any, job: TrainJob, tables: Mapping[str, Mapping[str, float]]) -> Any:
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
