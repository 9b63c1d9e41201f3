"""Arguments of `upscale_file` and `deblur_file`, as their jobs take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from snellen.frames.values import flag
from snellen.jobs.deblur import DeblurJob, psf_targets
from snellen.jobs.enhance import Enhancement
from snellen.jobs.naming import SHARP, beside, enlarged
from snellen.jobs.options import (
    File,
    MiaSettings,
    device_list,
    optional_path,
    path,
    paths,
    video_options,
)
from snellen.jobs.patterns import matching, the_only
from snellen.jobs.planning import file_target
from snellen.jobs.positions import Region
from snellen.jobs.sequence import is_sequence_of
from snellen.jobs.sizes import text_of, wanted
from snellen.jobs.upscale import UpscaleJob

# Names of arguments that are fields of the same names.
SIZE = ("scale", "size", "height", "fit")
_OWN = ("scale", "height", "fit", "model", "method", "source_kind", "chroma")
_ENHANCEMENT = (
    "crop", "vf", "denoise", "sharpen", "post_vf", "deblur", "lut_matrix", "grain", "grain_seed",
)  # fmt: skip
_MIA = (
    "psf", "psf_size", "psf_start", "iterations", "tolerance", "noise", "read_noise", "tv", "prior",
    "edges", "recentre", "tile", "data_range", "dtype",
)  # fmt: skip
_VIDEO = tuple(inspect.signature(video_options).parameters)
_SHARED = (
    "quality", "strict", "overwrite", "max_pixels", "threads", "profile", "segments",
    "keep_segments", "discard_segments", "workers", "cluster",
)  # fmt: skip


def arguments(function: Callable[..., Any], *given: Any, **named: Any) -> dict[str, Any]:
    """Return all arguments of a call by their names, with the defaults of those left out."""
    found = inspect.signature(function).bind(*given, **named)
    found.apply_defaults()
    return found.arguments


def upscale_job(given: Mapping[str, Any]) -> UpscaleJob:
    """Return the job of the arguments of `upscale_file`."""
    video = video_options(**{name: given[name] for name in _VIDEO})
    enhancement = Enhancement(
        **{name: given[name] for name in _ENHANCEMENT},
        deblock=flag("deblock", given["deblock"]),
        deband=flag("deband", given["deband"]),
        deblur_psf_out=optional_path(given["deblur_psf_out"], "deblur_psf_out"),
        lut=optional_path(given["lut"], "lut"),
    )
    source = path(given["source"], "source")
    if video.fps is None:
        source = the_only(source, "source")
    sized = wanted(*(given[name] for name in SIZE))
    goal = file_target(
        source,
        given["target"],
        lambda one: enlarged(one, sized),
        is_sequence_of(source, video.fps),
    )
    return UpscaleJob(
        source=source, target=goal, size=text_of(given["size"]),
        device=device_list(given["device"]), video=video, enhancement=enhancement,
        **{name: given[name] for name in (*_OWN, *_SHARED)},
    )  # fmt: skip


def deblur_job(given: Mapping[str, Any]) -> DeblurJob:
    """Return the job of the arguments of `deblur_file`."""
    video = video_options(**{name: given[name] for name in _VIDEO})
    source = given["source"]
    files: Any
    if isinstance(source, File):
        files = path(source, "source")
        if video.fps is None:
            files = the_only(files, "source")
    else:
        files = tuple(one for typed in paths(source, "source") for one in matching(typed))
    goal = optional_path(given["target"], "target")
    if not isinstance(files, tuple):
        goal = file_target(
            files, given["target"], lambda one: SHARP, is_sequence_of(files, video.fps)
        )
    elif goal is None:
        goal = beside(files[0], SHARP) if files else Path()
    return DeblurJob(
        source=files, target=goal, mia=MiaSettings(**{name: given[name] for name in _MIA}),
        region=Region.of(given["region"], given["positions"]),
        psf_out=psf_targets([goal], optional_path(given["psf_out"], "psf_out"))[0],
        device=device_list(given["device"]), video=video,
        **{name: given[name] for name in ("paste_back", "window", "warm", *_SHARED)},
    )  # fmt: skip
