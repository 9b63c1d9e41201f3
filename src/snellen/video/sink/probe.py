"""Finds what encoder and muxer lose, by writing one blank frame into memory and reading it back."""

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
from snellen.video import pixels
from snellen.video.ffmpeg import FULL_RANGE, UNSPECIFIED, chroma_location, reason
from snellen.video.media import MediaInfo
from snellen.video.opening import open_own
from snellen.video.passthrough.tags import chapters, container_tags, missing
from snellen.video.side_data import display_matrix, side_data
from snellen.video.sink import registry
from snellen.video.sink.aspect import AspectWriter
from snellen.video.sink.encode import (
    Plan,
    add_video,
    encoder_base,
    open_container,
    other_choice,
    rehearsed,
    set_colour,
    set_decoding_times,
)
from snellen.video.timestamps import fraction

_READ = Fraction(1, 255)
"""FFmpeg rounds a ratio that it reads to terms up to 255, by at most so much of it."""


def probe(plan: Plan, info: MediaInfo, muxer: str, suffix: str) -> tuple[str, ...]:
    """Return which properties of the pictures and which tags the output loses.

    The plan is for the output's size: some encoders take only certain sizes. InputError: the output
    does not take such video at all, an option is wrong, or players would show the pictures wrong.
    """
    taken = plan.encoder.pixels
    format = replace(plan.format, bits=taken.bits, subsampling=taken.subsampling)
    plan = rehearsed(replace(plan, format=format))
    tags = container_tags(info)
    marks = chapters(info, None)
    file = BytesIO()
    header = AspectWriter(file, muxer, plan.format, plan.picture.sample_aspect_ratio)
    out = open_container(header.target, muxer, plan.time_base, suffix)
    try:
        stream = add_video(out, plan, suffix, threads=1)  # for one frame, more only take memory
        out.metadata.update(tags)
        if marks:
            out.set_chapters(marks)
        frame = _blank(plan)
        packets = [*stream.encode(frame), *stream.encode(None)]
        set_decoding_times(packets, Fraction(1))
        for packet in packets:
            packet.time_base = plan.time_base
        out.mux(packets)
        out.close()
        header.finish()
    except (av.FFmpegError, OSError) as error:
        raise InputError(
            f"{suffix} does not take video of {plan.encoder.codec} ({reason(error)}): "
            + other_choice(suffix)
        ) from None
    file.seek(0)
    with open_own(file) as back:
        if not back.streams.video:  # a transport stream holds anything, as data that nobody reads
            raise InputError(
                f"{suffix} does not take video of {plan.encoder.codec}: {other_choice(suffix)}"
            )
        try:
            return tuple(_losses(back, plan, tags, len(marks), suffix))
        except (av.FFmpegError, StopIteration) as error:
            raise InputError(
                f"what {plan.encoder.codec} writes into {suffix} cannot be read back "
                f"({reason(error)}): {other_choice(suffix)}"
            ) from None


def _blank(plan: Plan) -> VideoFrame:
    planes = tuple(
        np.full(shape, 1 << (plan.format.bits - 1), plan.format.dtype)
        for shape in plan.format.shapes
    )
    layout = pixels.planar(plan.format.bits, plan.format.subsampling)
    frame = pixels.picture(planes, layout)
    if layout != plan.encoder.pixels.name:
        frame = frame.reformat(format=plan.encoder.pixels.name)
    set_colour(frame, plan.picture)
    frame.pts, frame.time_base = 0, encoder_base(plan)
    return frame


def _losses(
    back: InputContainer, plan: Plan, tags: dict[str, str], marks: int, suffix: str
) -> list[str]:
    stream, picture = back.streams.video[0], plan.picture
    frame = next(back.decode(stream))
    losses = _colour_losses(frame, stream, plan, suffix)
    matrix = picture.display_matrix
    if matrix is not None and not _same_rotation(matrix, display_matrix(side_data(frame))):
        losses.append(f"rotation or flip of the picture: {suffix} cannot hold it")
    ratio = picture.sample_aspect_ratio or Fraction(1)
    got_ratio = fraction(stream.sample_aspect_ratio) or Fraction(1)
    if abs(got_ratio / ratio - 1) > _READ and suffix != ".avif":  # which has none for one frame
        losses.append(f"sample aspect ratio {ratio}: {plan.encoder.codec} in {suffix} loses it")
    if plan.format.subsampling not in (None, (0, 0)) and picture.chroma_location is not None:
        got = chroma_location(back, stream) or "left"
        if got != picture.chroma_location:
            losses.append(
                f"chroma location {picture.chroma_location}: {plan.encoder.codec} can only "
                f"state {got}"
            )
    if len(back.chapters()) < marks:
        losses.append(f"{marks} chapters: {suffix} cannot hold them")
    container, video = dict(back.metadata), dict(stream.metadata)
    # The container's tags may come back as those of its only stream, and the other way round.
    lost = missing(tags, {**video, **container}) + missing(plan.tags, {**container, **video})
    if lost:
        losses.append(f"tags that {suffix} cannot hold: {', '.join(dict.fromkeys(lost))}")
    marked = plan.disposition & ~stream.disposition & ~Disposition.default
    if marked:
        names = ", ".join(str(one.name) for one in Disposition if one & marked)
        losses.append(f"video stream {plan.index}: {suffix} cannot hold its marks {names}")
    return losses


def _colour_losses(frame: VideoFrame, stream: VideoStream, plan: Plan, suffix: str) -> list[str]:
    """Return lost colour properties; InputError: players would show the colours wrong."""
    picture, context, codec = plan.picture, stream.codec_context, plan.encoder.codec
    got_range = int(frame.color_range) or int(context.color_range)
    full = picture.color_range == FULL_RANGE
    if (got_range == FULL_RANGE) != full:
        have, get = ("full", "limited") if full else ("limited", "full")
        raise InputError(
            f"{codec} in {suffix} can only state {get} range for samples that have {have} range, "
            "and players would show them wrong: choose another codec "
            f"({', '.join(registry.names(lambda one: one.played))})"
        )
    lost = []
    for word, names, expected, *got in (
        ("matrix", Colorspace, picture.colorspace, frame.colorspace, context.colorspace),
        ("primaries", ColorPrimaries, picture.color_primaries, frame.color_primaries,
         context.color_primaries),
        ("transfer", ColorTrc, picture.color_trc, frame.color_trc, context.color_trc),
    ):  # fmt: skip
        if expected != UNSPECIFIED and next((g for g in got if g != UNSPECIFIED), None) != expected:
            known = {int(one): one.name for one in names}
            lost.append(f"{word} {known.get(expected, expected)}")
    who = suffix if codec == "wrapped_avframe" else f"{codec} in {suffix}"
    return [f"colour {', '.join(lost)}: {who} cannot state it"] if lost else []


def _same_rotation(expected: tuple[int, ...], got: tuple[int, ...] | None) -> bool:
    # Matroska keeps the angle only: sines and cosines come back rounded, the shift does not.
    return got is not None and all(abs(expected[i] - got[i]) < 64 for i in (0, 1, 3, 4))
