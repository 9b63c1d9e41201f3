"""Where the arrays of a call are: the devices that do the work, and copies between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from snellen.frames import arrays
from snellen.gpu import device as devices

Array = Any
"""Of NumPy or CuPy."""


def choose_devices(
    images: tuple[Any, ...], device: str | Sequence[str]
) -> tuple[Any, tuple[str, ...]]:
    """Return the array whose device does the work, and the names of all devices, that one first.

    It is the first array that lives on a GPU, or else the first array.

    Raises
    ------
    InputError, DeviceError
        As `arrays.choose` and `device.several` say.
    """
    home = next((image for image in images if arrays.place(image) != "cpu"), images[0])
    first, *others = devices.names(device)
    chosen = devices.several([arrays.choose(home, first, "MAD"), *others])
    for image in images:
        arrays.choose(image, chosen[0], "MAD")
    return home, chosen


def moved(array: Array, device: str) -> Array:
    """Return an array of NumPy or CuPy on a device, copied if it is elsewhere."""
    if device == arrays.place(array):
        return array
    if device == "cpu":
        return array.get()
    if isinstance(array, np.ndarray):
        return arrays.upload(array)
    xp = arrays.library(array)
    if array.flags.c_contiguous:
        return xp.asarray(array)
    with devices.using(arrays.place(array)):  # CuPy takes to another GPU what is contiguous only
        whole = xp.ascontiguousarray(array)
        devices.settle()
    found = xp.asarray(whole)
    devices.settle()  # `whole` has been read
    return found
