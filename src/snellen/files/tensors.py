"""Model files: safetensors, which is arrays and a header of strings, and no code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError, ModelError
from snellen.files import atomic
from snellen.files.opening import contents
from snellen.files.signatures import HEAD, kind_of

MOST = 1 << 29  # bytes of a file; ours have at most 8 MB
MOST_HEADER, MOST_TENSORS = 1 << 20, 100
"""Bytes of a header, and arrays of a file; ours have 3,000 and 9. More would only take time."""

DTYPES = {"float32": "F32", "float16": "F16", "int16": "I16", "int8": "I8"}
"""Types of arrays that are written, by NumPy's names, in the order of safetensors itself."""


def write(
    path: Path, strings: Mapping[str, str], arrays: Mapping[str, npt.NDArray[Any]], overwrite: bool
) -> None:
    """Write a file, which appears only when it is complete; equal contents give equal files.

    Parameters
    ----------
    path : Path
    strings : mapping
        They are sorted: safetensors itself writes them in another order each time.
    arrays : mapping
        In the order of the file, of DTYPES.
    overwrite : bool

    Raises
    ------
    OutputError
        The disk is full or not writable, or the file exists and `overwrite` is False.
    """
    header: dict[str, object] = {"__metadata__": dict(sorted(strings.items()))}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": DTYPES[array.dtype.name],
            "shape": array.shape,
            "data_offsets": (begin, end),
        }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8 bytes
    with atomic.writing(path, overwrite) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())


def read(path: Path) -> tuple[dict[str, str], dict[str, npt.NDArray[np.generic]]]:
    """Return the strings of the header and the arrays, which are read-only.

    ModelError: the file is missing, damaged or not in safetensors format.
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
