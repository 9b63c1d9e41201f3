"""What commands are given: names of files, times, a device."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from snellen.cli.report import Report
from snellen.errors import InputError

VIDEO = (".mp4", ".mkv", ".mov", ".webm", ".m2ts", ".ts", ".m4v", ".avi", ".y4m")
UNREAD = (
    ".gif", ".apng", ".avif", ".heic", ".heif", ".jfif", ".jp2", ".j2k", ".jxl", ".ico", ".psd",
    ".svg", ".tga", ".exr", ".hdr", ".dpx", ".dng",
)  # fmt: skip
"""Images too, but of types that are not read as such; FFmpeg takes some for films."""
PIPE = Path("-")


class _Named(click.Path):
    """A path that is not the empty string, which would mean the current folder."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("an empty name came; name a file, a folder or -", param, ctx)
        return super().convert(value, param, ctx)


NAMED = _Named(path_type=Path)


def is_still(path: Path) -> bool:
    """Return whether a file's name is an image's."""
    from snellen.frames.still import SUFFIXES

    return path.suffix.lower() in SUFFIXES


def chosen_device(asked: str, report: Report) -> str:
    """Return the device, or several; where there is a driver but auto takes the CPU, say why."""
    from snellen.gpu import device, driver

    found = ",".join(device.several(asked))
    if asked == "auto" and found == "cpu" and driver.version():
        report.warning("--device auto", f"the CPU is used: {device.why_not()}")
    return found


def seconds(name: str, text: str | None) -> Fraction | None:
    """Return a time in seconds: 12.5, 1:02.5 or 0:01:02.5."""
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?|(\d{1,3}:)?\d{1,3}:[0-5]\d(\.\d{1,9})?", text):
        raise InputError(f"{name} {text}: expected seconds or [HH:]MM:SS, such as 90.5 or 1:30.5")
    total = Fraction(0)
    for part in text.split(":"):
        total = total * 60 + Fraction(part)
    if name == "--duration" and total == 0:
        raise InputError(f"{name} {text}: expected more than nothing")
    return total
