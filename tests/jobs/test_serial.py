"""Jobs as values: pickled, written as JSON, read and run in another process."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

import snellen
from snellen.errors import InputError
from snellen.jobs import (
    Clip,
    CompareJob,
    DeblurJob,
    Encoding,
    Job,
    MadSettings,
    MiaSettings,
    NetworkSettings,
    Region,
    ScoreJob,
    Settings,
    TrainJob,
    UpscaleJob,
    VideoOptions,
    run,
)
from snellen.schema import named

PSF = np.array([[0.1, 1 / 3, 0.0], [1, 9, 4], [1, 4e-9, 2]])

VIDEO = VideoOptions(
    Clip(Fraction(1, 3), Fraction("0.1"), 7, True),
    Encoding("ffv1", "slow", 12.5, {"level": "3", "g": "1"}, "yuv420p10le"),
    "nvdec",
)
JOBS = [
    UpscaleJob(source="a.png", target=Path("b.png")),
    UpscaleJob(
        source="-", target="-", scale=3, model=Path("m.safetensors"), device="cuda:1",
        chroma="gpu", video=VIDEO, strict=True, overwrite=True, profile=True,
    ),
    DeblurJob(source="a.mkv", target="b.mkv"),
    DeblurJob(
        source=("a.png", "b.png"), target="c.png", mia=MiaSettings(psf=PSF, tv=0.1 + 0.2),
        region=Region(3, 4, 5, 6), paste_back=True, psf_out="p.npy", video=VIDEO, strict=True,
    ),
    DeblurJob(
        source="a.mkv", target="b.mkv", window=2, warm=True,
        mia=MiaSettings(psf_size=7, psf_start="2.5", iterations=5, tolerance=1e-3, dtype="float64"),
        region=Region(3, 4, positions=((1, 2), (3, 4))),
    ),
    DeblurJob(
        source="a.mkv", target="b.mkv", mia=MiaSettings(psf=Path("p.npy")),
        region=Region(3, 4, positions=Path("at.txt")),
    ),
    ScoreJob(reference="a", distorted="b"),
    ScoreJob(
        reference="a.mkv", distorted="-", mad=MadSettings("paper", 10.0, True, "float32"),
        resize=True, offset=-3, every=2, clip=Clip(Fraction(1, 25)), table="t.csv", maps="maps",
        worst=3, overwrite=True, device="cuda:0,cuda:1", decoder="nvdec",
    ),
    TrainJob(images="drawings", target="m.safetensors"),
    TrainJob(
        images="drawings", target="m.safetensors", device="cuda:1",
        settings=NetworkSettings(3, "fine", steps=50, batch=4, patch=16, seed=7, hold_out=2),
    ),
    TrainJob(
        images="drawings", target="m.safetensors", settings=Settings(3, window=5, energy=0.99),
        validate=("a", "b"), notes={"licence": "none"}, command="snellen train", threads=2,
    ),
    CompareJob(reference="a", variants=("b",), target="r.html"),
    CompareJob(
        reference="a.mkv", variants=("b.mkv", "c.mkv"), target="r.html", metrics=("mad", "ssim"),
        mad=MadSettings("paper"), every=3, clip=Clip(Fraction(1, 25)), pictures=3,
        report_size=4.5, is_source=True, command="snellen compare", device="cuda:1",
    ),
]  # fmt: skip


@pytest.mark.parametrize("job", JOBS)
def test_json_and_pickles_are_exact(job):
    for again in (Job.from_json(job.to_json()), pickle.loads(pickle.dumps(job))):
        assert type(again) is type(job) and again == job and repr(again) == repr(job)
    assert type(job).from_json(job.to_json()) == job
    assert isinstance(json.loads(job.to_json()), dict) and "\n" not in job.to_json()


def test_a_job_is_frozen():
    """Also against changes of a mapping that it was made of."""
    with pytest.raises(AttributeError):
        JOBS[0].scale = 3
    options, notes = {"level": "3"}, {"licence": "none"}
    encoding = Encoding("ffv1", options=options)
    training = TrainJob(images="drawings", target="m.safetensors", notes=notes)
    options["level"] = notes["licence"] = "x"
    assert encoding.options == {"level": "3"} and training.notes == {"licence": "none"}


@pytest.mark.parametrize("job", JOBS)
def test_equal_jobs_have_equal_hashes(job):
    assert hash(job) == hash(Job.from_json(job.to_json()))


def test_numbers_of_numpy_become_plain_ones():
    mia = MiaSettings(iterations=np.int32(7), tolerance=np.float64(0.1), data_range=np.float32(3.3))
    job = DeblurJob(source="a.png", target="b.png", mia=mia, window=1)
    again = DeblurJob.from_json(job.to_json())
    assert again == job and type(again.mia.iterations) is int


class Text(str):
    def __eq__(self, other):
        raise ValueError("not comparable")

    __hash__ = str.__hash__


class Whole(int):
    def __eq__(self, other):
        raise ValueError("not comparable")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = int.__hash__


def test_texts_and_numbers_that_cannot_be_compared():
    """Of classes derived from Python's: what they hold counts."""
    job = UpscaleJob(source="a", target="b", scale=Whole(3), chroma=Text("cpu"))
    assert job == UpscaleJob(source="a", target="b", scale=3, chroma="cpu")
    assert named(VideoOptions(Clip(Whole(1)), decoder=Text("cpu"))) == ("start", "decoder")
    assert Settings(Whole(2), energy=Whole(1)) == Settings(2, energy=1)
    assert snellen.Format(8, 8, Whole(10)) == snellen.Format(8, 8, 10)
    upscaler = snellen.Upscaler(Whole(2), device="cpu", chroma=Text("cpu"))
    assert (upscaler.scale, upscaler.chroma) == (2, "cpu")
    deblurrer = snellen.Deblurrer(noise=Text("poisson"), edges=Text("taper"), device="cpu")
    assert (deblurrer.definition.noise, deblurrer.edges) == ("poisson", "taper")
    scorer = snellen.Scorer(variant=Text("2011"), dtype=Text("float32"), device="cpu")
    assert (scorer.definition.variant, scorer.dtype) == ("2011", "float32")


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ScoreJob(reference="a", distorted="b", offset=1.5),
         "offset=1.5; expected a whole number"),
        (lambda: DeblurJob(source="a", target="b", region="1,2,3,4"), "expected a Region or None"),
        (lambda: DeblurJob(source="a", target="b", mia={"tv": 0.1}), "expected a MiaSettings"),
        (lambda: MiaSettings(psf_start=float("inf")), "psf_start=inf; expected a Gaussian"),
        (lambda: Region("8", 8), "width='8'; expected a whole number"),
        (lambda: Region(8, 8, positions=3), "positions=3; expected a Path, or"),
        (lambda: Region(8, 8, positions="at.txt"), "positions='at.txt'; expected a Path, or"),
        (lambda: VideoOptions(Clip("1:3")), "start='1:3'; expected seconds"),
        (lambda: VideoOptions(encoding=Encoding(preset=3)), "preset=3; expected text or None"),
        (lambda: VideoOptions(encoding=Encoding(options={"g": 1})),
         "expected names and values as text"),
        (lambda: TrainJob(images="a", target="m.safetensors", threads=0), "threads=0; expected"),
    ],
)  # fmt: skip
def test_values_of_another_type(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_an_array_becomes_its_numbers():
    """Whatever the library and type, and so that equal arrays make equal jobs."""
    single = MiaSettings(psf=PSF.astype(np.float32))
    again = DeblurJob.from_json(DeblurJob(source="a.png", target="b.png", mia=single).to_json())
    assert (np.array(again.mia.psf, np.float32) == PSF.astype(np.float32)).all()
    assert MiaSettings(psf=PSF.tolist()) == MiaSettings(psf=PSF)
    assert MiaSettings(psf="p.npy").psf == Path("p.npy")


def test_a_name_that_is_no_text():
    job = UpscaleJob(source=Path("caf\udce9.png"), target="b.png")
    assert UpscaleJob.from_json(job.to_json()) == job


UP = '{"snellen": 1, "$type": "UpscaleJob", "source": "a", "target": "b", '


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no JSON"),
        ("[]", "version None; expected JSON of version 1"),
        ('{"snellen": 99, "$type": "UpscaleJob"}', "version 99"),
        ('{"snellen": 1, "$type": "Path"}', "wrong fields"),
        ('{"snellen": 1, "$type": "Clip"}', "got a Clip as JSON; expected UpscaleJob"),
        ('{"snellen": 1, "$type": "UpscaleJob", "source": "a", "aim": 1}', "wrong fields"),
        ('{"snellen": 1, "$type": "UpscaleJob", "source": "a", "target": "b", "scale": 17}',
         "scale=17; expected 2, 3, 4, or any"),
        (UP + '"overwrite": "false"}', "overwrite='false'; expected True or False"),
        (UP + '"video": null}', "video=None; expected a VideoOptions"),
        (UP + '"model": 3}', "model=3; expected text or a Path or None"),
        (UP + '"video": {"$type": "VideoOptions", "clip": {"$type": "Clip", "frames": "3"}}}',
         "frames='3'; expected a whole number, 1 or more"),
        (UP + '"video": {"$type": "VideoOptions", "encoding": {"$type": "Encoding", "crf": "9"}}}',
         "crf='9'; expected a number from 0 to 63"),
        (UP + '"video": {"$type": "VideoOptions", "clip": {"$fraction": "1/0"}}}', "wrong fields"),
        ("[" * 100_000, "no JSON"),
        (None, "no JSON"),
        (JOBS[6].to_json(), "got a ScoreJob as JSON; expected UpscaleJob"),
    ],
)  # fmt: skip
def test_json_that_is_no_such_job(text, said):
    with pytest.raises(InputError, match=said):
        UpscaleJob.from_json(text)


