"""Hostile arguments for every public function and class: a generator, seeded, and its oracle.

`python -m fuzz.api SECONDS [SEED]` runs it for as long as is wanted.
"""

from __future__ import annotations

import contextlib
import copy
import enum
import faulthandler
import io
import itertools
import json
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import snellen
from fuzz import api_later
from snellen import jobs
from snellen.errors import SnellenError

LONGEST = 10.0
"""Seconds of a call, after which it counts as hanging: the first ones compile."""
MOST = 1 << 30
"""Bytes by which the process may grow during a call."""
SLOW = range(60, 2**31)
"""Iterations that are allowed, and would only take long."""


class Colour(enum.IntEnum):
    RED = 2


class Name(enum.Enum):
    CPU = "cpu"


class Odd:
    """Every question to it fails."""

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no answer")

    __repr__ = __eq__ = __bool__ = __len__ = __iter__ = __index__ = __float__ = _fail
    __array__ = __getitem__ = __int__ = __str__ = __fspath__ = _fail
    __hash__ = object.__hash__


class Elsewhere:
    """An array of a library whose device nobody knows."""

    shape, dtype, ndim, size = (48, 56), np.dtype("uint8"), 2, 48 * 56

    def __init__(self, place: Any) -> None:
        self.place = place

    def __dlpack_device__(self) -> Any:
        return self.place

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("not now")


class Junk:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return "no array"


class Text(str):
    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")

    __hash__ = str.__hash__


def deep(levels: int) -> Any:
    """Return lists in lists."""
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


SCALARS: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: False, lambda: 0, lambda: 1, lambda: -1, lambda: 2,
    lambda: 3, lambda: 7, lambda: 33, lambda: 2**31 - 1, lambda: 2**31, lambda: 2**63,
    lambda: 2**64 + 1, lambda: 10**400, lambda: -(10**400), lambda: 10**5000, lambda: 0.0,
    lambda: -0.0, lambda: 2.0, lambda: 0.5, lambda: float("nan"), lambda: float("inf"),
    lambda: -float("inf"), lambda: 5e-324, lambda: 1e-30, lambda: 1e30, lambda: 1.7e308,
    lambda: "8", lambda: "", lambda: "nan", lambda: "1e400", lambda: "a\0b", lambda: "\ud800",
    lambda: "\x1b[31m\n", lambda: "٣", lambda: "x" * 100_000, lambda: "cpu", lambda: "cuda",
    lambda: "cuda:" + "9" * 5000, lambda: "cpu,cpu", lambda: "gpu", lambda: "2011",
    lambda: "float16", lambda: Text("cpu"), lambda: b"cpu", lambda: b"", lambda: bytearray(8),
    lambda: memoryview(b"abcd"), lambda: Path("none.png"), lambda: Path("/"), lambda: Path("a\0"),
    lambda: Fraction(1, 3), lambda: Fraction(10**400), lambda: Fraction(1, 10**400),
    lambda: Decimal("1.5"), lambda: Decimal("nan"), lambda: 1j, lambda: Colour.RED,
    lambda: Name.CPU, lambda: np.int64(2), lambda: np.uint8(200), lambda: np.int8(-3),
    lambda: np.bool_(True), lambda: np.float16("inf"), lambda: np.float32("nan"),
    lambda: np.float64(2), lambda: np.longdouble(2), lambda: np.array(2),
    lambda: np.array([1, 2]), lambda: np.array("cpu"), lambda: np.datetime64("2020-01-01"),
    lambda: np.str_("cpu"), lambda: datetime(2020, 1, 1), lambda: object(), lambda: int,
    lambda: np, lambda: print, lambda: (x for x in (1, 2)), lambda: range(3),
    lambda: range(10**12), lambda: [range(10**12)], lambda: [], lambda: (), lambda: [[]],
    lambda: [[], [1]], lambda: [[1, 2], [3]], lambda: [1, 2], lambda: (1, 1), lambda: ("cpu",),
    lambda: ["cpu", 3], lambda: [None], lambda: {}, lambda: {"a": 1}, lambda: {1: "a"},
    lambda: {"a": "\0"}, lambda: set(), lambda: {2}, lambda: itertools.count(), lambda: deep(50),
    lambda: deep(2000), lambda: Odd(), lambda: [Odd()], lambda: Junk(), lambda: io.BytesIO(b"x"),
    lambda: Elsewhere((2, 0)), lambda: Elsewhere((1, 0)), lambda: Elsewhere((99, 0)),
    lambda: Elsewhere(None), lambda: Elsewhere((2, 10**400)), lambda: ..., lambda: NotImplemented,
    lambda: Exception("x"), lambda: (0, 0, 8, 8), lambda: (1, 2, 10**400, 4), lambda: "1,2,8,8",
    lambda: "1,2,8,99999999999", lambda: [(1, 2)], lambda: [(1, 2), (3,)],
    lambda: snellen.Format(48, 56), lambda: snellen.Frame(()), lambda: jobs.Clip(),
]  # fmt: skip
SHAPES = [
    (48, 56), (56, 48), (48, 56, 3), (40, 40, 4), (2, 40, 40), (48, 56, 1), (48, 56, 2), (34, 34),
    (33, 34), (1, 1), (2, 3), (0, 5), (5, 0), (0, 40, 40), (), (3,), (1, 1, 1, 40, 40),
    (2, 0, 40, 40), (5, 5), (5, 4), (1, 500), (1, 1, 3), (2, 2, 2, 2, 2, 2),
]  # fmt: skip
DTYPES = [
    "uint8", "uint16", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
    "uint32", "uint64", "bool", "complex64", "complex128", "longdouble", "object", "U3", "S2",
    "datetime64[s]", "timedelta64[s]", ">u2", ">f4", ">f8", "V3", "u1,f4",
]  # fmt: skip


