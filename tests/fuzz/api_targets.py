"""What `fuzz.api` calls: every public function and class, with arguments that work."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

import snellen
from snellen import jobs
from snellen.schema import named


@dataclass(frozen=True)
class Target:
    """Something to call."""

    name: str
    call: Callable[..., Any]
    valid: Callable[[random.Random], dict[str, Any]]
    """Arguments that work."""
    more: tuple[str, ...] = ()
    """Further arguments."""
    arrays: tuple[str, ...] = ()
    """Arguments that are arrays: more often than others they get one."""
    check: Callable[[Any], None] = lambda result: None
    """Raises AssertionError for a result that is wrong."""


def finite(result: Any) -> None:
    """Check that a result has finite numbers only; scores without MAD have none of its three."""
    if isinstance(result, snellen.Score) and np.isnan(result.mad).all() and np.size(result.mad):
        assert np.isnan(result.hi).all() and np.isnan(result.lo).all(), "a part of MAD"
        others = [one for one in (result.psnr, result.ssim) if one is not None]
        assert others and not np.isnan(others).any(), "neither MAD nor another score"
        return
    for name in ("image", "psf", "mad", "hi", "lo", "fit"):
        if (one := getattr(result, name, None)) is not None:
            assert np.isfinite(np.asarray(one, np.float64)).all(), f"{name} is not finite"
    if isinstance(result, np.ndarray):
        assert result.dtype.kind == "u" or np.isfinite(result).all(), "not finite"


def plain_values(made: Any) -> None:
    """Check that a value holds Python's own numbers and texts only, however deep."""
    if is_dataclass(made):
        for field in fields(made):
            plain_values(getattr(made, field.name))
    elif isinstance(made, dict):
        for pair in made.items():
            plain_values(pair)
    elif type(made) is tuple:
        for one in made:
            plain_values(one)
    elif type(made) is Fraction:
        plain_values((made.numerator, made.denominator))
    else:
        good = isinstance(made, Path) or type(made) in (str, int, float, bool, NoneType)
        assert good, f"it holds a {type(made).__name__}"


def plain_ticks(frame: snellen.Frame) -> None:
    """Check the numbers of a frame."""
    plain_values((frame.pts, frame.duration))


def unharmed(error: Exception) -> None:
    """Check that an error is short, in each of its texts, and survives another process."""
    again = pickle.loads(pickle.dumps(error))
    for text in (str(error), error.args[0], str(again), error.about("x" * 10**5).text):  # type: ignore[attr-defined]
        assert len(text) < 3500, f"{len(text)} characters"


def picture(rng: random.Random, shape: tuple[int, ...] = (48, 56)) -> Any:
    numbers = np.random.default_rng(rng.getrandbits(32))
    return numbers.integers(20, 230, shape).astype(np.uint8)


def upscaled(prepare: Any = None, run: Any = None, **given: Any) -> Any:
    with snellen.Upscaler(**given) as step:
        format = snellen.Format(8, 8)
        step.prepare(**{"format": format, **(prepare or {})})
        return step.run(**{"frame": snellen.Frame((np.zeros((8, 8), np.uint8),)), **(run or {})})


def scored(prepare: Any = None, run: Any = None, what: str = "run", **given: Any) -> Any:
    plane = np.zeros((40, 40), np.uint8)
    with snellen.Scorer(**given) as scorer:
        scorer.prepare(**{"format": snellen.Format(40, 40), **(prepare or {})})
        if what == "runs":
            return scorer.runs((run or {}).get("reference", [(plane, plane)]))
        if what == "compare":
            scorer.set_reference((run or {}).get("reference", plane))
            return scorer.compare((run or {}).get("distorted", plane))
        return getattr(scorer, what)(**{"reference": plane, "distorted": plane, **(run or {})})


def restored(prepare: Any = None, run: Any = None, **given: Any) -> Any:
    with snellen.Deblurrer(**{"iterations": 2, "psf_size": 5, **given}) as step:
        step.prepare(**{"format": snellen.Format(16, 16), **(prepare or {})})
        return step.run(**{"image": np.full((16, 16), 9, np.uint8), **(run or {})})


def streamed(push: Any = None, **given: Any) -> Any:
    made = {"deblurrer": snellen.Deblurrer(iterations=2, psf_size=5), "shape": (16, 16), **given}
    with snellen.Stream(**made) as stream:
        stream.push(**{"frame": np.full((32, 32), 9, np.uint8), **(push or {})})
        stream.finish()
        return list(stream)