ELSEWHERE = """
import sys
from pathlib import Path
from snellen.jobs import Job, run

for file in sys.argv[1:]:
    run(Job.from_json(Path(file).read_text(encoding="utf-8")))
"""


def content(path):
    """A file's bytes; of a Matroska file, which has a random identity, those of its packets."""
    if path.suffix != ".mkv":
        return path.read_bytes()
    with av.open(str(path)) as container:
        return [(packet.pts, bytes(packet)) for packet in container.demux(video=0)]


def test_a_job_runs_in_another_process(clip, picture, saved, small_model, tmp_path):
    """And gives the same file, byte by byte: images, lossless video, a table of scores."""
    image = saved("in.png", picture((20, 24, 3)))
    part = VideoOptions(Clip(Fraction(1, 25), frames=2))
    lossless = VideoOptions(part.clip, Encoding("ffv1"))
    mia = MiaSettings(psf_size=5, iterations=3)
    known = MiaSettings(psf=PSF, iterations=3)
    scored = saved("one.png", picture((40, 44))), saved("two.png", picture((40, 44)))

    def jobs(folder):
        folder.mkdir()
        aplus = {"model": small_model, "device": "cpu"}
        return {
            "a.png": UpscaleJob(source=image, target=folder / "a.png", **aplus),
            "a.y4m": UpscaleJob(source=clip, target=folder / "a.y4m", video=part, **aplus),
            "b.png": DeblurJob(source=image, target=folder / "b.png", mia=known, device="cpu"),
            "b.mkv": DeblurJob(
                source=clip, target=folder / "b.mkv", mia=mia, video=lossless, warm=True,
                region=Region(12, 10, positions=((0, 0), (3, 2))), paste_back=True, device="cpu",
            ),
            "c.csv": ScoreJob(
                reference=scored[0], distorted=scored[1], table=folder / "c.csv", device="cpu"
            ),
        }  # fmt: skip

    for job in jobs(tmp_path / "here").values():
        assert run(job).error is None
    files = []
    for name, job in jobs(tmp_path / "there").items():
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(job.to_json(), encoding="utf-8")
    subprocess.run([sys.executable, "-c", ELSEWHERE, *map(str, files)], check=True, timeout=200)
    for name in ("a.png", "a.y4m", "b.png", "b.mkv", "c.csv"):
        here, there = (tmp_path / folder / name for folder in ("here", "there"))
        assert content(here) == content(there), name
