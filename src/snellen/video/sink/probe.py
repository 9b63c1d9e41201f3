"""Asks encoder and muxer what they keep: one blank frame, written into memory and read back."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from io import BytesIO

import av
import numpy as np
from av.container import InputContainer
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.reformatter import ColorPrimaries, Colorspace, ColorTrc
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.video import hdr, pixels
from snellen.video.passthrough.tags import chapters, film_tags, missing
from snellen.video.sink.encode import (
    Plan,
    add_video,
    describe,
    encoder_base,
    open_container,
    other_choice,
    put_in_order,
)
from snellen.video.source.decode import Source
from snellen.video.source.open import BYTES_AS_THEY_ARE, FULL, UNSPECIFIED, chroma_location, reason
from snellen.video.timestamps import fraction


def lost_by(plan: Plan, source: Source, muxer: str, suffix: str) -> tuple[str, ...]:
    """Return what of the pictures' description and the tags the output will not hold.

    `plan` is that of the output's size: some encoders take few. InputError where it does not take
    such video at all, or an option is wrong, or the pictures would be shown wrong.
    """
    made = plan.encoder.pixels
    format = replace(plan.format, bits=made.bits, subsampling=made.subsampling)
    plan = replace(plan, format=format)
    wanted = film_tags(source)
    marks = chapters(source, None)
    file = BytesIO()
    out = open_container(file, muxer, plan.time_base)
    try:
        stream = add_video(out, plan, suffix, threads=1)  # one frame: more only take memory
        out.metadata.update(wanted)
        if marks:
            out.set_chapters(marks)
        frame = _blank(plan)
        packets = [*stream.encode(frame), *stream.encode(None)]
        put_in_order(packets, Fraction(1))
        for packet in packets:
            packet.time_base = plan.time_base
        out.mux(packets)
        out.close()
    except (av.FFmpegError, OSError) as error:
        raise InputError(
            f"{suffix} does not take video of {plan.encoder.codec} ({reason(error)}): "
            + other_choice(suffix)
        ) from None
    file.seek(0)
    with av.open(file, "r", **BYTES_AS_THEY_ARE) as back:
        return tuple(_compare(back, plan, wanted, len(marks), suffix))


def _blank(plan: Plan) -> VideoFrame:
    planes = tuple(
        np.full(shape, 1 << (plan.format.bits - 1), plan.format.dtype)
        for shape in plan.format.shapes
    )
    layout = pixels.planar(plan.format.bits, plan.format.subsampling)
    frame = pixels.picture(planes, layout)
    if layout != plan.encoder.pixels.name:
        frame = frame.reformat(format=plan.encoder.pixels.name)
    describe(frame, plan.look)
    frame.pts, frame.time_base = 0, encoder_base(plan)
    return frame


def _compare(
    back: InputContainer, plan: Plan, wanted: dict[str, str], marks: int, suffix: str
) -> list[str]:
    stream, look = back.streams.video[0], plan.look
    frame = next(back.decode(stream))
    losses = _colour_losses(frame, stream, plan, suffix)
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
    film, video = dict(back.metadata), dict(stream.metadata)
    # What was said of the film may come back of its only stream, and the other way round.
    gone = missing(wanted, {**video, **film}) + missing(plan.metadata, {**film, **video})
    if gone:
        losses.append(f"tags that {suffix} cannot hold: {', '.join(dict.fromkeys(gone))}")
    marked = plan.disposition & ~stream.disposition & ~Disposition.default
    if marked:
        names = ", ".join(str(one.name) for one in Disposition if one & marked)
        losses.append(f"video stream {plan.index}: {suffix} cannot hold its marks {names}")
    return losses


def _colour_losses(frame: VideoFrame, stream: VideoStream, plan: Plan, suffix: str) -> list[str]:
    """Name what is no longer said of the colours; InputError where they would be shown wrong."""
    look, context, codec = plan.look, stream.codec_context, plan.encoder.codec
    told = int(frame.color_range) or int(context.color_range)
    if (told == FULL) != (look.range == FULL):
        have, get = ("full", "limited") if look.range == FULL else ("limited", "full")
        raise InputError(
            f"{codec} in {suffix} can only say {get} range of samples that have {have} range, "
            "and players would show them wrong: choose another codec (libx264, libx265)"
        )
    gone = []
    for word, names, want, *got in (
        ("matrix", Colorspace, look.space, frame.colorspace, context.colorspace),
        ("primaries", ColorPrimaries, look.primaries, frame.color_primaries,
         context.color_primaries),
        ("transfer", ColorTrc, look.transfer, frame.color_trc, context.color_trc),
    ):  # fmt: skip
        if want != UNSPECIFIED and next((g for g in got if g != UNSPECIFIED), None) != want:
            known = {int(one): one.name for one in names}
            gone.append(f"{word} {known.get(want, want)}")
    who = suffix if codec == "wrapped_avframe" else f"{codec} in {suffix}"
    return [f"colour {', '.join(gone)}: {who} cannot say it"] if gone else []


def _turned_alike(want: tuple[int, ...], got: tuple[int, ...] | None) -> bool:
    # Matroska keeps the angle: sines and cosines come back rounded, the shift not at all.
    return got is not None and all(abs(want[i] - got[i]) < 64 for i in (0, 1, 3, 4))
