"""A run: several networks side by side on one device, for a time or a number of steps."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch

from snellen._version import __version__
from snellen.cnn.definition import radius
from snellen.cnn.model import Model
from snellen.errors import InputError
from snellen.files import atomic
from snellen.files.opening import contents
from snellen_lab.cnn.beginning import beginning
from snellen_lab.cnn.data import Pair, Patches, pairs, validation
from snellen_lab.cnn.learner import TYPES, Learner, Settings, Task
from snellen_lab.cnn.level import levelled
from snellen_lab.cnn.network import Network
from snellen_lab.sources.pack import Pack, read

RESERVE = 20.0  # seconds of a limited time for validation and files at its end
KEEP = 60.0  # seconds between checkpoints
LOOKS = 8  # validations before the last
_MOST_BYTES = 1 << 28  # of a checkpoint; ours have less than 2 MB a network
Report = Callable[[dict[str, Any]], None]


class Run:
    """Networks that are trained in step.

    Parameters
    ----------
    tasks : sequence of Task
    checkpoint : Path
        File of the checkpoint. One of the same tasks and settings is continued.
    report : callable
        Gets a dict for each event: data, steps, progress, PSNR.
    packs : mapping, optional
        The packs of the tasks, by their names; None: they are files.

    Raises
    ------
    InputError
        A pack cannot be read or has no picture that is large enough; the file at `checkpoint` is
        none, or of other tasks, settings or data.
    """

    def __init__(
        self, tasks: Sequence[Task], settings: Settings, checkpoint: Path, device: torch.device,
        report: Report, packs: Mapping[str, Pack] | None = None,
    ) -> None:  # fmt: skip
        if settings.precision not in (*TYPES, "tf32", "float32"):
            raise InputError(
                f"got precision {settings.precision!r}; expected bf16, fp16, tf32, float32"
            )
        self.tasks, self.settings, self.checkpoint = tasks, settings, checkpoint
        self.device, self._report, self._begun = device, report, time.monotonic()
        self.packs = packs or {task.pack: read(Path(task.pack)) for task in tasks}
        self._held: dict[tuple[str, int], list[Pair]] = {}
        patches: dict[tuple[str, int, int], Patches] = {}
        self.learners = []
        for task in tasks:
            key, reach = (task.pack, task.scale), radius(task.layers)
            if (*key, reach) not in patches:
                items = self.packs[task.pack].items
                learnt = [item for item in items if not item.held_out]
                found = pairs(learnt, task.scale, settings.sizes)
                made = Patches(found, task.scale, settings.patch, reach, device)
                patches[*key, reach] = made
                held = [item for item in items if item.held_out]
                self._held[key] = self._held.get(key) or pairs(held, task.scale, (1.0,))
                self._tell("data", pack=key[0], scale=key[1], samples=made.low.numel())
            with _arithmetic(settings):  # a GPU captures a step here
                learner = Learner(task, settings, patches[*key, reach], device)
            if task.start:
                learner.restart(0, beginning(task.start, learner.network))
            self.learners.append(learner)
        self.chunk = 0
        self.steps = 0
        self.history: list[dict[str, Any]] = []
        self._continue()

    def _tell(self, event: str, **more: Any) -> None:
        self._report({"event": event, "seconds": round(time.monotonic() - self._begun, 2), **more})

    @property
    def _identity(self) -> dict[str, Any]:
        """Return what a checkpoint must have in common with the run that continues it."""
        return {
            "tasks": [asdict(task) for task in self.tasks],
            "settings": {**asdict(self.settings), "sizes": list(self.settings.sizes)},
            "data": {path: pack.digest for path, pack in self.packs.items()},
        }

    def _continue(self) -> None:
        if not self.checkpoint.exists():
            return
        tensors, told = _kept(self.checkpoint)
        if told["identity"] != self._identity:
            raise InputError(
                f"{self.checkpoint} is of other tasks, settings or data",
                advice="remove it, or give the same again",
            )
        for learner in self.learners:
            state = {key: tensors[f"{learner.task.name}.{key}"] for key in learner.state}
            learner.restart(told["chunk"], state)
        self.chunk, self.steps, self.history = told["chunk"], told["steps"], told["history"]
        self._tell("continued", step=self.chunk * self.settings.chunk, steps=self.steps)

    def keep(self) -> None:
        """Write the checkpoint: the state after the last chunk that was finished."""
        from safetensors.torch import save

        self._wait()
        chunk, states = self._finished
        tensors = {
            f"{learner.task.name}.{key}": tensor.cpu()
            for learner, state in zip(self.learners, states, strict=True)
            for key, tensor in state.items()
        }
        told = {
            "identity": self._identity, "chunk": chunk, "steps": self.steps,
            "history": self.history,
        }  # fmt: skip
        with atomic.rewriting(self.checkpoint) as file:
            file.write(save(tensors, {"run": json.dumps(told)}))

    def _states(self) -> list[dict[str, torch.Tensor]]:
        """Return a copy of the state of each network, a few megabytes."""
        # Networks learn in streams of their own: what these have begun is waited for, and so is the
        # copy, before they change what is copied.
        self._wait()
        states = [{k: t.clone() for k, t in learner.state.items()} for learner in self.learners]
        self._wait()
        return states

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _chunk(self, chunk: int, steps: int) -> None:
        for learner in self.learners:
            learner.begin(chunk, steps)
        for _ in range(self.settings.chunk):
            for learner in self.learners:
                learner.step()
        self._wait()

    def measure(self) -> float:
        """Return the seconds that a chunk takes; leave the state as it was."""
        kept = self._states()
        for _ in range(2):  # the first is slower
            begun = time.monotonic()
            self._chunk(0, 1)
        took = time.monotonic() - begun
        for learner, state in zip(self.learners, kept, strict=True):
            learner.restart(0, state)
        self._wait()
        return took

    def train(self, *, steps: int | None, seconds: float | None, parts: int = 1) -> bool:
        """Train, and write checkpoints; return whether all steps are done.

        Parameters
        ----------
        steps : int or None
            Steps of the whole training. None: as many as fit into `seconds`, which are measured
            first. A training that goes on has its number already.
        seconds : float or None
            Time of this call, from the making of the run on. None: until the end.
        parts : int
            Calls of `seconds` over which the training is spread.
        """
        with _arithmetic(self.settings):
            return self._train(steps, seconds, parts)

    def _train(self, steps: int | None, seconds: float | None, parts: int) -> bool:
        s = self.settings
        if not self.steps:
            if steps is None:
                if seconds is None:
                    raise InputError("give a number of steps, or a time")
                a_chunk = self.measure()
                left = seconds * parts - (time.monotonic() - self._begun) - RESERVE * parts
                steps = max(1, int(left / a_chunk)) * s.chunk
            self.steps = -(-steps // s.chunk) * s.chunk
        every = max(1, self.steps // s.chunk // (LOOKS + 1))
        self._tell("steps", step=self.chunk * s.chunk, steps=self.steps)
        self._finished = self.chunk, self._states()
        try:
            self._chunks(seconds, every)
        except BaseException:  # Ctrl-C, wherever it comes; or who listens ends the run
            if self._finished[0]:
                with suppress(Exception):  # it is the first error that counts
                    self.keep()
            raise
        return self.chunk * s.chunk >= self.steps

    def _chunks(self, seconds: float | None, every: int) -> None:
        """Train chunk by chunk, until all are done or the time is over."""
        s, kept = self.settings, time.monotonic()
        while self.chunk * s.chunk < self.steps:
            if seconds is not None and time.monotonic() - self._begun > seconds - RESERVE / 2:
                break
            self._chunk(self.chunk, self.steps)
            self.chunk += 1
            self._finished = self.chunk, self._states()
            losses = {one.task.name: round(one.loss(), 4) for one in self.learners}
            self._tell("progress", step=self.chunk * s.chunk, steps=self.steps, loss=losses)
            if self.chunk % every == 0 and self.chunk * s.chunk < self.steps:
                self.look()
            if time.monotonic() - kept > KEEP:
                self.keep()
                kept = time.monotonic()
        self.look()
        self.keep()

    def look(self) -> dict[str, dict[str, float]]:
        """Return, report and note the PSNR on the held-out pictures."""
        self._wait()
        found = {}
        for one in self.learners:
            held = self._held[one.task.pack, one.task.scale]
            if held:
                found[one.task.name] = one.averaged(partial(validation, held, device=self.device))
        self._tell("psnr", step=self.chunk * self.settings.chunk, psnr=found)
        entry = {"step": self.chunk * self.settings.chunk, "psnr": found}
        self.history = [e for e in self.history if e["step"] != entry["step"]] + [entry]
        return found

    def models(self, facts: Mapping[str, str]) -> dict[str, Model]:
        """Return the networks with the mean of their weights, merged, levelled, in half precision.

        Parameters
        ----------
        facts : mapping
            Further strings for their headers.
        """
        self._wait()
        found = {}
        for one in self.learners:
            pack = self.packs[one.task.pack]
            psnr = [
                {"step": entry["step"], **entry["psnr"].get(one.task.name, {})}
                for entry in self.history
            ]
            about = {
                **{key: value for key, value in pack.about.items() if isinstance(value, str)},
                "data": pack.digest,
                "task": json.dumps(_without_folders(one.task)),
                "settings": json.dumps(asdict(self.settings)),
                "steps": f"{self.chunk * self.settings.chunk} of {self.steps}",
                "held_out_psnr": json.dumps(psnr),
                "versions": f"snellen {__version__}, PyTorch {torch.__version__}",
                "device": torch.cuda.get_device_name(self.device)
                if self.device.type == "cuda"
                else "CPU",
                **facts,
            }
            found[one.task.name] = levelled(one.averaged(partial(Network.model, about=about)))
        return found


def _without_folders(task: Task) -> dict[str, Any]:
    """Return a task for a model's header, in which files have their names only."""
    return {**asdict(task), "pack": Path(task.pack).name, "start": Path(task.start).name}


def _kept(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return tensors and state of a checkpoint."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    data = contents(path, _MOST_BYTES)
    try:
        tensors = load(data)  # which checks all of it
        length = int.from_bytes(data[:8], "little")
        told = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["run"])
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not the checkpoint of a training", advice="move it, or give another output"
        ) from error
    return tensors, told


@contextmanager
def _arithmetic(settings: Settings) -> Iterator[None]:
    """Set what PyTorch has for the whole process, until the block ends."""
    matmul = torch.backends.cuda.matmul
    before, matmul.allow_tf32 = matmul.allow_tf32, False  # merging the branches
    exact = torch.backends.cudnn.flags(
        enabled=True, deterministic=not settings.fastest, benchmark=settings.fastest,
        allow_tf32=settings.precision != "float32",
    )  # fmt: skip
    try:
        with exact:
            yield
    finally:
        matmul.allow_tf32 = before
