"""Films and pairs on a cluster of Ray: three nodes of this machine, of which some are lost.

Ray is in processes of its own, since it leaves threads and files open.
"""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from support.cli import run as command
from support.video.checks import PATHS
from support.video.clips import make, read

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
    """A head and two nodes that say that they have a GPU, each with a CPU."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.ray_nodes"], env=ENVIRONMENT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.address = self._answer("address")

    def do(self, word):
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        self._answer("done")

    def end(self):
        self._process.communicate()

    def _answer(self, word):
        for line in self._process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError("the nodes have not started")


@pytest.fixture(scope="module")
def nodes():
    found = Nodes()
    yield found
    found.end()


def frames(file):
    found = read(file)
    return [[bytes(plane) for plane in frame.planes] for frame in found.frames], found.times


ENCODING = ["--device", "cpu", "--threads", 1, "--crf", 20, "--preset", "ultrafast", "--no-config"]
ENLARGING = [*ENCODING, "--method", "aplus", "--source", "clean"]


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """A film, and the frames of its result."""
    folder = tmp_path_factory.mktemp("film")
    source = make(folder / "in.mkv", rate=Fraction(2), frames=480, size=(96, 72), options=KEYS,
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
from snellen.jobs.cluster import Cluster
from snellen.jobs.events import Silent
from support.tickets import Doing
plans = ["memory", "die", "", "device device", "exit", ""]
with Cluster(sys.argv[1], "cpu", 1, Silent()) as cluster:
    assert (cluster.room, cluster.slots) == (3, 6)
    for number, plan in enumerate(plans):
        file = Path(sys.argv[2], str(number))
        file.write_text(plan)
        cluster.submit(Doing(number, file))
    print(*sorted(cluster.wait()[0] for _ in plans))
"""


def test_tickets_that_raise_or_kill_their_worker(nodes, tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", TICKETS, nodes.address, tmp_path],
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
    nodes.do("add")
    driver = drive(nodes, "upscale", source, "-o", target, *ENLARGING, "--verbose")
    os.kill(until(tasks)[0], signal.SIGKILL)
    until(lambda: segments(tmp_path / "far.mkv.segments"))
    nodes.do("remove")
    said = driver.communicate()[1]
    assert driver.returncode == 0, said
    assert "a cluster of Ray: 4 segments at once, each with 1 CPU" in said
    assert frames(target) == wanted
    assert not tasks()
    assert [one.name for one in tmp_path.iterdir()] == ["far.mkv"]


def test_a_driver_that_dies_is_taken_up(nodes, film, tmp_path):
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
    driver = drive(nodes, *words)
    said = driver.communicate()[1]
    assert driver.returncode == 0, said
    assert "goes on: " in said
    assert frames(target) == wanted
    assert not folder.exists()


def test_a_film_is_deblurred(nodes, tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(2), frames=124, size=(48, 32), options=KEYS)
    words = ["deblur", source, *ENCODING, "--psf-size", 3, "--iterations", 2]
    assert command(*words, "-o", tmp_path / "one.mkv") == 0
    driver = drive(nodes, *words, "-o", tmp_path / "two.mkv")
    said = driver.communicate()[1]
    assert driver.returncode == 0, said
    assert frames(tmp_path / "two.mkv") == frames(tmp_path / "one.mkv")


def test_pairs_on_nodes_that_declare_gpus(nodes, tmp_path):
    draw = np.random.default_rng(3)
    for number in range(4):
        for which in "ab":
            samples = draw.integers(0, 256, (20, 24), np.uint8)
            Image.fromarray(samples).save(tmp_path / f"{which}{number}.png")
    (tmp_path / "b3.png").unlink()
    names = tmp_path / "list.csv"
    names.write_text("".join(f"a{n}.png,b{n}.png\n" for n in range(4)))
    words = ["score", "--pairs", names, "--metrics", "psnr"]
    assert command(*words, "--csv", tmp_path / "here.csv", "--device", "cpu") == 2
    driver = drive(nodes, *words, "--csv", tmp_path / "far.csv")
    said = driver.communicate()[1]
    assert driver.returncode == 2, said
    tables = ((tmp_path / f"{name}.csv").read_text().splitlines() for name in ("here", "far"))
    here, far = (list(csv.reader(lines)) for lines in tables)
    assert far[:4] == here[:4]
    assert far[4][:4] == here[4][:4]
    assert far[4][4].endswith(here[4][4])
    assert len(far) == 5
    assert find_spec("cupy") or "the CPU is used" in said
