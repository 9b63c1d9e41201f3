"""Losses of an output, and what else is said of a conversion."""

from __future__ import annotations

from dataclasses import replace

from snellen.errors import InputError
from snellen.files.containers import Y4M
from snellen.video import pixels
from snellen.video.animations import lost_plays
from snellen.video.media import MediaInfo, PictureInfo, SourceReport, Written
from snellen.video.messages import counted
from snellen.video.passthrough.streams import Copier
from snellen.video.passthrough.tags import lost_time_code
from snellen.video.sink import animation, pictures
from snellen.video.sink.encode import Plan
from snellen.video.sink.encoding import Encoder, Encoding
from snellen.video.sink.output import PICTURES, Output
from snellen.video.sink.probe import probe
from snellen.video.sink.registry import names, traits


def from_rgb(picture: PictureInfo) -> str | None:
    """Say that RGB pictures are worked on as YUV; None: they are no RGB."""
    layout = pixels.parse(picture.pixel_format)
    if not layout.rgb:
        return None
    return f"{layout.name} pictures become {layout.planar}, BT.709, limited range"


def without_alpha(info: MediaInfo, possible: bool) -> MediaInfo:
    """Return the description with the loss of the alpha channel, if there is something in it.

    `possible`: whether the step could have kept it.
    """
    if not info.picture.alpha or info.picture.opaque:
        return info
    films = [f"{name} in {traits(name).alpha_in}" for name in names(lambda one: one.alpha_in)]
    holders = f" (`codec`={', '.join(films)} and pictures such as film-%05d.png hold it)"
    lost = "the alpha channel is dropped" + (holders if possible else "")
    return replace(info, picture=replace(info.picture, losses=(*info.picture.losses, lost)))


def full_chroma(decoded: str, encoder: Encoder, encoding: Encoding) -> str | None:
    """Say that RGB pictures become a film that few players play; None: they do not."""
    if encoding.pix_fmt is not None or not encoder.traits.played:
        return None
    if not pixels.parse(decoded).rgb:
        return None
    if encoder.pixels.subsampling != (0, 0):
        return None
    return "few players play chroma of full resolution (4:4:4): `pix_fmt`=yuv420p halves it"


def known_losses(
    info: MediaInfo,
    plan: Plan,
    copier: Copier,
    output: Output,
    strict: bool,
    quality: int | None,
) -> tuple[str, ...]:
    """Return what the output cannot hold; InputError: `strict`, and there is something.

    `plan` has the size of the results: the encoder is probed with it before the step does any work.
    """
    if output.is_rgb:
        lost = pictures.losses(info, output.suffix)
        if output.muxer != PICTURES:
            lost += animation.losses(info, output.suffix, quality)
    else:
        lost = probe(plan, info, output.muxer, output.suffix)
    losses = (
        *info.picture.losses,
        *plan.encoder.losses,
        *copier.losses,
        *lost,
        *lost_plays(info, output.muxer, output.suffix),
        *lost_time_code(info),
    )
    if strict and losses:
        raise InputError(f"{info.name}: strict, and this would be lost: " + "; ".join(losses))
    return losses


def damage(written: Written) -> tuple[str, ...]:
    """Return what was lost of the input while it was read and written."""
    damage = (*written.report.damage, *written.damage)
    if not written.refused:
        return damage
    return (*damage, f"{counted(written.refused, 'packet')} refused by the output's container")


def late_notes(report: SourceReport) -> list[str]:
    """Return what was done to later frames and to their times, without a loss."""
    notes = [str(one) for one in report.changes if not one.lost]
    if report.moved:
        notes.append(f"{report.moved} frame times did not rise and were moved")
    return notes


def late_losses(report: SourceReport, muxer: str) -> list[str]:
    """Return what the output does not hold, as far as it is known only after reading."""
    notes = [*report.losses, *(str(one) for one in report.changes if one.lost)]
    if report.transparent:
        notes.append(
            f"the alpha channel of {counted(report.transparent, 'frame')} is dropped, which are "
            "not opaque as the first one"
        )
    if muxer in (Y4M, PICTURES) and report.variable_rate:
        what = "pictures hold" if muxer == PICTURES else "y4m holds"
        notes.append(f"{what} no times: the variable frame rate is lost")
    return notes
