"""The memory that work takes in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path


def alone(module: str, function: str, *words: object) -> tuple[float, float]:
    """Return what a function prints in a fresh process: memory before the work and its peak, MB.

    Parameters
    ----------
    module, function : str
        Where it is; it takes its arguments as strings.
    *words
        Its arguments.
    """
    code = f"import sys; from {module} import {function} as work; work(*sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, words)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, after = map(float, told.split())
    return before, after


def peak() -> float:
    """Return the most memory that this process held since `forget_peak`, MB.

    Since it began, where the system (not Linux) does not forget.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024 / 1e6
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def forget_peak() -> float:
    """Begin anew with the memory held now, and return that, MB."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets VmHWM
    return peak()
