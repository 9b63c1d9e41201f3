"""The public face: pinned, light to import."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from PIL import Image

import snellen
import snellen.jobs
from snellen.jobs import Enhancement

SLOW = {"scipy.fft", "scipy.special", "scipy.linalg", "numpy.f2py"}
"""What takes longer to import than a small picture takes."""
HEAVY = {"numpy", "scipy", "numba", "av", "cupy", "torch", "PIL", "safetensors", "rich"}


def modules_after(*lines):
    """Names of the modules that a fresh interpreter has loaded after some lines."""
    code = "\n".join([*lines, "import json, sys", "print(json.dumps(sorted(sys.modules)))"])
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        found = set(json.loads(done.stdout.splitlines()[-1]))
        if "numba" not in found:  # else it may have compiled what is kept from now on
            break
    return found


FUNCTIONS = ["deblur", "score", "upscale"]
FILE_FUNCTIONS = [
    "compare_files", "deblur_file", "deblur_files", "score_files", "upscale_file", "upscale_files",
]  # fmt: skip
CLASSES = ["Deblurrer", "Scorer", "Stream", "Upscaler"]
MEMORY = ["clear_cache"]
VALUES = ["Format", "Frame", "Restored", "Score"]
ERRORS = ["DeviceError", "IncompleteError", "InputError", "ModelError", "OutputError",
          "SnellenError"]  # fmt: skip
MODULES = ["errors", "fft", "frame", "jobs"]


def parameters(function):
    return list(inspect.signature(function).parameters)


def methods(kind):
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_names():
    names = [*FUNCTIONS, *FILE_FUNCTIONS, *CLASSES, *VALUES, *ERRORS, *MEMORY, "__version__"]
    assert sorted(snellen.__all__) == sorted(names)
    assert dir(snellen) == sorted([*names, *MODULES])
    for name in snellen.__all__:
        assert getattr(snellen, name) is not None


def test_modules_need_no_import_of_their_own():
    homes = {"snellen.errors", "snellen.fft.small", "snellen.frames.frame", "snellen.jobs"}
    assert not homes & modules_after("import snellen")
    uses = ["errors.InternalError", "fft.fft2", "frame.LEFT", "jobs.UpscaleJob"]
    loaded = modules_after("import snellen", *(f"snellen.{use}" for use in uses))
    assert homes <= loaded and not {"cupy", "torch", "numba", "av"} & loaded


@pytest.mark.parametrize("package", [snellen, snellen.jobs])
def test_type_checkers_see_every_name(package):
    """The lazy names are imported for them, each from the module that it comes from."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    choices = [node for node in tree.body if isinstance(node, ast.If)]
    branch, hidden = choices  # for checkers; and what they do not see, or any name would be known
    assert [ast.unparse(one.test) for one in choices] == ["TYPE_CHECKING", "not TYPE_CHECKING"]
    assert [getattr(node, "name", "") for node in hidden.body] == ["__getattr__"]
    seen = {node.names[0].asname: node.module for node in branch.body}
    modules = getattr(package, "_MODULES", {})
    assert seen == {**package._HOME, **{k: v.rpartition(".")[0] for k, v in modules.items()}}
    for name, home in modules.items():
        assert getattr(package, name).__name__ == home
    for name, home in package._HOME.items():
        assert getattr(package, name).__module__ == home and name in package.__all__
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = package.nothing_such


