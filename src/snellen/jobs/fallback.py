"""The one fall-back to the CPU, for jobs whose device is "auto"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from snellen.errors import DeviceError
from snellen.gpu import device as devices
from snellen.gpu import driver
from snellen.jobs.events import Events

T = TypeVar("T")


def chosen(device: str, events: Events) -> str:
    """Return the device, or several after commas, that a job's `device` means here.

    Where "auto" means the CPU although an NVIDIA driver is installed, a warning says why.
    DeviceError: a device that does not exist or cannot be used.
    """
    found = ",".join(devices.several(device))
    if device == "auto" and found == "cpu" and (driver.version() or driver.forked()):
        events.warning("`device`=auto", f"the CPU is used: {devices.why_not()}")
    return found


def on_device(
    work: Callable[[str], T], device: str, subject: str, events: Events, repeatable: bool = True
) -> T:
    """Return what `work` returns for a job's device; for the CPU where "auto"'s GPU fails.

    `work` is called with "cpu", "cuda:N", or several of these after commas; its DeviceError means
    that nothing was written. `subject` is what the warning, that the CPU steps in, is about.
    `repeatable`: `work` can be called twice, not where it reads standard input. DeviceError: the
    device cannot be used, and the CPU may not step in.
    """
    found = chosen(device, events)
    try:
        return work(found)
    except DeviceError as error:
        if device != "auto" or found == "cpu" or not repeatable:
            raise
        events.warning(subject, f"the CPU is used: {error.text}")
        return work("cpu")