def several(jobs: Any, **given: Any) -> Any:
    """Run jobs; each of them may be wrong, so that a million takes its time."""
    some = jobs[:1000] if isinstance(jobs, np.ndarray) and jobs.ndim else jobs
    return snellen.jobs.run_several(some, **given)


def settings(**given: Any) -> Callable[[random.Random], dict[str, Any]]:
    return lambda rng: dict(given)


def _keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameters behind the sources and the target."""
    return tuple(inspect.signature(function).parameters)[2:]


def targets(folder: Path) -> list[Target]:
    """Return everything that is public, over pictures in a folder."""
    one, two = folder / "a.png", folder / "b.png"
    film = ("target_mad", "target_ssimulacra2", "target_vmaf", "vmaf_model", "target_pool",
            "max_bitrate", "quality", "max_pixels", "threads", "segments", "keep_segments",
            "discard_segments", "workers", "cluster", "report", "report_size")  # fmt: skip
    video = (
        "start", "duration", "frames", "deinterlace", "interlaced", "ivtc", "decoder", "codec",
        "preset", "crf", "encoder_options", "pix_fmt", "colour", "audio", "map", "fps",
        "strict", "overwrite", "profile", "events", "device",
    )  # fmt: skip
    mia = (
        "psf", "psf_size", "noise", "read_noise", "tv", "prior", "edges", "recentre", "tolerance",
        "tile", "data_range", "dtype",
    )  # fmt: skip
    mad = ("variant", "hi_scale", "eight_bit_lut", "device", "dtype")
    both = ("width", "height")

    def out(rng: random.Random) -> Path:
        return folder / f"out{rng.getrandbits(60)}.png"

    return [
        Target("upscale", snellen.upscale, lambda r: {"image": picture(r, (12, 10))},
               ("scale", "model", "device", "bits", "data_range", "channel_axis", "method",
                "source_kind"), ("image",), finite),
        Target("deblur", snellen.deblur,
               lambda r: {"image": picture(r, (24, 28)), "psf_size": 5, "iterations": 2},
               (*mia, "start", "every", "callback", "multiframe", "device", "channel_axis"),
               ("image", "psf", "start"), finite),
        Target("score", snellen.score,
               lambda r: {"reference": picture(r), "distorted": picture(r)},
               (*mad, "data_range", "maps", "metrics", "channel_axis"),
               ("reference", "distorted"), finite),
        Target("Format", snellen.Format, settings(width=8, height=8),
               ("bits", "subsampling", "siting", "full_range", "white"), (),
               lambda f: [f.shapes, f.dtype, hash(f), plain_values(f)]),  # type: ignore[arg-type,return-value]
        Target("Frame", snellen.Frame, settings(planes=()),
               ("planes", "pts", "duration", "ready", "alpha"), (), plain_ticks),
        *(Target(kind.__name__, kind, settings(), ("message", "parameter", "advice"), (), unharmed)
          for kind in (snellen.SnellenError, snellen.InputError, snellen.ModelError,
                       snellen.DeviceError, snellen.OutputError, snellen.IncompleteError)),
        Target("Format.scaled", snellen.Format(8, 8).scaled, settings(scale=2), ("bits",)),
        Target("Upscaler", upscaled, settings(),
               ("scale", "model", "device", "chroma", "method", "source_kind")),
        Target("Upscaler.prepare", lambda **k: upscaled(prepare=k), settings(),
               ("format", "bits", "on_device")),
        Target("Upscaler.run", lambda **k: upscaled(run=k), settings(), ("frame",)),
        Target("Upscaler.run planes",
               lambda planes: upscaled(run={"frame": snellen.Frame(planes)}),
               settings(), ("planes",), ("planes",)),
        Target("Upscaler.run plane",
               lambda plane: upscaled(run={"frame": snellen.Frame((plane,))}),
               settings(), ("plane",), ("plane",)),
        Target("Scorer", scored, settings(), mad),
        Target("Scorer.prepare", lambda **k: scored(prepare=k), settings(),
               ("format", "bits", "on_device")),
        Target("Scorer.run", lambda **k: scored(run=k), settings(),
               ("reference", "distorted", "maps"), ("reference", "distorted")),
        Target("Scorer.submit", lambda **k: scored(run=k, what="submit")(), settings(),
               ("reference", "distorted"), ("reference", "distorted")),
        Target("Scorer.runs", lambda **k: scored(run=k, what="runs"), settings(), ("reference",)),
        Target("Scorer.compare", lambda **k: scored(run=k, what="compare"), settings(),
               ("reference", "distorted"), ("reference", "distorted")),
        Target("Deblurrer", restored, settings(),
               (*(m for m in mia if m not in ("prior", "tile", "data_range")), "start", "every",
                "iterations", "warm", "history", "frames", "batch", "device"), ("psf", "start")),
        Target("Deblurrer.prepare", lambda **k: restored(prepare=k), settings(),
               ("format", "bits", "on_device")),
        Target("Deblurrer.run", lambda **k: restored(run=k), settings(), ("image", "callback"),
               ("image",), finite),
        Target("Stream", streamed, settings(),
               ("deblurrer", "shape", "queue", "policy", "data_range")),
        Target("Stream.push", lambda **k: streamed(push=k), settings(), ("frame", "position"),
               ("frame",)),
        Target("upscale_file", snellen.upscale_file,
               lambda r: {"source": one, "target": out(r)},
               ("scale", "size", "height", "fit", "model", "method", "source_kind", "chroma",
                *film[-4:-2], *video)),
        Target("upscale_files", snellen.upscale_files,
               lambda r: {"sources": [one], "target": folder / "out", "overwrite": True},
               _keywords(snellen.upscale_files)),
        Target("deblur_file", snellen.deblur_file,
               lambda r: {"source": one, "target": out(r), "psf_size": 5, "iterations": 2},
               (*mia, "psf_start", "region", "positions", "paste_back", "window", "warm",
                "psf_out", *video, *film), ("psf", "psf_start")),
        Target("deblur_files", snellen.deblur_files,
               lambda r: {"sources": [one], "target": folder / "out", "overwrite": True,
                          "psf_size": 5, "iterations": 2},
               _keywords(snellen.deblur_files)),
        Target("score_files", snellen.score_files,
               lambda r: {"reference": one, "distorted": two},
               (*mad, "metrics", "vmaf_model", "resize", "offset", "align", "every", "temporal",
                "table", "maps", "worst", "overwrite", "start", "duration", "frames", "deinterlace",
                "interlaced", "ivtc", "decoder", "data_range", "max_pixels", "threads", "profile",
                "report", "report_size", "events", "workers", "cluster")),
        Target("UpscaleJob", jobs.UpscaleJob, settings(source="a.png", target="b.png"),
               ("scale", "size", "height", "fit", "model", "method", "source_kind", "device",
                "chroma", "video", "strict", "quality",
                "overwrite", "profile"),
               (), round_trip),
        Target("DeblurJob", jobs.DeblurJob, settings(source="a.png", target="b.png"),
               ("mia", "region", "paste_back", "window", "warm", "psf_out", "device", "video",
                "strict", "overwrite", "profile", *film[6:14]), (), round_trip),
        Target("ScoreJob", jobs.ScoreJob, settings(reference="a.png", distorted="b.png"),
               ("mad", "resize", "offset", "every", "clip", "temporal", "table", "maps", "worst",
                "overwrite", "device", "decoder", "profile", "metrics", "vmaf_model", "data_range",
                "align", "max_pixels", "threads", "workers", "cluster"), (), round_trip),
        Target("CompareJob", jobs.CompareJob,
               settings(reference="a.png", variants=("b.png",), target="r.html"),
               ("metrics", "vmaf_model", "mad", "data_range", "align", "every", "clip", "pictures",
                "report_size", "is_source", "command", "reached", "overwrite", "max_pixels",
                "threads", "device", "decoder", "profile"), (), round_trip),
        Target("TrainJob", jobs.TrainJob, settings(images="a", target="b.safetensors"),
               ("settings", "validate", "notes", "command", "threads", "device", "overwrite",
                "max_pixels"), (),
               round_trip),
        Target("VideoOptions", jobs.VideoOptions, settings(),
               ("clip", "encoding", "decoder", "audio", "fps"), (),
               lambda options: [named(options), plain_values(options)]),  # type: ignore[arg-type,return-value]
        Target("Clip", jobs.Clip, settings(),
               ("start", "duration", "frames", "deinterlace", "interlaced", "ivtc", "map",
                "fps"), (), plain_values),
        Target("Encoding", jobs.Encoding, settings(),
               ("codec", "preset", "crf", "options", "pix_fmt", "colour"), (), plain_values),
        Target("MiaSettings", jobs.MiaSettings, settings(), (*mia, "iterations", "psf_start"),
               ("psf", "psf_start"), lambda made: [made.given(), plain_values(made)]),  # type: ignore[arg-type,return-value]
        Target("MadSettings", jobs.MadSettings, settings(),
               ("variant", "hi_scale", "eight_bit_lut", "dtype"), (), plain_values),
        Target("Region", jobs.Region, settings(width=8, height=8),
               (*both, "x", "y", "positions"), (), plain_values),
        Target("Region.of", jobs.Region.of, settings(region="1,2,8,8"), ("positions",), (),
               plain_values),
        Target("Settings", jobs.Settings, settings(scale=2),
               ("window", "anchors", "energy", "sparsity", "iterations", "samples", "sizes",
                "ratio", "neighbours", "ridge", "seed", "seeds", "hold_out"), (),
               lambda made: [made.factors, plain_values(made)]),  # type: ignore[arg-type,return-value]
        Target("NetworkSettings", jobs.NetworkSettings, settings(scale=2),
               ("network", "steps", "batch", "patch", "seed", "hold_out"), (), plain_values),
        Target("run", jobs.run, settings(job=None), ("events",)),
        Target("run_several", several, settings(jobs=()),
               ("jobs", "events", "done", "begin")),
        Target("Job.from_json", jobs.Job.from_json, lambda r: {"text": mutated(r)}, ()),
        Target("Job.from_json anything", jobs.UpscaleJob.from_json, settings(), ("text",)),
    ]  # fmt: skip


def round_trip(job: Any) -> None:
    """Check that a job which was accepted is exact as JSON, and holds plain values."""
    plain_values(job)
    text = job.to_json()
    again = type(job).from_json(text)
    assert again.to_json() == text, "other JSON after a round"
    assert again == job, "another job after a round"


JSON_VALUES: list[Any] = [
    None, True, 0, -1, 2**63, 10**400, 1e400, float("nan"), 0.5, "", "x", "a\0b", "\ud800", [], {},
    [[]], {"$path": 3}, {"$path": "a\0"}, {"$path": ""}, {"$fraction": "1e999999999"},
    {"$fraction": "1/0"}, {"$fraction": 3}, {"$fraction": "9" * 300}, {"$mapping": 3},
    {"$mapping": {"a": 1}}, {"$type": "Clip"}, {"$type": "Clip", "start": "1"}, {"$type": []},
    {"$type": "os"}, {"$type": "Clip", "nothing": 1}, {"$type": "Settings", "scale": "2"},
    {"$type": "MiaSettings", "psf": [[1, 2], [3]]}, {"$type": "MiaSettings", "psf": [["a"]]},
    {"$type": "Region", "width": 1e400, "height": 1}, "x" * 10**5, [1] * 10**4,
]  # fmt: skip


def mutated(rng: random.Random) -> Any:
    """Return the JSON of a job with some values exchanged, or what is no JSON."""
    made = rng.choice([
        jobs.UpscaleJob(source="a.mkv", target="b.mkv",
                        video=jobs.VideoOptions(jobs.Clip(start=Fraction(1, 3)))),
        jobs.DeblurJob(source="a.mkv", target="b.mkv", region=jobs.Region(8, 8, 1, 1),
                       mia=jobs.MiaSettings(psf=((0.5, 0.5), (0.0, 1.0)))),
        jobs.ScoreJob(reference="a.png", distorted="b.png"),
        jobs.TrainJob(images="a", target="b.safetensors", notes={"author": "me"}),
    ])  # fmt: skip
    tree = json.loads(made.to_json())
    for _ in range(rng.randrange(1, 4)):
        node: Any = tree
        while True:
            keys = list(node) if isinstance(node, dict) else range(len(node))
            if not keys:
                break
            key = rng.choice(list(keys))
            if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.6:
                node = node[key]
                continue
            if rng.random() < 0.15 and isinstance(node, dict):
                del node[key]
            elif rng.random() < 0.15 and isinstance(node, dict):
                node["unknown"] = copy.deepcopy(rng.choice(JSON_VALUES))
            else:
                node[key] = copy.deepcopy(rng.choice(JSON_VALUES))
            break
    text = json.dumps(tree)
    how = rng.random()
    if how < 0.05:
        return text[: rng.randrange(len(text))]
    if how < 0.1:
        return "[" * 10**5
    if how < 0.15:
        return text.encode(rng.choice(["utf-8", "utf-16", "utf-32"]))
    if how < 0.2:
        return text.replace("0", "9" * 5000, 1)
    return text