def test_the_signatures_for_arrays():
    samples, ours = ["data_range", "channel_axis"], ["method", "source_kind"]
    first = ["image", "scale", "model", "device"]
    assert parameters(snellen.upscale) == [*first, *samples, "bits", *ours]
    assert parameters(snellen.Upscaler) == ["scale", "model", "device", "chroma", *ours]
    which = ["variant", "hi_scale", "eight_bit_lut"]
    wanted = ["reference", "distorted", *samples, "metrics", *which, "maps", "device", "dtype"]
    assert parameters(snellen.score) == wanted
    assert parameters(snellen.Scorer) == [*which, "device", "dtype"]
    fields = [field.name for field in dataclasses.fields(snellen.Score)]
    assert fields == ["mad", "hi", "lo", "detection", "appearance", "others"]
    which = ["psf", "psf_size", "iterations", "noise", "read_noise", "tv"]
    how = ["start", "edges", "recentre", "tolerance", "every"]
    more = ["callback", "multiframe", "tile", *samples, "device", "dtype"]
    assert parameters(snellen.deblur) == ["image", *which, "prior", *how, *more]
    assert set(parameters(snellen.Deblurrer)) >= {*which, *how, "warm", "history", "device"}
    fields = [field.name for field in dataclasses.fields(snellen.Restored)]
    assert fields == ["image", "psf", "fit", "iterations", "history", "outcome"]
    for kind in (snellen.Upscaler, snellen.Scorer, snellen.Deblurrer):
        assert methods(kind) >= {"prepare", "run", "close"}


def test_the_signatures_for_files():
    video = ["start", "duration", "frames", "deinterlace", "interlaced", "ivtc", "map", "codec",
             "preset", "crf", "encoder_options", "pix_fmt", "colour", "target_mad",
             "target_ssimulacra2", "target_vmaf", "vmaf_model", "target_pool", "max_bitrate",
             "decoder", "audio", "fps"]  # fmt: skip
    last = ["threads", "max_pixels", "profile"]
    report = ["report", "report_size"]
    shared = [*video, "quality", "strict", "segments", "keep_segments", "discard_segments",
              "workers", "cluster", "overwrite"]  # fmt: skip
    first = ["source", "target", "scale", "model", "device"]
    steps = [field.name for field in dataclasses.fields(Enhancement)]
    own = ["size", "height", "fit", "method", "source_kind", "chroma", *steps]
    found = parameters(snellen.upscale_file)
    assert found == [*first, *own, *shared, *last, *report, "events"]
    several = ["recursive", "skip_existing", "events"]
    assert set(parameters(snellen.upscale_files)) == {*found, "sources", *several} - {"source"}
    first = ["source", "target", "psf", "psf_size", "iterations", "noise"]
    own = ["psf_start", "tolerance", "read_noise", "tv", "prior", "edges", "recentre", "tile",
           "data_range", "dtype", "region", "paste_back", "window", "warm"]  # fmt: skip
    found = parameters(snellen.deblur_file)
    end = ["positions", "psf_out", *report, "events"]
    assert found == [*first, *own, *shared, "device", *last, *end]
    assert set(parameters(snellen.deblur_files)) == {*found, "sources", *several} - {"source"}
    shared = ["metrics", "vmaf_model", "variant", "hi_scale", "eight_bit_lut", "dtype",
              "data_range", "align", "every", "start", "duration", "frames", "deinterlace",
              "interlaced", "ivtc",
              "decoder", "overwrite", "device", *last]  # fmt: skip
    own = ["resize", "offset", "temporal", "table", "maps", "worst", "workers", "cluster"]
    found = parameters(snellen.score_files)
    assert found == ["reference", "distorted", *own, *shared, *report, "events"]
    found = parameters(snellen.compare_files)
    assert found[:3] == ["reference", "variants", "target"]
    assert {*found[3:]} == {*shared, "pictures", "report_size", "events"}


@pytest.mark.parametrize("name", [*FUNCTIONS, *FILE_FUNCTIONS, *CLASSES, *MEMORY, *VALUES, *ERRORS])
def test_every_name_is_documented(name):
    """Functions by sections that name each parameter."""
    thing = getattr(snellen, name)
    text = inspect.getdoc(thing)
    assert text
    if name in FUNCTIONS + FILE_FUNCTIONS:
        assert "Raises\n------" in text
        words = set(re.findall(r"\w+", text[text.index("Parameters\n----") :]))
        if "**options\n    As for" in text:
            words |= {*parameters(getattr(snellen, name.removesuffix("s")))}
        assert set(parameters(thing)) <= words


