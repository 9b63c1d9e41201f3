"""Reads model files: safetensors, which is arrays and a header of strings, and no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError, ModelError
from snellen.files.opening import contents
from snellen.files.signatures import HEAD, kind_of

MOST = 1 << 29  # bytes of a file; ours have at most 8 MB
MOST_HEADER, MOST_TENSORS = 1 << 20, 100
"""Bytes of a header, and arrays of a file; ours have 3,000 and 9. More would only take time."""


def read(path: Path) -> tuple[dict[str, str], dict[str, npt.NDArray[np.generic]]]:
    """Return the strings of the header and the arrays, which are read-only.

    Raises
    ------
    ModelError
        The file is missing, damaged or not in safetensors format.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        data = contents(path, MOST)
    except InputError as error:
        raise ModelError(error.message, parameter="model", advice=error.advice) from error
    found = kind_of(data[:HEAD])
    if found.name and data[8:9] != b"{":
        raise ModelError(
            f"{path} is {found.name}; expected a model (a .safetensors file)", parameter="model"
        )
    try:
        header = _header(data)
        arrays: dict[str, npt.NDArray[Any]] = load(data)  # which checks all of it
        strings = header.get("__metadata__") or {}
        for array in arrays.values():
            array.setflags(write=False)
        return dict(strings), arrays
    except (SafetensorError, ValueError) as error:
        raise ModelError(f"{path} is damaged or not a safetensors file: {error}") from error
    except Exception as error:  # for example BF16 or F8_E4M3, of many classes
        raise ModelError(f"{path} has a dtype that NumPy does not support: {error}") from error


def _header(data: bytes) -> dict[str, Any]:
    """Return the header of a file (ValueError: it is none, or of too many arrays)."""
    length = int.from_bytes(data[:8], "little")
    if length > MOST_HEADER:
        raise ValueError(f"its header has {length:,} bytes; expected at most {MOST_HEADER:,}")
    header = json.loads(data[8 : 8 + length])
    if not isinstance(header, dict):
        raise ValueError("its header is no object of JSON")
    if (count := len(header.keys() - {"__metadata__"})) > MOST_TENSORS:
        raise ValueError(f"it has {count:,} arrays; expected at most {MOST_TENSORS}")
    return header
