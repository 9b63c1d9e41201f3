"""CUDA source → machine code for one architecture, by NVRTC, which needs no GPU; kept on disk.

Where it is kept, and whose files are taken, is for `caches` to say.

Includes are searched for in the folder of the source and in the package's own, so that a kernel
says `#include "gpu/device.cuh"`. Headers of CUDA, such as <cuda_fp16.h>, are found only where the
toolkit or its wheel nvidia-cuda-runtime is installed, and they take longer to compile than our
kernels do, which therefore include none.
"""

from __future__ import annotations

import hashlib
import io
import json
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from snellen import caches, process
from snellen.errors import DeviceError

PACKAGE = Path(__file__).parent.parent
KIND = "kernels"
_lock = process.lock()


@dataclass(frozen=True)
class Binary:
    """A compiled file of kernels."""

    file: Path
    """Path of the source."""
    arch: str
    """Architecture, as "sm_90"."""
    code: bytes
    """The machine code: a cubin."""
    log: str
    """Messages of the compiler and the assembler; none where NVRTC has a cache of its own."""
    kept: bool = field(default=False, compare=False)
    """True: the code was read from the disk, and not compiled now."""


def compile(file: Path, arch: str, constants: dict[str, str], *, anew: bool = False) -> Binary:
    """Compile a file of kernels, or read the result from the cache on disk.

    Parameters
    ----------
    file : Path
        The .cu file; its kernels are extern "C".
    arch : str
        Architecture to compile for, as "sm_90".
    constants : dict
        Macros and their values.
    anew : bool
        Whether to compile although the result is kept on disk, and to replace it there.

    Raises
    ------
    DeviceError
        The source does not compile (the message has the compiler's words, file and line), or NVRTC
        is not installed.
    """
    try:
        source = file.read_text(encoding="utf-8")
    except OSError as error:
        raise DeviceError(f"{file}: {error.strerror}; install Snellen again") from error
    headers = _headers(file)
    include = [str(file.parent), str(PACKAGE)]
    if any("#include <" in text for text in (source, *headers.values())):
        include += _toolkit_headers()
    key = _key(version(), arch, str(file), source, constants, include, headers)
    kept = None if anew else _unpacked(caches.read(KIND, key))
    if kept is None:
        caches.compiling(KIND)
    code, log = kept or _compile(file, source, arch, constants, include)
    if kept is None:
        caches.write(KIND, key, _packed(code, log))
    return Binary(file, arch, code, log, kept is not None)


def version() -> tuple[int, int]:
    """Return NVRTC's version."""
    major, minor = _query("nvrtcVersion")
    return major, minor


def archs() -> list[int]:
    """Return the compute capabilities that NVRTC compiles for: 75 is 7.5."""
    (found,) = _query("nvrtcGetSupportedArchs")
    return list(found)


def cuda_core() -> Any:
    """Return cuda.core; up to 0.4 it was called experimental, and up to 0.5 wanted a driver."""
    import cuda.core

    return cuda.core if hasattr(cuda.core, "Program") else import_module("cuda.core.experimental")


def _query(question: str) -> Any:
    try:
        from cuda.bindings import nvrtc

        error, *answer = getattr(nvrtc, question)()
    except (ImportError, RuntimeError) as missing:  # the library is loaded at the first call
        raise DeviceError(
            f"NVRTC, CUDA's compiler, is not installed ({str(missing).splitlines()[0]}); "
            'run: pip install "snellen[cuda13]", or [cuda12] where the driver is older'
        ) from missing
    if error:
        raise DeviceError(f"NVRTC does not answer {question} ({error!r}); install it again")
    return answer


def _compile(
    file: Path, source: str, arch: str, constants: dict[str, str], include: list[str]
) -> tuple[bytes, str]:
    core = cuda_core()
    options = core.ProgramOptions(
        name=str(file),  # so that errors and profilers name it
        arch=arch,
        std="c++17",
        define_macro=list(constants.items()) or None,  # an empty list is refused
        include_path=include,
        lineinfo=True,  # costs nothing at run time
        ptxas_options=["-v"],  # the log lists registers, shared memory and spills
    )
    log = io.StringIO()
    try:
        compiled = core.Program(source, "c++", options).compile("cubin", logs=log)
    except Exception as error:  # its class is private to cuda.core, and has moved
        text = str(error).strip("\0\n ")
        given = "".join(f" -D{name}={value}" for name, value in constants.items())
        raise DeviceError(f"{file} does not compile for {arch}{given}: {text}") from error
    return bytes(compiled.code), log.getvalue().strip("\0\n ") + "\n"


def _headers(file: Path) -> dict[str, str]:
    """Return the text of every header that a file may include, whether it does or not."""
    if file.is_relative_to(PACKAGE):
        with _lock:  # threads that compile side by side read them once
            return _of_package()
    return _texts({*PACKAGE.rglob("*.cuh"), *file.parent.glob("*.cuh")})


@cache
def _of_package() -> dict[str, str]:
    return _texts(set(PACKAGE.rglob("*.cuh")))


def _texts(paths: set[Path]) -> dict[str, str]:
    return {str(path): path.read_text(encoding="utf-8") for path in sorted(paths)}


def _toolkit_headers() -> list[str]:
    """Return CUDA's own include folder, where it is installed."""
    try:
        from cuda.pathfinder import find_nvidia_header_directory
    except ImportError:  # a pathfinder before 1.3
        return []
    folder = find_nvidia_header_directory("cudart")
    return [str(folder)] if folder else []


def _key(*parts: object) -> str:
    """Return a name that changes with any part."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _unpacked(kept: bytes | None) -> tuple[bytes, str] | None:
    """Return code and log from what was kept on disk; None where there is none, or no cubin."""
    with suppress(ValueError, KeyError, TypeError):
        header, _, code = (kept or b"").partition(b"\n")
        log = json.loads(header)["log"]
        if code.startswith(b"\x7fELF"):
            return code, str(log)
    return None


def _packed(code: bytes, log: str) -> bytes:
    return json.dumps({"log": log}).encode() + b"\n" + code
