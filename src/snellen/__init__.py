"""Snellen makes pictures sharper, without giving up one bit of quality.

upscale(image)    enlarge an image by A+ super-resolution
Upscaler          the same for many frames: prepare, run, close
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Upscaler", "__version__", "upscale"]

if TYPE_CHECKING:
    from snellen.aplus.image import upscale as upscale
    from snellen.aplus.upscaler import Upscaler as Upscaler

_HOME = {"upscale": "snellen.aplus.image", "Upscaler": "snellen.aplus.upscaler"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `import snellen` stays quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'snellen' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
