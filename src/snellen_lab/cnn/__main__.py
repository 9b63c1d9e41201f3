"""Command of the checkout: pack pictures, and train networks on packs.

python -m snellen_lab.cnn pack OUT --folder FOLDER --trainset FOLDER [--side 480]
python -m snellen_lab.cnn train FOLDER --task fast-x2=4x16@clean.pack … --minutes 8
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from snellen._version import __version__
from snellen.errors import InputError

CHECKPOINT = "checkpoint.safetensors"
_TASK = re.compile(
    r"(?P<name>[\w.-]*?x(?P<scale>[234]))=(?P<m>\d+)x(?P<c>\d+)(?P<plain>p?)"
    r"@(?P<pack>[^,]+)(,(?P<start>.+#.+))?"
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m snellen_lab.cnn")
    commands = parser.add_subparsers(required=True)
    pack = commands.add_parser("pack", help="folders of pictures to a pack")
    pack.add_argument("out", type=Path)
    pack.add_argument("--folder", type=Path, action="append", default=[], help="whole pictures")
    pack.add_argument("--trainset", type=Path, help="the freely licensed set, with its tables")
    pack.add_argument(
        "--side", type=int, default=480, help="greatest side of a picture of that set"
    )
    pack.add_argument("--test", action="store_true", help="all pictures are held out")
    pack.set_defaults(run=_pack)
    train = commands.add_parser("train", help="train networks side by side")
    train.add_argument("folder", type=Path, help="for models, checkpoint and log")
    train.add_argument(
        "--task", action="append", required=True, metavar="NAME=MxC@PACK[,CHECKPOINT#NAME]",
        help="NAME ends in x2, x3 or x4; p after C: without branches; begins with the weights of "
        "NAME in CHECKPOINT",
    )  # fmt: skip
    train.add_argument("--minutes", type=float, help="time of this call")
    train.add_argument("--steps", type=int, help="of the whole training; default: what fits")
    train.add_argument("--parts", type=int, default=1, help="calls over which it is spread")
    train.add_argument("--test", type=Path, help="a pack that is measured at the end")
    train.add_argument("--device", default="cuda")
    train.add_argument("--set", action="append", default=[], metavar="SETTING=VALUE")
    train.set_defaults(run=_train)
    given = parser.parse_args(arguments)
    try:
        return int(given.run(given))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2


def _pack(given: argparse.Namespace) -> int:
    from snellen_lab.cnn.pictures import Folder, attribution, every, names
    from snellen_lab.sources import pack

    folders, about = [Folder(path) for path in given.folder], {"source": "clean"}
    if given.trainset:
        held = names(given.trainset / "held_out.txt")
        folders.append(Folder(given.trainset / "pictures", given.side, held, "trainset"))
        about["attribution"] = attribution(given.trainset / "SOURCES.csv")
    count = pack.write(given.out, every(folders, held_out=given.test), about)
    print(f"{count} pictures, {given.out.stat().st_size} bytes")
    return 0


def _train(given: argparse.Namespace) -> int:
    # Without it cuBLAS promises the same bits on one stream only; there is one for each network.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    from snellen_lab.cnn.data import pairs, validation
    from snellen_lab.cnn.learner import Settings, Task
    from snellen_lab.cnn.run import Run
    from snellen_lab.sources.pack import read

    tasks = []
    for text in given.task:
        found = _TASK.fullmatch(text)
        if not found:
            raise InputError(f"got task {text!r}; expected NAMEx2=4x16@PACK")
        tasks.append(
            Task(
                found["name"], found["pack"], int(found["scale"]), int(found["m"]),
                int(found["c"]), branches=not found["plain"], start=found["start"] or "",
            )
        )  # fmt: skip
    settings = Settings(**dict(_setting(text, Settings) for text in given.set))
    given.folder.mkdir(parents=True, exist_ok=True)
    device = torch.device(given.device)
    with (given.folder / "log.jsonl").open("a") as log:

        def report(event: dict[str, Any]) -> None:
            line = json.dumps(event)
            log.write(line + "\n")
            log.flush()
            if event["event"] != "progress" or event["step"] % (10 * settings.chunk) == 0:
                print(line, flush=True)

        run = Run(tasks, settings, given.folder / CHECKPOINT, device, report)
        seconds = None if given.minutes is None else 60 * given.minutes
        run.train(steps=given.steps, seconds=seconds, parts=given.parts)
        facts = {"date": datetime.now(UTC).date().isoformat(), "snellen": __version__}
        for name, model in run.models(facts).items():
            model.save(given.folder / f"{name}.safetensors")
        if given.test:
            for one in run.learners:
                held = pairs(read(given.test).items, one.task.scale, (1.0,))
                table = one.averaged(partial(validation, held, device=device))
                report({"event": "test", "name": one.task.name, "psnr": table})
    return 0


def _setting(text: str, settings: Any) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE for a dataclass."""
    name, _, value = text.partition("=")
    known = {one.name: one.default for one in fields(settings)}
    if name not in known:
        raise InputError(f"got setting {name!r}; expected one of {', '.join(known)}")
    if isinstance(known[name], str):
        return name, value
    found = json.loads(value)
    return name, tuple(found) if isinstance(found, list) else found


if __name__ == "__main__":
    sys.exit(main())
