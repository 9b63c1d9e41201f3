"""VMAF, which FFmpeg's filter libvmaf computes, where the FFmpeg of PyAV has it."""

from __future__ import annotations

import av
from av.filter import filters_available

from snellen.errors import InputError

FILTER = "libvmaf"


def check() -> None:
    """Refuse VMAF (InputError) where FFmpeg cannot compute it."""
    if FILTER not in filters_available:
        raise InputError(
            f"`metrics` asks for vmaf, but the FFmpeg in PyAV {av.__version__} was built without "
            f"the filter {FILTER}, as in all wheels so far",
            parameter="metrics",
            advice=f"leave vmaf out, or install PyAV from source against an FFmpeg with {FILTER} "
            "(pip install --no-binary av av)",
        )
