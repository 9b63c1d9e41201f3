"""Where figures come from: the commit that was measured."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def commit() -> str | None:
    """Return the commit that is measured, "+" behind it if files have changed since.

    SNELLEN_COMMIT names it where a copy runs without its history.
    """
    if named := os.environ.get("SNELLEN_COMMIT"):
        return named
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"],
            cwd=here, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
