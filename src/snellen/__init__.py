"""Snellen makes pictures sharper and says how sharp they are, without giving up one bit of quality.

One picture, as an array
    upscale(image), deblur(image), score(reference, distorted)
Files: images, videos, folders of both
    upscale_file(source, target), deblur_file(source, target), score_files(reference, distorted),
    compare_files(reference, variants, target): a report as one HTML file;
    upscale_files(sources, folder), deblur_files(sources, folder)
Many frames or pictures of one format: prepare, run, close
    Upscaler, Deblurrer, Scorer; Stream: a region of each frame in real time
Memory
    clear_cache: releases what the functions keep for the next call
Values
    Frame and Format of the classes' frames; Restored and Score: what deblurring and scoring return
Errors
    SnellenError, and below it InputError, ModelError, DeviceError, OutputError, IncompleteError
Modules, imported when they are first used
    errors, fft (transforms on a GPU), frame (of Format and Frame), jobs (runs as values)
"""

from __future__ import annotations

import sys as _sys

from snellen._version import __version__ as __version__

TYPE_CHECKING = False  # typing would take as long to import as all else that the command needs

__all__ = [
    "Deblurrer", "DeviceError", "Format", "Frame", "IncompleteError", "InputError", "ModelError",
    "OutputError", "Restored", "Score", "Scorer", "SnellenError", "Stream", "Upscaler",
    "__version__", "clear_cache", "compare_files", "deblur", "deblur_file", "deblur_files", "score",
    "score_files", "upscale", "upscale_file", "upscale_files",
]  # fmt: skip

if TYPE_CHECKING:
    from snellen import errors as errors
    from snellen import fft as fft
    from snellen import jobs as jobs
    from snellen.engine.prepared import clear_cache as clear_cache
    from snellen.errors import DeviceError as DeviceError
    from snellen.errors import IncompleteError as IncompleteError
    from snellen.errors import InputError as InputError
    from snellen.errors import ModelError as ModelError
    from snellen.errors import OutputError as OutputError
    from snellen.errors import SnellenError as SnellenError
    from snellen.frames import frame as frame
    from snellen.frames.frame import Format as Format
    from snellen.frames.frame import Frame as Frame
    from snellen.jobs.calls.compare_files import compare_files as compare_files
    from snellen.jobs.calls.deblur_file import deblur_file as deblur_file
    from snellen.jobs.calls.deblur_file import deblur_files as deblur_files
    from snellen.jobs.calls.score_files import score_files as score_files
    from snellen.jobs.calls.upscale_file import upscale_file as upscale_file
    from snellen.jobs.calls.upscale_file import upscale_files as upscale_files
    from snellen.mad.image import score as score
    from snellen.mad.result import Score as Score
    from snellen.mad.scorer import Scorer as Scorer
    from snellen.mia.deblurrer import Deblurrer as Deblurrer
    from snellen.mia.image import deblur as deblur
    from snellen.mia.result import Restored as Restored
    from snellen.mia.stream import Stream as Stream
    from snellen.upscaling.image import upscale as upscale
    from snellen.upscaling.upscaler import Upscaler as Upscaler

_HOME = {
    "upscale": "snellen.upscaling.image",
    "Upscaler": "snellen.upscaling.upscaler",
    "upscale_file": "snellen.jobs.calls.upscale_file",
    "upscale_files": "snellen.jobs.calls.upscale_file",
    "deblur": "snellen.mia.image",
    "Deblurrer": "snellen.mia.deblurrer",
    "Stream": "snellen.mia.stream",
    "Restored": "snellen.mia.result",
    "deblur_file": "snellen.jobs.calls.deblur_file",
    "deblur_files": "snellen.jobs.calls.deblur_file",
    "score": "snellen.mad.image",
    "Scorer": "snellen.mad.scorer",
    "Score": "snellen.mad.result",
    "score_files": "snellen.jobs.calls.score_files",
    "compare_files": "snellen.jobs.calls.compare_files",
    "clear_cache": "snellen.engine.prepared",
    "Format": "snellen.frames.frame",
    "Frame": "snellen.frames.frame",
    **dict.fromkeys(
        ("DeviceError", "IncompleteError", "InputError", "ModelError", "OutputError",
         "SnellenError"), "snellen.errors",
    ),
}  # fmt: skip

_MODULES = {
    "errors": "snellen.errors",
    "fft": "snellen.fft",
    "frame": "snellen.frames.frame",
    "jobs": "snellen.jobs",
}


if not TYPE_CHECKING:  # which would find any name in the module

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for: `import snellen` stays quick."""
        if name not in _HOME and name not in _MODULES:
            raise AttributeError(f"module 'snellen' has no attribute {name!r}")
        if _sys.is_finalizing():
            return _loaded(name)
        from importlib import import_module

        if name in _MODULES:
            return import_module(_MODULES[name])
        return getattr(import_module(_HOME[name]), name)


def _loaded(name: str, module: str = "snellen") -> object:
    """Return an error's class while Python shuts down, or say that nothing else works any more."""
    errors = globals().get("errors")  # if they were imported
    if hasattr(errors, name):
        return getattr(errors, name)
    raise getattr(errors, "SnellenError", RuntimeError)(
        f"Python is shutting down: {module}.{name} does not work any more; "
        "use it before the program ends, in a function of atexit at the latest"
    )


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
