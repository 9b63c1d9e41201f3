"""Type checkers know what the public functions return."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import snellen

CODE = """
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import snellen

class Tensor:
    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> Any: ...

any_shape: npt.NDArray[np.uint8] = np.zeros((64, 64), np.uint8)
plane = np.zeros((64, 64), np.float32)

def brief(found: snellen.Restored) -> str:
    return repr(found)

"""
SHOWN = {
    "snellen.upscale(any_shape)": "ndarray[tuple[Any, ...], dtype[uint8]]",
    "snellen.upscale(plane, 2.0)": "ndarray[tuple[int, int], dtype[float32]]",
    "snellen.upscale([[1.0]])": "ndarray[tuple[Any, ...], dtype[Any]]",
    "snellen.upscale(Tensor(), channel_axis=0)": "Tensor",
    "snellen.deblur(any_shape).image": "ndarray[tuple[Any, ...], dtype[uint8]]",
    "snellen.deblur(plane).image": "ndarray[tuple[int, int], dtype[float32]]",
    "snellen.deblur([[1.0]]).image": "ndarray[tuple[Any, ...], dtype[Any]]",
    "snellen.deblur(Tensor()).image": "Tensor",
    "snellen.score(plane, plane)": "Score",
    "float(snellen.score(plane, plane))": "float",
    "snellen.frame.LEFT": "tuple[float, float]",
    "snellen.errors.InputError().parameter": "str | None",
    "snellen.jobs.UpscaleJob.from_json('')": "UpscaleJob",
}
WIDTHS = {"unsignedinteger[_8Bit]": "uint8", "floating[_32Bit]": "float32"}


@pytest.mark.slow
def test_what_is_returned(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api", reason="mypy checks types in `make lint`")
    file = tmp_path / "code.py"
    file.write_text(CODE + "".join(f"reveal_type({one})\n" for one in SHOWN))
    source = str(Path(snellen.__file__).parents[1])
    paths = [source, *filter(None, [os.environ.get("MYPYPATH")])]
    monkeypatch.setenv("MYPYPATH", os.pathsep.join(paths))
    cache = str(tmp_path / "cache")
    said, failed, status = api.run(
        ["--strict", "--no-color-output", "--cache-dir", cache, str(file)]
    )
    assert (status, failed) == (0, ""), said
    found = re.findall(r'Revealed type is "(.*)"', said)
    assert [_plain(one) for one in found] == list(SHOWN.values())


def _plain(revealed: str) -> str:
    """Return a type without the modules and the literals that mypy writes."""
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", revealed)
    for long, short in WIDTHS.items():
        text = text.replace(long, short)
    return text
