"""Targets of `fuzz.api` about films: enhancement, reports, previews, plans, pairs, dry runs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import snellen
from fuzz import films
from fuzz.api_targets import Target, plain_values, round_trip
from snellen import jobs, schema

_QUICK = {"device": "cpu", "scale": 2, "preset": "ultrafast", "frames": 2}


def targets(folder: Path) -> list[Target]:
    """Return what is called."""
    one, two, film = folder / "a.png", folder / "b.png", folder / "film.y4m"
    film.write_bytes(films.y4m(random.Random(3), 80, 72, 4))
    enhancement = ("crop", "vf", "deblock", "denoise", "sharpen", "deband", "post_vf", "deblur",
                   "deblur_psf_out", "lut", "lut_matrix", "grain", "grain_seed")  # fmt: skip
    aim = (
        "target_mad",
        "target_ssimulacra2",
        "target_vmaf",
        "vmaf_model",
        "target_pool",
        "max_bitrate",
        "crf",
        "options",
    )

    def out(rng: random.Random, suffix: str = ".mkv") -> Path:
        return folder / f"out{rng.getrandbits(60)}{suffix}"

    def job(rng: random.Random) -> jobs.UpscaleJob:
        return jobs.UpscaleJob(source=film, target=out(rng), device="cpu")

    def pairs(**given: Any) -> list[Any]:
        return list(jobs.score_pairs(**given))

    def named(name: Any, job: Any, **given: Any) -> Any:
        try:
            several: Any = {name: job}
        except Exception:  # it is no key of any mapping
            several = [name, job]
        return jobs.preview(several, **given)

    pair = jobs.ScoreJob(reference=one, distorted=two, device="cpu", metrics=("psnr",))
    return [
        Target("Enhancement", jobs.Enhancement, lambda r: {}, enhancement, ("deblur",),
             lambda made: [schema.named(made), plain_values(made)]),  # type: ignore[arg-type,return-value]
        Target("upscale_file film", snellen.upscale_file,
             lambda r: {"source": film, "target": out(r), **_QUICK},
             (*enhancement, *aim[:-1], "report", "report_size", "segments", "keep_segments",
              "discard_segments", "max_pixels", "threads", "quality", "workers", "cluster"),
             ("deblur",)),
        Target("Encoding aims", jobs.Encoding, lambda r: {}, aim, (), plain_values),
        Target("UpscaleJob film", jobs.UpscaleJob, lambda r: {"source": film, "target": out(r)},
             ("enhancement", "quality", "segments", "keep_segments", "discard_segments", "workers",
              "cluster", "max_pixels", "threads", "video"),
             (), round_trip),
        Target("compare_files", snellen.compare_files,
             lambda r: {"reference": one, "variants": [two], "target": out(r, ".html"),
                        "device": "cpu", "metrics": "psnr"},
             ("metrics", "vmaf_model", "pictures", "report_size", "align", "every", "frames",
              "start",
              "data_range", "overwrite", "max_pixels", "threads", "events", "duration", "variant",
              "hi_scale", "eight_bit_lut", "deinterlace", "interlaced", "ivtc", "dtype", "decoder",
              "profile")),
        Target("preview", jobs.preview,
             lambda r: {"jobs": job(r), "target": out(r, ".html"), "count": 1, "length": 0.04},
             ("jobs", "count", "at", "length", "report_size", "overwrite", "command", "events")),
        Target("preview several", named,
               lambda r: {"job": job(r), "name": "a", "target": out(r, ".html"), "count": 1,
                          "length": 0.04}, ("name", "job")),
        Target("dry_run", jobs.dry_run, lambda r: {"job": job(r)}, ("job", "events")),
        Target("score_pairs", pairs, lambda r: {"jobs": [pair]},
               ("events", "total", "workers", "cluster")),
        Target("write_plan", jobs.write_plan, lambda r: {"job": job(r), "plan": out(r, ".plan")},
             ("overwrite", "events")),
        Target("run_segments", jobs.run_segments,
             lambda r: {"plan": one, "first": 1, "last": 2},
             ("device", "threads", "workers", "events")),
        Target("join_plan", jobs.join_plan, lambda r: {"plan": one},
               ("device", "threads", "workers", "events")),
    ]  # fmt: skip
