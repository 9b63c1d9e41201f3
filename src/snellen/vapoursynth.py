"""Super-resolution, deblurring and scores in VapourSynth scripts (R81 or newer).

::

    import snellen.vapoursynth

    clip = snellen.vapoursynth.upscale(clip, 2)

Clips have one format, of YUV or grey with integers of 8 to 16 bits, which are taken as they are.
All properties of frames are kept. A frame is what `snellen.upscale_file` and the other functions
make of it, to the bit. Only this file imports VapourSynth, which needs Python 3.12
(``pip install "snellen[vapoursynth]"``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from snellen.errors import InputError, quoted
from snellen.frames.frame import LEFT, Format, Frame
from snellen.jobs.steps.deblur_step import DeblurStep, FrameFits
from snellen.mad.scorer import Scorer
from snellen.upscaling.models import Model
from snellen.upscaling.shipped import Method, SourceKind
from snellen.upscaling.upscaler import Upscaler
from snellen.video import pixels
from snellen.video.steps.region import RegionStep

__all__ = ["deblur", "score", "upscale"]

IN_FLIGHT = 2
"""Frames of a clip that are enlarged at once, at least: one is copied while another is computed."""
_SITINGS = ("left", "center", "topleft", "top", "bottomleft", "bottom")
"""FFmpeg's names of the values of the property _ChromaLocation."""
_FULL = 1
"""Value of the property _Range for full range."""

Clip = Any
"""A vapoursynth.VideoNode: VapourSynth is not there when types are checked."""


def upscale(
    clip: Clip,
    scale: int = 2,
    *,
    model: str | Path | Model | None = None,
    device: str = "auto",
    method: Method | None = None,
    source_kind: SourceKind | None = None,
) -> Clip:
    """Enlarge a clip: luma by a compact network or A+, chroma by bicubic.

    Chroma lies where the property _ChromaLocation says, in the result too; left without it.

    Parameters
    ----------
    clip : vapoursynth.VideoNode
        YUV or grey, integers of 8 to 16 bits. Its frames are progressive.
    scale : int
        2, 3 or 4.
    model, method, source_kind
        As of `snellen.Upscaler`. Of coded films say ``source_kind="film"`` (or "soft"): unlike
        `snellen.upscale_file` this function does not look at the film, and warns at most.
    device : str
        "cpu", "cuda", "cuda:N", or "auto": the GPU where it works.

    Returns
    -------
    vapoursynth.VideoNode
        `scale` times as wide and high.

    Raises
    ------
    InputError
        Another kind of clip or scale. Of a frame that is interlaced, when it is asked for.
    ModelError, DeviceError
        As of `snellen.Upscaler`.
    """
    given = _format(clip)
    first = [Upscaler(scale, model, device, method=method, source_kind=source_kind)]

    def made() -> Upscaler:
        if first:
            return first.pop()
        return Upscaler(scale, model, device, method=method, source_kind=source_kind)

    lanes, steps = max(IN_FLIGHT, first[0].slots), _Steps(made)
    scale = first[0].scale
    target = clip.std.BlankClip(width=clip.width * scale, height=clip.height * scale, keep=True)
    return _changed(clip, target, given, lambda frame, format: steps.of(format).run(frame), lanes)


def deblur(clip: Clip, *, device: str = "auto", **settings: Any) -> Clip:
    """Make the luma of a clip sharp by MIA, each frame by itself; chroma stays as it is.

    Parameters
    ----------
    clip : vapoursynth.VideoNode
        YUV or grey, integers of 8 to 16 bits. Its frames are progressive.
    device : str
        "cpu", "cuda", "cuda:N", or "auto": the GPU where it works.
    **settings
        `psf` (a file, or rows of an array), `psf_size`, `psf_start`, `iterations`, `tolerance`,
        `noise`, `read_noise`, `tv`, `prior`, `edges`, `recentre`, `tile` and `dtype`, as of
        `snellen.deblur_file` for a film.

    Returns
    -------
    vapoursynth.VideoNode

    Raises
    ------
    InputError
        Another kind of clip, or another setting. Of a frame that is interlaced, when it is asked
        for.
    DeviceError
        The device cannot be used.
    """
    from snellen.gpu import device as devices
    from snellen.jobs.kinds.deblur import DeblurJob, method_settings
    from snellen.jobs.options.methods import MiaSettings

    known = set(MiaSettings.__dataclass_fields__) - {"data_range"}
    if unknown := sorted(settings.keys() - known):
        raise InputError(f"got {unknown[0]}; expected some of {', '.join(sorted(known))}")
    given, mia = _format(clip), MiaSettings(**settings)
    method = method_settings(DeblurJob(source=Path("-"), target=Path("-"), mia=mia))
    if mia.prior == "auto":  # which is for stills
        method["prior"] = None
    where, lock = devices.single(device, "deblurring"), Lock()

    def made() -> RegionStep:
        fits = FrameFits(lambda row: None, keep=False)
        return RegionStep(DeblurStep(method, where, mia.tile, 1, False, fits))

    steps = _Steps(made)

    def run(frame: Frame, format: Format) -> Frame:
        with lock:  # a RegionStep takes one frame at a time
            restored: Frame = steps.of(format).run(frame)
        return restored

    made().close()  # which checks the settings
    return _changed(clip, clip, given, run, 1)


