"""Arrays of any library, in main memory or on a GPU: reading without a copy, and conversion back.

`frames.axes` handles their axes and dtypes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen.gpu import device as devices

HOST = (1, 3)  # DLPack's device types of pageable and page-locked main memory: kDLCPU, kDLCUDAHost
CUDA = (2, 13)  # DLPack's device types of GPU memory: kDLCUDA, kDLCUDAManaged
ADVICE = "copy it to main memory first (PyTorch: .cpu(), CuPy: .get())"


def library(array: Any) -> Any:
    """Return the module that an array belongs to: numpy or cupy."""
    return np if isinstance(array, np.ndarray) else sys.modules["cupy"]


def place(image: Any) -> str:
    """Return the device of an array: "cpu" or "cuda:N".

    Raises
    ------
    InputError
        The array is neither in main memory nor on an NVIDIA GPU.
    """
    if isinstance(image, np.ndarray) or not hasattr(image, "__dlpack_device__"):
        return "cpu"
    kind, number = image.__dlpack_device__()
    if kind not in HOST + CUDA:
        raise InputError(
            f"the array lives on a device of another kind (DLPack's {kind})", advice=ADVICE
        )
    return f"cuda:{number}" if kind in CUDA else "cpu"


def choose(image: Any, device: str | Sequence[str], method: str) -> str:
    """Return the device to use for an array: "cpu" or "cuda:N".

    An array on a GPU stays there ("auto" and "cuda" mean its own GPU); an array in main memory is
    processed on the device that `device` names.

    Parameters
    ----------
    image : array
    device : str or sequence of str
        As for `device.several`.
    method : str
        The method's name, for the error where `device` names several GPUs.

    Raises
    ------
    InputError
        The array is on a GPU that cannot be used, or on another one than `device` names.
    DeviceError
        The device cannot be used, its name is unknown, or there are several.
    """
    home = place(image)
    name, *others = devices.names(device)
    if home == "cpu" or others:
        return devices.single(device, method)
    number = devices.ordinal(home)
    if reason := devices.why_not(number):
        raise InputError(
            f"the array lives on a GPU ({home}), which cannot be used here: {reason}",
            parameter="device",
            advice=f"or {ADVICE}",
        )
    if name in ("auto", "cuda") or (name != "cpu" and devices.ordinal(name) == number):
        return home
    raise InputError(
        f"the array lives on a GPU ({home}); got `device`={name!r}",
        parameter="device",
        advice=f"leave `device` out, or {ADVICE}",
    )


@contextmanager
def working(image: Any, device: str) -> Iterator[None]:
    """Make a device current, and on a GPU the caller's current stream.

    That is PyTorch's stream for a PyTorch tensor, else CuPy's.
    """
    if device == "cpu":
        yield
        return
    with devices.using(device), devices.reporting(), _stream(image, devices.ordinal(device)):
        yield


def read(image: Any) -> Any:
    """Return an array as a NumPy or CuPy array, without a copy where the library permits.

    Raises
    ------
    InputError
        The name of a file, or what cannot be read as an array.
    """
    if isinstance(image, np.ndarray):
        return image
    if isinstance(image, str | Path):
        raise InputError(
            f"got {str(image)!r}; expected an array",
            advice="files are for snellen.upscale_file, deblur_file and score_files",
        )
    if not hasattr(image, "__dlpack__"):
        try:
            return np.asarray(image)
        except ValueError as error:
            raise InputError(f"the array cannot be read: {error}") from error
    try:
        if place(image) == "cpu":
            return np.from_dlpack(image)
        import cupy

        return image if isinstance(image, cupy.ndarray) else cupy.from_dlpack(image)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"the array cannot be read through DLPack: {error}") from error


def upload(array: np.ndarray[Any, Any]) -> Any:
    """Return a copy of a NumPy array on the current GPU."""
    import cupy

    there = cupy.empty(array.shape, array.dtype.newbyteorder("="))
    there.set(np.ascontiguousarray(array, there.dtype))
    return there


def like(image: Any, result: Any) -> Any:
    """Return `result` as an array of `image`'s library, if that supports DLPack."""
    if isinstance(image, np.ndarray | type(result)) or not hasattr(image, "__dlpack__"):
        return result
    home: Any = sys.modules.get(type(image).__module__.partition(".")[0])
    return home.from_dlpack(result) if hasattr(home, "from_dlpack") else result


class _Borrowed:
    """A PyTorch stream with CUDA's stream protocol, which older versions of PyTorch lack."""

    def __init__(self, stream: Any):
        self.stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self.stream.cuda_stream)


def _stream(image: Any, ordinal: int) -> Any:
    """Return the current stream of the array's library, PyTorch or CuPy."""
    import cupy

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(image, torch.Tensor):
        return cupy.cuda.Stream.from_external(_Borrowed(torch.cuda.current_stream(ordinal)))
    return cupy.cuda.get_current_stream()
