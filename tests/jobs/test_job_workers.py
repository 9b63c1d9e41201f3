"""Many files by several workers: the same outputs, results in order, and what fails or is left."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.cpu import threads
from snellen.errors import (
    DeviceError,
    DeviceMemoryError,
    IncompleteError,
    InputError,
    InternalError,
    SnellenError,
)
from snellen.files.remote import typed
from snellen.jobs import (
    Clip,
    DeblurJob,
    MiaSettings,
    ScoreJob,
    UpscaleJob,
    UpscaleResult,
    VideoOptions,
    run_several,
)
from snellen.jobs.calls import job_workers
from snellen.jobs.calls.dry import DryRun, together
from snellen.jobs.calls.job_ticket import FileTicket, shareable
from snellen.jobs.calls.job_workers import _Round, _write
from snellen.jobs.events import Silent
from snellen.jobs.sharing.pool import Pool
from snellen.jobs.sharing.tickets import Done, Worker
from support.cli import names
from support.cli import run as command
from support.job_tickets import KilledFile
from support.video.checks import PATHS
from support.video.clips import make
from support.video.clips import read as frames_of

WORDS = ["--device", "cpu", "--no-config", "--method", "aplus", "--source", "clean"]


def draw(path, seed=0, size=(40, 32)):
    samples = np.random.default_rng(seed).integers(0, 256, (8, 10, 3), np.uint8)
    Image.fromarray(samples).resize(size, Image.Resampling.BICUBIC).save(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images, of which one is none and one is damaged, and a short film."""
    found = tmp_path_factory.mktemp("folder")
    for number, name in enumerate(("a.png", "c.png", "d.jpg", "e.png")):
        draw(found / name, number, (80, 64))
    (found / "b.png").write_text("no image")
    data = (found / "d.jpg").read_bytes()
    (found / "d.jpg").write_bytes(data[: len(data) * 2 // 3])
    make(found / "f.mp4", frames=6, size=(48, 32), audio="aac")
    return found


@pytest.fixture(scope="module")
def runs(folder, tmp_path_factory):
    """What one and two workers make of the folder, and what they say."""
    return {
        workers: _run(folder, tmp_path_factory.mktemp("made") / "out", workers)
        for workers in (1, 2)
    }


def _run(folder, target, workers):
    said = {"out": [], "err": []}
    with pytest.MonkeyPatch.context() as patch:
        for name, found in said.items():
            patch.setattr(f"snellen.cli.terminal.{name}", lambda *lines, to=found: to.extend(lines))
        words = ["-o", target, "--workers", workers, "--crf", 20, *WORDS]
        return command("upscale", folder, *words), target, said


def lines(text, target):
    """Lines with no name of the target, and without the seconds of a film."""
    return [line.replace(str(target), "").partition(" s on cpu")[0][:60] for line in text]


@pytest.mark.slow
def test_two_workers_make_the_files_of_one(runs):
    (code, one, _), (other_code, two, _) = runs[1], runs[2]
    assert code == other_code == 3  # the damaged one
    assert names(one) == names(two) == ["a.png", "c.png", "d.jpg", "e.png", "f.mp4"]
    for name in names(one):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_two_workers_say_what_one_says_in_the_order_of_the_files(runs, folder):
    (_, one, said), (_, two, other) = runs[1], runs[2]
    assert lines(said["out"], one) == lines(other["out"], two)
    assert other["out"][-1] == "5 done (1 damaged), 1 failed, 0 skipped"
    errors = [line for line in other["err"] if line.startswith("error: ")]
    assert lines(errors, two) == lines([x for x in said["err"] if "error: " in x], one)
    assert f"{folder}: 2 workers on cpu share 6 files" in other["err"]


class Executor:
    """Two slots, of which the later ticket ends first; tickets are not run."""

    slots = 2

    def __init__(self, left=()):
        self.tickets, self.most, self.left = [], 0, left

    def submit(self, ticket):
        self.tickets.append(pickle.loads(pickle.dumps(ticket)))
        self.most = max(self.most, len(self.tickets))

    def wait(self):
        ticket = self.tickets.pop()
        if ticket.key in self.left:
            return Done(ticket.key, is_deferred=True)
        return ticket.failed(InputError("late"))


def jobs_of(folder, count, **how):
    return {
        n: UpscaleJob(source=folder / f"{n}.png", target=folder / f"out/{n}.png", **how)
        for n in range(count)
    }


def test_results_come_in_order_and_no_more_tickets_are_given_than_there_are_slots(tmp_path, heard):
    executor, seen, begun = Executor(left=(5,)), [], []
    jobs = jobs_of(tmp_path, 40)
    found = _Round(jobs, executor, "all", heard, seen.append, begun.append).run()
    assert executor.most == 2
    assert list(begun) == list(range(40))
    assert sorted(found) == [n for n in range(40) if n != 5]  # which is for all workers
    assert [one.job for one in seen] == [jobs[n] for n in sorted(found)]
    assert str(seen[0].error) == f"{tmp_path / '0.png'}: late"
    assert [(step.done, step.unit) for step in heard.steps] == [(n, "file") for n in range(1, 40)]
    assert heard.steps[-1].total == 39
    assert not (tmp_path / "out").exists()  # as nothing came into it


@pytest.mark.parametrize("error", [SnellenError, ConnectionError])  # the latter by Ray
@pytest.mark.parametrize("where", ["submit", "wait", "slots"])
def test_results_stay_where_no_worker_is_left(tmp_path, monkeypatch, where, error):
    """What is not made has the error of the workers; a list of another length says nothing."""

    class Refused(Executor):
        count = 0

        def _call(self, name, function, *given):
            self.count += where == name
            if self.count > 2:
                raise error("no worker can be started")
            return function(*given)

        @property
        def slots(self):
            return self._call("slots", lambda: 2)

        def submit(self, ticket):
            return self._call("submit", super().submit, ticket)

        def wait(self):
            return self._call("wait", super().wait)

    monkeypatch.setattr(job_workers, "executor", lambda *given: _Opened(Refused()))
    jobs, seen = list(jobs_of(tmp_path, 6, workers=2, device="cpu").values()), []
    found = run_several(jobs, done=seen.append)
    assert [one.job for one in found] == [one.job for one in seen] == jobs
    late = sum(str(one.error).endswith("late") for one in found)
    assert late == {"submit": 1, "wait": 2, "slots": 0}[where]
    assert sum("no worker can be started" in str(one.error) for one in found) == 6 - late
    said = "" if error is SnellenError else "the system: "
    assert str(found[5].error) == f"{jobs[5].source}: {said}no worker can be started"


def test_an_error_of_the_callers_own_function_is_raised(tmp_path):
    def fail(one):
        raise InputError("enough")

    with pytest.raises(InputError, match="enough"):
        _Round(jobs_of(tmp_path, 3), Executor(), "all", Silent(), fail, None).run()


def test_results_of_frames_name_their_own_file(tmp_path):
    """Also those that had to wait until an earlier file was finished."""

    class Result:
        def __init__(self, name):
            self.frames = (f"{name}: frame",)

    class Ended(Executor):
        def wait(self):
            return Done(key := self.tickets.pop().key, Result(f"{key}.png"))

    class Heard(Silent):
        seen = ()

        def frame(self, subject, frame):
            self.seen += ((Path(subject).name, frame),)

    heard = Heard()
    _Round(jobs_of(tmp_path, 3), Ended(), "all", heard, None, None).run()
    assert heard.seen == tuple((f"{n}.png", f"{n}.png: frame") for n in range(3))


def test_which_jobs_are_tickets(tmp_path):
    def job(source, target, **how):
        return UpscaleJob(source=tmp_path / source, target=tmp_path / target, workers=2, **how)

    jobs = [
        job("a.png", "b.png"), job("b.png", "c.png"),  # which reads what the first one writes
        UpscaleJob(source="-", target=tmp_path / "d.png", workers=2),
        job("e.mkv", "f.mkv"), job("g.mkv", "h.mkv", enhancement=snellen.jobs.Enhancement(
            deblur="auto")),
        UpscaleJob(source=tmp_path / "i.png", target=tmp_path / "j.png", workers=3),
        DeblurJob(source=(tmp_path / "k.png", tmp_path / "l.png"), target=tmp_path / "m.png",
                  workers=2),
    ]  # fmt: skip
    assert list(shareable(dict(enumerate(jobs)))) == [0, 3, 6]
    far = [
        UpscaleJob(source=tmp_path / one, target=other, cluster="local", segments=cut)
        for one, other, cut in [
            ("a.png", tmp_path / "b.png", False), ("c.mkv", tmp_path / "d.mkv", False),
            ("e.mkv", tmp_path / "f.mkv", True), ("g.mkv", tmp_path / "%03d.png", True),
        ]
    ]  # fmt: skip
    assert list(shareable(dict(enumerate(far)))) == [0, 2]


FILM = VideoOptions(Clip(), fps=Fraction(5))


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "pairs",
    [
        [("a.png", "b.png"), ("b.png", "c.png")],
        [("b.png", "c.png"), ("a.png", "b.png")],  # in turn the first one finds nothing
        [("a.mp4", "x/%03d.png"), ("x/%03d.png", "c.mkv")],
        [("a.mp4", "x/%03d.png"), ("x", "c.mkv")],
        [("a.mp4", "x/%03d.png"), ("x/001.png", "c.png")],
        [("a.png", "x/001.png"), ("x/*.png", "c.mkv")],
        [("x", "c.mkv"), ("a.png", "x/001.png")],
        [("s3://a/b.png", "c.png"), ("a.png", "s3://a/b.png")],
    ],
)  # fmt: skip
def test_a_job_that_depends_on_another_one_is_run_in_turn(tmp_path, pairs):
    def path(text):
        return typed(text) if ":" in text else tmp_path / text

    jobs = [
        UpscaleJob(source=path(one), target=path(other), workers=2,
                   **({"video": FILM} if one[0] == "x" and "001" not in one else {}))
        for one, other in pairs
    ]  # fmt: skip
    free = UpscaleJob(source=tmp_path / "y.png", target=tmp_path / "z/y.png", workers=2)
    assert list(shareable(dict(enumerate([*jobs, free])))) == [0, 2]


@pytest.mark.parametrize("target", ["x/c.png", "x/%03d.png"])
def test_what_a_job_writes_into_a_folder_that_is_scored_before(tmp_path, target):
    """Jobs that are no tickets follow the tickets: this one would find a picture more."""
    score = ScoreJob(reference=tmp_path / "w", distorted=tmp_path / "x")
    source = tmp_path / ("a.png" if target.endswith("c.png") else "a.mp4")
    jobs = [
        UpscaleJob(source=source, target=tmp_path / one, workers=2) for one in (target, "y/c.png")
    ]
    assert list(shareable({0: score, 1: jobs[0], 2: jobs[1]})) == [2]


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/63"])
def test_what_this_process_has_open_is_made_by_it(tmp_path, name):
    jobs = [UpscaleJob(source=one, target=tmp_path / f"{number}.png", workers=2)
            for number, one in enumerate((name, tmp_path / "a.png"))]  # fmt: skip
    assert list(shareable(dict(enumerate(jobs)))) == [1]


def test_films_of_folders_side_by_side_do_not_depend_on_each_other(tmp_path):
    jobs = [
        UpscaleJob(source=tmp_path / name, target=tmp_path / f"{name}.mkv", video=FILM, workers=2)
        for name in "ab"
    ]
    assert list(shareable(dict(enumerate(jobs)))) == [0, 1]


def test_one_file_has_one_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(job_workers, "executor", None)
    source = draw(tmp_path / "a.png")
    job = UpscaleJob(source=source, target=tmp_path / "b.png", workers=4, device="cpu")
    assert run_several([job])[0].error is None


def test_outputs_that_only_the_whole_run_can_refuse(tmp_path, monkeypatch):
    """Nothing is given to a worker that would replace an input of another job, or its output."""
    executor = Executor()
    monkeypatch.setattr(job_workers, "executor", lambda *given: _Opened(executor))
    inputs = [draw(tmp_path / name) for name in ("a.png", "b.png", "c.png")]
    before = inputs[2].read_bytes()
    jobs = [
        UpscaleJob(source=one, target=target, workers=2, overwrite=True, device="cpu")
        for one, target in [
            (inputs[0], inputs[2]), (inputs[1], tmp_path / "x.png"), (inputs[2], tmp_path / "x.png")
        ]
    ]  # fmt: skip
    found = run_several(jobs)
    assert "c.png is the input itself" in str(found[0].error)
    assert "several inputs would become" in str(found[2].error)
    assert str(found[1].error).endswith("late")
    assert inputs[2].read_bytes() == before


class _Opened:
    def __init__(self, executor):
        self._executor = executor

    def __enter__(self):
        return self._executor

    def __exit__(self, *error):
        pass


@pytest.fixture
def ticket(tmp_path):
    source = draw(tmp_path / "a.png")
    job = UpscaleJob(source=source, target=tmp_path / "b.png", device="cpu")
    return FileTicket(3, job, together=4)


@pytest.fixture
def worker():
    return Worker("cpu", 1, Silent(), lambda units: None)


def test_a_job_in_a_worker_has_the_threads_of_its_own_and_a_share_of_the_cpu(
    ticket, worker, monkeypatch
):
    seen = []
    monkeypatch.setattr(
        "snellen.jobs.calls.execute.run_upscale",
        lambda *given: (
            seen.append((threads.available(), threads.chosen(), threads.together())) or 1 / 0
        ),
    )
    worker.run(ticket)
    worker.run(FileTicket(0, replace(ticket.job, threads=3), together=3))
    assert seen == [(1, None, 4), (1, 3, 3)]
    assert threads.chosen() is None
    assert threads.available() == threads.together() == threads.cores()


@pytest.mark.parametrize("error", [DeviceError("the GPU is lost"), MemoryError()])
def test_what_is_wrong_with_a_machine_is_tried_again(ticket, worker, monkeypatch, error):
    def fail(*given):
        raise error

    monkeypatch.setattr("snellen.jobs.calls.execute.run_upscale", fail)
    with pytest.raises(Exception, match=r"the GPU is lost|not enough memory"):
        worker.run(ticket)


@pytest.mark.parametrize(
    "error", [InputError("no"), DeviceMemoryError("too large"), ZeroDivisionError("x")]
)
def test_what_is_wrong_with_a_file_is_its_result(ticket, worker, monkeypatch, error):
    def fail(*given):
        raise error

    monkeypatch.setattr("snellen.jobs.calls.execute.run_upscale", fail)
    made = pickle.loads(pickle.dumps(worker.run(ticket)))
    assert (made.key, made.result) == (3, None)
    if isinstance(error, ZeroDivisionError):
        assert isinstance(made.error, InternalError)
        assert "ZeroDivisionError: x" in made.error.__notes__[0]  # where it was raised
    else:
        assert type(made.error) is type(error)


def test_a_fault_on_a_node_says_where_it_was_raised(ticket, worker, monkeypatch):
    monkeypatch.setattr("snellen.jobs.calls.execute.run_upscale", lambda *given: 1 / 0)
    made = worker.run(replace(ticket, is_shipped=True))
    assert isinstance(made.error, InternalError)
    assert "ZeroDivisionError" in "".join(made.error.__notes__)


def test_what_a_node_says_names_the_outputs_of_the_job(ticket, worker, monkeypatch):
    """In warnings, results, errors and advice; the folder of the node is gone afterwards."""
    far = []

    def work(job, events):
        far.append(job.target)
        text = f"{job.target} beside {job.target.parent}/.x"
        if len(far) == 2:
            raise InputError(text, advice=text)
        events.warning(str(job.target), text)
        events.notice(str(job.target), text)
        return UpscaleResult(
            source=job.source, target=job.target, width=8, height=8, device="cpu",
            warnings=(text,), error=IncompleteError(text, advice=text),
        )  # fmt: skip

    said = []

    class Heard(Silent):
        def notice(self, subject, message):
            said.append((subject, message))

        warning = notice

    monkeypatch.setattr("snellen.jobs.calls.execute.run_upscale", work)
    worker.events = Heard()
    target = ticket.job.target
    meant = f"{target} beside {target.parent}/.x"
    shipped = replace(ticket, is_shipped=True)
    made = worker.run(shipped)
    assert said == [(str(target), meant)] * 2
    assert made.result.warnings == (meant,)
    assert str(made.error) == str(made.result.error) == f"{meant}; {meant}"
    assert str(worker.run(shipped).error) == f"{meant}; {meant}"
    assert not any(one.parent.parent.exists() for one in far)


def test_nothing_appears_of_a_job_whose_result_cannot_be_written(tmp_path):
    """Its PSF neither, nor is an older one replaced."""
    job = DeblurJob(
        source=tmp_path / "a.png", target=tmp_path / "b.png", psf_out=tmp_path / "c.npy",
        overwrite=True,
    )  # fmt: skip
    job.target.mkdir()
    job.psf_out.write_text("old")
    with pytest.raises(SnellenError, match=r"b\.png is a folder"):
        _write(job, (b"new", b"new"))
    assert job.psf_out.read_text() == "old"
    job.target.rmdir()
    _write(replace(job, overwrite=False), (b"new", None))
    job.psf_out.unlink()
    with pytest.raises(SnellenError, match=r"b\.png exists"):
        _write(replace(job, overwrite=False), (b"newer", b"newer"))
    assert names(tmp_path) == ["b.png"]
    with pytest.raises(TypeError):
        _write(job, (b"newer", "no bytes"))
    assert names(tmp_path) == ["b.png"]
    assert job.target.read_bytes() == b"new"
    _write(job, (b"newer", b"newer"))
    assert job.psf_out.read_bytes() == job.target.read_bytes() == b"newer"


def test_the_estimate_of_files_that_workers_share(tmp_path):
    jobs = list(jobs_of(tmp_path, 3, workers=2, device="cpu").values())
    would = [DryRun(one.source, one.target, 2, 2, "cpu") for one in jobs]
    found = together(jobs, would)
    assert (found.files, found.workers, found.seconds) == (3, ("cpu", "cpu"), None)
    assert together(jobs[:1], would[:1]) is None
    alone = list(jobs_of(tmp_path, 3, device="cpu").values())
    assert together(alone, would) is None


@pytest.mark.slow
def test_python_functions_share_files(folder, tmp_path, heard):
    given = [folder / name for name in ("a.png", "c.png", "e.png")]
    how = {"device": "cpu", "iterations": 3, "prior": None, "psf_size": 5}
    alone = snellen.deblur_files(given, tmp_path / "one", psf_out=tmp_path / "p", **how)
    shared = snellen.deblur_files(
        given, tmp_path / "two", psf_out=tmp_path / "q/r", workers=2, events=heard, **how
    )
    assert [one.source for one in shared] == given
    for one, two in zip(alone, shared, strict=True):
        assert (one.psf == two.psf).all() and one.fit == two.fit
        assert one.target.read_bytes() == two.target.read_bytes()
        assert (one.psf_file.read_bytes()) == two.psf_file.read_bytes()
    assert [step.done for step in heard.steps] == [1, 2, 3]
    with pytest.raises(InputError, match=r"b\.png: not an image") as caught:
        snellen.upscale_files(
            [given[0], folder / "b.png", folder / "d.jpg"], tmp_path / "three", workers=2,
            device="cpu", method="aplus",
        )  # fmt: skip
    assert "d.jpg is damaged" in caught.value.__notes__[0]
    assert names(tmp_path / "three") == ["a.png", "d.jpg"]


KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0"}


@pytest.mark.slow
def test_the_segments_of_a_long_film_follow_the_files(tmp_path, capfd):
    source = tmp_path / "in"
    source.mkdir()
    make(source / "a.mp4", rate=Fraction(1), frames=70, size=(48, 32), options=KEYS)
    for name in ("b.png", "c.png"):
        draw(source / name)
    for workers in (1, 2):
        words = ["-o", tmp_path / str(workers), "--workers", workers, *WORDS]
        assert command("upscale", source, *words) == 0
    out, err = capfd.readouterr()
    assert [Path(line.partition(":")[0]).name for line in out.splitlines()[4:7]] == [
        "b.png", "c.png", "a.mp4",
    ]  # fmt: skip
    assert err.count("a.mp4: it is made in ") == 2
    assert err.index("share 3 files") < err.index("a.mp4: 2 workers on cpu")
    one, two = (frames_of(tmp_path / name / "a.mp4") for name in "12")
    assert one.times == two.times
    assert all(
        bytes(x) == bytes(y)
        for a, b in zip(one.frames, two.frames, strict=True)
        for x, y in zip(a.planes, b.planes, strict=True)
    )


@pytest.mark.slow
def test_the_file_of_a_worker_that_is_killed_is_made_again(tmp_path, heard, monkeypatch):
    pools = []

    class Noted(snellen.jobs.sharing.pool.Pool):
        def __init__(self, *given):
            super().__init__(*given)
            pools.append(self)

    monkeypatch.setattr("snellen.jobs.sharing.pool.Pool", Noted)
    mia = MiaSettings(psf_size=9, iterations=60, prior=None)
    source = draw(tmp_path / "in.png", size=(160, 120))
    jobs = [
        DeblurJob(source=source, target=tmp_path / f"{n}.png", mia=mia, workers=2, device="cpu",
                  video=VideoOptions(Clip(frames=2)))
        for n in range(5)
    ]  # fmt: skip

    def begin(job):
        if job is jobs[3]:  # two are done, so that a worker is at work
            (busy,) = (x for x in pools[0]._processes.values() if x.ticket is not None)
            os.kill(busy._popen.pid, signal.SIGKILL)

    found = run_several(jobs, heard, begin=begin)
    assert [one.error for one in found] == [None] * 5
    assert len({one.result.target.read_bytes() for one in found}) == 1
    (once, said), (_, killed) = heard.warnings
    assert once == "images"  # in five jobs
    assert said == "`frames` is for video: without effect on an image"
    assert killed.startswith("its process was killed") and killed.endswith("it is tried again")
    assert names(tmp_path) == [*(f"{n}.png" for n in range(5)), "in.png"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", pytest.param("other", marks=pytest.mark.slow)])
def test_a_worker_is_killed_when_its_output_has_got_its_name(tmp_path, heard, kind):
    """Its message is lost: the next try makes the output again, and replaces nobody's file."""
    (tmp_path / "first").touch()
    mia = MiaSettings(psf_size=5, iterations=2, prior=None)
    job = DeblurJob(source=draw(tmp_path / "a.png"), target=tmp_path / "b.png", device="cpu",
                    psf_out=tmp_path / "psf.png", mia=mia)  # fmt: skip
    with Pool(["cpu"], 1, heard) as pool:
        pool.submit(KilledFile(0, job, together=1, first=tmp_path / "first",
                               exchanged=kind == "other"))  # fmt: skip
        made = pool.wait()
    assert len(heard.warnings) == 1
    assert names(tmp_path) == ["a.png", "b.png", *(["psf.png"] if kind == "whole" else [])]
    if kind == "other":
        assert str(made.error).startswith(f"{job.target} exists")
        assert job.target.read_bytes() == b"of somebody else"
    else:
        assert made.error is None and made.result.psf_file == job.psf_out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["b.mkv", "%03d.png"])
def test_a_worker_is_killed_when_its_film_has_got_its_name(tmp_path, heard, name):
    (tmp_path / "first").touch()
    source = make(tmp_path / "f.mp4", frames=3, size=(48, 32))
    job = UpscaleJob(source=source, target=tmp_path / name, device="cpu", method="aplus")
    with Pool(["cpu"], 1, heard) as pool:
        pool.submit(KilledFile(0, job, together=1, first=tmp_path / "first"))
        made = pool.wait()
    assert made.error is None and made.result.summary.frames == 3
    assert len(names(tmp_path)) == (2 if name == "b.mkv" else 4)


@pytest.mark.slow
def test_outputs_of_a_worker_that_is_killed_later_stay(tmp_path, heard):
    """As where memory runs out while it has nothing to do."""
    sources = [draw(tmp_path / f"{n}.png") for n in range(2)]
    jobs = [UpscaleJob(source=one, target=one.with_suffix(".tif"), device="cpu", method="aplus")
            for one in sources]  # fmt: skip
    with Pool(["cpu"], 1, heard) as pool:
        pool.submit(FileTicket(0, jobs[0], together=1))
        assert pool.wait().error is None
        pool._processes[0]._popen.kill()
        pool._processes[0]._reader.join()
        pool.submit(FileTicket(1, jobs[1], together=1))
        assert pool.wait().error is None
    assert names(tmp_path) == ["0.png", "0.tif", "1.png", "1.tif"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_worker_and_no_half_file(tmp_path, number):
    for n in range(4):
        draw(tmp_path / f"{n}.png", n, (640, 480))
    words = ["deblur", tmp_path, "-o", tmp_path / "out", "--workers", 2, "--device", "cpu",
             "--iterations", 100000, "--prior", "none", "--no-config"]  # fmt: skip
    driver = subprocess.Popen(
        [sys.executable, "-m", "snellen", *map(str, words)], text=True,
        env={**os.environ, "PYTHONPATH": PATHS}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    with driver.stderr as stream:
        assert "2 workers on cpu share 4 files" in stream.readline()
        workers = _until(lambda: len(found := _children(driver.pid)) == 2 and found)
        _until(lambda: (tmp_path / "out").is_dir())
        time.sleep(1)  # both are at work, most likely; what follows holds anyhow
        driver.send_signal(number)
        assert driver.wait(20) != 0
    _until(lambda: not any(Path(f"/proc/{one}").exists() for one in workers))
    assert not (tmp_path / "out").exists() or names(tmp_path / "out") == []
    assert (tmp_path / "out").exists() == (number == signal.SIGKILL)


def _children(process):
    file = Path(f"/proc/{process}/task/{process}/children")
    if not file.exists():
        pytest.skip("the system lists no processes")
    return file.read_text().split()


def _until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def test_a_file_is_not_begun_on_a_second_worker(tmp_path, monkeypatch):
    """The second one would find the output of the first one there."""

    class Process:
        ticket, heard, done, device = None, 0.0, 0, "cpu"

        def __init__(self, *given):
            pass

        def begin(self, ticket):
            self.ticket = ticket

        def hang_up(self):
            pass

        def end(self, patience=0):
            pass

    monkeypatch.setattr("snellen.jobs.sharing.pool.WorkerProcess", Process)
    job = UpscaleJob(source=tmp_path / "a.png", target=tmp_path / "b.png")
    for is_shipped in (False, True):
        with Pool(["cpu", "cpu"], 1, Silent()) as pool:
            for _ in range(10):
                pool._times.add(1.0)
            pool.submit(FileTicket(0, job, is_shipped=is_shipped, together=1))
            assert (pool._slow() is not None) == is_shipped