def array(rng: random.Random) -> Any:
    """Return an array that may be usable, and may be anything else."""
    shape = rng.choice(SHAPES)
    numbers = np.random.default_rng(rng.getrandbits(32)).integers(0, 200, shape)
    kind = rng.choice(DTYPES[:5]) if rng.random() < 0.6 else rng.choice(DTYPES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Any = numbers.astype(kind)
        if found.dtype.kind == "f" and rng.random() < 0.5:
            found = np.asarray(found / found.dtype.type(255))
        if found.dtype.kind == "f" and found.size and rng.random() < 0.3:
            value = rng.choice([np.nan, np.inf, -np.inf, -1.0, 1e300, 1e-300, 3e38, 6e4])
            found = np.array(found)
            found.flat[rng.randrange(found.size)] = value
            if rng.random() < 0.3:
                found[...] = value
    how = rng.randrange(16)
    if how == 0 and found.ndim:
        found = found[::-1]
    elif how == 1 and found.ndim > 1:
        found = found[:, ::-1]
    elif how == 2 and found.ndim > 1:
        found = found.swapaxes(0, 1)
    elif how == 3:
        found.flags.writeable = False
    elif how == 4:
        found = np.ma.masked_array(found, mask=rng.random() < 0.5)
    elif how == 5 and found.ndim == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.asmatrix(found)
    elif how == 6:
        found = found.view(np.recarray)
    elif how == 7:
        found = np.asfortranarray(found)
    elif how == 8 and found.size:
        side = rng.choice([10**5, 10**6, 10**8])
        found = np.broadcast_to(found.reshape(-1)[:1], (side, side))
    elif how == 9 and found.ndim:
        found = np.repeat(found, 2, 0)[::2]
    elif how == 10:
        found = found.tolist()
    elif how == 11 and found.size:
        found = np.broadcast_to(found.reshape(-1)[:1], rng.choice([(10**12,), (1, 10**10), (64,)]))
    return found


def hostile(rng: random.Random) -> Any:
    """Return any value."""
    return array(rng) if rng.random() < 0.25 else rng.choice(SCALARS)()


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
    """Check that a result has finite numbers only."""
    for name in ("image", "psf", "mad", "hi", "lo", "fit"):
        if (one := getattr(result, name, None)) is not None:
            assert np.isfinite(np.asarray(one, np.float64)).all(), f"{name} is not finite"
    if isinstance(result, np.ndarray):
        assert result.dtype.kind == "u" or np.isfinite(result).all(), "not finite"


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


def settings(**given: Any) -> Callable[[random.Random], dict[str, Any]]:
    return lambda rng: dict(given)


def targets(folder: Path) -> list[Target]:
    """Return everything that is public, over pictures in a folder."""
    one, two = folder / "a.png", folder / "b.png"
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
               lambda f: [f.shapes, f.dtype, hash(f)]),  # type: ignore[arg-type,return-value]
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
                "warm", "history", "frames", "batch", "device"), ("psf", "start")),
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
                *video)),
        Target("upscale_files", snellen.upscale_files,
               lambda r: {"sources": [one], "target": folder / "out", "overwrite": True},
               ("scale", "model", *video)),
        Target("deblur_file", snellen.deblur_file,
               lambda r: {"source": one, "target": out(r), "psf_size": 5, "iterations": 2},
               (*mia, "psf_start", "region", "positions", "paste_back", "window", "warm",
                "psf_out", *video), ("psf", "psf_start")),
        Target("deblur_files", snellen.deblur_files,
               lambda r: {"sources": [one], "target": folder / "out", "overwrite": True,
                          "psf_size": 5, "iterations": 2}, (*mia, "psf_out", *video)),
        Target("score_files", snellen.score_files,
               lambda r: {"reference": one, "distorted": two},
               (*mad, "metrics", "resize", "offset", "align", "every", "temporal", "table", "maps",
                "worst", "overwrite", "start", "duration", "frames", "deinterlace", "interlaced",
                "ivtc", "decoder")),
        Target("UpscaleJob", jobs.UpscaleJob, settings(source="a.png", target="b.png"),
               ("scale", "size", "height", "fit", "model", "method", "source_kind", "device",
                "chroma", "video", "strict",
                "overwrite", "profile"),
               (), round_trip),
        Target("DeblurJob", jobs.DeblurJob, settings(source="a.png", target="b.png"),
               ("mia", "region", "paste_back", "window", "warm", "psf_out", "device", "video",
                "strict", "overwrite"), (), round_trip),
        Target("ScoreJob", jobs.ScoreJob, settings(reference="a.png", distorted="b.png"),
               ("mad", "resize", "offset", "every", "clip", "temporal", "table", "maps", "worst",
                "overwrite", "device", "decoder", "profile"), (), round_trip),
        Target("CompareJob", jobs.CompareJob,
               settings(reference="a.png", variants=("b.png",), target="r.html"),
               ("metrics", "mad", "data_range", "align", "every", "clip", "pictures",
                "report_size", "is_source", "command", "overwrite", "max_pixels", "threads",
                "device", "decoder", "profile"), (), round_trip),
        Target("TrainJob", jobs.TrainJob, settings(images="a", target="b.safetensors"),
               ("settings", "validate", "notes", "command", "threads", "device", "overwrite"), (),
               round_trip),
        Target("VideoOptions", jobs.VideoOptions, settings(), ("clip", "encoding", "decoder"), (),
               lambda options: options.named()),
        Target("Clip", jobs.Clip, settings(),
               ("start", "duration", "frames", "deinterlace", "interlaced", "ivtc")),
        Target("Encoding", jobs.Encoding, settings(),
               ("codec", "preset", "crf", "options", "pix_fmt", "colour")),
        Target("MiaSettings", jobs.MiaSettings, settings(), (*mia, "iterations", "psf_start"),
               ("psf", "psf_start"), lambda settings: settings.given()),
        Target("MadSettings", jobs.MadSettings, settings(),
               ("variant", "hi_scale", "eight_bit_lut", "dtype")),
        Target("Region", jobs.Region, settings(width=8, height=8), (*both, "x", "y", "positions")),
        Target("Region.of", jobs.Region.of, settings(region="1,2,8,8"), ("positions",)),
        Target("Settings", jobs.Settings, settings(scale=2),
               ("window", "anchors", "energy", "sparsity", "iterations", "samples", "sizes",
                "ratio", "neighbours", "ridge", "seed", "seeds", "hold_out"), (),
               lambda made: made.factors),
        Target("NetworkSettings", jobs.NetworkSettings, settings(scale=2),
               ("network", "steps", "batch", "patch", "seed", "hold_out"), ()),
        Target("run", jobs.run, settings(job=None), ("events",)),
        Target("Job.from_json", jobs.Job.from_json, lambda r: {"text": mutated(r)}, ()),
        Target("Job.from_json anything", jobs.UpscaleJob.from_json, settings(), ("text",)),
    ]  # fmt: skip


