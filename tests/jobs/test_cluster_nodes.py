"""Films and pairs on a cluster of Ray: three nodes of this machine, of which some are lost.

Ray is in processes of its own, since it leaves threads and files open.
"""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from support.cli import run as command
from support.video.checks import PATHS
from support.video.clips import make, read

fcntl = pytest.importorskip("fcntl")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="no Ray: snellen[cluster]"),
    pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="the system lists no processes"),
]
KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "bf": "2", "preset": "veryfast"}
ENVIRONMENT = {
    **os.environ, "PYTHONPATH": PATHS, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0",
}  # fmt: skip


class Nodes:
    """A head and two nodes that say that they have a GPU, each with a CPU; they start meanwhile."""

    def __init__(self, temporary):
        self.temporary = temporary
        """Where their workers make temporary folders, and no other test does."""
        where = {"TMPDIR": str(temporary), "RAY_TMPDIR": tempfile.gettempdir()}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.ray_nodes"], env={**ENVIRONMENT, **where}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.count = 3

    @cached_property
    def address(self):
        return self._answer("address")

    def lose_one(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._answer("removed")
        self.count -= 1

    def end(self):
        self._process.communicate()

    def _answer(self, word):
        for line in self._process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError("the nodes have not started")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """One cluster at a time on this machine: with -n these tests may be dealt to several."""
    with Path(tempfile.gettempdir(), "snellen-tests-ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = Nodes(tmp_path_factory.mktemp("nodes"))
        yield found
        found.end()


def frames(file):
    found = read(file)
    return [[bytes(plane) for plane in frame.planes] for frame in found.frames], found.times


ENCODING = ["--device", "cpu", "--threads", 1, "--crf", 20, "--preset", "ultrafast", "--no-config"]
ENLARGING = [*ENCODING, "--method", "aplus", "--source", "clean"]


@pytest.fixture(scope="module")
def film(nodes, tmp_path_factory):
    """A film, and the frames of its result; made while the nodes start."""
    folder = tmp_path_factory.mktemp("film")
    source = make(folder / "in.mkv", rate=Fraction(1), frames=240, size=(96, 72), options=KEYS,
                  audio="aac")  # fmt: skip
    assert command("upscale", source, "-o", folder / "one.mkv", *ENLARGING) == 0
    return source, frames(folder / "one.mkv")


def drive(nodes, *words):
    """Start a command that works on the cluster."""
    words = ["-m", "snellen", *words, "--cluster", nodes.address]
    return subprocess.Popen(
        [sys.executable, *map(str, words)], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )


def tasks():
    """The processes that run a task."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if file.read_bytes().startswith(b"ray::snellen"):
                found.append(int(file.parent.name))
        except OSError:
            continue
    return found


def until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


TICKETS = """
import sys
from pathlib import Path
from time import monotonic, sleep
from snellen.jobs.sharing.cluster import Cluster
from snellen.jobs.events import Silent
from support.tickets import Doing
plans, room = ["memory", "die", "", "device device", "exit", ""], int(sys.argv[3])
with Cluster(sys.argv[1], "cpu", 1, Silent()) as cluster:
    end = monotonic() + 60  # Ray may take a while to notice that another test has lost a node
    while cluster.room != room and monotonic() < end:
        sleep(0.1)
    assert (cluster.room, cluster.slots) == (room, 2 * room)
    for number, plan in enumerate(plans):
        file = Path(sys.argv[2], str(number))
        file.write_text(plan)
        cluster.submit(Doing(number, file))
    print(*sorted(cluster.wait().key for _ in plans))
"""


def test_tickets_that_raise_or_kill_their_worker(film, nodes, tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", TICKETS, nodes.address, tmp_path, str(nodes.count)],
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout == "0 1 2 3 4 5\n", found.stderr
    assert all(not file.read_text() for file in tmp_path.iterdir())


def segments(folder):
    """How many segments are finished."""
    return len(list(folder.glob("*.packets")))


def test_a_film_whose_worker_is_killed_and_whose_node_is_lost(nodes, film, tmp_path):
    source, wanted = film
    target = tmp_path / "far.mkv"
    room = nodes.count
    driver = drive(nodes, "upscale", source, "-o", target, *ENLARGING, "--verbose")
    os.kill(until(tasks)[0], signal.SIGKILL)
    until(lambda: segments(tmp_path / "far.mkv.segments"))
    nodes.lose_one()
    said = driver.communicate()[1]
    assert driver.returncode == 0, said
    assert f"a cluster of Ray: {room} segments at once, each with 1 CPU" in said
    assert frames(target) == wanted
    assert not tasks()
    assert [one.name for one in tmp_path.iterdir()] == ["far.mkv"]


def test_a_segment_that_stands_still_is_made_by_another_node(nodes, film, tmp_path):
    source, wanted = film
    found = subprocess.run(
        [sys.executable, "-m", "support.standing", nodes.address, source, tmp_path / "far.mkv"],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert "segment 1 takes much longer than others: it is begun once more" in found.stdout, (
        found.stderr
    )
    tries = [one.name for one in tmp_path.glob("*.begun")]
    assert len([one for one in tries if one.startswith("1-")]) == 1  # beside 1.begun
    count = len([one for one in tries if "-" not in one])
    kept = found.stdout.splitlines()[-1]
    assert kept == " ".join(["kept", *map(str, range(1, count + 1))])  # each once
    assert frames(tmp_path / "far.mkv") == wanted
    until(lambda: not tasks(), 30)  # the first try has ended


def test_a_driver_that_dies_is_taken_up(nodes, film, tmp_path, capsys):
    source, wanted = film
    target, folder = tmp_path / "far.mkv", tmp_path / "far.mkv.segments"
    words = ["upscale", source, "-o", target, *ENLARGING, "--verbose"]
    for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        known = segments(folder)
        driver = drive(nodes, *words)
        until(lambda least=known: segments(folder) > least + 1 and tasks())
        driver.send_signal(number)
        said = driver.communicate()[1]
        assert driver.returncode == code, said
        until(lambda: not tasks(), 30)  # no orphan
    assert "goes on: " in said
    assert command(*words) == 0  # without the cluster
    assert "goes on: " in capsys.readouterr().err
    assert frames(target) == wanted
    assert not folder.exists()


def test_a_film_is_deblurred_while_pairs_are_scored(nodes, tmp_path):
    """Two drivers at once; nodes for pairs declare a GPU."""
    source = make(tmp_path / "in.mkv", rate=Fraction(1), frames=62, size=(48, 32), options=KEYS)
    deblurring = ["deblur", source, *ENCODING, "--psf-size", 3, "--iterations", 2]
    draw = np.random.default_rng(3)
    for number in range(4):
        for which in "ab":
            samples = draw.integers(0, 256, (20, 24), np.uint8)
            Image.fromarray(samples).save(tmp_path / f"{which}{number}.png")
    (tmp_path / "b3.png").unlink()
    names = tmp_path / "list.csv"
    names.write_text("".join(f"a{n}.png,b{n}.png\n" for n in range(4)))
    scoring = ["score", "--pairs", names, "--metrics", "psnr"]

    film = drive(nodes, *deblurring, "-o", tmp_path / "two.mkv")
    pairs = drive(nodes, *scoring, "--csv", tmp_path / "far.csv")
    assert command(*deblurring, "-o", tmp_path / "one.mkv") == 0
    assert command(*scoring, "--csv", tmp_path / "here.csv", "--device", "cpu") == 2

    said = film.communicate()[1]
    assert film.returncode == 0, said
    assert frames(tmp_path / "two.mkv") == frames(tmp_path / "one.mkv")
    said = pairs.communicate()[1]
    assert pairs.returncode == 2, said
    tables = ((tmp_path / f"{name}.csv").read_text().splitlines() for name in ("here", "far"))
    here, far = (list(csv.reader(lines)) for lines in tables)
    assert far[:4] == here[:4]
    assert far[4][:4] == here[4][:4]
    assert far[4][4].endswith(here[4][4])
    assert len(far) == 5
    assert find_spec("cupy") or "the CPU is used" in said


def test_the_files_of_a_folder(nodes, film, tmp_path):
    """Images and a short film are tasks, of which one is killed; a long film follows."""
    source = tmp_path / "in"
    source.mkdir()
    draw = np.random.default_rng(3)
    for number in range(6):
        samples = draw.integers(0, 256, (120, 160, 3), np.uint8)
        Image.fromarray(samples).save(source / f"{number}.png")
    (source / "3.png").write_text("no image")
    make(source / "7.mkv", frames=8, size=(48, 32), options=KEYS)
    os.link(film[0], source / "8.mkv")
    driver = drive(nodes, "upscale", source, "-o", tmp_path / "far", *ENLARGING)
    os.kill(until(tasks)[0], signal.SIGKILL)
    said = driver.communicate()[1]
    assert driver.returncode == 2, said
    assert said.index("files at once, each with 1 CPU") < said.index("segments at once")
    assert "3.png: not an image" in said
    assert command("upscale", source, "-o", tmp_path / "here", *ENLARGING) == 2
    made = sorted(one.name for one in (tmp_path / "far").iterdir())
    assert made == [*(f"{n}.png" for n in (0, 1, 2, 4, 5)), "7.mkv", "8.mkv"]
    for name in made[:5]:
        assert (tmp_path / "far" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert frames(tmp_path / "far/7.mkv") == frames(tmp_path / "here/7.mkv")
    assert frames(tmp_path / "far/8.mkv") == film[1]


def test_the_images_of_a_folder_and_their_psfs(nodes, tmp_path, monkeypatch):
    """By relative names; one worker is killed, one image fails and one is damaged."""
    source = tmp_path / "in"
    source.mkdir()
    draw = np.random.default_rng(4)
    for number in range(6):
        samples = draw.integers(0, 256, (96, 96), np.uint8)
        Image.fromarray(samples).resize((240, 240)).save(source / f"{number}.jpg")
    (source / "2.jpg").write_text("no image")
    data = (source / "4.jpg").read_bytes()
    (source / "4.jpg").write_bytes(data[: len(data) * 2 // 3])
    monkeypatch.chdir(tmp_path)
    words = ["deblur", "in", "--no-config", "--device", "cpu", "--threads", 1, "--psf-size", 9]
    driver = drive(nodes, *words, "-o", "far", "--psf-out", "far-psf")
    os.kill(until(tasks)[0], signal.SIGKILL)
    said = driver.communicate()[1]
    assert driver.returncode == 3, said  # one is damaged
    assert command(*words, "-o", "here", "--psf-out", "here-psf") == 3
    assert "in/2.jpg: not an image" in said
    assert f"what could be decoded is in {Path('far/4.jpg')}" in said
    assert "/snellen-" not in said
    for name in ("", "-psf"):
        here, far = (
            {one.name: one.read_bytes() for one in Path(f"{where}{name}").iterdir()}
            for where in ("here", "far")
        )
        assert far == here
        assert len(far) == 5
    # What a killed worker leaves is removed by the next process that wants a temporary folder.
    sweep = [sys.executable, "-c", "from snellen.files import temporary; temporary.sweep()"]
    subprocess.run(sweep, env={**ENVIRONMENT, "TMPDIR": str(nodes.temporary)}, check=True)
    assert not list(nodes.temporary.glob("snellen-*"))


def test_two_folders_and_two_films_are_scored(nodes, tmp_path):
    """A worker is killed; scores, their table and their order are those of one process."""
    draw = np.random.default_rng(6)
    for which in "ab":
        (tmp_path / which).mkdir()
        for number in range(24):
            samples = draw.integers(0, 256, (96, 96), np.uint8)
            Image.fromarray(samples).save(tmp_path / which / f"{number:02}.png")
        options = {**KEYS, "crf": "20" if which == "a" else "40"}
        make(tmp_path / f"{which}.mkv", frames=60, size=(96, 72), options=options)
    for kind in ("", ".mkv"):
        pair = [tmp_path / f"{which}{kind}" for which in "ab"]
        scoring = ["score", *pair, "--metrics", "mad,psnr", "--device", "cpu", "--no-config"]
        driver = drive(nodes, *scoring, "--csv", tmp_path / f"far{kind}.csv")
        os.kill(until(tasks)[0], signal.SIGKILL)
        said = driver.communicate()[1]
        assert driver.returncode == 0, said
        assert command(*scoring, "--csv", tmp_path / f"here{kind}.csv") == 0
        here, far = ((tmp_path / f"{one}{kind}.csv").read_text() for one in ("here", "far"))
        assert far == here
        assert len(far.splitlines()) == (61 if kind else 25)
