"""A kernel: one __global__ function of a .cu file, compiled when it is first used on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from snellen.errors import DeviceError
from snellen.gpu import ahead, nvrtc
from snellen.gpu import device as devices
from snellen.gpu.loaded import Loaded, Usage, known, load
from snellen.gpu.nvrtc import PACKAGE, Binary

ARCHES = ("sm_75", "sm_80", "sm_90", "sm_120")
"""Every kernel is checked to compile for these; others work where NVRTC knows them."""

PORTABLE = 8  # blocks of a cluster that every GPU with clusters allows

Extent = int | tuple[int, ...]
"""How many: n, (x, y) or (x, y, z)."""


class Kernel:
    """One __global__ function, compiled when it is first used on a GPU and cached on disk.

    ::

        add = Kernel(Path(__file__).with_suffix(".cu"), "add", dims=28)
        add(blocks, 256, x, y, out, x.size)

    A launch goes to CuPy's current device and stream. Several threads may launch the same kernel.

    One that is made while a GPU is current (`device.using`) is compiled in a thread from then on,
    beside others. So make all kernels of a method before the first is launched.

    Parameters
    ----------
    file : Path
        The .cu file.
    name : str
        The function, declared extern "C" __global__.
    arches : tuple of str
        Architectures that the tests compile it for: without those that it has no code for. One as
        "sm_90a": on sm_90 it is compiled for that, with instructions that no other GPU has.
    spills : int
        Bytes of local memory that a thread may take before the tests fail.
    **constants
        Macros, by their names in capitals: dims=28 is -DDIMS=28. A float becomes a literal of
        single precision; text is passed on as it is.
    """

    def __init__(
        self,
        file: Path,
        name: str,
        *,
        arches: tuple[str, ...] = ARCHES,
        spills: int = 0,
        **constants: int | float | str,
    ):
        self.file, self.name, self.arches, self.spills = file, name, arches, spills
        self.constants = {key.upper(): _literal(value) for key, value in constants.items()}
        self._loaded: dict[int, Loaded] = {}
        self._lock = threading.Lock()
        self._source = None
        if file.is_relative_to(PACKAGE):  # others may change
            self._source = file, name, tuple(self.constants.items())
            self._begin()

    def __repr__(self) -> str:
        given = "".join(f", {key}={value}" for key, value in self.constants.items())
        return f"Kernel({self.file.name}, {self.name}{given})"

    def compile(self, arch: str) -> Binary:
        """Compile for an architecture, as "sm_90"; needs no GPU.

        Raises
        ------
        DeviceError
            The source does not compile. The message has the compiler's words, file and line.
        """
        return nvrtc.compile(self.file, arch, self.constants)

    def __call__(
        self,
        grid: Extent,
        block: Extent,
        *args: Any,
        shared: int = 0,
        cluster: int = 1,
        overlap: bool = False,
    ) -> None:
        """Launch on CuPy's current device and stream.

        Parameters
        ----------
        grid, block : int or tuple of int
            Blocks; threads in each.
        *args
            CuPy arrays, passed as pointers; NumPy scalars, passed by their type; Python's int as
            int32, float as float32, bool as bool, None as a null pointer.
        shared : int
            Bytes of dynamic shared memory of each block.
        cluster : int
            Blocks of a cluster (Hopper and newer); `grid`, then an int, is a multiple of it.
        overlap : bool
            Whether it may begin while the kernel before it in the stream ends (Hopper and newer,
            where `can_overlap`). It then waits for that one's end by itself, before it accesses
            global memory.

        Raises
        ------
        DeviceError
            The source does not compile, or the GPU does not accept the launch.
        TypeError, OverflowError
            An argument that fits no parameter.
        """
        cuda = _cuda()
        loaded = self._here(cuda)
        values = [_argument(value) for value in args]
        if shared > loaded.granted or len(values) != loaded.count or not loaded.launched:
            self._check(loaded, values, shared)
        if cluster > PORTABLE and not loaded.wide:
            self._widen(loaded)
        try:
            config = cuda.config(grid, block, shared, cluster, overlap)
            cuda.launch(cuda.stream(loaded.device), config, loaded.function, *values)
        except Exception as error:  # its class is private to cuda.core, and has moved
            devices.doubt()
            raise DeviceError(
                f"{self!r} was not launched with grid {grid}, block {block}, clusters of {cluster} "
                f"and {shared} bytes of shared memory: {error}"
            ) from error

    def attributes(self) -> Usage:
        """Return the kernel's use of registers and memory on the current device."""
        loaded = self._here(_cuda())
        return Usage(
            registers=loaded.attribute("NUM_REGS"),
            shared=loaded.attribute("SHARED_SIZE_BYTES"),
            local=loaded.attribute("LOCAL_SIZE_BYTES"),
        )

    def blocks_per_multiprocessor(self, block: int, shared: int = 0) -> int:
        """Return how many blocks a multiprocessor of the current device holds at once."""
        loaded = self._here(_cuda())
        if shared > loaded.granted:
            self._grant(loaded, shared)
        return int(
            loaded.function.occupancy.max_active_blocks_per_multiprocessor(int(block), int(shared))
        )

    def clusters(self, blocks: int, block: int, shared: int = 0) -> int:
        """Return how many clusters of so many blocks the current device holds at once.

        0 where it holds none: on part of a GPU (MIG), or with too few adjacent multiprocessors.
        """
        cuda = _cuda()
        loaded = self._here(cuda)
        if shared > loaded.granted:
            self._grant(loaded, shared)
        try:
            if blocks > PORTABLE and not loaded.wide:
                self._widen(loaded)
            config = cuda.config(blocks, block, shared, blocks, False)
            found = loaded.function.occupancy.max_active_clusters(
                config, stream=cuda.stream(loaded.device)
            )
        except Exception:  # drivers say it so; the launch reports any other fault
            return 0
        return int(found)

    def _begin(self) -> None:
        """Begin to compile in a thread, if the kernel is made where a GPU is current."""
        device = devices.current()
        if device != "cpu" and not known(self._source, devices.ordinal(device)):
            ahead.begin(self.file, self._own(devices.arch()), self.constants)

    def _own(self, arch: str) -> str:
        """Return the architecture to compile for on one."""
        return f"{arch}a" if f"{arch}a" in self.arches else arch

    def _here(self, cuda: _Cuda) -> Loaded:
        """Return the kernel as it is loaded on the current device."""
        device = cuda.current_device()
        cuda.set_device(device)  # a thread that has just begun has no context
        loaded = self._loaded.get(device)
        if loaded is None:
            with self._lock:
                loaded = self._loaded.get(device)
                if loaded is None:
                    loaded = self._load(cuda.arch(device), device)
                    self._loaded[device] = loaded
        return loaded

    def _load(self, arch: str, device: int) -> Loaded:
        """Load the kernel; compile it anew if what was kept on disk is not what it should be."""
        if loaded := known(self._source, device):
            return loaded
        binary = ahead.take(self.file, self._own(arch), self.constants)
        try:
            return load(binary, self.name, device, self._source)
        except DeviceError:
            if not binary.kept:
                raise
        anew = nvrtc.compile(self.file, self._own(arch), self.constants, anew=True)
        return load(anew, self.name, device, self._source)

    def _check(self, loaded: Loaded, values: list[Any], shared: int) -> None:
        """Check the arguments of the first launch, and whenever their number is wrong."""
        if shared > loaded.granted:
            self._grant(loaded, shared)
        sizes = [getattr(value, "itemsize", 8) for value in values]
        if loaded.sizes is not None and sizes != loaded.sizes:
            raise TypeError(
                f"{self!r} got arguments of {sizes} bytes; expected {loaded.sizes} "
                "(a Python int is passed as int32, a float as float32, an array as a pointer)"
            )
        loaded.launched = True
        loaded.count = len(values)

    def _grant(self, loaded: Loaded, shared: int) -> None:
        """Allow more dynamic shared memory than the 48 KB that every kernel may use."""
        from cuda.bindings import driver

        most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        with loaded.lock:
            if shared <= loaded.granted:  # by another thread
                return
            (error,) = driver.cuKernelSetAttribute(most, shared, loaded.handle, loaded.device)
            if not error:
                loaded.granted = shared
                return
        raise DeviceError(
            f"{self!r} needs {shared} bytes of dynamic shared memory for a block, which this "
            f"GPU ({loaded.arch}) does not have ({error.name}); use smaller blocks"
        )

    def _widen(self, loaded: Loaded) -> None:
        """Allow clusters of more blocks than every GPU with clusters allows."""
        from cuda.bindings import driver

        wide = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        (error,) = driver.cuKernelSetAttribute(wide, 1, loaded.handle, loaded.device)
        if error:
            raise DeviceError(
                f"{self!r} needs a cluster of more than {PORTABLE} blocks, which this GPU "
                f"({loaded.arch}) does not allow ({error.name})"
            )
        loaded.wide = True


