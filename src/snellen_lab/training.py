"""Runs a TrainJob: reads its images, learns, measures and writes the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.training import Report, Settings
from snellen.cnn.training import NetworkReport, NetworkSettings
from snellen.errors import InputError
from snellen.files import atomic
from snellen.jobs.events import Events, Progress
from snellen.jobs.kinds.train import TrainJob, TrainResult, mean
from snellen.jobs.runs.stills import damaged
from snellen_lab.protocol import EVALUATED, planes, psnr_table, require

if TYPE_CHECKING:
    from snellen.aplus.model import Model
    from snellen.cnn.model import Model as Network
    from snellen.frames.frame import Format
    from snellen_lab.protocol import Luma

Images = Mapping[str, npt.NDArray[np.float32]]
Learnt = tuple["Model | Network", Report | NetworkReport, "Callable[[Format, Format], Luma]"]
"""A model, what its training met, and what enlarges luma by it."""

SHARES = 1000
"""Progress counts so many steps in each stage."""


def run(job: TrainJob, events: Events) -> TrainResult:
    """Learn a model and write it.

    Raises
    ------
    InputError, OutputError
        Nothing is left under the target's name.
    """
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
    from snellen_lab.aplus.train import train

    settings, subject = job.settings, folder_name(job.images)
    assert isinstance(settings, Settings)

    def progress(stage: str, done: float) -> None:
        events.progress(Progress(subject, round(SHARES * done), SHARES, 0.0, None, "share", stage))

    model, report = train(images, settings, threads=job.threads, progress=progress)
    return model, report, partial(Luma, model)


def _network(job: TrainJob, images: Images, events: Events) -> Learnt:
    """Learn a compact network."""
    from snellen.cnn.cpu import Luma
    from snellen_lab.cnn.train import train

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
