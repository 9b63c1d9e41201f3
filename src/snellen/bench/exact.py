"""Whether the GPU's answer is right: features, anchors and pixels, before any time is told.

What is compared may lie in NumPy or CuPy arrays: `xp` is the module of them.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf, log10, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.cuda.filters import compose, side
from snellen.aplus.model import Model
from snellen.bench import plain
from snellen.bench.stages import watched
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Plane

# What a feature may be off, of white or of the largest feature: these grow with the scale.
FEATURES = 1e-6
PSNR = 110.0  # dB against float64 that a float result must reach; the paper's CPU and GPU: 88.97
OFF_BY_ONE = {8: 1e-4, 10: 5e-4}  # share of pixels, against float64
TIED = 0.5  # of the pixels: were more of them beside ties, the rest would say little
UNIT = 2.0**-24  # rounding unit of float32
SLAB = 1 << 26  # scores in float64 at a time

Float64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass
class Findings:
    """What was found in one picture."""

    undecided: Mask
    """(H, W): patches for which float32 arithmetic may take another anchor than float64."""
    patches: int = 0
    rescored: int = 0
    feature_error: float = 0.0
    """Largest, of white or of the largest feature."""
    other_anchor: int = 0
    """Patches whose anchor is not the float64 arg-max of the same float32 features."""
    largest_loss: float = 0.0
    """Of their scores, as a share of the feature's norm."""
    beyond_rounding: int = 0
    """Those whose loss is more than float32 rounding explains."""
    output: dict[str, Any] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "patches": self.patches, "rescored": self.rescored / self.patches,
            "feature_error": self.feature_error, "other_anchor": self.other_anchor,
            "largest_loss": self.largest_loss, "beyond_rounding": self.beyond_rounding,
            **self.output,
        }  # fmt: skip


def examine(luma: Any, model: Model, source: Format, plane: Plane, out: Any, xp: Any) -> Findings:
    """Enlarge `plane` by `luma` into `out` and judge features and anchors on the way.

    Parameters
    ----------
    luma : a composer with the stages `features` (plane, first, rows, out) and `match` (features,
        index, listed, …)
    plane : on the host
    out : array of `xp`
    """
    found = Findings(np.zeros(plane.shape, bool))
    white = float((1 << source.bits) - 1) if source.bits else 1.0
    radius, dims = side(model.window) // 2, model.basis.shape[1]
    extended = xp.asarray(np.pad(plane.astype(np.float64), radius, mode="edge"))
    filters, anchors = xp.asarray(compose(model)), xp.asarray(model.anchors.astype(np.float64))
    band = [0, 0]

    def features(arguments: tuple[Any, ...]) -> None:
        _, first, rows, made = arguments[:4]
        band[:] = first, rows
        under = extended[first : first + rows + 2 * radius]
        error = feature_error(under, filters, made.reshape(rows, plane.shape[1], -1)[..., :dims])
        largest = float(abs(made).max())
        found.feature_error = max(found.feature_error, error / max(white, largest))

    def match(arguments: tuple[Any, ...]) -> None:
        made, index, listed = arguments[:3]
        found.patches += len(index)
        found.rescored += int(listed[0])
        weak = (0.5 if source.bits else 2e-6) / white  # what cannot move a pixel by a code value
        undecided = judge(made[:, :dims], index, anchors, white, weak, found, xp)
        first, rows = band
        found.undecided[first : first + rows] |= undecided.reshape(rows, -1)

    with ExitStack() as stack:
        stack.enter_context(watched(luma, "features", lambda: None, features))
        stack.enter_context(watched(luma, "match", lambda: None, match))
        luma(xp.asarray(plane), out)
    return found


def feature_error(extended: Any, filters: Any, features: Any) -> float:
    """Return by how much features (rows, W, d) differ at most from the float64 filter bank's."""
    size = len(filters)
    rows, width, _ = features.shape
    worst = 0.0
    for first in range(0, rows, 64):
        n = min(64, rows - first)
        total: Any = 0.0
        for i in range(size):
            for j in range(size):
                pixels = extended[first + i : first + i + n, j : j + width]
                total = total + pixels[:, :, None] * filters[i, j]
        error = float(abs(features[first : first + n] - total).max())
        worst = max(worst, error if error == error else inf)  # NaN is no small error
    return worst


