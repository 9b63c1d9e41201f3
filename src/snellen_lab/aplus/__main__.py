"""Command of the checkout: train a model of format 2, which the public face does not offer yet.

python -m snellen_lab.aplus SOURCE OUT --scale 2 [--sizes 12] [--shifts 1] [--set classes=4 …]

SOURCE is a folder of pictures, or a pack (snellen_lab.sources.pack). Pictures of a pack that are
held out are measured at the end.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen._version import __version__
from snellen.errors import InputError
from snellen_lab.aplus.oriented import Pair, Settings, clean, train
from snellen_lab.aplus.train import psnr_table
from snellen_lab.protocol import crop, planes
from snellen_lab.sources.pack import Item, read

Float32 = npt.NDArray[np.float32]
TYPES: Mapping[str, Callable[[str], Any]] = {"int": int, "float": float}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m snellen_lab.aplus")
    parser.add_argument("source", type=Path, help="a folder of pictures, or a pack")
    parser.add_argument("out", type=Path, help="the model, a .safetensors file")
    parser.add_argument("--scale", type=int, choices=(2, 3, 4), default=2)
    parser.add_argument("--sizes", type=int, default=12, help="of each picture to be shrunk")
    parser.add_argument("--ratio", type=float, default=0.98, help="of a size to the one before")
    parser.add_argument("--shifts", type=int, default=1, help="of each size, by 0, 1, 2, … pixels")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="SETTING=VALUE")
    given = parser.parse_args(arguments)
    try:
        return _train(given)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2


def _train(given: argparse.Namespace) -> int:
    settings = Settings(given.scale, **_settings(given.set))
    factors = [given.ratio**k for k in range(given.sizes)]
    about = {"data": given.source.name, "sizes": str(given.sizes), "ratio": str(given.ratio)}
    about["shifts"] = str(given.shifts)
    held_out: dict[str, Float32] = {}
    if given.source.is_dir():
        made: list[Item] = []
        plain = list(planes(given.source).values())
    else:
        pack = read(given.source)
        learnt = [item for item in pack.items if not item.held_out]
        made = [item for item in learnt if given.scale in item.lows]
        plain = [_unit(item.high) for item in learnt if not item.lows]
        held_out = {i.name: _unit(i.high) for i in pack.items if i.held_out and not i.lows}
        about |= {f"pack_{name}": value for name, value in pack.about.items()}
        about["pack_sha256"] = pack.digest
    pairs: list[Callable[[], Pair]] = [partial(_pair, item, given.scale) for item in made]
    pairs += [
        partial(clean, image, given.scale, factor, shift)
        for shift in range(given.shifts)
        for factor in factors
        for image in plain
    ]
    model = train(pairs, settings, threads=given.threads, progress=_told)
    about |= {f"train_{name}": str(value) for name, value in asdict(settings).items()}
    if model.packed is not None:
        about["train_rank"] = str(model.packed.codes.shape[1])
    about |= {
        "pairs": str(len(pairs)), "snellen": __version__, "numpy": np.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip
    if held_out:
        table = psnr_table(held_out, model)
        about["psnr_held_out"] = f"{np.mean(list(table.values())):.4f}"
        print(f"held out: {about['psnr_held_out']} dB")
    replace(model, about=about).save(given.out)
    return 0


def _settings(given: list[str]) -> dict[str, Any]:
    """Return settings from NAME=VALUE."""
    types = {one.name: TYPES[str(one.type)] for one in fields(Settings)}
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in types or name == "scale":
            raise InputError(f"got `{name}`; expected one of {', '.join(types)}")
        try:
            found[name] = types[name](value)
        except ValueError as error:
            raise InputError(f"got {text}; expected a number") from error
    return found


def _pair(item: Item, scale: int) -> Pair:
    return _unit(item.lows[scale]), crop(_unit(item.high), scale)


def _unit(codes: npt.NDArray[np.uint8]) -> Float32:
    return codes.astype(np.float32) / np.float32(255)


def _told(stage: str, done: float) -> None:
    print(f"{stage} {done:.0%}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
