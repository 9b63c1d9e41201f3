"""Running jobs: one, several, events; a model that is learnt."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from snellen.errors import InputError
from snellen.jobs import (
    MiaSettings,
    Progress,
    Settings,
    Silent,
    TrainJob,
    UpscaleJob,
    VideoOptions,
    run,
    run_several,
)
from snellen.jobs.events import Collected
from snellen.jobs.kinds.deblur import DeblurJob
from snellen.stills.still import read
from snellen.upscaling.models import load
from snellen.video.clip import Clip
from support.aplus.drawings import drawing
from support.cli import names


def test_one_that_fails_does_not_stop_the_others(picture, saved, tmp_path, small_model, heard):
    (tmp_path / "bad.png").write_text("no image")
    sources = [saved("a.png", picture()), tmp_path / "bad.png", saved("b.png", picture())]
    jobs = [
        UpscaleJob(source=one, target=tmp_path / f"large-{one.name}", model=small_model,
                   device="cpu", video=VideoOptions(Clip(frames=2)))
        for one in sources
    ]  # fmt: skip
    seen = []
    finished = run_several(jobs, heard, seen.append)
    assert finished == seen and [one.job for one in finished] == jobs
    assert [one.error is None for one in finished] == [True, False, True]
    assert isinstance(finished[1].error, InputError) and finished[1].result is None
    assert (read(finished[2].result.target).pixels.shape) == (40, 48)
    text = "`frames` is for video: without effect on an image"
    assert heard.warnings == [("images", text)]  # of all, once
    assert not (tmp_path / "large-bad.png").exists()


def test_what_is_no_job():
    with pytest.raises(InputError, match="got a str; expected a job"):
        run("upscale")
    finished = run_several(["upscale", 42, None])
    assert [str(one.error) for one in finished] == [
        f"got a {kind}; expected a job" for kind in ("str", "int", "NoneType")
    ]
    with pytest.raises(InputError, match="got jobs=42; expected a sequence"):
        run_several(42)


@pytest.mark.parametrize("runner", [run, lambda job, events: run_several([job], events)])
def test_what_are_no_events(runner, tmp_path):
    job = UpscaleJob(source=tmp_path / "a.png", target=tmp_path / "b.png")
    with pytest.raises(InputError, match="without a method progress; expected an object") as caught:
        runner(job, print)
    assert caught.value.parameter == "events"


def test_equal_warnings_are_passed_on_once(heard):
    events = Collected(heard)
    for text in ("`tile` is odd", "`tile` is odd", "else"):
        events.warning("`device`=auto", text)
    events.progress("step")
    events.frame("a", "frame")
    assert heard.warnings == [("`device`=auto", "`tile` is odd"), ("`device`=auto", "else")]
    assert events.warnings == [("device=auto", "tile is odd"), ("device=auto", "else")]
    assert heard.steps == ["step"] and heard.frames == [("a", "frame")]


def test_events_may_stop_a_run(clip, tmp_path):
    """What is raised in them is raised by the run, and nothing is left."""

    class Stop(Silent):
        def frame(self, subject, frame):
            if frame.frame == 2:
                raise KeyboardInterrupt

    mia = MiaSettings(psf_size=5, iterations=2)
    job = DeblurJob(source=clip, target=tmp_path / "out.y4m", mia=mia, device="cpu")
    with pytest.raises(KeyboardInterrupt):
        run(job, Stop())
    assert names(tmp_path) == ["clip.y4m"]


def test_silence_is_the_default(picture, saved, tmp_path, small_model, capsys):
    job = UpscaleJob(
        source=saved("a.png", picture()), target=tmp_path / "b.png", model=small_model,
        device="cpu", video=VideoOptions(decoder="cpu"),
    )  # fmt: skip
    run(job)
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_a_model_is_learnt(tmp_path, heard):
    folder = tmp_path / "drawings"
    folder.mkdir()
    for k in range(3):
        Image.fromarray(np.uint8(drawing(k) * 255 + 0.5)).save(folder / f"d{k}.png")
    settings = Settings(2, anchors=12, iterations=2, samples=2000, neighbours=40)
    job = TrainJob(
        images=folder, target=tmp_path / "m.safetensors", settings=settings, validate=[folder],
        notes={"licence": "none given"}, command="by hand",
    )  # fmt: skip
    result = run(TrainJob.from_json(job.to_json()), heard)
    assert result.error is None and result.report.images == 3
    assert list(result.validation) == ["drawings"] and len(result.validation["drawings"]) == 3
    model = load(job.target, 2)
    assert model.about["licence"] == "none given" and model.about["command"] == "by hand"
    assert (model.anchors == result.model.anchors).all()
    assert all(isinstance(step, Progress) and step.total for step in heard.steps)
    assert {"samples", "projections"} <= {step.stage for step in heard.steps}
    with pytest.raises(InputError, match="exists"):
        run(job)


@pytest.mark.parametrize(
    ("values", "said"),
    [({"target": "m.bin"}, "ends in .safetensors"), ({"images": ""}, "expected the name")],
)
def test_what_cannot_be_learnt(values, said):
    with pytest.raises(InputError, match=said):
        TrainJob(**{"images": "drawings", "target": "m.safetensors", **values})