def judge(
    features: Any, index: Any, anchors: Any, white: float, weak: float, found: Findings, xp: Any
) -> Mask:
    """Add what is to be said of anchors to `found`; return which patches are undecided."""
    count, dims = features.shape
    step = max(1, SLAB // len(anchors))
    error = FEATURES * white * sqrt(dims)
    masks = []
    for first in range(0, count, step):
        feature = features[first : first + step].astype(np.float64)
        chosen = index[first : first + step].astype(np.int64)
        scores = abs(feature @ anchors.T)
        every = xp.arange(len(scores))
        norm = xp.sqrt((feature * feature).sum(axis=1))
        best = scores.argmax(axis=1)
        top, score = scores[every, best], scores[every, chosen]
        loss = (top - score) / (norm + (norm == 0))
        # Two sums of `dims` products, each rounded `dims` + 4 times at worst; anchors have norm 1.
        rounding = 2 * (dims + 4) * UNIT
        found.other_anchor += int((best != chosen).sum())
        found.largest_loss = max(found.largest_loss, float(loss.max()))
        found.beyond_rounding += int((~(loss <= rounding)).sum())
        scores[every, best] = -1
        gap = top - scores.max(axis=1)
        tied = (gap <= 2 * error + rounding * norm) & (norm > weak * white)
        masks.append(tied)
    undecided: Mask = host(xp.concatenate(masks))
    return undecided


def host(array: Any) -> Any:
    """Return an array as NumPy's."""
    return array.get() if hasattr(array, "get") else array


def under(undecided: Mask, model: Model) -> Mask:
    """Return the output pixels under undecided patches."""
    half, s = model.window // 2, model.scale
    height, width = undecided.shape
    wide = np.pad(undecided, half)
    touched = np.zeros_like(undecided)
    for i in range(model.window):
        for j in range(model.window):
            touched |= wide[i : i + height, j : j + width]
    return touched.repeat(s, axis=0).repeat(s, axis=1)


def reference(plane: Plane, model: Model) -> Float64:
    """Return the enlarged plane in float64, its border as `overlap` has it; not rounded."""
    s, extra = model.scale, model.window // 2 + 1
    exact = plane.astype(np.float64)
    # Windows of the extended picture make the outermost pixels, those of the authors all others.
    wide = plain.upscale(np.pad(exact, extra, mode="edge"), model)
    out = wide[extra * s : -extra * s, extra * s : -extra * s]
    out[s:-s, s:-s] = plain.upscale(exact, model)[s:-s, s:-s]
    return np.asarray(out, np.float64)


def pixels(found: Plane, wanted: npt.NDArray[Any], bits: int, tied: Mask) -> dict[str, Any]:
    """Return how an output differs from what is wanted, everywhere and beside `tied` pixels.

    `wanted` may have fractions; where the output has codes it is rounded and clipped.
    """
    if not bits:
        off = found.astype(np.float64) - wanted
        return {
            "pixels": off.size, "tied": float(tied.mean()), "psnr_db": psnr(off),
            "psnr_decided_db": psnr(off[~tied]),
        }  # fmt: skip
    codes = np.rint(wanted).clip(0, (1 << bits) - 1).astype(np.int64)
    away = np.abs(found.astype(np.int64) - codes)
    return {
        "pixels": away.size,
        "tied": float(tied.mean()),
        "off_by_one": float((away == 1).mean()),
        "off_by_more": int((away > 1).sum()),
        "off_by_more_decided": int((away > 1)[~tied].sum()),
    }


def psnr(off: Float64) -> float | None:
    """Return dB of differences where white is 1; None where there are none."""
    error = float(np.mean(off**2)) if off.size else 0.0
    return -10 * log10(error) if error else None


def refuse(found: Findings, bits: int, against: str, what: str) -> None:
    """Stop the report where a check is red.

    Raises
    ------
    SnellenError
        It names what is wrong: no speed is told then.
    """
    out = found.output
    faults = []
    if not found.feature_error <= FEATURES:
        faults.append(f"features are off by {found.feature_error:.2e} of the largest")
    if out.get("tied", 0) > TIED:
        faults.append(f"two anchors tie at {out['tied']:.0%} of the pixels")
    if found.beyond_rounding:
        faults.append(f"{found.beyond_rounding} anchors are wrong beyond float32 rounding")
    if out.get("off_by_more_decided"):
        faults.append(f"{out['off_by_more_decided']} pixels are off by more than a code value")
    if against == "float64":
        alone = 1 / out.get("pixels", 1)  # one pixel says nothing of a share
        if out.get("off_by_one", 0) > max(OFF_BY_ONE.get(bits, 1), alone):
            faults.append(f"{out['off_by_one']:.1e} of the pixels are off by a code value")
        decided = out.get("psnr_decided_db")
        if decided is not None and not decided >= PSNR:
            faults.append(f"{decided:.1f} dB from float64")
    if faults:
        raise SnellenError(f"{what}: {'; '.join(faults)}: nothing is timed")
