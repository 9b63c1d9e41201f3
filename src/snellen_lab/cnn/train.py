"""Training of one network on the images of a folder, which goes on where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from snellen.cnn.definition import SIZES
from snellen.cnn.model import TENSORS, Model
from snellen.cnn.training import NetworkReport, NetworkSettings
from snellen.cpu.threads import available
from snellen.errors import DeviceError, InputError
from snellen.frames.values import decimal
from snellen_lab.cnn.learner import Settings, Task
from snellen_lab.cnn.run import Run
from snellen_lab.sources.pack import Item, Pack, digest

Float32 = npt.NDArray[np.float32]

PACK = "images"  # what a checkpoint calls the pictures
CHUNK = {"cuda": 50, "cpu": 5}  # steps between two reports: a second at most


def train(
    images: Mapping[str, Float32], settings: NetworkSettings, *, checkpoint: Path,
    device: str = "auto", threads: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Model, NetworkReport]:  # fmt: skip
    """Learn a network.

    With the same images and settings, the same device gives the same network, whether the training
    was interrupted or not.

    Parameters
    ----------
    images : dict
        Name → (H, W) float32 luma in 0 … 1, as `planes` reads it from a folder.
    checkpoint : Path
        File that holds an interrupted training, and is gone on from. It is left to the caller.
    device : str
        "cpu", "cuda", "cuda:N", or "auto": a GPU if PyTorch finds one.
    threads : int or None
        CPU threads; None: one for each core of this process.
    progress : callable
        Gets the steps that are done, and all. If it raises, the checkpoint is written first.

    Raises
    ------
    InputError
        No image is large enough, none is left to learn from, or the checkpoint is of another
        training.
    DeviceError
        PyTorch finds no such device, or it fails.
    """
    begun, chosen = monotonic(), _device(device)
    pack = _pack(images, settings.hold_out)
    layers, channels = SIZES[settings.network]
    task = Task(settings.network, PACK, settings.scale, layers, channels)
    learning = Settings(
        seed=settings.seed, batch=settings.batch, patch=settings.patch,
        precision=_precision(chosen), chunk=CHUNK[chosen.type],
    )  # fmt: skip
    first = 0

    def report(event: dict[str, Any]) -> None:
        nonlocal first
        if event["event"] == "continued":
            first = event["step"]
        if event["event"] in {"steps", "progress"}:
            progress(event["step"], event["steps"])

    with _threads(threads), _failures(chosen):
        run = Run([task], learning, checkpoint, chosen, report, {PACK: pack})
        run.train(steps=settings.steps, seconds=None)
        (model,) = run.models({"training": "snellen train"}).values()
    learnt = sum(not item.held_out for item in pack.items)
    count = sum(int(getattr(model, name).size) for name in TENSORS)
    psnr = {
        entry["step"]: entry["psnr"][task.name]["all"] for entry in run.history if entry["psnr"]
    }
    told = NetworkReport(
        learnt, count, run.steps, first, model.about["device"], psnr, monotonic() - begun
    )
    return model, told


def _pack(images: Mapping[str, Float32], hold_out: int) -> Pack:
    """Return the images as codes; held out are such as lie evenly in their order."""
    if hold_out >= len(images):
        raise InputError(
            f"got `hold_out`={hold_out}; expected less than the {len(images)} images",
            parameter="hold_out",
        )
    held = {(2 * k + 1) * len(images) // (2 * hold_out) for k in range(hold_out)}
    items = tuple(
        Item(name, np.rint(plane * 255).astype(np.uint8), {}, number in held, "held out")
        for number, (name, plane) in enumerate(images.items())
    )
    return Pack(items, {"source": "clean"}, digest(items))


def _device(name: str) -> torch.device:
    """Return the device that is meant, which works."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return torch.device("cpu")
    kind, _, number = name.partition(":")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    ordinal = decimal(number or "0")
    if kind != "cuda" or ordinal is None:
        raise InputError(
            f'got `device`={name!r}; expected "auto", "cpu", "cuda" or "cuda:N"',
            parameter="device",
        )
    if ordinal >= count:
        raise DeviceError(
            f"PyTorch finds {count} GPUs; got `device`={name!r}", parameter="device",
            advice="use `device`=cpu, or install PyTorch for this machine's CUDA",
        )  # fmt: skip
    return torch.device("cuda", int(number or 0))


def _precision(device: torch.device) -> str:
    """Return the arithmetic that is fast on a device and exact enough."""
    if device.type == "cpu":
        return "float32"
    return "bf16" if torch.cuda.get_device_capability(device) >= (8, 0) else "fp16"


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count or available())
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _failures(device: torch.device) -> Iterator[None]:
    """Raise what PyTorch says of a GPU as DeviceError."""
    try:
        yield
    except RuntimeError as error:
        if device.type == "cpu":
            raise
        raise DeviceError(
            f"PyTorch failed on {device}: {error}", advice="take a smaller `batch` or `patch`"
        ) from error
