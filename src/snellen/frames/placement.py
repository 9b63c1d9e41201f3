"""Where the arrays of a call are: the devices that do the work, and copies between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from snellen.errors import InputError, quoted
from snellen.frames import arrays
from snellen.gpu import device as devices

Array = Any
"""An array of NumPy or CuPy."""


def choose(image: Any, device: str | Sequence[str], method: str) -> str:
    """Return the device to use for an array: "cpu" or "cuda:N".

    An array on a GPU stays there ("auto" and "cuda" mean its own GPU); an array in main memory is
    processed on the device that `device`, see `device.several`, names. `method` is the method's
    name, for the error where it names several GPUs.

    InputError: the array is on a GPU that cannot be used, or on another one than `device` names.
    DeviceError: the device cannot be used, its name is unknown, or there are several.
    """
    home = arrays.place(image)
    name, *others = devices.names(device)
    if home == "cpu" or others:
        return devices.single(device, method)
    number = devices.ordinal(home)
    if reason := devices.why_not(number):
        raise InputError(
            f"the array lives on a GPU ({home}), which cannot be used here: {reason}",
            parameter="device",
            advice=f"or {arrays.ADVICE}",
        )
    if name in ("auto", "cuda") or (name != "cpu" and devices.ordinal(name) == number):
        return home
    raise InputError(
        f"the array lives on a GPU ({home}); got `device`={quoted(name)}",
        parameter="device",
        advice=f"leave `device` out, or {arrays.ADVICE}",
    )


def choose_several(image: Any, device: str | Sequence[str], method: str) -> tuple[str, ...]:
    """Return the devices that share an array's pictures; parameters and errors as of `choose`.

    Only an array in main memory is shared; one on a GPU stays there.
    """
    home = arrays.place(image)
    if home == "cpu":
        return devices.several(device)
    if len(devices.names(device)) > 1:
        raise InputError(
            f"the array lives on a GPU ({home}); several GPUs share arrays in main memory",
            parameter="device",
            advice=f"leave `device` out, or {arrays.ADVICE}",
        )
    return (choose(image, device, method),)


def choose_together(
    images: tuple[Any, ...], device: str | Sequence[str], method: str
) -> tuple[Any, tuple[str, ...]]:
    """Return the array whose device does the work, and the names of all devices, that one first.

    It is the first array that lives on a GPU, or else the first array. Errors are those of `choose`
    and `device.several`.
    """
    home = next((image for image in images if arrays.place(image) != "cpu"), images[0])
    first, *others = devices.names(device)
    chosen = devices.several([choose(home, first, method), *others])
    for image in images:
        choose(image, chosen[0], method)
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


def taken(array: Any, where: str, kind: str, owner: str, **more: str) -> Any:
    """Return an array for a prepared object as `arrays.plain` does.

    `where` has the object's devices, with commas; an array of CuPy is on the first. `kind` and
    `owner` say what it is and who takes it ("picture", "Deblurrer"), `more` are advice and
    parameter of the InputError about an array neither of NumPy nor on that GPU.
    """
    first = where.partition(",")[0]
    if not isinstance(array, np.ndarray) and (first == "cpu" or arrays.place(array) != first):
        there = "" if first == "cpu" else ", nor CuPy there"
        raise InputError(
            f"got a {kind} that is no NumPy array{there}, for a {owner} on {where!r}", **more
        )
    return arrays.plain(array)
