"""A page of crops side by side, one HTML file without scripts, for a person to judge."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt
from PIL import Image

from snellen_lab.bench.quality.measures import box
from snellen_lab.sources.degrade import Bytes, whole

Float32 = npt.NDArray[np.float32]

CROP = 96  # pixels: side of a crop
LARGER = 3  # each pixel is shown as so many

HEAD = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Enlarged pictures side by side</title><style>
body {{ font: 15px sans-serif; margin: 2em; background: #eee; color: #111 }}
div {{ display: flex; flex-wrap: wrap; gap: 8px }}
figure {{ margin: 0 }} figcaption {{ padding: 2px 0 10px }}
img {{ width: {CROP * LARGER}px; image-rendering: pixelated; display: block }}
</style></head><body>
<h1>Enlarged pictures side by side</h1>
<p>Luma, each pixel shown as {LARGER} × {LARGER}. A crop is where the methods differ most; PSNR is
that of the whole picture.</p>
"""
END = "</body></html>\n"


@dataclass(frozen=True, eq=False, slots=True)
class Row:
    """The same crop of a truth and of what methods made."""

    title: str
    crops: dict[str, Bytes]
    """Caption → crop."""


def row(
    title: str, truth: Bytes, results: Mapping[str, Float32], captions: Mapping[str, str]
) -> Row:
    """Return the crop in which results differ most from one another.

    Parameters
    ----------
    truth : (H, W) uint8
    results : mapping
        Name → (H, W) code values.
    captions : mapping
        Name → what stands below its crop, besides the name.
    """
    rounded = {name: whole(result) for name, result in results.items()}
    spread = np.stack(list(rounded.values())).astype(np.float64).var(axis=0)
    side = min(CROP, *truth.shape)
    means = box(spread, side)
    top, left = np.unravel_index(means.argmax(), means.shape)
    part = slice(int(top), int(top) + side), slice(int(left), int(left) + side)
    crops = {"original": truth[part].copy()}
    for name, plane in rounded.items():
        crops[f"{name} {captions[name]}"] = plane[part].copy()
    return Row(title, crops)


def page(rows: list[Row]) -> str:
    """Return the page."""
    parts = [HEAD]
    for one in rows:
        parts.append(f"<h2>{escape(one.title)}</h2><div>\n")
        parts += [
            f'<figure><img alt="{escape(caption)}" src="{address(crop)}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>\n"
            for caption, crop in one.crops.items()
        ]
        parts.append("</div>\n")
    return "".join([*parts, END])


def address(crop: Bytes) -> str:
    """Return a picture as an address that contains it."""
    file = io.BytesIO()
    Image.fromarray(crop).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
