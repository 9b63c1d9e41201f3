"""What commands share: types of arguments, options of videos, and parameters' names as options."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.errors import InputError

if TYPE_CHECKING:
    from snellen.jobs.options import VideoOptions

PIPE = Path("-")
"""Standard input, or standard output."""

_OPTIONS = {
    "source": "INPUT", "reference": "REF", "distorted": "DIST", "target": "-o",
    "region": "--roi", "positions": "--roi-file", "table": "--csv", "maps": "--map-out",
    "encoder_options": "--encoder-option", "notes": "--about",
}  # fmt: skip
"""Options whose name is not that of the parameter."""
_PYTHON = frozenset(
    {"batch", "bits", "blind", "callback", "deblurrer", "events", "format", "frame", "history",
     "jobs", "multiframe", "on_device", "policy", "position", "prepare", "queue", "recentre",
     "shape", "siting", "subsampling", "white"}
)  # fmt: skip
"""Parameters that commands do not have."""


def option(parameter: str) -> str:
    """Return the option of a parameter, "--psf-size" for "psf_size"; itself where there is none."""
    if parameter in _PYTHON:
        return parameter
    return _OPTIONS.get(parameter, "--" + parameter.replace("_", "-"))


class _Named(click.Path):
    """A path that a file can have: not empty, which would mean the current folder, and no NUL.

    Nor is it the file that standard output goes to: even an error of ``--json`` would spoil it.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("got an empty name; name a file, a folder or -", param, ctx)
        try:
            unusable = b"\0" in os.fsencode(value)
        except ValueError:
            unusable = True
        if unusable:
            self.fail(f"got {value!r}; expected the name of a file, a folder or -", param, ctx)
        with suppress(OSError, ValueError, AttributeError):
            found, out = Path(value).stat(), os.fstat(sys.stdout.fileno())
            if stat.S_ISREG(out.st_mode) and os.path.samestat(found, out):
                self.fail(f"{value} is the file that standard output goes to", param, ctx)
        return super().convert(value, param, ctx)


NAMED = _Named(path_type=Path)

DECODER = click.option(
    "--decoder",
    type=click.Choice(["auto", "cpu", "nvdec"]),
    default="auto",
    show_default=True,
    help="What decodes video; auto is the CPU. nvdec, experimental (never yet run on hardware), "
    "falls back to the CPU.",
)
DEVICE = click.option(
    "--device", default="auto", show_default=True, metavar="auto|cpu|cuda:N|cuda:0,cuda:1"
)
MAX_PIXELS = click.option(
    "--max-pixels",
    type=click.IntRange(1),
    metavar="N",
    help="Refuse pictures and videos of more pixels [default: by the memory of this machine].",
)
PROFILE = click.option("--profile", is_flag=True, help="Time each stage; the table goes to stderr.")

_VIDEO = (
    DECODER,
    click.option(
        "--codec",
        help="Video encoder [default: libx264, deeper than 10 bit libx265]; those of NVENC are "
        "experimental (never yet run on hardware).",
    ),
    click.option(
        "--preset",
        help="The encoder's preset [default: the encoder's medium]; p1 … p7 with nvenc.",
    ),
    click.option(
        "--crf", type=float, help="The encoder's quality, smaller is better; cq with nvenc."
    ),
    click.option(
        "-e",
        "--encoder-option",
        multiple=True,
        metavar="KEY=VALUE",
        help="Any option of the encoder; may be repeated.",
    ),
    click.option("--pix-fmt", help="Pixel format, such as yuv420p10le [default: the input's]."),
    click.option("--start", metavar="TIME", help="Begin here, in seconds or [HH:]MM:SS."),
    click.option("--duration", metavar="TIME", help="Stop after so long."),
    click.option("--frames", type=click.IntRange(1), help="Stop after so many frames."),
    click.option("--deinterlace", is_flag=True, help="Make interlaced video progressive (bwdif)."),
    click.option(
        "--strict",
        is_flag=True,
        help="An error where something would be lost, or nvenc replaced.",
    ),
    click.option("--overwrite", is_flag=True, help="Replace existing outputs."),
    MAX_PIXELS,
    PROFILE,
    click.option("--json", "as_json", is_flag=True, help="One JSON object a line."),
)


def video_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of how videos are read and written."""
    for one in reversed(_VIDEO):
        command = one(command)
    return command


def video(options: dict[str, Any]) -> VideoOptions:
    """Take the options of videos out of a command's options, and return them as a value."""
    from snellen.jobs.options import video_options

    further = key_values("-e", options.pop("encoder_option"), "tune=film")
    names = ("start", "duration", "frames", "deinterlace", "decoder", "codec", "preset", "crf",
             "pix_fmt")  # fmt: skip
    return video_options(**{name: options.pop(name) for name in names}, encoder_options=further)


def key_values(name: str, texts: tuple[str, ...], example: str) -> dict[str, str]:
    """Return what options KEY=VALUE say (InputError: one has no key, or no =)."""
    for text in texts:
        if not text.partition("=")[1]:
            raise InputError(f"{name} {text}: expected KEY=VALUE, such as {name} {example}")
    return dict(text.split("=", 1) for text in texts)
