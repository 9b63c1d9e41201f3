"""Type checkers know what the public functions return."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args

import pytest

import snellen
from snellen.upscaling import shipped

CODE = """
from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import snellen
import snellen.jobs

class Tensor:
    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> Any: ...

any_shape: npt.NDArray[np.uint8] = np.zeros((64, 64), np.uint8)
plane = np.zeros((64, 64), np.float32)
mapped: np.ndarray[tuple[Literal[64], Literal[64]], np.dtype[np.uint16]]

def brief(found: snellen.Restored) -> str:
    return repr(found)

"""
SHOWN = {
    "snellen.upscale(any_shape)": "ndarray[tuple[Any, ...], dtype[uint8]]",
    "snellen.upscale(plane, 2.0)": "ndarray[tuple[Any, ...], dtype[float32]]",
    "snellen.upscale(mapped, method='aplus')": "ndarray[tuple[Any, ...], dtype[uint16]]",
    "snellen.upscale([[1.0]])": "ndarray[tuple[Any, ...], dtype[Any]]",
    "snellen.upscale(Tensor(), channel_axis=0)": "Tensor",
    "snellen.deblur(any_shape).image": "ndarray[tuple[Any, ...], dtype[uint8]]",
    "snellen.deblur(plane).image": "ndarray[tuple[Any, ...], dtype[float32]]",
    "snellen.deblur([[1.0]]).image": "ndarray[tuple[Any, ...], dtype[Any]]",
    "snellen.deblur(Tensor()).image": "Tensor",
    "snellen.score(plane, plane)": "Score",
    "float(snellen.score(plane, plane))": "float",
    "snellen.score(plane, plane).psnr": "float | ndarray[tuple[Any, ...], dtype[float64]] | None",
    "snellen.score_files('a', 'b').table.rows[0].vmaf": "float | None",
    "snellen.frame.LEFT": "tuple[float, float]",
    "snellen.errors.InputError().parameter": "str | None",
    "snellen.jobs.UpscaleJob.from_json('')": "UpscaleJob",
}
REFUSED = {
    "snellen.no_such": "attr-defined",
    "snellen.upscal(plane)": "attr-defined",
    "snellen.jobs.no_such": "attr-defined",
    "snellen.upscale(plane, method='nope')": "call-overload",
    "snellen.upscale(plane, source_kind='nope')": "call-overload",
    "snellen.Upscaler(method='nope')": "arg-type",
    "snellen.upscale_file('a.png', method='nope')": "arg-type",
    "snellen.deblur(plane, noise='nope')": "call-overload",
    "snellen.deblur(plane, prior='nope')": "call-overload",
    "snellen.deblur(plane, edges='nope')": "call-overload",
    "snellen.score(plane, plane).no_such": "attr-defined",
    "snellen.score_files('a', 'b').table.rows[0].no_such": "attr-defined",
    "snellen.score(plane, plane, variant='nope')": "arg-type",
    "snellen.score(plane, plane, dtype='nope')": "arg-type",
}
SPELLINGS = {
    "unsignedinteger[_8Bit]": "uint8",
    "unsignedinteger[_16Bit]": "uint16",
    "floating[_32Bit]": "float32",
    "None | str": "str | None",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Each line that mypy says of the code, once for all tests."""
    api = pytest.importorskip("mypy.api", reason="mypy checks types in `make lint`")
    folder = tmp_path_factory.mktemp("types")
    file = folder / "code.py"
    lines = [f"reveal_type({one})" for one in SHOWN] + list(REFUSED)
    file.write_text(CODE + "".join(f"{one}\n" for one in lines))
    source = str(Path(snellen.__file__).parents[1])
    paths = [source, *filter(None, [os.environ.get("MYPYPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPYPATH", os.pathsep.join(paths))
        options = "--strict", "--no-color-output", "--hide-error-context", "--cache-dir"
        found, failed, _ = api.run([*options, str(folder / "cache"), str(file)])
    assert failed == ""
    first = CODE.count("\n") + 1
    begun = f"{file}:"
    return {
        at: [line for line in found.splitlines() if line.startswith(f"{begun}{first + at}: ")]
        for at in range(-first, len(lines))
    }


@pytest.mark.slow
def test_what_is_returned(said):
    found = [re.findall(r'Revealed type is "(.*)"', " ".join(said[at])) for at in range(len(SHOWN))]
    assert [[_plain(one) for one in each] for each in found] == [[one] for one in SHOWN.values()]
    assert not any(
        "error" in line for at, lines in said.items() if at < len(SHOWN) for line in lines
    )


@pytest.mark.slow
def test_names_and_choices_that_there_are_not_are_refused(said):
    for at, (code, kind) in enumerate(REFUSED.items(), len(SHOWN)):
        assert any(f"[{kind}]" in line for line in said[at]), (code, said[at])


def test_checkers_know_the_choices_that_there_are():
    named = {shipped.Method: shipped.METHODS, shipped.SourceKind: shipped.SOURCES}
    for literal, names in named.items():
        assert get_args(literal) == (shipped.AUTO, *names)


def _plain(revealed: str) -> str:
    """Return a type without the modules and the literals that mypy writes."""
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", revealed)
    for long, short in SPELLINGS.items():
        text = text.replace(long, short)
    return text