@pytest.mark.parametrize("package", [snellen, snellen.jobs], ids=lambda one: one.__name__)
def test_types_can_be_asked_for(package):
    """`typing.get_type_hints` knows every name in annotations, as pydantic and others want it."""
    found = [getattr(package, name) for name in package.__all__ if name != "__version__"]
    for one in found:
        # A field's type is asked of its class: `__init__` has those of other modules, too.
        own = [value for name, value in vars(one).items() if name != "__init__"]
        functions = [getattr(value, "fget", value) for value in own]
        for part in (one, *filter(inspect.isfunction, functions)):
            assert isinstance(get_type_hints(part), dict)
    assert get_type_hints(snellen.jobs.ScoreResult)["summary"] and len(found) > 20


def test_star_import():
    space = {}
    exec("from snellen import *", space)
    assert set(snellen.__all__) <= set(space)


def test_import_is_light():
    loaded = modules_after("import snellen")
    assert "snellen" in loaded and not HEAVY & loaded
    assert not HEAVY & modules_after("import snellen.jobs")


@pytest.mark.parametrize(
    "command", [[], ["upscale"], ["deblur"], ["score"], ["compare"], ["train"]]
)
def test_help_is_light(command):
    line = f"main({[*command, '--help']})"
    loaded = modules_after("import sys", "from snellen.cli import main", line)
    assert "click" in loaded and not HEAVY & loaded


def test_upscale_needs_no_gpu_library():
    loaded = modules_after("import snellen", "snellen.upscale", "snellen.Upscaler")
    assert "numpy" in loaded and not {"cupy", "cuda", "torch", "av", "PIL", "numba"} & loaded


def test_files_need_no_gpu_library():
    loaded = modules_after(
        "import snellen", "snellen.upscale_file", "snellen.deblur_file", "snellen.score_files"
    )
    assert not {"cupy", "cuda", "torch"} & loaded


def test_score_needs_no_gpu_library():
    loaded = modules_after(
        "import numpy, snellen",
        "plane = numpy.zeros((34, 34), 'uint8')",
        "snellen.Scorer(device='cpu')",
        "snellen.score(plane, plane, device='cpu')",
    )
    assert "llvmlite" in loaded and not {"cupy", "cuda", "torch", "av", "PIL", *SLOW} & loaded


def test_deblur_needs_no_gpu_library():
    loaded = modules_after(
        "import numpy, snellen",
        "plane = numpy.random.default_rng(0).integers(0, 99, (34, 34), 'uint8')",
        "snellen.Deblurrer(device='cpu')",
        "snellen.deblur(plane, prior=None, iterations=1, device='cpu')",
    )
    assert "llvmlite" in loaded and not {"cupy", "cuda", "torch", "av", "PIL", *SLOW} & loaded


@pytest.mark.parametrize(
    "command", ["upscale", "score", pytest.param("deblur", marks=pytest.mark.slow)]
)
def test_commands_for_a_picture_import_little(tmp_path, command):
    """Beside what works on it: no training, no other method, nothing of SciPy that is slow."""
    picture = tmp_path / "a.png"
    Image.fromarray(np.arange(36 * 40, dtype=np.uint8).reshape(36, 40)).save(picture)
    last = {"upscale": ["-o", str(tmp_path / "b.png"), "-y"], "score": [str(picture)]}
    last["deblur"] = [*last["upscale"], "--prior", "none", "--iterations", "1"]
    line = f"main({[command, str(picture), '--device', 'cpu', *last[command]]})"
    loaded = modules_after("from snellen.cli import main", line)
    assert "snellen.jobs.calls.execute" in loaded
    assert not {"cupy", "cuda", "torch", "numba", *SLOW} & loaded
    assert not {
        name for name in loaded if name.startswith("snellen.") and ".training.train" in name
    }
    if command == "upscale":
        assert "snellen.cnn.cpu" in loaded and not {"av", "snellen.aplus.cpu"} & loaded