def can_overlap() -> bool:
    """Return whether the installed cuda.core can launch a kernel that overlaps the one before it.

    The GPU must be a Hopper or newer, too.
    """
    return hasattr(nvrtc.cuda_core().LaunchConfig, "programmatic_stream_serialization")


@dataclass(frozen=True, slots=True)
class _Cuda:
    """The functions of CuPy and cuda.core that a launch calls, looked up once."""

    launch: Callable[..., None]
    config: Callable[[Extent, Extent, int, int, bool], Any]
    stream: Callable[[int], Any]
    current_device: Callable[[], int]
    set_device: Callable[[int], None]
    arch: Callable[[int], str]


@cache
def _cuda() -> _Cuda:
    import cupy

    core = nvrtc.cuda_core()
    current = cupy.cuda.get_current_stream

    # CuPy's streams are not cuda.core's, which learn their GPU once: the default stream has the
    # same handle on all of them.
    @lru_cache(64)
    def borrowed(device: int, handle: int) -> Any:
        return core.Stream.from_handle(handle)

    @lru_cache(1024)
    def config(grid: Extent, block: Extent, shared: int, cluster: int, overlap: bool) -> Any:
        extra = {"programmatic_stream_serialization": True} if overlap else {}
        if cluster == 1:
            return core.LaunchConfig(grid=grid, block=block, shmem_size=shared, **extra)
        if isinstance(grid, tuple):
            raise TypeError(f"got a grid of {grid} for clusters of {cluster}; expected an int")
        clusters = int(grid) // cluster  # with clusters, the grid counts them
        return core.LaunchConfig(
            grid=clusters, block=block, cluster=cluster, shmem_size=shared, **extra
        )

    return _Cuda(
        launch=core.launch,
        config=config,
        stream=lambda device: borrowed(device, current().ptr),
        current_device=cupy.cuda.runtime.getDevice,
        set_device=cupy.cuda.runtime.setDevice,
        arch=lambda device: f"sm_{cupy.cuda.Device(device).compute_capability}",
    )


def _literal(value: int | float | str) -> str:
    """Return a constant as C++ reads it; a double would slow down whatever it touches."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.floating):
        if not isfinite(value):
            raise ValueError(f"got {value} as a constant of a kernel; expected a finite number")
        return f"{float(value)!r}f"
    return str(int(value))


def _argument(value: Any) -> Any:
    """Return an argument as cuda.core passes it, which takes a Python int for a pointer."""
    kind = type(value)
    if kind is int:
        if not -(2**31) <= value < 2**31:
            raise OverflowError(f"{value} does not fit int32; pass a NumPy scalar, as np.int64")
        return np.int32(value)
    if kind is float:
        return np.float32(value)
    if value is None:
        return 0
    if isinstance(value, np.generic):
        return value
    if kind is bool:
        return np.bool_(value)
    try:
        return value.data.ptr
    except AttributeError:
        raise TypeError(
            f"got an argument of type {kind.__name__}; expected a CuPy array or a scalar"
        ) from None
