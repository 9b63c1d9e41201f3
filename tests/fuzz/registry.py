"""Every kind of case, by name: what the modules that are imported here have registered."""

from __future__ import annotations

from fuzz import files, lists, segments, shown  # noqa: F401
from fuzz.kinds import KINDS

__all__ = ["KINDS"]
