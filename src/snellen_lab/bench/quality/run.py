"""The run: every method on every picture and on every source of every clip; the report."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from snellen_lab import protocol
from snellen_lab.bench.quality import measures
from snellen_lab.bench.quality.clips import SOURCES, USED, Clip
from snellen_lab.bench.quality.methods import Method, bicubic
from snellen_lab.bench.quality.page import Row, row
from snellen_lab.sources.degrade import Bytes, whole

Float32 = npt.NDArray[np.float32]
Say = Callable[[str], None]
Figures = dict[str, Any]

KEPT = ("psnr", "ssim", "mad")  # of pictures; the others are of clips


class Run:
    """Measures methods, and collects rows of figures and crops.

    Parameters
    ----------
    methods : mapping
        Name → method.
    device : str
        For MAD.
    say : callable
        Gets lines for the reader.
    inputs : Path, optional
        Folder that gets every small picture as PNG, for other programs.
    mad : bool
        Whether MAD is computed.
    """

    def __init__(
        self,
        methods: Mapping[str, Method],
        scale: int,
        device: str,
        say: Say,
        inputs: Path | None = None,
        mad: bool = True,
    ) -> None:
        self.methods, self.scale, self.device, self.say = methods, scale, device, say
        self.inputs, self.mad = inputs, mad
        self.pictures: list[Figures] = []
        """Rows: set, picture, method, and the figures."""
        self.clips: list[Figures] = []
        """Rows: source, clip, method, bits a pixel, and the figures."""
        self.rows: list[Row] = []

    def folder(self, path: Path) -> None:
        """Measure a folder of pictures by the authors' protocol: small pictures are not rounded."""
        for name, plane in protocol.planes(path).items():
            truth = protocol.crop(plane, self.scale)
            low = protocol.shrink(truth, 1 / self.scale) * np.float32(255)
            place = f"{path.name}/{Path(name).stem}.png"
            codes = whole(truth * np.float32(255))
            results = self.enlarged(low, place)
            found = measures.figures(codes, results, self.scale, self.device, self.mad)
            for method, figures in found.items():
                kept: Figures = {key: figures[key] for key in KEPT if key in figures}
                self.pictures.append({"set": path.name, "picture": name, "method": method} | kept)
            self.crops(f"{path.name}, {name}", codes, results, found)
        for line in summary([one for one in self.pictures if one["set"] == path.name]):
            self.say(f"  {path.name}: {line}")

    def clip(self, clip: Clip) -> None:
        """Measure a clip with every source."""
        plain: dict[str, dict[str, list[Float32]]] = {}
        for source in SOURCES:
            lows = source.lows(clip, self.scale)
            large: dict[str, list[Float32]] = {}
            each: dict[str, list[dict[str, float]]] = {}
            for number in USED:
                place = (
                    f"{source.name.replace(', ', '-').replace(' ', '-')}/{clip.name}-{number}.png"
                )
                results = self.enlarged(lows.planes[number].astype(np.float32), place)
                truth = clip.truths[number]
                found = measures.figures(truth, results, self.scale, self.device, self.mad)
                for method, figures in found.items():
                    each.setdefault(method, []).append(figures)
                    large.setdefault(method, []).append(results[method])
            self.crops(f"{source.name}, {clip.name}", truth, results, found)
            if source.coding is None:
                plain[source.name] = large
            base = plain[source.base] if source.coding else {}
            flat = [measures.flat(clip.truths[number]) for number in USED]
            for method, frames in each.items():
                self.clips.append({
                    "source": source.name, "clip": clip.name, "method": method,
                    "bits": lows.bits if source.coding else None, **joined(frames),
                    "gain": gain(large, base, method),
                    "flat_gain": gain(large, base, method, flat),
                })  # fmt: skip
        self.say(f"  {clip.name}")

    def enlarged(self, low: Float32, place: str) -> dict[str, Float32]:
        """Return what the methods make of a small picture, those that have it."""
        if self.inputs:
            path = self.inputs / place
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(whole(low)).save(path)
        made = {name: method(low, self.scale, place) for name, method in self.methods.items()}
        return {name: large for name, large in made.items() if large is not None}

    def crops(
        self,
        title: str,
        truth: Bytes,
        results: Mapping[str, Float32],
        found: Mapping[str, Mapping[str, float]],
    ) -> None:
        """Keep a row of crops."""
        captions = {name: f"{found[name]['psnr']:.2f} dB" for name in results}
        self.rows.append(row(title, truth, results, captions))


def gain(
    coded: Mapping[str, list[Float32]],
    uncoded: Mapping[str, list[Float32]],
    method: str,
    where: Sequence[npt.NDArray[np.bool_]] | None = None,
) -> float | None:
    """Return the change that coding makes in a method's results, bicubic's being 1.

    None: without coding, where results are missing, or where bicubic has no change.
    """
    if len(uncoded.get(method, ())) != len(coded[method]):
        return None
    own, plain = (
        measures.noise(coded[name], uncoded[name], where) for name in (method, bicubic.__name__)
    )
    return own / plain if plain > 0 else None


def joined(frames: list[dict[str, float]]) -> dict[str, float | None]:
    """Return the figures of a clip: means of frames, and roots of mean squares for areas."""
    found: dict[str, float | None] = {}
    for key in frames[0]:
        values = [figures[key] for figures in frames]
        if key in ("flat", "busy"):
            values = [value for value in values if value == value]
            found[key] = measures.rms(values) if values else None
        else:
            found[key] = statistics.fmean(values)
    return found


def medians(rows: Iterable[Figures]) -> list[str]:
    """Return a line for each source and method: the median PSNR of all clips."""
    own: dict[tuple[str, str], list[float]] = {}
    for one in rows:
        own.setdefault((one["source"], one["method"]), []).append(one["psnr"])
    return [
        f"{source}: {method} {statistics.median(found):.3f} dB, median of {len(found)}"
        for (source, method), found in own.items()
    ]


def summary(rows: Iterable[Figures]) -> list[str]:
    """Return a line for each method: the means of its figures."""
    own: dict[str, list[Figures]] = {}
    for one in rows:
        own.setdefault(one["method"], []).append(one)
    return [
        f"{method} {statistics.fmean(one['psnr'] for one in found):.3f} dB, "
        f"SSIM {statistics.fmean(one['ssim'] for one in found):.4f}"
        for method, found in own.items()
    ]
