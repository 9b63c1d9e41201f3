"""Finds where a soft model pays: `python -m benchmarks.soft --trainset FOLDER FILM SOFT`.

FILM and SOFT are models of one method and scale. Held-out stills become coded clips with several
blurs; eight scenes are a film, whose sharpness is measured as `snellen upscale` measures it. The
table says what each threshold of sharpness gives beside the model for films alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.sources import stills
from snellen.sources.kind import sharpness
from snellen.upscaling.models import read
from snellen.video.source.places import PLACES
from snellen_lab.bench.quality import methods
from snellen_lab.cnn.pictures import names
from snellen_lab.protocol import psnr
from snellen_lab.sources import material
from snellen_lab.sources.degrade import Bytes, Float32, whole

BLURS = (0.0, 0.4, 0.6, 0.8, 1.0)  # σ in pixels of the large picture
THRESHOLDS = (-0.5, -0.6, -0.7, -0.8, -0.9, -1.0, -1.1, -1.2)
FILMS = 100  # of each blur


class Scene(NamedTuple):
    """A small frame and what the model for soft sources gains on it, in dB."""

    low: Bytes
    gain: float


def scenes(held: dict[str, Bytes], film: Path, soft: Path, blur: float, seed: int) -> list[Scene]:
    """Return a scene of each still."""
    both = [read(path) for path in (film, soft)]
    scale = both[0].scale
    found = []
    for name, still in held.items():
        random = np.random.default_rng((seed, zlib.crc32(name.encode())))
        made = replace(material.recipe("film", random), sigma=blur)
        (low,), high, _ = material.codings(still, [made], scale, random)
        truth = floats(high)
        decibels = []
        for model in both:
            large = methods.model(model, "cpu")(low.astype(np.float32), scale, "")
            if large is None:
                raise AssertionError("models make every picture")
            decibels.append(psnr(truth, floats(whole(large)), scale))
        found.append(Scene(low, decibels[1] - decibels[0]))
    return found


def floats(plane: Bytes) -> Float32:
    """Return codes as the protocol has them."""
    return plane.astype(np.float32) / np.float32(255)


def films(found: list[Scene], seed: int) -> list[tuple[float, float]]:
    """Return sharpness and mean gain of films of these scenes."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(FILMS):
        chosen = [found[k] for k in random.choice(len(found), PLACES, replace=False)]
        measured = sharpness([scene.low for scene in chosen])
        if measured is not None:
            made.append((measured, statistics.fmean(scene.gain for scene in chosen)))
    return made


def main() -> int:
    """Measure, and print a table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("film", type=Path)
    parser.add_argument("soft", type=Path)
    parser.add_argument("--trainset", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    held = names(given.trainset / "held_out.txt")
    kept = {k: v for k, v in stills(given.trainset / "pictures").items() if k.startswith(held)}
    rows: list[dict[str, Any]] = []
    for blur in BLURS:
        made = films(scenes(kept, given.film, given.soft, blur, given.seed), given.seed)
        tenths = np.percentile([one for one, _ in made], [10, 50, 90]).round(2).tolist()
        row: dict[str, Any] = {
            "blur": blur, "sharpness": tenths, "soft": statistics.fmean(gain for _, gain in made),
            "chosen": {str(t): statistics.fmean(one < t for one, _ in made) for t in THRESHOLDS},
            "gain": {
                str(t): statistics.fmean(gain * (one < t) for one, gain in made) for t in THRESHOLDS
            },
        }  # fmt: skip
        rows.append(row)
        print(f"blur {blur:g}: sharpness {tenths}, soft {row['soft']:+.3f} dB; by threshold "
              + ", ".join(f"{t:g}: {row['chosen'][str(t)]:.0%} {row['gain'][str(t)]:+.3f}"
                          for t in THRESHOLDS), flush=True)  # fmt: skip
    if given.output:
        given.output.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
