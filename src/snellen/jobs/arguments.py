"""Arguments of the functions for files, as their jobs take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from snellen.jobs.options import video_options

VIDEO = tuple(inspect.signature(video_options).parameters)
"""What VideoOptions are made of."""
SHARED = (
    "quality", "strict", "overwrite", "max_pixels", "threads", "profile", "segments",
    "keep_segments", "discard_segments", "workers", "cluster",
)  # fmt: skip
"""Fields of the same names in UpscaleJob and DeblurJob."""


def arguments(function: Callable[..., Any], *given: Any, **named: Any) -> dict[str, Any]:
    """Return all arguments of a call by their names, with the defaults of those left out."""
    found = inspect.signature(function).bind(*given, **named)
    found.apply_defaults()
    return found.arguments
