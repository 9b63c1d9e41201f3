"""Snellen makes pictures sharper and says how sharp they are, without giving up one bit of quality.

upscale(image)    enlarge an image by A+ super-resolution
Upscaler          the same for many frames: prepare, run, close
deblur(image)     restore a blurred image by MIA, and find its blur
Deblurrer         the same for many images: prepare, run, close
Restored          what both return
score(reference, distorted)   how far pictures are from their references, by MAD
Scorer            the same for many pairs: prepare, run or runs, close; or set_reference, compare
Score             what both return
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snellen._version import __version__ as __version__

__all__ = [
    "Deblurrer", "Restored", "Score", "Scorer", "Upscaler", "__version__", "deblur", "score",
    "upscale",
]  # fmt: skip

if TYPE_CHECKING:
    from snellen.aplus.image import upscale as upscale
    from snellen.aplus.upscaler import Upscaler as Upscaler
    from snellen.mad.image import score as score
    from snellen.mad.result import Score as Score
    from snellen.mad.scorer import Scorer as Scorer
    from snellen.mia.deblurrer import Deblurrer as Deblurrer
    from snellen.mia.image import deblur as deblur
    from snellen.mia.result import Restored as Restored

_HOME = {
    "upscale": "snellen.aplus.image",
    "Upscaler": "snellen.aplus.upscaler",
    "deblur": "snellen.mia.image",
    "Deblurrer": "snellen.mia.deblurrer",
    "Restored": "snellen.mia.result",
    "score": "snellen.mad.image",
    "Scorer": "snellen.mad.scorer",
    "Score": "snellen.mad.result",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `import snellen` stays quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'snellen' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