def round_trip(job: Any) -> None:
    """Check that a job which was accepted is exact as JSON."""
    text = job.to_json()
    assert type(job).from_json(text).to_json() == text, "other JSON after a round"


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


class Hang(BaseException):
    """A call did not end in time."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise Hang in the block if it does not end."""

    def ring(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    faulthandler.dump_traceback_later(3 * LONGEST, exit=True, file=sys.__stderr__)  # inside C code
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Fuzzer:
    """Calls of a seed.

    Parameters
    ----------
    seed : int
    folder : Path
        An empty folder for pictures.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        from PIL import Image

        self.seed = seed
        rng = random.Random(seed)
        for name in ("a.png", "b.png"):
            Image.fromarray(picture(rng, (40, 44))).save(folder / name)
        (folder / "out").mkdir()
        (folder / "here").mkdir()
        self.here = folder.resolve() / "here"
        self.targets = [*targets(folder), *api_later.targets(folder, Target)]

    def arguments(self, number: int) -> tuple[Target, dict[str, Any]]:
        """Return the call of a number."""
        rng = random.Random(f"{self.seed}:{number}")
        target = self.targets[rng.randrange(len(self.targets))]
        given = target.valid(rng)
        names = sorted({*given, *target.more})
        for name in rng.sample(names, min(len(names), rng.choice([1, 1, 1, 2, 3]))):
            if name == "text" and given:
                continue
            is_array = name in target.arrays and rng.random() < 0.7
            given[name] = array(rng) if is_array else hostile(rng)
        return target, given

    def fault(self, number: int) -> str | None:
        """Make a call; return what is wrong with how it ended, None: nothing."""
        target, given = self.arguments(number)
        iterations = given.get("iterations")
        if type(iterations) in (int, np.int64, np.uint8) and int(iterations) in SLOW:
            return None
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        errors = io.StringIO()
        said = None
        start = time.monotonic()
        with warnings.catch_warnings(), contextlib.redirect_stderr(errors):
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*not plausible", UserWarning)  # of prior="auto"
            try:
                # Some names that are tried can be written: here, not into the checkout.
                with limited(), contextlib.chdir(self.here):
                    target.check(target.call(**given))
            except SnellenError as error:
                if error.exit_code == 4:
                    said = f"a fault: {error}"
                elif len(str(error)) > 3000:
                    said = f"a message of {len(str(error))} characters"
            except Hang:
                said = f"no end within {LONGEST} s"
            except BaseException as error:
                said = f"{type(error).__name__}: {str(error)[:300]}"
                if isinstance(error, KeyboardInterrupt):
                    raise
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        if said is None and grown > MOST:
            said = f"{grown / 2**30:.1f} GiB more memory"
        if said is None and errors.getvalue():
            said = f"on stderr: {errors.getvalue()[:300]}"
        if said is None:
            return None
        words = ", ".join(f"{name}={_shown(value)}" for name, value in given.items())
        seconds = time.monotonic() - start
        return f"{self.seed}:{number} {target.name}({words}): {said} [{seconds:.1f} s]"


def _shown(value: Any) -> str:
    from snellen.errors import quoted

    if isinstance(value, np.ndarray):
        return f"<{type(value).__name__} {value.shape} {value.dtype}>"
    return quoted(value)


def main(seconds: float, seed: int) -> int:
    """Fuzz for so long; print each fault; return how many there were."""
    faults = 0
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(seed, Path(folder))
        end = time.monotonic() + seconds
        for number in itertools.count():
            if time.monotonic() > end:
                print(f"{number} calls, {faults} faults")
                return faults
            if (said := fuzzer.fault(number)) is not None:
                faults += 1
                print(said, flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = int(words[1]) if len(words) > 1 else random.SystemRandom().randrange(10**9)
    sys.exit(bool(main(float(words[0]) if words else 60.0, chosen)))
