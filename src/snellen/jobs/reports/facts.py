"""Facts about the files that a report compares, and about how it was made."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from snellen._version import __version__
from snellen.files.opening import size_of
from snellen.jobs.kinds.compare import CompareJob
from snellen.jobs.kinds.score import FILM, ScoreResult
from snellen.jobs.options.serial import chosen
from snellen.metrics.registry import MAD
from snellen.report.contents import Facts
from snellen.stills import still
from snellen.video import pixels
from snellen.video.ffmpeg import FULL_RANGE, UNSPECIFIED
from snellen.video.media import MediaInfo

_MATRICES = {0: "RGB", 1: "BT.709", 5: "BT.601", 6: "BT.601", 9: "BT.2020"}
_TRANSFERS = {1: "BT.709", 6: "BT.601", 8: "linear", 13: "sRGB", 14: "BT.2020", 15: "BT.2020",
              16: "PQ (HDR)", 18: "HLG (HDR)"}  # fmt: skip
HDR = (16, 18)
"""Transfers of HDR, by AVCOL_TRC."""
_TAGS = ("title", "encoder", "ENCODER", "creation_time")
_TOLD = 300  # characters of a tag
_NAMED = ("reference", "variants", "target", "command", "reached", "overwrite", "is_source")
_COUNTS = {"frames": "{} frames", "every": "one frame of {}"}


def of_film(info: MediaInfo, frames: int | None) -> Facts:
    """Return facts about a film; `frames`: how many it has, where that was counted."""
    picture, video = info.picture, info.video
    found = [
        ("Pictures", pixels.describe(picture.format)),
        ("Codec", f"{video.codec or video.name or 'unknown'} ({picture.pixel_format})"),
        ("Container", info.container),
    ]
    if picture.sample_aspect_ratio not in (None, 1):
        found.append(("Sample aspect", str(picture.sample_aspect_ratio).replace("/", ":")))
    found.append(("Frame rate", f"{float(info.rate):.5g} a second"))
    if frames is not None:
        found.append(("Frames", f"{frames}, {frames / float(info.rate):.2f} s"))
    if picture.colorspace != UNSPECIFIED:
        found.append(("Matrix", _MATRICES.get(picture.colorspace, str(picture.colorspace))))
    if picture.color_trc != UNSPECIFIED:
        found.append(("Transfer", _TRANSFERS.get(picture.color_trc, str(picture.color_trc))))
    found.append(("Range", "full" if picture.color_range == FULL_RANGE else "limited"))
    if info.path is not None:
        size = size_of(info.path)
        found.append(("File", _bytes(size)))
        if frames:
            rate = size * 8 * float(info.rate) / frames
            found.append(("Bits", f"{rate / 1e3:,.0f} kbit/s of the whole file"))
    others = [str(one) for one in info.streams if one.index != info.video_index]
    if others:
        found.append(("Other streams", ", ".join(others)))
    for tags in (info.tags, video.tags):
        found += [
            (name.lower(), tags[name][:_TOLD])
            for name in _TAGS
            if tags.get(name) and (name.lower(), tags[name][:_TOLD]) not in found
        ]
    return tuple(found)


def of_image(path: Path) -> Facts:
    """Return facts about an image."""
    found = still.read(path)
    high, wide = found.pixels.shape[:2]
    colours = "grey" if found.pixels.ndim == 2 else "RGB" if found.pixels.shape[2] == 3 else "RGBA"
    kind = found.pixels.dtype
    bits = "floats" if kind.kind == "f" else f"{8 * kind.itemsize} bit"
    facts = [
        ("Picture", f"{wide}×{high} {colours} {bits}"),
        ("Type", path.suffix.lower().removeprefix(".")),
        ("File", _bytes(size_of(path))),
    ]
    if found.profile is not None:
        facts.append(("Colour profile", f"{len(found.profile)} bytes"))
    return tuple(facts)


def of_folder(path: Path, files: Sequence[Path]) -> Facts:
    """Return facts about a folder of images."""
    kinds = sorted({one.suffix.lower().removeprefix(".") for one in files})
    size = sum(one.stat().st_size for one in files)
    return (("Images", str(len(files))), ("Types", ", ".join(kinds)), ("Files", _bytes(size)))


def of_run(job: CompareJob, results: Sequence[ScoreResult], seconds: float) -> Facts:
    """Return how a report was made: command, settings, versions."""
    import av
    import numpy as np

    method = results[0].method
    what = "luma, frames by number" if results[0].kind == FILM else "luma"
    settings = ", ".join(
        _setting(name.rpartition(".")[2], value)
        for name, value in chosen(job).items()
        if name not in _NAMED
    )
    found = [
        *([("Command", job.command)] if job.command else []),
        ("Settings", settings or "as by default"),
        *([("Target quality", job.reached)] if job.reached else []),
        ("Scores", f"{what}; on {method.device}, in {seconds:.1f} s"),
    ]
    offsets = [one.offset for one in results]
    if any(offsets):
        found.append(("Offsets", ", ".join(f"{one} frames" for one in offsets)))
    if MAD in job.metrics:
        how = f"variant {method.variant}, hi_scale {method.hi_scale:g}, {method.dtype}"
        found.append(("MAD", how))
    models = {f"{name}={model}" for one in results for name, model in one.table.models.items()}
    if models:
        found.append(("Models", ", ".join(sorted(models))))
    return (
        *found,
        ("Snellen", __version__),
        ("With", f"Python {platform.python_version()}, NumPy {np.__version__}, PyAV "
                 f"{av.__version__}, FFmpeg {av.ffmpeg_version_info}"),
        ("Date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
    )  # fmt: skip


def _setting(name: str, value: object) -> str:
    """Return a setting in words; numbers of frames may be the report's own, and no option's."""
    if name in _COUNTS:
        return _COUNTS[name].format(value)
    return f"{name}={','.join(value) if isinstance(value, tuple) else value}"


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bytes"
