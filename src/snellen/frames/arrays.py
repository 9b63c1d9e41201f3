"""Arrays of any library, in main memory or on a GPU: reading without a copy, and conversion back.

`frames.axes` handles their axes and dtypes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from numbers import Number
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from snellen.errors import DeviceMemoryError, InputError, SnellenError, quoted
from snellen.frames import limits, values
from snellen.frames.frame import Format, Frame
from snellen.gpu import device as devices
from snellen.gpu import pages as page_locked

HOST = (1, 3)  # DLPack's device types of pageable and page-locked main memory: kDLCPU, kDLCUDAHost
CUDA = (2, 13)  # DLPack's device types of GPU memory: kDLCUDA, kDLCUDAManaged
KEPT, KEPT_SHARE = 4 << 30, 64  # most bytes kept for the next results; part of the main memory
LOCKED = 1 << 28  # bytes that results may take of page-locked memory in any case
LOCKED_SHARE = 8  # beyond that, the part of the main memory that may be page-locked
_AXES = 64  # of an array of NumPy at most
ADVICE = "copy it to main memory first (PyTorch: .cpu(), CuPy: .get())"


class Exporting(Protocol):
    """An array of a library that exports by DLPack: NumPy's, CuPy's, PyTorch's."""

    def __dlpack__(self, *, stream: Any = ...) -> Any:
        """Return a capsule."""
        ...

    def __dlpack_device__(self) -> Any:
        """Return kind and number of the device."""
        ...


DLPack = TypeVar("DLPack", bound=Exporting)
"""The type of such an array: results have it too."""

Sample = TypeVar("Sample", bound=np.generic)
"""The type of the samples of NumPy's arrays; the shape of a result is not known."""


def library(array: Any) -> Any:
    """Return the module that an array belongs to: numpy or cupy."""
    return np if isinstance(array, np.ndarray) else sys.modules["cupy"]


def place(image: Any) -> str:
    """Return the device of an array, "cpu" or "cuda:N" (InputError: one of another kind)."""
    if isinstance(image, np.ndarray) or not _has(image, "__dlpack_device__"):
        return "cpu"
    try:
        kind, number = (int(one) for one in image.__dlpack_device__())
    except Exception as error:  # of any library
        raise InputError(f"the array does not say where it is: {quoted(error, str)}") from error
    if kind not in HOST + CUDA:
        raise InputError(
            f"the array lives on a device of another kind (DLPack's {kind})", advice=ADVICE
        )
    return f"cuda:{number}" if kind in CUDA else "cpu"


def on_gpu(image: Any) -> bool:
    """Return whether an array is on a GPU."""
    return place(image) != "cpu"


@contextmanager
def working(image: Any, device: str) -> Iterator[None]:
    """Make a device current, and on a GPU the caller's current stream.

    That is PyTorch's stream for a PyTorch tensor, else CuPy's.
    """
    if device == "cpu":
        yield
        return
    with devices.on(device), _stream(image, devices.ordinal(device)):
        yield


def read(image: Any) -> Any:
    """Return an array as a NumPy or CuPy array, without a copy where the library permits.

    Pictures of Pillow are what `seen` makes of them. InputError: the name of a file, or what cannot
    be read as an array.
    """
    if _is_masked(image):
        raise InputError(
            "got a masked array; expected an array of samples that all count",
            advice="fill what is masked first, as array.filled(0)",
        )
    if isinstance(image, np.ndarray):
        return _checked(np.ndarray.view(image, np.ndarray))
    if isinstance(image, str | bytes | Path):
        raise InputError(
            f"got {quoted(str(image) if isinstance(image, Path) else image)}; expected an array",
            advice="files are for snellen.upscale_file, deblur_file and score_files",
        )
    home = place(image)
    if not _has(image, "__dlpack__"):
        image = seen(image)
        _check_readable(image)
        try:
            array = np.asarray(image)
        except Exception as error:  # of an __array__ of any library, or of what has no shape
            raise InputError(f"the array cannot be read: {quoted(error, str)}") from error
        return read(array) if _is_masked(array) else _checked(array)
    try:
        if home == "cpu":
            return _checked(np.from_dlpack(image))
        import cupy

        return image if isinstance(image, cupy.ndarray) else cupy.from_dlpack(image)
    except SnellenError:
        raise
    except Exception as error:  # of any library
        raise InputError(
            f"the array cannot be read through DLPack: {quoted(error, str)}"
        ) from error


def seen(image: Any) -> Any:
    """Return pictures of Pillow, also in lists, as arrays of what they show; all else as it is.

    InputError: as `pillow_pixels.resolved`, which is imported only where somebody imported Pillow.
    """
    module = sys.modules.get("PIL.Image")
    if module is None or not isinstance(image, list | tuple | module.Image):
        return image
    _first(image)
    from snellen.frames.pillow_pixels import resolved

    return resolved(image)


