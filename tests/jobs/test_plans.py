"""Films by several runs: a plan, parts in any order, and the join."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from snellen.errors import InputError
from snellen.jobs import Encoding, Enhancement, UpscaleJob, VideoOptions, plans, run
from snellen.jobs.plans import _anywhere, join_plan, run_segments, write_plan
from snellen.video.segments import cuts
from snellen.video.segments.store import Store
from support.video.clips import make, read

KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "bf": "2", "preset": "veryfast"}


def frames(file):
    found = read(file)
    return [[bytes(plane) for plane in frame.planes] for frame in found.frames], found.times


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
        join_plan(plan)
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
    with pytest.raises(InputError, match="the input is another one"):
        run_segments(plan, 1, 2)


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


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"snellen plan": 1}', '{"snellen plan": 1, "job": {"snellen": 9}}',
             '{"snellen plan": 2}', "[" * 5000]
)  # fmt: skip
def test_files_that_are_no_plans(tmp_path, text):
    file = tmp_path / "no.plan"
    file.write_text(text)
    with pytest.raises(InputError, match=r"no\.plan is no plan of segments"):
        run_segments(file, 1, 2)
    with pytest.raises(InputError):
        join_plan(tmp_path / "missing.plan")


def test_what_is_too_large_is_no_plan(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "LARGEST", 9)
    (tmp_path / "a.plan").write_text('{"snellen plan": 1}')
    with pytest.raises(InputError, match="more than 9 bytes"):
        join_plan(tmp_path / "a.plan")


@pytest.mark.parametrize("numbers", [(0, 3), (3, 2), (1.5, 2), (True, 2)])
def test_numbers_that_are_none(tmp_path, numbers):
    with pytest.raises(InputError, match=r"got segments|expected a whole number"):
        run_segments(tmp_path / "a.plan", *numbers)


@pytest.mark.slow
def test_numbers_beyond_the_film(job, plan):
    with pytest.raises(InputError, match="got segments 6:9; expected some of 1:5"):
        run_segments(plan, 6, 9)


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
