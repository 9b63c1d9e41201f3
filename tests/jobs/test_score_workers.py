"""Scores of folders and films by several workers: all that one process finds, and in its order."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from snellen import score_files
from snellen.errors import DeviceError, IncompleteError, InputError, SnellenError
from snellen.jobs import ScoreJob
from snellen.jobs.events import Collected, Silent
from snellen.jobs.runs import score_parts
from snellen.jobs.runs.score_run import ScoreRun
from snellen.jobs.sharing import cluster_task
from snellen.jobs.sharing.executors import in_order
from snellen.jobs.sharing.pool import Pool
from snellen.jobs.sharing.tickets import Done, Ticket, Worker
from snellen.stills.still import Still, write
from support.cli import run as command
from support.fake_ray import fake_ray
from support.video.clips import make


class Heard(Silent):
    """Scores and warnings, in their order, and progress."""

    def __init__(self):
        self.said, self.notices, self.done = [], [], []

    def frame(self, subject, frame):
        self.said.append((subject, frame))

    def warning(self, subject, message):
        self.said.append((subject, message))

    def notice(self, subject, message):
        self.notices.append(message)

    def progress(self, progress):
        self.done.append((progress.done, progress.total))


class Backwards:
    """Three slots in this process: what was submitted last ends first, and all is pickled."""

    slots = 3

    def __init__(self, devices, meter):
        self.devices, self.tickets, self.meter = devices, [], meter

    def submit(self, ticket):
        self.tickets.append(pickle.dumps(ticket))

    def wait(self):
        ticket = pickle.loads(self.tickets.pop())
        try:
            done = Worker("cpu", 1, Silent(), lambda units: None).run(ticket)
        except SnellenError as error:
            done = ticket.failed(error)
        self.meter.add(done.units)
        return pickle.loads(pickle.dumps(done))


@pytest.fixture
def backwards(monkeypatch):
    """Have these score instead of processes; returns them."""
    made = []

    @contextmanager
    def executor(how, devices, subject, unit, work, events, meter=None):
        made.append(Backwards(devices, meter))
        yield made[-1]

    monkeypatch.setattr(score_parts, "executor", executor)
    return made


@pytest.fixture
def pictures(tmp_path, random):
    """Two folders of 14 images, the later the worse but for two that are equal; one is clear."""
    found = [tmp_path / "one", tmp_path / "two"]
    for folder in found:
        folder.mkdir()
    for number in range(14):
        samples = random.integers(0, 256, (40, 44), np.uint8)
        if number == 5:
            samples = np.stack([samples] * 4, 2)
        write(found[0] / f"{number:02}.png", Still(samples))
        worse = samples // (number % 7 + 1)
        write(found[1] / f"{number:02}.png", Still(worse.astype(np.uint8)))
    for folder in found:  # equal scores
        (folder / "13.png").write_bytes((folder / "06.png").read_bytes())
    return found


def spoil(folder):
    """Have an image be one whose samples are refused when they are read."""
    (folder / "09.png").unlink()
    write(folder / "09.tiff", Still(np.full((40, 44), 300, np.float32)))


def both(reference, distorted, tmp_path, **options):
    """What one process finds and what several do: result or error, events, and files.

    By one thread each: what FFmpeg makes of damaged frames depends on the decoder's threads.
    """
    found = []
    for name, workers in (("alone", None), ("shared", 3)):
        heard, place = Heard(), tmp_path / name
        place.mkdir()
        try:
            result = score_files(
                reference, distorted, device="cpu", events=heard, workers=workers, threads=1,
                table=place / "t.csv", maps=place / "maps", worst=3, **options,
            )  # fmt: skip
            error = None
        except SnellenError as raised:
            result, error = raised.result, raised
        found.append((plain(result), said(error), heard.said, files(place), heard))
    return found


def plain(result):
    """A result without times."""
    if result is None:
        return None
    summary = result.summary and replace(result.summary, seconds=0)
    return replace(result, seconds=0, summary=summary, error=None, maps=None)


def said(error):
    return error and (type(error), str(error), error.parameter)


def files(folder):
    """Bytes of all files, those of the index without times."""
    found = {one.relative_to(folder): one.read_bytes() for one in folder.rglob("*.*")}
    for name, data in found.items():
        if name.name == "index.json":
            index = json.loads(data)
            index.pop("seconds")
            found[name] = index
    return found


def same(found, parts, backwards):
    """Check that all is equal, and that there were several parts."""
    alone, shared = found
    assert alone[:4] == shared[:4]
    assert len(backwards) == 1
    heard = shared[4]
    assert len(heard.done) == parts
    return alone, shared


@pytest.mark.slow
def test_folders(pictures, tmp_path, backwards):
    (pictures[1] / "02.png").with_suffix(".mkv").write_text("left out")
    alone, shared = same(both(*pictures, tmp_path), 14, backwards)
    assert alone[1] is None and len(alone[3]) == 9
    (index,) = (data for name, data in shared[3].items() if name.name == "index.json")
    mapped = [one["name"] for one in index["maps"]]
    assert mapped == [row.name for row in alone[0].table.worst(3)] and mapped[-2:] == ["06", "13"]
    assert shared[4].done[-1] == (14, 14)
    assert [text for _, text in alone[2] if "transparency" in str(text)]


@pytest.mark.slow
def test_parts_of_several_pictures(pictures, tmp_path, backwards, monkeypatch):
    monkeypatch.setattr(score_parts, "FOLDER_PARTS", 1)
    same(both(*pictures, tmp_path, frames=13, metrics="psnr,mad"), 4, backwards)


def test_a_pair_that_fails_ends_the_work_behind_those_before_it(pictures, tmp_path, backwards):
    spoil(pictures[1])
    alone, shared = both(*pictures, tmp_path)
    assert alone[:4] == shared[:4] and backwards
    assert alone[1][0] is InputError and "09.tiff" in alone[1][1]
    assert [row.name for _, row in alone[2] if not isinstance(row, str)] == [
        f"{n:02}" for n in range(9)
    ]
    assert alone[3] == {}


@pytest.mark.slow
def test_damaged_pictures_are_said(pictures, tmp_path, backwards):
    (pictures[1] / "11.png").unlink()
    jpeg = pictures[1] / "11.jpg"
    write(jpeg, Still(np.random.default_rng(1).integers(0, 256, (40, 44), np.uint8)))
    jpeg.write_bytes(jpeg.read_bytes()[:-300])
    alone, _ = same(both(*pictures, tmp_path), 14, backwards)
    assert alone[1][0] is IncompleteError and "11.jpg" in alone[1][1]


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("options", "parts"),
    [({}, 4), ({"every": 2}, 2), ({"offset": 3}, 4), ({"offset": -2, "frames": 34}, 4),
     ({"start": 0.3}, 3), ({"start": "0.1", "duration": 1.1}, 3), ({"frames": 17}, 2),
     ({"metrics": "ssim,mad"}, 4)],
)  # fmt: skip
def test_films(clips, tmp_path, backwards, options, parts):
    alone, shared = same(both(*clips, tmp_path, **options), parts, backwards)
    assert alone[1] is None and len(alone[3]) == 9
    assert shared[4].done[-1][0] == alone[0].summary.frames


def test_aligned_films(clips, tmp_path, backwards):
    late = make(tmp_path / "late.mkv", codec="ffv1", frames=30)
    alone, shared = both(clips[0], late, tmp_path, align=True)
    assert alone[:4] == shared[:4] and backwards
    assert alone[0].aligned is not None


@pytest.mark.slow
@pytest.mark.parametrize("frames", [20, 33])
def test_films_of_different_lengths(clips, tmp_path, backwards, frames):
    """The other one says how long it is, and may be wrong."""
    short = make(tmp_path / "short.mp4", frames=frames, options={"crf": "45"})
    alone, _ = same(both(clips[0], short, tmp_path), frames // 8, backwards)
    assert "frames without a partner were not" in alone[0].warnings[-1]
    assert alone[0].summary.warnings[-1] in alone[0].warnings[-1]


@pytest.mark.slow
def test_a_damaged_film(clips, tmp_path, backwards):
    data = bytearray(clips[1].read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = bytes(400)
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(data)
    alone, _ = same(both(clips[0], bad, tmp_path), 4, backwards)
    assert alone[1][0] is IncompleteError and alone[0].summary.lost


@pytest.mark.slow
def test_films_of_different_sizes(clips, tmp_path, backwards):
    small = make(tmp_path / "small.mp4", frames=30, size=(48, 40))
    (tmp_path / "as").mkdir()
    alone, shared = both(clips[0], small, tmp_path / "as")
    assert alone[:4] == shared[:4] and alone[1][0] is InputError and backwards
    backwards.clear()
    alone, _ = same(both(clips[0], small, tmp_path, resize=True), 3, backwards)
    assert alone[0].summary.resized and [text for _, text in alone[2] if "scaled" in str(text)]


@pytest.mark.slow
def test_no_frame_with_a_partner(clips, tmp_path, backwards):
    alone, shared = both(*clips, tmp_path, offset=100)
    assert alone[:2] == shared[:2] and alone[1][0] is InputError


@pytest.mark.parametrize(
    ("options", "why"),
    [({"temporal": True}, "`temporal` needs"), ({"start": 0.1, "frames": 20}, "a `start`")],
)  # fmt: skip
def test_what_cannot_be_shared_is_scored_by_one_process(clips, backwards, options, why):
    heard = Heard()
    found = score_files(*clips, device="cpu", metrics="mad", workers=2, events=heard, **options)
    assert not backwards and found.table.rows
    assert len(heard.notices) == 1 and why in heard.notices[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_scored_by_one_process(clips, tmp_path):
    """Whoever opened it to count its frames would leave nothing for the workers."""
    pipe, heard = tmp_path / "pipe.mp4", Heard()
    os.mkfifo(pipe)
    for pair in ((pipe, clips[1]), (clips[0], pipe)):
        job = ScoreJob(reference=pair[0], distorted=pair[1], workers=2)
        assert not score_parts.are_shared(ScoreRun(job, Collected(heard)))
    assert heard.notices == ["one process scores them: a pipe can be read once"] * 2


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0", "-"])
def test_what_this_process_has_open_is_scored_by_it(clips, name):
    """A worker has another file by that name: /dev/stdin is where its work comes from."""
    job = ScoreJob(reference=name, distorted=clips[1], workers=2)
    assert not score_parts.are_shared(ScoreRun(job, Collected(Silent())))


def test_short_films_are_scored_by_one_process(films, backwards):
    assert len(score_files(films[0], films[1], device="cpu", workers=2).table.rows) == 6
    assert not backwards


@pytest.mark.parametrize(
    ("options", "said"),
    [({"workers": 0}, "workers"), ({"workers": 2, "cluster": "local"}, "workers"),
     ({"cluster": 3}, "cluster"), ({"device": "cpu,cpu"}, "device"),
     ({"workers": 2, "profile": True}, "profile")],
)  # fmt: skip
def test_what_is_refused(folders, options, said):
    with pytest.raises((DeviceError, InputError)) as caught:
        score_files(*folders, **{"device": "cpu"} | options)
    assert caught.value.parameter == said


def test_two_images_have_one_worker(folders, backwards):
    """As they have of upscale: so a setting for all commands does not stop them."""
    files = [folder / "a.png" for folder in folders]
    alone = score_files(*files, device="cpu")
    assert score_files(*files, device="cpu", workers=2).table == alone.table
    assert score_files(*files, device="cpu", cluster="auto").table == alone.table
    assert not backwards


@pytest.mark.slow
def test_several_gpus_have_a_worker_each(folders, backwards, monkeypatch):
    asked = []

    def planned(job):
        asked.append((job.device, job.workers))
        return tuple(job.device.split(","))

    monkeypatch.setattr(score_parts, "planned", planned)
    shared = score_files(*folders, device=["cuda:0", "cuda:1"])  # here they are the CPU
    assert shared.table == score_files(*folders, device="cpu").table
    assert asked[0] == ("cuda:0,cuda:1", None) and backwards[0].devices == ("cuda:0", "cuda:1")


def test_a_job_with_workers_is_json():
    job = ScoreJob(reference="a", distorted="b", workers=3)
    assert ScoreJob.from_json(job.to_json()) == job
    with pytest.raises(InputError):
        ScoreJob(reference="a", distorted="b", cluster="local", workers=3)


def test_few_results_wait_for_an_earlier_one():
    class Slow:
        slots, tickets = 2, ()

        def submit(self, ticket):
            self.tickets = (*self.tickets, ticket)

        def wait(self):
            *self.tickets, last = self.tickets
            return Done(last.key, str(last.key))

    many = (Ticket(number, None) for number in range(500))
    found = in_order(Slow(), many, 4)
    assert next(found).result == "0"
    assert len(list(many)) == 500 - 8
    assert [one.result for one in found] == list("1234567")


def shown(capsys, *words):
    """Exit code, standard output without times, and what is said of errors."""
    code = command("score", *words, "--device", "cpu")
    out, err = capsys.readouterr()
    lines = [one for one in out.splitlines() if "seconds" not in one and " s on " not in one]
    return code, lines, [one for one in err.splitlines() if one.startswith(("error", "warning"))]


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--json"], ["--csv", "-"], ["-q"]])
def test_the_command(capsys, pictures, clips, words):
    spoil(pictures[1])
    for pair in (pictures, clips):
        alone, shared = (shown(capsys, *pair, "--workers", n, *words) for n in (1, 2))
        assert alone == shared
        assert bool(alone[1]) == (pair is clips or words != ["-q"])
        assert alone[0] == (0 if pair is clips else 2)


@pytest.mark.parametrize("kind", ["folders", "films"])
def test_a_cluster(monkeypatch, pictures, clips, kind):
    """By a module that stands for Ray; relative names, warnings and notices as of processes."""
    ray = fake_ray({"CPU": 2.0}, {"CPU": 2.0})
    ray.connected = True
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.exceptions", ray.exceptions)
    monkeypatch.setattr(cluster_task, "_workers", {})
    monkeypatch.chdir((pictures if kind == "folders" else clips)[0].parent)
    names = [one.name for one in (pictures if kind == "folders" else clips)]
    heard, far = Heard(), Heard()
    alone = score_files(*names, device="cpu", events=heard, threads=2)
    shared = score_files(*names, device="cpu", events=far, threads=2, cluster="auto")
    assert plain(shared) == plain(alone) and far.said == heard.said
    assert far.notices == ["a cluster of Ray: 2 parts at once, each with 2 CPUs"]


@pytest.mark.slow
def test_a_worker_that_is_killed_gives_its_part_back(clips, monkeypatch):
    class Cruel(Pool):
        def submit(self, ticket):
            super().submit(ticket)
            if ticket.key == 1:
                (process,) = (one for one in self._processes.values() if one.ticket is ticket)
                os.kill(process._popen.pid, signal.SIGKILL)

    monkeypatch.setattr("snellen.jobs.sharing.pool.Pool", Cruel)
    heard = Heard()
    found = score_files(*clips, device="cpu", workers=2, events=heard)
    alone = score_files(*clips, device="cpu")
    assert found.table == alone.table
    warned = [text for _, text in heard.said if isinstance(text, str)]
    assert len(warned) == 1 and "it is tried again" in warned[0] and "part 2" in warned[0]
