"""The report of `snellen bench quality` as a JSON object, and its page of crops."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from snellen.bench import runner
from snellen.errors import InputError, OutputError
from snellen.gpu import device as devices
from snellen.stills.still import SUFFIXES
from snellen.upscaling.models import load
from snellen_lab import protocol
from snellen_lab.bench.quality import methods
from snellen_lab.bench.quality.clips import USED, Clip, film, moved
from snellen_lab.bench.quality.methods import FILTERS, Method
from snellen_lab.bench.quality.page import page
from snellen_lab.bench.quality.run import Run, medians
from snellen_lab.sources.coder import libraries

SETS = ("Set5", "Set14")
"""Folders of $SNELLEN_DATA that are measured where no pictures are named."""


def make(
    say: Callable[[str], None],
    *,
    pictures: Sequence[Path] = (),
    films: Sequence[Path] = (),
    stills: Sequence[Path] = (),
    models: Sequence[str] = (),
    others: Sequence[str] = (),
    inputs: Path | None = None,
    scale: int = 2,
    device: str = "auto",
    quick: bool = False,
    overwrite: bool = False,
) -> tuple[dict[str, Any], str]:
    """Measure, and return the report and the page.

    Parameters
    ----------
    say : callable
        Gets lines for the reader.
    pictures, films, stills : sequence of Path
        Folders of pictures; films or folders of these; folders of pictures that become clips.
    models, others : sequence of str
        Models beside those of the package, FILE or NAME=FILE; NAME=FOLDER of what other programs
        made.
    inputs : Path, optional
        New folder for the small pictures.
    device : str
        "auto", "cpu", "cuda" or "cuda:N".
    quick : bool
        Whether MAD is left out.
    overwrite : bool
        Whether `inputs` may exist.

    Raises
    ------
    InputError, OutputError, DeviceError
    """
    chosen = devices.resolve(device)
    if inputs and inputs.exists() and not overwrite:
        raise OutputError(f"{inputs} exists", parameter="inputs")
    run_by: dict[str, Method] = FILTERS | methods.ours(scale, chosen)
    made = [
        (name, methods.model(load(Path(path), scale), chosen)) for name, path in map(_file, models)
    ]
    made += [(name, methods.folder(Path(path))) for name, path in map(_named, others)]
    for name, method in made:
        if name in run_by:
            raise InputError(
                f"a method {name!r} is there already", advice="give NAME=… another name"
            )
        run_by[name] = method
    sets = list(pictures) or ([] if films or stills else _standard())
    report = runner.header("quality", chosen, 1, quick, say)
    run = Run(run_by, scale, chosen, say, inputs, mad=not quick)
    for path in sets:
        run.folder(path)
    for clip in _clips(films, stills, scale):
        run.clip(clip)
    for line in medians(run.clips):
        say(f"  {line}")
    report |= {
        "scale": scale, "methods": list(run.methods), "frames": list(USED), **libraries(),
        "pictures": run.pictures, "clips": run.clips,
    }  # fmt: skip
    return report, page(run.rows)


def _standard() -> list[Path]:
    """Return the standard sets that are at hand."""
    root = Path(os.environ.get("SNELLEN_DATA") or ".")
    if found := [root / name for name in SETS if (root / name).is_dir()]:
        return found
    raise InputError(
        "no pictures are named", advice="give --pictures, --clip or --stills, or SNELLEN_DATA"
    )


def _file(text: str) -> tuple[str, str]:
    """Return the name and the path of a model, which is called as its file if no name is given."""
    return _named(text) if "=" in text else (Path(text).stem, text)


def _named(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise InputError(f"got {text!r}; expected NAME=PATH")
    return name, path


def _clips(films: Sequence[Path], stills: Sequence[Path], scale: int) -> Iterable[Clip]:
    """Yield the clips of films, of folders of films, and of folders of stills."""
    for path in films:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        for one in inside:
            if not one.name.startswith(".") and one.suffix.lower() not in SUFFIXES:
                yield film(one, scale)
    for path in stills:
        found = protocol.planes(path)
        yield from moved({k: np.rint(255 * v).astype(np.uint8) for k, v in found.items()}, scale)
