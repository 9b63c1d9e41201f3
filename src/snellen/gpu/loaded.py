"""Functions of compiled kernels, loaded on a device once, whichever kernel asks for them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from snellen import process
from snellen.errors import DeviceError
from snellen.gpu import nvrtc
from snellen.gpu.nvrtc import Binary

_MOST = 1024
"""Functions that are shared; a function of an earlier kernel is loaded once more."""


@dataclass(frozen=True)
class Usage:
    """A kernel's use of a multiprocessor, as the assembler counts it."""

    registers: int
    """Registers of each thread."""
    shared: int
    """Bytes of shared memory of each block, without the dynamic."""
    local: int
    """Bytes of local memory of each thread: spilled registers, and arrays indexed at run time; with
    those of the functions that it calls."""


@dataclass
class Loaded:
    """A function on one device, which all kernels of the same code share."""

    function: Any
    handle: Any
    arch: str
    device: int
    granted: int = 0
    """Bytes of dynamic shared memory that a block may use."""
    wide: bool = False
    """True: clusters may have more than PORTABLE blocks."""
    sizes: list[int] | None = None
    """Bytes of each parameter; None where the driver is older than 12.4 and cannot say."""
    count: int = 0
    launched: bool = False
    lock: AbstractContextManager[Any] = field(default_factory=threading.Lock)
    """Held while `granted` is raised."""

    def attribute(self, name: str) -> int:
        """Return an attribute of the function, by its name in the driver's enumeration."""
        from cuda.bindings import driver

        which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        error, value = driver.cuKernelGetAttribute(which, self.handle, self.device)
        if error:
            raise DeviceError(f"the driver does not report {name}: {error.name}")
        return int(value)


def known(source: Hashable, device: int) -> Loaded | None:
    """Return the function that an earlier kernel of the same source has loaded, if it is shared.

    Parameters
    ----------
    source : hashable
        Names a file that does not change, a function in it, and macros. None: it is not shared.
    device : int
        N of "cuda:N".
    """
    with _sharing:
        return None if source is None else _found(_sources, (source, device))


def load(binary: Binary, name: str, device: int, source: Hashable = None) -> Loaded:
    """Return a function of compiled code on a device, as an earlier kernel has loaded it.

    Every picture of another size has kernels of its own, often of the same code. The driver keeps
    host memory for all code that it has loaded, and older releases of cuda.core never unload it.
    """
    key = hashlib.sha256(binary.code).digest(), name, device
    with _sharing:
        loaded = _found(_functions, key)
        if loaded is None:
            loaded = _load_anew(binary, name, device)
            _keep(_functions, key, loaded)
        if source is not None:
            _keep(_sources, (source, device), loaded)
    return loaded


def _load_anew(binary: Binary, name: str, device: int) -> Loaded:
    core = nvrtc.cuda_core()
    try:
        function = core.ObjectCode.from_cubin(binary.code).get_kernel(name)
        handle = function.handle if hasattr(function, "handle") else function._handle
    except Exception as error:  # its class is private to cuda.core, and has moved
        raise DeviceError(
            f"{binary.file}: {name!r}, compiled for {binary.arch}, cannot be loaded: {error}; "
            'is it declared extern "C" __global__?'
        ) from error
    loaded = Loaded(function, handle, binary.arch, device)
    loaded.granted = loaded.attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES")
    try:
        loaded.sizes = [int(parameter.size) for parameter in function.arguments_info]
    except (AttributeError, NotImplementedError):
        loaded.sizes = None
    return loaded


_functions: OrderedDict[Hashable, Loaded] = OrderedDict()
"""By the digest of the code, the name, and the device."""
_sources: OrderedDict[Hashable, Loaded] = OrderedDict()
"""By what `known` is given: so the code of a kernel that is made again is not looked for."""
_sharing = process.lock()


def _found(all: OrderedDict[Hashable, Loaded], key: Hashable) -> Loaded | None:
    loaded = all.get(key)
    if loaded is not None:
        all.move_to_end(key)
    return loaded


def _keep(all: OrderedDict[Hashable, Loaded], key: Hashable, loaded: Loaded) -> None:
    all[key] = loaded
    if len(all) > _MOST:
        all.popitem(last=False)
