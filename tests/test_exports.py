"""The public face: pinned, light to import."""

from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
import sys

import pytest

import snellen

HEAVY = {"numpy", "scipy", "numba", "av", "cupy", "torch", "PIL", "safetensors", "rich"}


def modules_after(*lines):
    """Names of the modules that a fresh interpreter has loaded after some lines."""
    code = "\n".join([*lines, "import json, sys", "print(json.dumps(sorted(sys.modules)))"])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_names():
    classes = ["Deblurrer", "Restored", "Score", "Scorer", "Upscaler"]
    assert snellen.__all__ == [*classes, "__version__", "deblur", "score", "upscale"]
    assert dir(snellen) == snellen.__all__
    for name in snellen.__all__:
        assert getattr(snellen, name) is not None


def test_the_signatures():
    wanted = ["image", "scale", "model", "device", "bits"]
    assert list(inspect.signature(snellen.upscale).parameters) == wanted
    wanted = ["scale", "model", "device", "chroma"]
    assert list(inspect.signature(snellen.Upscaler).parameters) == wanted
    methods = {name for name in vars(snellen.Upscaler) if not name.startswith("_")}
    assert methods == {"prepare", "run", "close"}
    which = ["variant", "hi_scale", "eight_bit_lut"]
    wanted = ["reference", "distorted", "data_range", *which, "maps", "device", "dtype"]
    assert list(inspect.signature(snellen.score).parameters) == wanted
    assert list(inspect.signature(snellen.Scorer).parameters) == [*which, "device", "dtype"]
    methods = {name for name in vars(snellen.Scorer) if not name.startswith("_")}
    assert methods == {"prepare", "run", "runs", "set_reference", "compare", "close", "lanes"}
    fields = [field.name for field in dataclasses.fields(snellen.Score)]
    assert fields == ["mad", "hi", "lo", "detection", "appearance"]
    which = ["psf", "psf_size", "iterations", "noise", "read_noise", "tv"]
    how = ["start", "edges", "recentre", "tolerance", "every"]
    more = ["callback", "multiframe", "tile", "data_range", "device", "dtype"]
    wanted = ["image", *which, "prior", *how, *more]
    assert list(inspect.signature(snellen.deblur).parameters) == wanted
    wanted = [*which, *how, "warm", "history", "device", "dtype"]
    assert list(inspect.signature(snellen.Deblurrer).parameters) == wanted
    methods = {name for name in vars(snellen.Deblurrer) if not name.startswith("_")}
    assert methods == {"prepare", "run", "close"}
    fields = [field.name for field in dataclasses.fields(snellen.Restored)]
    assert fields == ["image", "psf", "fit", "iterations", "history"]
    deblurring = (snellen.deblur, snellen.Deblurrer, snellen.Deblurrer.run, snellen.Restored)
    upscaling = (snellen.upscale, snellen.Upscaler, snellen.Upscaler.run)
    scoring = (snellen.score, snellen.Scorer, snellen.Scorer.run, snellen.Score)
    for thing in (*upscaling, *deblurring, *scoring):
        assert inspect.getdoc(thing)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = snellen.nothing_such


def test_star_import():
    space = {}
    exec("from snellen import *", space)
    assert set(snellen.__all__) <= set(space)


def test_import_is_light():
    loaded = modules_after("import snellen")
    assert "snellen" in loaded and not HEAVY & loaded


def test_help_is_light():
    loaded = modules_after("from snellen.cli import main", "main(['--help'])")
    assert "click" in loaded and not HEAVY & loaded


def test_upscale_needs_no_gpu_library():
    loaded = modules_after("import snellen", "snellen.upscale", "snellen.Upscaler")
    assert "numba" in loaded and not {"cupy", "cuda", "torch", "av", "PIL"} & loaded


def test_score_needs_no_gpu_library():
    loaded = modules_after(
        "import numpy, snellen",
        "plane = numpy.zeros((34, 34), 'uint8')",
        "snellen.Scorer(device='cpu')",
        "snellen.score(plane, plane, device='cpu')",
    )
    assert "numba" in loaded and not {"cupy", "cuda", "torch", "av", "PIL"} & loaded


def test_deblur_needs_no_gpu_library():
    loaded = modules_after(
        "import numpy, snellen",
        "plane = numpy.zeros((34, 34), 'uint8')",
        "snellen.Deblurrer(device='cpu')",
        "snellen.deblur(plane, device='cpu')",
    )
    assert "numba" in loaded and not {"cupy", "cuda", "torch", "av", "PIL"} & loaded
