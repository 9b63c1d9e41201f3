"""Pictures and maps as addresses that contain them."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from snellen.report.contents import Bytes, Picture

WIDEST = 16383  # pixels: WebP has no larger pictures
THUMBNAIL = 160  # pixels across
MAP = 960  # pixels of the longer side of a map, which is smooth or made of tiles
_EFFORT = 2  # of 6: higher ones take up to 6 times as long for 1 to 6 %


def lossless(picture: Picture) -> str:
    """Return a picture as WebP without loss, smaller only where it is too large for WebP."""
    return _webp(_scaled(picture.samples, 1), picture, lossless=True, quality=50)


def lossy(picture: Picture, quality: int, share: float) -> str:
    """Return a picture as WebP, of a share of its width and height."""
    return _webp(_scaled(picture.samples, share), picture, quality=quality)


def thumbnail(picture: Picture) -> str:
    """Return a picture small."""
    share = THUMBNAIL / picture.samples.shape[1]
    return _webp(_scaled(picture.samples, min(1, share)), picture, quality=70)


def shrunk(samples: Bytes, longest: int) -> Bytes:
    """Return a picture, or palette indices, of at most so many pixels a side."""
    share = longest / max(samples.shape[:2])
    return samples if share >= 1 else np.asarray(_scaled(samples, share))


def shading(indices: Bytes, palette: Bytes) -> str:
    """Return palette indices as PNG, the more opaque the higher they are."""
    image = Image.fromarray(shrunk(indices, MAP)).convert("P")
    image.putpalette(palette.tobytes())
    opaque = np.minimum(255, 2 * np.arange(256)).astype(np.uint8)
    return _address(image, "PNG", transparency=opaque.tobytes(), optimize=False)


def _scaled(samples: Bytes, share: float) -> Image.Image:
    image = Image.fromarray(samples)
    size = [max(1, round(share * side)) for side in image.size]
    longest = max(size)
    if longest > WIDEST:
        size = [max(1, side * WIDEST // longest) for side in size]
    return image if tuple(size) == image.size else image.resize((size[0], size[1]))


def _webp(image: Image.Image, picture: Picture, **how: object) -> str:
    if picture.profile is not None:
        how["icc_profile"] = picture.profile
    return _address(image, "WEBP", method=_EFFORT, **how)


def _address(image: Image.Image, format: str, **how: object) -> str:
    file = io.BytesIO()
    image.save(file, format, **how)
    text = base64.b64encode(file.getvalue()).decode()
    return f"data:image/{format.lower()};base64,{text}"
