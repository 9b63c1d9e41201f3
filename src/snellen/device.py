"""Which device works: today the CPU."""

from __future__ import annotations

import os

from snellen.errors import DeviceError


def resolve(device: str) -> str:
    """Return the device to use: "cpu".

    Raises
    ------
    DeviceError
        A GPU is asked for (this version has no GPU kernels), or the name is unknown.
    """
    if device in ("auto", "cpu"):
        return "cpu"
    if device == "cuda" or (device.startswith("cuda:") and device[5:].isdigit()):
        raise DeviceError(
            f"device {device!r}: this version has no GPU kernels yet; use --device cpu (or auto)"
        )
    raise DeviceError(f"no device {device!r}; there are auto, cpu, cuda and cuda:N")


def threads() -> int:
    """Return how many CPU cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
