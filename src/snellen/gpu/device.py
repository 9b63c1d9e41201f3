"""Devices: their names and lists of them, which of them work, and the one that is current.

A device is "cpu" or "cuda:N". Every method takes the same names, alone or as a list.

CuPy and cuda.core are imported by the functions that need them, never with the package.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice

from snellen.errors import DeviceError, DeviceMemoryError, InputError, quoted
from snellen.gpu import driver

NO_MEMORY = 2  # cudaErrorMemoryAllocation
ALL = "cuda:all"
GRID_ROWS = 65535  # rows of a grid at most, on every GPU
_DIGITS = 6  # of a GPU's number
_MOST_NAMES = 64  # of devices in a list

FORKED = (
    "this process was forked from one that had used the GPU, whose driver does not allow that; "
    "start processes by spawn"
)
_current = threading.local()
_working: set[int] = set()  # GPUs that have been tried in this process, or in its parent


def resolve(device: str) -> str:
    """Return the device to use: "cpu" or "cuda:N".

    Parameters
    ----------
    device : str
        "cpu"; "cuda", which is "cuda:0"; "cuda:N"; or "auto": the first GPU where it works, else
        the CPU (`why_not` then says why).

    Raises
    ------
    DeviceError
        The requested GPU cannot be used, or the name is unknown.
    """
    if device == "cpu":
        return "cpu"
    if device == "auto":
        return "cpu" if why_not() else "cuda:0"
    number = ordinal(device)
    if reason := why_not(number):
        raise DeviceError(
            f"`device`={quoted(device)} cannot be used: {reason}",
            parameter="device",
            advice="or use `device`=cpu",
        )
    return f"cuda:{number}"


def several(device: str | Sequence[str]) -> tuple[str, ...]:
    """Return the devices of a list, each as `resolve` does; a single name is a list of one.

    Parameters
    ----------
    device : str or sequence of str
        Names, in a sequence or between commas: "cuda:0,cuda:1", ["cuda:0", "cuda:1"], or for
        short "cuda:0,1"; "cuda:all": every GPU that is visible here.

    Raises
    ------
    DeviceError
        A device cannot be used or occurs twice, or the CPU stands beside other devices.
    """
    found = tuple(one for name in names(device) for one in _each(name))
    if len(found) > 1 and ("cpu" in found or len(set(found)) < len(found)):
        raise DeviceError(
            f"got `device`={quoted(device)}; expected one, or several GPUs, each once: "
            "cuda:0,cuda:1",
            parameter="device",
        )
    return found


def _each(name: str) -> tuple[str, ...]:
    """Return the device of a name, or all GPUs."""
    if name != ALL:
        return (resolve(name),)
    resolve("cuda")
    import cupy

    return tuple(resolve(f"cuda:{n}") for n in range(cupy.cuda.runtime.getDeviceCount()))


def single(device: str | Sequence[str], method: str) -> str:
    """Return the one device of a list, for a method that cannot use several.

    Parameters
    ----------
    device : str or sequence of str
        As for `several`.
    method : str
        Its name, for the error: "super-resolution".

    Raises
    ------
    DeviceError
        As for `several`, or there are several devices.
    """
    found = several(device)
    if len(found) > 1:
        raise DeviceError(
            f"{method} cannot use several GPUs; got `device`={','.join(found)}",
            parameter="device",
            advice=f"choose one of them, as `device`={found[0]}",
        )
    return found[0]


def names(device: str | Sequence[str]) -> list[str]:
    """Return the names in a list of devices, "cuda:0,2" as "cuda:0" and "cuda:2".

    Raises
    ------
    InputError
        Neither text nor a list of it.
    """
    try:
        parts = [device] if isinstance(device, str) else list(islice(device, _MOST_NAMES))
        if not isinstance(device, Sequence):
            parts = []
    except Exception:  # of any library
        parts = []
    if not parts or not all(isinstance(part, str) for part in parts):
        raise InputError(
            f"got `device`={quoted(device)}; expected auto, cpu, cuda, cuda:N, cuda:all, or a list "
            "of these",
            parameter="device",
        )
    found: list[str] = []
    texts = map(str.__str__, parts)
    each = (one for text in texts for one in ([text] if "://" in text else text.split(",")))
    for name in map(str.strip, each):
        short = found and found[-1].startswith("cuda:") and name.isascii() and name.isdigit()
        found.append(f"cuda:{name}" if short else name)
    return found


def ordinal(device: str) -> int:
    """Return N of "cuda:N", and 0 of "cuda"."""
    name, _, number = device.partition(":")
    if device == "cuda":
        return 0
    if name != "cuda" or not (number.isascii() and number.isdigit() and len(number) <= _DIGITS):
        raise DeviceError(
            f"got `device`={quoted(device)}; expected auto, cpu, cuda, cuda:N or cuda:all",
            parameter="device",
        )
    return int(number)


def why_not(ordinal: int = 0) -> str:
    """Return why a GPU cannot be used and what to do about it; "" where it works.

    CuPy and NVRTC are loaded for it, and the GPU gets a context. One that worked counts as working
    until CUDA reports an error.
    """
    if ordinal in _working and not driver.forked():
        return ""
    if "cupy" not in sys.modules and driver.library() is not None and not driver.forked():
        with driver.starting(ordinal), suppress(Exception):  # the import below says what is wrong
            import cuda.core  # noqa: F401
            import cupy
    known = driver.version()
    if driver.forked():
        return FORKED
    if not known:
        return "no NVIDIA driver answers here; install one (and the GPU), see nvidia.com/drivers"
    extra = 13 if known >= 13000 else 12
    try:
        import cupy

        from snellen.gpu import nvrtc

        toolkit = max(cupy.cuda.runtime.runtimeGetVersion() // 1000, nvrtc.version()[0])
        if reason := driver.too_old(known, toolkit):
            return reason
        if ordinal >= (count := cupy.cuda.runtime.getDeviceCount()):
            return f"there are {count} GPUs, counted from 0; choose cuda:{count - 1} or lower"
        capability = int(cupy.cuda.Device(ordinal).compute_capability)
        if reason := driver.unsuited(capability, nvrtc.archs()):
            return reason
        with using(f"cuda:{ordinal}"):
            cupy.cuda.runtime.memGetInfo()
    except ImportError as error:
        return f'{error}; run: pip install "snellen[cuda{extra}]"'
    except DeviceError as error:
        return str(error)
    except Exception as error:  # whatever a half-installed CUDA raises is a reason, not a crash
        return f"{type(error).__name__}: {error}; run snellen doctor: it lists what is installed"
    _working.add(ordinal)
    return ""


def doubt() -> None:
    """Let `why_not` try GPUs anew: CUDA has reported an error, and some last."""
    _working.clear()


@contextmanager
def using(device: str) -> Iterator[None]:
    """Make a GPU the current one of this thread; for "cpu", do nothing."""
    if device == "cpu":
        yield
        return
    import cupy

    if driver.forked():
        raise DeviceError(f"{device} cannot be used: {FORKED}", parameter="device")
    number = ordinal(device)
    with cupy.cuda.Device(number) as chosen:
        chosen.use()  # `with` alone makes no context in a new thread where the device is 0 already
        before, _current.device = current(), f"cuda:{number}"
        try:
            yield
        finally:
            _current.device = before


def settle() -> None:
    """Wait for all that is queued on CuPy's current stream; outside of `using`, do nothing."""
    if current() == "cpu":
        return
    import cupy

    cupy.cuda.get_current_stream().synchronize()


