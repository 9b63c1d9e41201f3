"""Films by several runs: a plan, parts in any order, and the join."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.jobs import (
    DeblurJob,
    Encoding,
    Enhancement,
    MiaSettings,
    Region,
    ScoreJob,
    Silent,
    UpscaleJob,
    VideoOptions,
    run,
)
from snellen.jobs.calls import plans
from snellen.jobs.calls.plans import _anywhere, join_plan, run_segments, write_plan
from snellen.video.segments import cuts
from snellen.video.segments.store import Store
from support.heard import Heard
from support.video.clips import make, read

KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "bf": "2", "preset": "veryfast"}


def frames(file):
    found = read(file)
    return [[bytes(plane) for plane in frame.planes] for frame in found.frames], found.times


class Quiet(Silent):
    """A join that fails has nothing to say: the same command does not go on with what is there."""

    def notice(self, subject, message):
        raise AssertionError(message)


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=58, size=(48, 32), options=KEYS,
                  audio="aac")  # fmt: skip
    video = VideoOptions(encoding=Encoding(preset="ultrafast", crf=20))
    return UpscaleJob(source=source, target=tmp_path / "out.mkv", method="aplus",
                      source_kind="clean", device="cpu", video=video)  # fmt: skip


@pytest.fixture
def plan(job, tmp_path):
    file = tmp_path / "film.plan"
    found = write_plan(job, file)
    assert (found.segments, found.frames, found.made) == (5, 58, ())
    assert not list(found.folder.glob("*.packets"))
    return file


def test_parts_in_any_order_give_the_film_of_one_run(tmp_path, job, plan, monkeypatch):
    whole = replace(job, target=tmp_path / "whole.mkv")
    run(whole)
    monkeypatch.chdir("/")
    assert run_segments(plan, 4, 9).made == (4, 5)
    assert run_segments(plan, 1, 1).made == (1,)
    with pytest.raises(InputError, match=r"of 5 segments these are not there, or not whole: 2:3;"):
        join_plan(plan, Quiet())
    folder = tmp_path / "out.mkv.segments"
    assert len(list(folder.glob("*.record"))) == 3
    before = {one: one.stat().st_mtime_ns for one in folder.glob("*.packets")}
    assert run_segments(plan, 1, 3).made == (1, 2, 3)
    assert before.items() <= {one: one.stat().st_mtime_ns for one in folder.glob("*.packets")
                              }.items()  # fmt: skip
    result = join_plan(plan)
    assert result.summary is not None
    assert result.summary.frames == 58
    assert frames(job.target) == frames(whole.target)
    assert read(job.target).types == read(whole.target).types
    assert not folder.exists()


@pytest.mark.slow
def test_a_film_is_deblurred_in_parts(job, tmp_path, monkeypatch):
    mia = MiaSettings(prior=None, psf_size=3, iterations=2)
    whole, parts = (
        DeblurJob(source=job.source, target=tmp_path / f"{name}.mkv", mia=mia, device="cpu",
                  video=job.video, window=2, psf_out=tmp_path / f"{name}.npy")
        for name in ("whole", "parts")
    )  # fmt: skip
    run(whole)
    file = tmp_path / "film.plan"
    assert write_plan(parts, file).segments == 5
    monkeypatch.chdir("/")
    assert run_segments(file, 3, 5).made == (3, 4, 5)
    with pytest.raises(InputError, match="not whole: 1:2;"):
        join_plan(file)
    run_segments(file, 1, 2)
    result = join_plan(file)
    assert len(result.frames) == 58
    assert frames(parts.target) == frames(whole.target)
    assert np.array_equal(np.load(parts.psf_out), np.load(whole.psf_out))
    with pytest.raises(InputError, match="made in one piece"):
        write_plan(
            replace(parts, window=1, warm=True, psf_out=None, target="w.mkv"),
            tmp_path / "warm.plan",
        )


@pytest.mark.slow
def test_an_ordinary_run_takes_up_the_parts(job, plan, tmp_path):
    run_segments(plan, 2, 4)
    run(job)
    assert read(job.target).frames
    assert not (tmp_path / "out.mkv.segments").exists()


@pytest.mark.slow
def test_what_is_damaged_is_not_joined(job, plan, tmp_path):
    run_segments(plan, 1, 5)
    folder = tmp_path / "out.mkv.segments"
    packets = folder / "0002.packets"
    packets.write_bytes(packets.read_bytes()[:-1] + b"x")
    (folder / "0004.record").write_text("{}")
    with pytest.raises(InputError, match="not whole: 2, 4;"):
        join_plan(plan)
    run_segments(plan, 1, 5)
    assert join_plan(plan).summary.frames == 58


@pytest.mark.slow
def test_a_record_of_another_plan_does_not_count(job, plan, tmp_path):
    run_segments(plan, 1, 5)
    record = tmp_path / "out.mkv.segments" / "0003.record"
    found = json.loads(record.read_text())
    record.write_text(json.dumps(found | {"plan": "another"}))
    with pytest.raises(InputError, match="not whole: 3;"):
        join_plan(plan)


@pytest.mark.slow
def test_another_input_is_refused(job, plan):
    make(job.source, rate=Fraction(12), frames=57, size=(48, 32), options=KEYS)
    again = "the input is another one.*; .*or plan anew: INPUT with plan, overwrite=True$"
    with pytest.raises(InputError, match=again):
        run_segments(plan, 1, 2)
    write_plan(job, plan, overwrite=True)
    run_segments(plan, 1, 2)
    make(job.source, rate=Fraction(12), frames=56, size=(48, 32), options=KEYS)
    with pytest.raises(InputError, match=r"has 2 of 5 .*overwrite=True, and discard_segments"):
        join_plan(plan)
    write_plan(replace(job, discard_segments=True), plan, overwrite=True)
    assert run_segments(plan, 1, 3).made == (1, 2, 3)
    assert run_segments(plan, 4, 5).made == (4, 5)
    assert join_plan(plan).summary.frames == 56


def test_a_plan_at_work_is_not_joined(job, plan, tmp_path):
    store = Store(tmp_path / "out.mkv.segments", {}, planned=True, shared=True)
    store._hold()
    try:
        with pytest.raises(InputError, match="another run is at work"):
            join_plan(plan)
    finally:
        store.leave()


@pytest.mark.slow
def test_what_has_no_plan(job, tmp_path):
    short = replace(job, source=make(tmp_path / "short.mkv", frames=3))
    with pytest.raises(InputError, match="in one piece"):
        write_plan(short, tmp_path / "a.plan")
    assert not (tmp_path / "a.plan").exists()
    assert not (tmp_path / "out.mkv.segments").exists()
    with pytest.raises(InputError, match="segments"):
        write_plan(replace(job, segments=False), tmp_path / "a.plan")


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"snellen plan": 1}', '{"snellen plan": 1, "job": {"snellen": 9}}',
             '{"snellen plan": 2}', "[" * 5000]
)  # fmt: skip
def test_files_that_are_no_plans(tmp_path, text):
    file = tmp_path / "no.plan"
    file.write_text(text)
    with pytest.raises(InputError, match=r"no\.plan is no plan of segments"):
        run_segments(file, 1, 2)
    with pytest.raises(InputError) as error:
        join_plan(tmp_path / "missing.plan")
    assert str(error.value) == f"{tmp_path / 'missing.plan'}: no such file"


def test_what_is_too_large_is_no_plan(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "LARGEST", 9)
    (tmp_path / "a.plan").write_text('{"snellen plan": 1}')
    with pytest.raises(InputError, match="more than 9 bytes"):
        join_plan(tmp_path / "a.plan")


@pytest.mark.cases(3)
@pytest.mark.parametrize("numbers", [(0, 3), (3, 2), (1.5, 2), (True, 2)])
def test_numbers_that_are_none(tmp_path, numbers):
    with pytest.raises(InputError, match=r"got segments|expected a whole number"):
        run_segments(tmp_path / "a.plan", *numbers)


def test_numbers_beyond_the_film_are_left_out(job, plan):
    """All parts of an array may have one size, and an array may be longer than the film."""
    heard = Heard()
    found = run_segments(plan, 6, 999_999_999, heard, workers=2)
    assert (found.made, found.segments) == ((), 5)
    assert heard.notices == ["got segments 6:999999999; there are 1:5: nothing is to be made"]
    assert not list(found.folder.glob("*.record"))
    assert run_segments(plan, 5, 9).made == (5,)


def test_a_burst_and_other_jobs_have_no_plan(tmp_path):
    burst = DeblurJob(source=("a.png", "b.png"), target="c.png")
    with pytest.raises(InputError, match="a burst is no film"):
        write_plan(burst, tmp_path / "a.plan")
    score = ScoreJob(reference="a.mkv", distorted="b.mkv")
    with pytest.raises(InputError, match="got a ScoreJob; expected an UpscaleJob or a DeblurJob"):
        write_plan(score, tmp_path / "a.plan")


def test_files_of_a_deblurring_plan_have_absolute_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mia = MiaSettings(psf="blur.npy")
    found = _anywhere(
        DeblurJob(source="a.mkv", target="b.mkv", mia=mia, psf_out="c.npy",
                  region=Region(8, 8, positions=Path("d.csv")))
    )  # fmt: skip
    assert [found.source, found.target, found.mia.psf, found.psf_out, found.region.positions] == [
        tmp_path / name for name in ("a.mkv", "b.mkv", "blur.npy", "c.npy", "d.csv")
    ]


def test_files_of_a_plan_have_absolute_names(job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = Enhancement(lut="look.cube", deblur="blur.png", vf="lut3d=file=/etc/one.cube")
    found = _anywhere(replace(job, source="in.mkv", enhancement=options))
    assert found.source == job.source
    assert found.enhancement.lut == tmp_path / "look.cube"
    assert found.enhancement.deblur == tmp_path / "blur.png"
    options = Enhancement(post_vf="lut3d=file=one.cube")
    with pytest.raises(InputError, match="expected an absolute path, as the parts"):
        write_plan(replace(job, enhancement=options), "film.plan")
