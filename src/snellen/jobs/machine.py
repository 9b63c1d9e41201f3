"""Describes this machine, for `snellen doctor` and for the results of `snellen bench`."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from snellen._version import __version__
from snellen.cpu import threads
from snellen.errors import DeviceError
from snellen.gpu import device, nvrtc
from snellen.gpu import driver as nvidia


def facts() -> dict[str, Any]:
    """Return processor, cores, memory, BLAS and versions, ready for JSON."""
    import av
    import numba
    import numpy as np
    import scipy

    return {
        "cpu": cpu_name(),
        "threads": threads.available(),
        "memory_gb": memory(),
        "system": platform.platform(),
        "blas": blas(),
        "gpu": gpus(),
        "cuda": cuda(),
        "snellen": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "pyav": av.__version__,
        "ffmpeg": av.ffmpeg_version_info,
    }


def cpu_name() -> str:
    """Return the processor's own name."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def memory() -> float | None:
    """Return main memory in GB; None where the system does not say."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None


def blas() -> list[str]:
    """Return the BLAS libraries in use: name, version, kernels."""
    import scipy.linalg.blas  # noqa: F401  loads the library that Numba calls
    from threadpoolctl import threadpool_info

    found = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return [
        " ".join(str(info.get(key, "")) for key in ("internal_api", "version", "architecture"))
        for info in found
    ]


def gpus() -> list[str]:
    """Return the NVIDIA GPUs that the driver names, with its CUDA version; [] without driver."""
    version, driver = nvidia.version(), nvidia.library()
    names = []
    for ordinal in range(nvidia.count()):
        handle, name = ctypes.c_int(), ctypes.create_string_buffer(100)
        driver.cuDeviceGet(ctypes.byref(handle), ordinal)
        driver.cuDeviceGetName(name, len(name), handle)
        major, minor = divmod(version, 1000)
        names.append(f"{name.value.decode()} (driver for CUDA {major}.{minor // 10})")
    return names


def cuda() -> dict[str, str]:
    """Return the versions of what the GPU needs and of PyTorch; {} where nothing is installed."""
    packages = ("cupy", "cupy-cuda12x", "cupy-cuda13x", "cuda-core", "cuda-bindings", "torch")
    found = {}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    with suppress(DeviceError):
        found["nvrtc"] = "{}.{}".format(*nvrtc.version())
    if version := driver():
        found["driver"] = version
    if not device.why_not():
        import cupy

        runtime = cupy.cuda.runtime.runtimeGetVersion()
        found["runtime"] = f"{runtime // 1000}.{runtime % 1000 // 10}"
    return found


def driver() -> str:
    """Return the version of NVIDIA's driver, as "580.65.06"; "" where there is none."""
    version = ctypes.create_string_buffer(100)
    try:
        nvml = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
    except OSError:
        return ""
    if nvml.nvmlInit_v2():
        return ""
    nvml.nvmlSystemGetDriverVersion(version, len(version))
    nvml.nvmlShutdown()
    return version.value.decode()
