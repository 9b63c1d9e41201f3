"""The job that trains a model on a folder of images, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.aplus.training import Report, Settings
from snellen.cnn.training import NetworkReport, NetworkSettings
from snellen.errors import InputError, SnellenError, quoted
from snellen.frames.brief import Brief
from snellen.frames.values import check_options, checked
from snellen.jobs import lab
from snellen.jobs.events import Events
from snellen.jobs.options.fields import MOST, check_types
from snellen.jobs.options.options import RunOptions, path, paths
from snellen.jobs.options.serial import Job
from snellen.schema import option

if TYPE_CHECKING:
    from snellen.aplus.model import Model
    from snellen.cnn.model import Model as Network
else:
    # For `typing.get_type_hints`; the modules of these types take long to import.
    Model = Network = Any


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
    validate: tuple[Path, ...] = option(
        (), "Folder of images to measure the finished model on.", reads=True
    )
    notes: Mapping[str, str] = option(
        dict, "A note for the model's header, such as a licence.", flag="--about",
        metavar="KEY=VALUE",
    )  # fmt: skip
    command: str = ""
    """For the model's header: the command that learns it; empty: no entry."""
    threads: int | None = option(
        None, "CPU threads.", unset="one for each core", least=1, most=1024
    )
    device: str = option(
        "auto", "Where a network is trained: auto, cpu, cuda or cuda:N.", metavar="DEVICE",
        more="auto is a GPU if PyTorch finds one. A+ is learnt on the CPU.",
    )  # fmt: skip
    overwrite: bool = False
    """True: a file called `target` is replaced."""
    max_pixels: int | None = None
    """Most pixels of a picture that is read; None: by the memory of the machine."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "images", path(self.images, "images"))
        object.__setattr__(self, "target", path(self.target, "target"))
        object.__setattr__(self, "validate", paths(self.validate, "validate"))
        check_types(self)
        checked(RunOptions, "max_pixels", self.max_pixels, MOST)
        object.__setattr__(self, "notes", dict(self.notes))
        check_options(self, "threads")
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
        """Return whether a compact network is trained."""
        return isinstance(self.settings, NetworkSettings)

    @property
    def checkpoint(self) -> Path:
        """File beside the target in which an interrupted training of a network is kept."""
        return self.target.with_suffix(".checkpoint")


@dataclass(frozen=True, slots=True, repr=False)
class TrainResult(Brief):
    """The result of a TrainJob."""

    images: Path
    """The job's folder."""
    target: Path
    """The file that was written."""
    model: Model | Network = field(repr=False, compare=False)
    """The model that it holds."""
    report: Report | NetworkReport
    """Training's report on its way: a NetworkReport for a network."""
    validation: Mapping[str, Mapping[str, float]]
    """PSNR in dB of each image of each folder of `validate`, by names."""
    error: SnellenError | None = None
    """IncompleteError where images were damaged; the model is learnt from what could be decoded."""


def run_train(job: TrainJob, events: Events) -> TrainResult:
    """Learn a model and write it.

    Raises
    ------
    InputError, OutputError
        Nothing is left under the target's name; or the package snellen-lab is not installed.
    """
    result: TrainResult = lab.module("training", "training").run(job, events)
    return result


def mean(table: Mapping[str, float]) -> float:
    """Return the mean of a table of PSNR."""
    return sum(table.values()) / len(table)