def score(reference: Clip, distorted: Clip, *, device: str = "auto", **settings: Any) -> Clip:
    """Score the frames of a clip against those of its reference by MAD.

    Parameters
    ----------
    reference, distorted : vapoursynth.VideoNode
        YUV or grey of one size and depth, 8 to 16 bits. Only luma counts.
    device : str
        "cpu", "cuda", "cuda:N", or "auto": the GPU where it works.
    **settings
        `variant`, `hi_scale`, `eight_bit_lut` and `dtype`, as of `snellen.Scorer`.

    Returns
    -------
    vapoursynth.VideoNode
        `distorted`, whose frames have the properties MAD, HI and LO: 0 is no visible difference.

    Raises
    ------
    InputError
        Other kinds of clips, or clips that differ; less than 34×34 pixels; another setting.
    DeviceError
        The device cannot be used.
    """
    given, other = _format(reference), _format(distorted)
    sizes = [(one.width, one.height, one.bits) for one in (given, other)]
    if sizes[0] != sizes[1] or reference.num_frames != distorted.num_frames:
        raise InputError(
            f"got a reference of {_text(reference)} and a clip of {_text(distorted)}; expected one "
            "size, depth and number of frames"
        )
    if unknown := sorted(settings.keys() - {"variant", "hi_scale", "eight_bit_lut", "dtype"}):
        raise InputError(
            f"got {unknown[0]}; expected some of dtype, eight_bit_lut, hi_scale, variant"
        )
    scorer = Scorer(device=device, **settings)
    scorer.prepare(given)

    def scored(n: int, f: list[Any]) -> Any:
        found = scorer.run(*(np.asarray(one[0]) for one in f))
        frame = f[1].copy()
        for name in ("MAD", "HI", "LO"):
            frame.props[name] = float(getattr(found, name.lower()))
        return frame

    return distorted.std.ModifyFrame(clips=[reference, distorted], selector=scored)


class _Steps:
    """One prepared step for each format that comes; properties of frames are part of a format."""

    def __init__(self, made: Callable[[], Any]) -> None:
        self._made, self._lock = made, Lock()
        self._prepared: dict[Format, Any] = {}

    def of(self, format: Format) -> Any:
        """Return the step for frames of a format."""
        with self._lock:
            if format not in self._prepared:
                step = self._made()
                step.prepare(format)
                self._prepared[format] = step
            return self._prepared[format]


def _changed(
    clip: Clip, target: Clip, given: Format, run: Callable[[Frame, Format], Frame], lanes: int
) -> Clip:
    """Return a clip of the format of `target`, whose frames `run` makes of those of `clip`."""
    # VapourSynth calls a function for one frame at a time; so there are several of it, which take
    # turns.
    core, count = _library().core, len(given.shapes)

    def changed(n: int, f: Any) -> Any:
        if f.props.get("_FieldBased", 0):
            raise InputError(
                f"frame {n} is interlaced (_FieldBased={int(f.props['_FieldBased'])}); expected "
                "progressive frames",
                advice="deinterlace first, or call std.SetFieldBased(clip, 0) if it is not",
            )
        planes = tuple(np.asarray(f[number]) for number in range(count))
        result = run(Frame(planes), _described(given, f.props))
        frame = core.create_video_frame(target.format, target.width, target.height)
        for number, plane in enumerate(result.planes):
            np.copyto(np.asarray(frame[number]), plane)
        return frame

    nodes = [target.std.ModifyFrame(clips=[clip], selector=changed) for _ in range(lanes)]
    made = nodes[0] if lanes == 1 else target.std.FrameEval(lambda n: nodes[n % lanes])
    return made.std.CopyFrameProps(prop_src=clip)


def _library() -> Any:
    """Return the module vapoursynth (ImportError: it is not installed)."""
    try:
        import vapoursynth
    except ImportError as error:
        raise ImportError(
            f"snellen.vapoursynth needs VapourSynth, which cannot be imported ({error}): "
            'pip install "snellen[vapoursynth]", with Python 3.12 or newer',
            name="vapoursynth",
        ) from error
    return vapoursynth


def _format(clip: Clip) -> Format:
    """Return the format of a clip's frames (InputError: it has none that we take)."""
    vapoursynth = _library()
    if not isinstance(clip, vapoursynth.VideoNode):
        raise InputError(
            f"got {quoted(type(clip).__name__, str)}; expected a clip, a vapoursynth.VideoNode",
            parameter="clip",
        )
    found = clip.format
    if found is None or found.id == 0 or not clip.width or not clip.height:
        raise InputError(
            "got a clip whose frames vary in format or size; expected one of both",
            parameter="clip",
            advice="use resize.Bicubic(clip, width, height, format=…) first",
        )
    families = {vapoursynth.GRAY: None, vapoursynth.YUV: (found.subsampling_w, found.subsampling_h)}
    whole = found.sample_type == vapoursynth.INTEGER and 8 <= found.bits_per_sample <= 16
    if found.color_family not in families or not whole:
        raise InputError(
            f"got a clip of {found.name}; expected YUV or grey, integers of 8 to 16 bits",
            parameter="clip",
            advice='use resize.Bicubic(clip, format=vs.YUV444P16, matrix_s="709") first',
        )
    return Format(
        clip.width, clip.height, found.bits_per_sample, families[found.color_family], LEFT
    )


def _described(format: Format, properties: Any) -> Format:
    """Return the format of a frame with these properties: where its chroma lies, and its range."""
    full = properties.get("_Range", 1 - _FULL) == _FULL
    place = properties.get("_ChromaLocation", 0)
    name = _SITINGS[place] if 0 <= place < len(_SITINGS) else _SITINGS[0]
    return replace(format, siting=pixels.siting(name, format.subsampling), full_range=full)


def _text(clip: Clip) -> str:
    return f"{clip.num_frames} frames {clip.width}×{clip.height} {clip.format.name}"
