"""VMAF, which FFmpeg's filter libvmaf computes: what is missing for it here."""

from __future__ import annotations

import av
from av.filter import filters_available

from snellen.errors import InputError

FILTER = "libvmaf"


def refused() -> InputError:
    """Return the error that says why there is no VMAF."""
    has_filter = FILTER in filters_available
    missing = f"was built without the filter {FILTER}, as in all wheels so far"
    unused = f"has the filter {FILTER}, which Snellen does not use yet"
    return InputError(
        f"`metrics` asks for vmaf, but the FFmpeg in PyAV {av.__version__} "
        f"{unused if has_filter else missing}",
        parameter="metrics",
        advice="leave vmaf out; a program ffmpeg with this filter computes it: "
        f"ffmpeg -i DIST -i REF -lavfi {FILTER} -f null -",
    )
