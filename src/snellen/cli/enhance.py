"""Options of what is done to a film's frames beside enlarging them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from snellen.cli.groups import ENHANCEMENT, group
from snellen.cli.types import NAMED, NUMBER, WRITTEN

if TYPE_CHECKING:
    from snellen.jobs.enhance import Enhancement

_OPTIONS = group(
    ENHANCEMENT,
    click.option(
        "--crop",
        metavar="auto|W:H:X:Y",
        help="Work on this part of each picture: width, height, and the distances from the left "
        "and the top, in pixels; auto: what is inside black bars.",
    ),
    click.option(
        "--vf",
        metavar="CHAIN",
        help="FFmpeg's filters before the frames are enlarged, as bilateral,hue=s=0.",
    ),
    click.option(
        "--deblock", is_flag=True, help="Smooth the edges of blocks, which coarse coding leaves."
    ),
    click.option(
        "--denoise",
        type=click.Choice(["light", "medium", "strong"]),
        help="Reduce noise: light and medium by FFmpeg's atadenoise and fftdnoiz, strong by "
        "non-local means over several frames.",
    ),
    click.option(
        "--deblur",
        metavar="auto|FILE",
        help="Undo one blur in all frames before they are enlarged, by MIA: the PSF of a file "
        "(.npy, or a grey image), or auto: estimated on some sharp frames; a sharp film stays.",
    ),
    click.option(
        "--deblur-psf-out",
        type=WRITTEN,
        metavar="FILE",
        help="Write the PSF that --deblur auto finds, as .npy or .png.",
    ),
    click.option(
        "--sharpen",
        type=NUMBER,
        metavar="AMOUNT",
        help="Sharpen luma of the enlarged frames, above 0 up to 1; 0.3 is moderate.",
    ),
    click.option(
        "--deband", is_flag=True, help="Remove bands in smooth gradients of the enlarged frames."
    ),
    click.option(
        "--lut",
        type=NAMED,
        metavar="FILE.cube",
        help="Send the colours of the enlarged frames through this table.",
    ),
    click.option(
        "--lut-matrix",
        type=click.Choice(["auto", "bt709", "bt601", "bt2020"]),
        help="The film's colour matrix for --lut, where it does not state it.",
    ),
    click.option("--post-vf", metavar="CHAIN", help="FFmpeg's filters after these."),
    click.option(
        "--grain",
        type=NUMBER,
        metavar="AMOUNT",
        help="Add film grain to luma: its standard deviation in the middle tones, in code values "
        "of 8 bits; 2 is fine, 6 is strong.",
    ),
    click.option(
        "--grain-seed",
        type=int,
        metavar="N",
        help="Another number gives other grain; 0 if left out.",
    ),
)


def enhancement_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of enhancement."""
    decorated: Callable[..., Any] = _OPTIONS(command)
    return decorated


def enhancement(options: dict[str, Any]) -> Enhancement:
    """Take these options out of a command's options, and return them as a value.

    Each is called as its field.
    """
    from snellen.jobs.enhance import Enhancement

    return Enhancement(**{one.name: options.pop(one.name) for one in fields(Enhancement)})
