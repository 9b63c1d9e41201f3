"""A report about made-up pictures, whose names are hostile."""

from __future__ import annotations

import numpy as np

from snellen.report.contents import Contents, Metric, Moment, Picture, Scale

HOSTILE = '</script><script>alert("1")</script><img src=x onerror=alert(2)>&amp;\u202e\udcff.mp4'


def contents(rows=20, variants=2, **more):
    random = np.random.default_rng(3)
    metrics = (Metric("mad", "MAD", "lower"), Metric("psnr", "PSNR", "higher", "dB"))
    scores = tuple(
        {one.name: tuple(map(float, random.uniform(1, 40, rows))) for one in metrics}
        for _ in range(variants)
    )
    statistics = dict.fromkeys(("mean", "median", "min", "max", "p5", "p95"), 1.5)
    labels = ("reference.mkv", *(f"variant {at}.mp4" for at in range(variants)))
    facts = tuple((("Codec", "h264"), ("title", HOSTILE)) for _ in labels)
    scales = (Scale("detection", "HI", 1e5), Scale("appearance", "LO", 20.0))
    palette = np.stack([np.arange(256)] * 3, 1).astype(np.uint8)
    fields = {
        "title": HOSTILE, "labels": labels, "names": tuple(f"frame {at}" for at in range(rows)),
        "is_film": True, "numbers": tuple(range(rows)), "metrics": metrics, "scores": scores,
        "pooled": ({"mad": statistics, "psnr": statistics},) * variants,
        "worst": ((7 % rows, 1 % variants), (2 % rows, 0)), "worst_by": "mad",
        "scales": scales, "palette": palette,
        "facts": facts, "made": (("Command", HOSTILE),), "notes": (HOSTILE,),
    }  # fmt: skip
    return Contents(**(fields | more))


def moments(rows=(2, 7, 12), variants=2, size=(120, 160), seed=4):
    """Frames of noise, which codecs cannot make small."""
    random = np.random.default_rng(seed)
    high, wide = size

    def picture(high, wide):
        return Picture(random.integers(0, 256, (high, wide, 3), np.uint8))

    return [
        Moment(
            row=row,
            rank=rank,
            pictures=tuple(picture(high, wide) for _ in range(variants + 1)),
            size=(wide, high),
            aspect=wide / high,
            maps=tuple(
                {
                    name: random.integers(0, 256, (high, wide), np.uint8)
                    for name in ("detection", "appearance")
                }
                for _ in range(variants)
            ),
            crops=tuple(picture(32, 32) for _ in range(variants + 1)),
            box=(0.25, 0.5, 32 / wide, 32 / high),
        )
        for rank, row in enumerate(rows)
    ]
