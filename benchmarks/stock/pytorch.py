"""PyTorch, where it is installed, on CuPy's current stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def imported() -> Any:
    """Return the module, which not everybody has."""
    return import_module("torch")


@contextmanager
def on_stream(name: str, missing: dict[str, str]) -> Iterator[Any]:
    """Give PyTorch for work without gradients on CuPy's current stream.

    Where it is not there or sees no GPU, None, and `missing` gets the reason under a name.
    """
    import cupy

    try:
        torch = imported()
        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no GPU")
    except (ImportError, OSError) as error:
        missing[name] = str(error)
        yield None
        return
    stream = torch.cuda.ExternalStream(cupy.cuda.get_current_stream().ptr)
    with torch.inference_mode(), torch.cuda.stream(stream):
        yield torch
    torch.cuda.empty_cache()
