"""Targets of `fuzz.api` about films: enhancement, reports, previews, plans, pairs, dry runs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import snellen
from fuzz import films
from snellen import jobs

_QUICK = {"device": "cpu", "scale": 2, "preset": "ultrafast", "frames": 2}


def targets(folder: Path, make: Any) -> list[Any]:
    """Return what is called; `make` is `fuzz.api.Target`."""
    one, two, film = folder / "a.png", folder / "b.png", folder / "film.y4m"
    film.write_bytes(films.y4m(random.Random(3), 80, 72, 4))
    enhancement = ("crop", "vf", "deblock", "denoise", "sharpen", "deband", "post_vf", "deblur",
                   "deblur_psf_out", "lut", "lut_matrix", "grain", "grain_seed")  # fmt: skip
    aim = ("target_mad", "target_vmaf", "target_pool", "max_bitrate", "crf", "options")

    def out(rng: random.Random, suffix: str = ".mkv") -> Path:
        return folder / f"out{rng.getrandbits(60)}{suffix}"

    def job(rng: random.Random) -> jobs.UpscaleJob:
        return jobs.UpscaleJob(source=film, target=out(rng), device="cpu")

    def pairs(**given: Any) -> list[Any]:
        return list(jobs.score_pairs(**given))

    pair = jobs.ScoreJob(reference=one, distorted=two, device="cpu", metrics=("psnr",))
    return [
        make("Enhancement", jobs.Enhancement, lambda r: {}, enhancement, ("deblur",),
             lambda made: made.named()),
        make("upscale_file film", snellen.upscale_file,
             lambda r: {"source": film, "target": out(r), **_QUICK},
             (*enhancement, *aim[:-1], "report", "report_size", "segments", "keep_segments",
              "discard_segments", "max_pixels", "threads", "quality"), ("deblur",)),
        make("Encoding aims", jobs.Encoding, lambda r: {}, aim),
        make("UpscaleJob film", jobs.UpscaleJob, lambda r: {"source": film, "target": out(r)},
             ("enhancement", "quality", "segments", "keep_segments", "discard_segments", "workers",
              "cluster", "max_pixels", "threads", "video"),
             (), lambda made: jobs.Job.from_json(made.to_json())),
        make("compare_files", snellen.compare_files,
             lambda r: {"reference": one, "variants": [two], "target": out(r, ".html"),
                        "device": "cpu", "metrics": "psnr"},
             ("metrics", "pictures", "report_size", "align", "every", "frames", "start",
              "data_range", "overwrite", "max_pixels", "threads", "events", "duration")),
        make("preview", jobs.preview,
             lambda r: {"jobs": job(r), "target": out(r, ".html"), "count": 1, "length": 0.04},
             ("count", "at", "length", "report_size", "overwrite", "command", "events")),
        make("dry_run", jobs.dry_run, lambda r: {"job": job(r)}, ("job", "events")),
        make("score_pairs", pairs, lambda r: {"jobs": [pair]}, ("events", "total")),
        make("write_plan", jobs.write_plan, lambda r: {"job": job(r), "plan": out(r, ".plan")},
             ("overwrite", "events")),
        make("run_segments", jobs.run_segments,
             lambda r: {"plan": one, "first": 1, "last": 2}, ("device", "threads", "events")),
        make("join_plan", jobs.join_plan, lambda r: {"plan": one}, ("device", "threads")),
    ]  # fmt: skip
