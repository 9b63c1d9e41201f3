"""Films in several processes: the result of one worker, also where workers die."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from snellen.errors import DeviceError, InputError
from snellen.gpu import device as devices
from snellen.jobs import (
    DeblurJob,
    Encoding,
    MiaSettings,
    UpscaleJob,
    VideoOptions,
    join_plan,
    run,
    run_segments,
    write_plan,
)
from snellen.jobs.calls.dry import dry_run
from snellen.jobs.events import Silent
from snellen.jobs.kinds.enhance import Enhancement
from snellen.jobs.sharing.executors import planned
from snellen.jobs.sharing.segments import film_workers
from snellen.video.segments import cuts
from support import lut
from support.heard import Heard
from support.video.clips import make, read

KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "bf": "2", "preset": "veryfast"}


def frames(file):
    found = read(file)
    return [[bytes(plane) for plane in frame.planes] for frame in found.frames], found.times


@pytest.fixture
def job(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(2), frames=140, size=(64, 48), options=KEYS,
                  audio="aac")  # fmt: skip
    video = VideoOptions(encoding=Encoding(preset="ultrafast", crf=20))
    return UpscaleJob(source=source, target=tmp_path / "one.mkv", method="aplus",
                      source_kind="clean", device="cpu", video=video)  # fmt: skip


@pytest.mark.cases
@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"workers": 2}, "films are cut that last more than 60 s, or"),
        ({"cluster": "auto"}, "films are cut that last more than 60 s, or"),
        ({"workers": 2, "target": "two.y4m"}, "films are cut that last more than 60 s, or"),
        ({"workers": 2, "target": "two.y4m", "long": True}, "the output is no file of .mp4"),
        ({"workers": 2, "long": True}, "it has no key frame at which a segment"),
        ({"workers": 2, "segments": False, "long": True}, "no segments are wanted"),
        ({"workers": 1}, None),
        ({"workers": None}, None),
    ],
)
def test_a_film_in_one_piece_is_said_to_have_one_worker(tmp_path, monkeypatch, more, why):
    """And why; by a dry run, too."""
    more = {"target": "two.mkv", "long": False, **more}
    monkeypatch.setattr(cuts, "LONG", 0 if more.pop("long") else 60)
    source = make(tmp_path / "in.mkv", frames=4, size=(64, 48))
    video = VideoOptions(encoding=Encoding(preset="ultrafast"))
    more["target"] = tmp_path / more["target"]
    if more["target"].suffix == ".y4m":
        video = VideoOptions()
    job = UpscaleJob(source=source, method="cnn-fast", source_kind="clean", device="cpu",
                     video=video, **more)  # fmt: skip
    for do in (dry_run, run):
        heard = Heard()
        do(job, heard)
        found = [one for one in heard.notices if one.startswith("it is made in one piece, by one")]
        if why is None:
            assert not found
        else:
            (said,) = found
            assert why in said


def test_a_restored_film_in_one_piece_says_so_too(tmp_path):
    heard = Heard()
    source = make(tmp_path / "in.mkv", frames=2, size=(64, 48))
    mia = MiaSettings(iterations=1, psf_size=3)
    job = DeblurJob(source=source, target=tmp_path / "two.mkv", mia=mia, device="cpu", workers=2)
    run(job, heard)
    assert any(one.startswith("it is made in one piece, by one process") for one in heard.notices)


@pytest.mark.slow
def test_the_film_of_two_workers_is_that_of_one(tmp_path, job):
    heard = Heard()
    run(job)
    two = tmp_path / "two.mkv"
    run(replace(job, target=two, workers=2), heard)
    assert "2 workers on cpu" in heard.notices
    assert frames(two) == frames(job.target)
    assert read(two).types == read(job.target).types
    assert heard.done[-1] == 140
    assert heard.done == sorted(heard.done)
    assert not two.with_name("two.mkv.segments").exists()


@pytest.mark.slow
def test_what_a_table_has_clipped_in_all_segments(tmp_path, job):
    """The same share in one piece, in segments of workers, and of runs of their own."""
    table = tmp_path / "double.cube"
    table.write_text(lut.text(1.5 * lut.identity(2)))
    look = replace(job, enhancement=Enhancement(lut=table, lut_matrix="bt709"))

    def clipped(do):
        heard = Heard()
        do(heard)
        (found,) = [one for one in heard.notices if one.startswith("the LUT")]
        return found

    def in_parts(heard):
        plan = write_plan(replace(look, target=tmp_path / "d.mkv"), tmp_path / "d.json")
        assert plan.segments > 1
        run_segments(tmp_path / "d.json", 1, 1)
        run_segments(tmp_path / "d.json", 2, plan.segments)
        join_plan(tmp_path / "d.json", heard)

    whole = clipped(lambda heard: run(replace(look, segments=False), heard))
    assert "of the pixels" in whole
    two = replace(look, target=tmp_path / "c.mkv", workers=2)
    assert clipped(lambda heard: run(two, heard)) == clipped(in_parts) == whole


@pytest.mark.slow
def test_workers_keep_an_alpha_channel(tmp_path):
    source = make(tmp_path / "in.mkv", codec="ffv1", rate=Fraction(1), frames=80, size=(32, 32),
                  pix_fmt="yuva420p")  # fmt: skip
    job = UpscaleJob(source=source, target=tmp_path / "a.mkv", method="aplus", device="cpu",
                     source_kind="clean", video=VideoOptions(encoding=Encoding(codec="ffv1")),
                     enhancement=Enhancement(denoise="light"))  # fmt: skip
    run(replace(job, segments=False))
    two, heard = tmp_path / "b.mkv", Heard()
    run(replace(job, target=two, workers=2), heard)
    assert "2 workers on cpu" in heard.notices and heard.warnings == []
    assert read(two).frames[0].format.name == "yuva420p"
    assert frames(two) == frames(job.target)


def children():
    """The processes that this one has started."""
    files = Path("/proc/self/task").glob("*/children")
    return {int(one) for file in files for one in file.read_text().split()}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system lists no processes")
def test_a_worker_that_is_killed_by_hand_loses_nothing(tmp_path, job):
    run(job)
    heard = Heard()
    before = children()

    def kill():
        while not (found := children() - before):
            time.sleep(0.01)
        time.sleep(1)
        os.kill(min(found), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    two = tmp_path / "two.mkv"
    run(replace(job, target=two, workers=2), heard)
    thread.join()
    assert any(
        "was killed (SIGKILL, as the system does where memory runs out)" in text
        for text in heard.warnings
    )
    assert frames(two) == frames(job.target)
    assert children() == before


@pytest.mark.slow
def test_a_run_of_several_workers_goes_on_with_one(tmp_path, job):
    """The encoder's threads are the plan's, so that the number of workers may change."""
    run(job)
    two = replace(job, target=tmp_path / "two.mkv", workers=2)

    class Stopping(Silent):
        def progress(self, progress):
            if progress.done >= 40:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(two, Stopping())
    heard = Heard()
    run(replace(two, workers=1), heard)
    assert any("goes on" in text for text in heard.notices)
    assert frames(two.target) == frames(job.target)


def test_workers_and_their_devices(monkeypatch):
    def found(device, workers=None, cluster=None):
        return planned(SimpleNamespace(device=device, workers=workers, cluster=cluster))

    assert found("cpu") == ("cpu",)
    assert found("cpu", 3) == ("cpu",) * 3
    monkeypatch.setattr(devices, "resolve", lambda name: name)
    assert found("cuda:0,2") == ("cuda:0", "cuda:2")
    assert found("cuda:0,cuda:1", 4) == ("cuda:0", "cuda:1") * 2
    assert found("cuda:1") == ("cuda:1",)
    assert found("cuda:all", cluster="local") == ()


def test_names_of_several_gpus():
    assert devices.names("cuda:0,2, 3") == ["cuda:0", "cuda:2", "cuda:3"]
    assert devices.names(["cuda:1", "2"]) == ["cuda:1", "cuda:2"]
    assert devices.names("cpu,2") == ["cpu", "2"]
    if devices.why_not():
        with pytest.raises(DeviceError, match="cannot be used"):
            devices.several("cuda:all")


@pytest.mark.parametrize("workers", [0, -1, 1025, True])
def test_numbers_of_workers_that_are_none(tmp_path, workers):
    with pytest.raises(InputError, match="workers"):
        UpscaleJob(source=tmp_path / "a.mkv", target=tmp_path / "b.mkv", workers=workers)


@pytest.mark.slow
def test_a_film_that_is_deblurred_by_two_workers(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(2), frames=124, size=(48, 32), options=KEYS)
    job = DeblurJob(source=source, target=tmp_path / "one.mkv", device="cpu",
                    mia=MiaSettings(psf_size=3, iterations=2, prior=None),
                    video=VideoOptions(encoding=Encoding(preset="ultrafast", crf=20)))  # fmt: skip
    heard = Heard()
    one = run(job)
    two = run(replace(job, target=tmp_path / "two.mkv", workers=2), heard)
    assert "2 workers on cpu" in heard.notices
    assert frames(two.target) == frames(one.target)
    assert [replace(row, ms=0) for row in two.frames] == [replace(row, ms=0) for row in one.frames]


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_what_one_process_has_open_is_made_by_it(tmp_path, name):
    heard = Heard()
    job = UpscaleJob(source=Path(name), target=tmp_path / "o.mkv", device="cpu", workers=2)
    assert film_workers(job, None, heard) is None
    assert heard.notices == ["this process alone has it open, and makes all segments"]
    heard.notices.clear()
    assert film_workers(replace(job, source=tmp_path / "a.mkv"), None, heard) is not None
    assert heard.notices == []
