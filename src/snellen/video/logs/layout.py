"""How the memory for FFmpeg's messages is laid out: slots, each a header and records."""

from __future__ import annotations

import numpy as np

SLOTS = 256
"""Listeners that can be active at once."""
RECORDS = 512
"""Messages that a slot holds; a newer one replaces the oldest."""
TEXT = 360
"""Bytes of a message."""

HEADER = np.dtype(
    [("tag", "i8"), ("thread", "i8"), ("level", "i8"), ("count", "i8"), ("errors", "i8")]
)
"""Which messages a slot takes (those whose level carries its tag, and those of a thread; up to a
level), how many there were, and how many of these were errors."""
RECORD = np.dtype(
    [("number", "i8"), ("tag", "i8"), ("level", "i8"), ("prefix", "i8"), ("text", f"S{TEXT}")]
)
"""A message; its number counts from 1 and is written last. The tag is that of its level."""
SLOT = np.dtype([("header", HEADER), ("records", RECORD, RECORDS)])