def _is_masked(array: object) -> bool:
    """Return whether an array is masked, without importing what masked arrays need."""
    module = sys.modules.get("numpy.ma")
    return module is not None and isinstance(array, module.MaskedArray)


def plain(array: Any) -> Any:
    """Return an array of a class derived from NumPy's as NumPy's own, others as they are.

    Masked arrays and matrices, which do not behave like one, are refused (InputError).
    """
    if _is_masked(array) or isinstance(array, np.matrix):
        raise InputError(
            f"got a {type(array).__name__}; expected an array of NumPy",
            advice="take numpy.asarray of a matrix, and fill what is masked: array.filled(0)",
        )
    if isinstance(array, np.ndarray) and type(array) is not np.ndarray:
        return np.ndarray.view(array, np.ndarray)
    return array


def planes_of(frame: Frame, format: Format) -> tuple[Any, ...]:
    """Return the planes of a frame, by `plain` (InputError: they are of another format)."""
    planes = tuple(plain(plane) for plane in frame.planes)
    wanted = [(shape, format.dtype) for shape in format.shapes]
    found = [(plane.shape, plane.dtype) for plane in planes]
    if found != wanted:
        raise InputError(f"got planes {found}; expected {wanted}", advice="prepare again for these")
    return planes


def is_cupy(array: Any) -> bool:
    """Return whether an object is an array of CuPy, which is not imported for it."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def _first(image: Any) -> Any:
    """Return the first element of lists in lists; refuse (InputError) more than memory holds."""
    first, count = image, 1
    for _ in range(_AXES + 1):
        if not isinstance(first, list | tuple) or not len(first):
            break
        count, first = min(count * len(first), 1 << 60), first[0]
    else:  # a list in itself has no end
        raise InputError(
            f"got lists in lists, more than {_AXES} deep; expected an array",
            advice="give rows of numbers",
        )
    values.check_bytes(8 * count, f"an array of {count:,} numbers")  # lists may be there many times
    return first


def _check_readable(image: Any) -> None:
    """Refuse (InputError) what NumPy would make an array of by iterating, or of one object."""
    first = _first(image)
    if isinstance(first, list | tuple | Number | np.generic | np.ndarray | memoryview) or any(
        _has(first, name) for name in ("__array__", "__array_interface__", "__array_struct__")
    ):
        return
    try:
        memoryview(first).release()
    except TypeError as error:
        raise InputError(
            f"got {quoted(image)}; expected an array", advice="or rows of numbers"
        ) from error


def _checked(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array in main memory, aligned, unless it is larger than that (InputError)."""
    values.check_size(array)
    return array if array.flags.aligned else array.copy()


def _has(image: Any, name: str) -> bool:
    """Return whether an object of any library has an attribute, whatever asking for it raises."""
    try:
        return hasattr(image, name)
    except Exception:
        return False


def pitch(plane: Any) -> int:
    """Return how many samples one row of a plane (H, W) is from the next, as kernels want it.

    Samples of a row lie side by side: a transposed plane must be copied first.
    """
    step: int = plane.itemsize
    assert plane.shape[1] < 2 or plane.strides[1] == step, "samples of a row are not side by side"
    return int(plane.strides[0]) // step


def host(array: Any) -> npt.NDArray[Any]:
    """Return an array of NumPy or CuPy in main memory."""
    found: npt.NDArray[Any] = array if isinstance(array, np.ndarray) else array.get()
    return found


def upload(array: np.ndarray[Any, Any]) -> Any:
    """Return a copy of a NumPy array on the current GPU."""
    import cupy

    there = cupy.empty(array.shape, array.dtype.newbyteorder("="))
    there.set(np.ascontiguousarray(array, there.dtype))
    return there


def result(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a new array in main memory for a result from a GPU.

    It is page-locked (see `locked`), so that the GPU writes into it, unless it is so large that its
    memory could not be kept for the next call, or results that the caller keeps have taken much.
    """
    size, pages = math.prod(shape) * np.dtype(dtype).itemsize, page_locked.pages
    pages.most = max(page_locked.IDLE, min(KEPT, limits.memory() // KEPT_SHARE))
    if size <= pages.most and (pages.lent + size <= max(LOCKED, limits.memory() // LOCKED_SHARE)):
        with suppress(DeviceMemoryError), devices.reporting():
            return page_locked.pinned(shape, dtype)
    return np.empty(shape, dtype)


def locked(array: npt.NDArray[Any]) -> bool:
    """Return whether an array of `result` is page-locked."""
    return array.base is not None


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