def current() -> str:
    """Return the GPU that `using` has made current in this thread; "cpu" outside of it."""
    return getattr(_current, "device", "cpu")


@contextmanager
def reporting() -> Iterator[None]:
    """Raise errors of CuPy and CUDA as DeviceError, those of memory as DeviceMemoryError."""
    from cupy.cuda.memory import OutOfMemoryError
    from cupy.cuda.runtime import CUDARuntimeError

    advice = "close other programs, take smaller pictures, or use `device`=cpu"
    try:
        yield
    except OutOfMemoryError as error:
        raise DeviceMemoryError(
            f"the GPU's memory does not suffice ({error})", advice=advice
        ) from error
    except CUDARuntimeError as error:
        if error.status == NO_MEMORY:
            raise DeviceMemoryError(
                "the GPU's memory, or the memory that can be page-locked, does not suffice",
                advice=advice,
            ) from error
        doubt()
        raise DeviceError(
            f"CUDA failed: {error}", advice="start again, update the driver, or use `device`=cpu"
        ) from error


@contextmanager
def on(device: str) -> Iterator[None]:
    """Make a GPU the current one of this thread, and raise errors of CUDA as DeviceError."""
    with using(device), reporting():
        yield


def name(device: str) -> str:
    """Return the name of a device's model, as "NVIDIA H200"; "cpu" for the CPU."""
    if device == "cpu":
        return "cpu"
    from cupy.cuda.runtime import getDeviceProperties

    return str(getDeviceProperties(ordinal(device))["name"].decode())


def arch() -> str:
    """Return the architecture of the current GPU, as "sm_90"."""
    import cupy

    return f"sm_{cupy.cuda.Device().compute_capability}"


def multiprocessors() -> int:
    """Return how many multiprocessors the current GPU has."""
    import cupy

    return int(cupy.cuda.Device().attributes["MultiProcessorCount"])


def over(samples: int, planes: int, threads: int) -> tuple[int, int]:
    """Return a grid of blocks with a thread for each sample of a plane, and a row for each plane.

    Kernels loop over more planes than a grid has rows.
    """
    return -(-samples // threads), min(planes, GRID_ROWS)
