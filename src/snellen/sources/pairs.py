"""Pairs of planes for training: a low one as a source gives it, and the high one it came from."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from snellen.errors import InputError
from snellen.frames import atomic

Bytes = npt.NDArray[np.uint8]

FORMAT = 1
EFFORT = 4  # of lossless WebP, 0 … 6
FILE = ".safetensors"


@dataclass(frozen=True, eq=False, slots=True)
class Pair:
    """A low plane and the high one that it came from; pixel centres are at (i + 0.5) / n."""

    low: Bytes
    """(h, w) code values of luma."""
    high: Bytes
    """(h·s, w·s) code values of luma, never coded."""
    facts: Mapping[str, Any]
    """How it was made; exact as JSON."""


def write(
    path: Path,
    pairs: Iterable[Pair],
    about: Mapping[str, str],
    most: float = float("inf"),
    overwrite: bool = False,
) -> int:
    """Write pairs into a file, each plane as lossless WebP, and return how many these are.

    Parameters
    ----------
    path : Path
        Ends in .safetensors.
    pairs : iterable of Pair
        Taken until the file would hold more than `most` bytes.
    about : mapping
        Facts of all of them, for the file's header.
    most : float
        Bytes.
    overwrite : bool
        Whether a file of this name is replaced.
    """
    from safetensors.numpy import save

    tensors: dict[str, Bytes] = {}
    facts: list[Mapping[str, Any]] = []
    size = 0
    for pair in pairs:
        planes = {"low": packed(pair.low), "high": packed(pair.high)}
        size += sum(plane.size for plane in planes.values()) + len(json.dumps(pair.facts))
        if size > most:
            break
        tensors |= {f"{name}.{len(facts)}": plane for name, plane in planes.items()}
        facts.append(pair.facts)
    header = {**about, "format": str(FORMAT), "facts": json.dumps(facts)}
    with atomic.writing(path, overwrite) as file:
        file.write(save(tensors, header))
    return len(facts)


def read(path: Path) -> tuple[list[Pair], dict[str, str]]:
    """Return the pairs of a file, and its facts of all of them.

    Raises
    ------
    InputError
        The file is not one of `write`.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            about = dict(file.metadata() or {})
            if about.pop("format", "") != str(FORMAT):
                raise InputError(f"{path}: no pairs of format {FORMAT}")
            facts = json.loads(about.pop("facts"))
            pairs = [
                Pair(plane(file.get_tensor(f"low.{k}")), plane(file.get_tensor(f"high.{k}")), one)
                for k, one in enumerate(facts)
            ]
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: no file of pairs: {error}") from error
    return pairs, about


def packed(samples: Bytes) -> Bytes:
    """Return a plane as the bytes of lossless WebP."""
    file = io.BytesIO()
    image = Image.fromarray(samples).convert("RGB")  # equal channels cost nothing
    image.save(file, "WEBP", lossless=True, method=EFFORT)
    return np.frombuffer(file.getvalue(), np.uint8)


def plane(data: Bytes) -> Bytes:
    """Return the plane that `packed` packed."""
    with Image.open(io.BytesIO(data.tobytes())) as image:
        return np.ascontiguousarray(np.asarray(image.convert("RGB"))[:, :, 1])
