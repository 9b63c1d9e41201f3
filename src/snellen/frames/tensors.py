"""Reads model files: safetensors, which is arrays and a header of strings, and no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError, ModelError
from snellen.frames.opening import contents

MOST = 1 << 29  # bytes of a file; ours have at most 5 MB


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
    try:
        arrays: dict[str, npt.NDArray[Any]] = load(data)  # which checks all of it
        length = int.from_bytes(data[:8], "little")
        strings = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
        for array in arrays.values():
            array.setflags(write=False)
        return dict(strings), arrays
    except (SafetensorError, ValueError) as error:
        raise ModelError(f"{path} is damaged or not a safetensors file: {error}") from error
    except Exception as error:  # for example BF16 or F8_E4M3, of many classes
        raise ModelError(f"{path} has a dtype that NumPy does not support: {error}") from error
