"""Asks encoder and muxer what they keep: one blank frame, written into memory and read back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from io import BytesIO

import av
import numpy as np
from av.container import InputContainer
from av.video.frame import VideoFrame

from snellen.errors import InputError
from snellen.video import hdr, pixels
from snellen.video.decode import Source
from snellen.video.encode import Plan, add_video, open_container, put_in_order
from snellen.video.source import BYTES_AS_THEY_ARE, chroma_location, reason
from snellen.video.tags import chapters, tags
from snellen.video.times import fraction


@dataclass(frozen=True, slots=True)
class Lost:
    """What did not come back."""

    losses: tuple[str, ...]
    notes: tuple[str, ...]


def lost_by(plan: Plan, source: Source, muxer: str, suffix: str) -> Lost:
    """Return what of the pictures' description and the tags the output will not hold.

    InputError where it does not take such video at all, or an option is wrong.
    """
    made = plan.encoder.pixels
    # The input's size, for options that depend on it, but even: odd ones are judged later.
    width, height = (-(-n // 16) * 16 for n in (plan.format.width, plan.format.height))
    format = replace(plan.format, width=max(64, width), height=max(64, height), bits=made.bits)
    plan = replace(plan, format=replace(format, subsampling=made.subsampling))
    wanted = tags(dict(source.container.metadata))
    marks = chapters(source, None)
    file = BytesIO()
    out = open_container(file, muxer, plan.time_base)
    try:
        stream = add_video(out, plan)
        out.metadata.update(wanted)
        if marks:
            out.set_chapters(marks)
        frame = _blank(plan)
        packets = [*stream.encode(frame), *stream.encode(None)]
        put_in_order(packets, Fraction(1))
        out.mux(packets)
        out.close()
    except (av.FFmpegError, OSError) as error:
        raise InputError(
            f"{suffix} does not take video of {plan.encoder.codec} ({reason(error)}): "
            ".mkv holds nearly all, or choose another codec"
        ) from None
    file.seek(0)
    with av.open(file, "r", **BYTES_AS_THEY_ARE) as back:
        return _compare(back, plan, wanted, len(marks), suffix)


def _blank(plan: Plan) -> VideoFrame:
    planes = tuple(
        np.full(shape, 1 << (plan.format.bits - 1), plan.format.dtype)
        for shape in plan.format.shapes
    )
    layout = pixels.planar(plan.format.bits, plan.format.subsampling)
    frame = pixels.picture(planes, layout)
    if layout != plan.encoder.pixels.name:
        frame = frame.reformat(format=plan.encoder.pixels.name)
    frame.pts, frame.time_base = 0, plan.time_base
    return frame


def _compare(
    back: InputContainer, plan: Plan, wanted: dict[str, str], marks: int, suffix: str
) -> Lost:
    stream, look = back.streams.video[0], plan.look
    frame = next(back.decode(stream))
    losses = []
    if look.matrix is not None and not _turned_alike(look.matrix, hdr.display_matrix(frame)):
        losses.append(f"rotation or flip of the picture: {suffix} cannot hold it")
    if (fraction(stream.sample_aspect_ratio) or 1) != (look.aspect or 1):
        losses.append(f"sample aspect ratio {look.aspect}: {suffix} cannot hold it")
    if plan.format.subsampling == (1, 1) and look.siting is not None:
        told = chroma_location(back, stream) or "left"
        if told != look.siting:
            codec = plan.encoder.codec
            losses.append(f"chroma location {look.siting}: {codec} can only say {told}")
    if len(back.chapters()) < marks:
        losses.append(f"{marks} chapters: {suffix} cannot hold them")
    notes = []
    there = {**_lower(dict(back.metadata)), **_lower(dict(stream.metadata))}
    said = {k: v for k, v in {**wanted, **plan.metadata}.items() if v != "und"}  # undetermined
    gone = [key for key in said if key.lower() not in there]
    if gone:
        notes.append(f"tags that {suffix} cannot hold: {', '.join(gone)}")
    return Lost(tuple(losses), tuple(notes))


def _turned_alike(want: tuple[int, ...], got: tuple[int, ...] | None) -> bool:
    # Matroska keeps the angle: sines and cosines come back rounded, the shift not at all.
    return got is not None and all(abs(want[i] - got[i]) < 64 for i in (0, 1, 3, 4))


def _lower(metadata: dict[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in metadata.items()}
