"""Temporary folders of killed runs: removed by the next process, and only these."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from snellen.files import atomic, leftovers, temporary

pytest.importorskip("fcntl")

_KILLED = """
import sys
from snellen.files import temporary
with temporary.folder() as folder:
    (folder / "pictures").mkdir()
    (folder / "pictures" / "1.raw").write_bytes(b"half")
    print(folder.name, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def swept(monkeypatch):
    """Sweep as another process would; return what is said."""
    monkeypatch.setattr(temporary, "_swept", set())
    heard = []
    with atomic.protected([], lambda *words: heard.append(words)):
        temporary.sweep()
    return heard


def test_a_killed_run(place, monkeypatch):
    run = subprocess.Popen(
        [sys.executable, "-c", _KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(place)},
    )  # fmt: skip
    with run:
        name = run.stdout.readline().decode().strip()
        assert swept(monkeypatch) == [] and (place / name).is_dir()  # its owner lives
        run.send_signal(signal.SIGKILL)
    assert (place / name / "pictures" / "1.raw").exists()
    monkeypatch.setattr(temporary, "_swept", set())
    heard = []
    with atomic.protected([], lambda *words: heard.append(words)), temporary.folder() as folder:
        assert sorted(place.iterdir()) == [folder]
    assert heard == [(str(place), f"removed what a killed run had left: {name}")]
    assert not list(place.iterdir())


def test_its_own_folder_stays(place, monkeypatch):
    with temporary.folder() as folder:
        assert swept(monkeypatch) == [] and folder.is_dir()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


_FORKED = """
import os
from snellen.files import temporary
with temporary.folder() as folder:
    if (child := os.fork()) == 0:
        raise SystemExit
    os.waitpid(child, 0)
    assert folder.is_dir()
assert not folder.exists()
"""


def test_a_forked_child_removes_nothing(place):
    subprocess.run([sys.executable, "-c", _FORKED], env={**os.environ, "TMPDIR": str(place)},
                   check=True)  # fmt: skip


def test_what_is_not_ours(place, monkeypatch):
    name = f"snellen-{leftovers.machine()}-{'0' * 15}"
    (place / "precious").mkdir()
    (place / (name + "1")).symlink_to(place / "precious")
    (place / (name + "2")).touch()
    os.mkfifo(place / (name + "3"))
    (place / (name + "x")).mkdir()
    (place / "snellen-1000").mkdir()  # compiled code
    names = {path.name for path in place.iterdir()}
    if os.geteuid() == 0:
        names.add(name + "4")
        (place / (name + "4")).mkdir()
        os.chown(place / (name + "4"), 12345, -1)
    assert swept(monkeypatch) == [] and {path.name for path in place.iterdir()} == names


@pytest.mark.parametrize("local", [True, False])
def test_a_folder_of_another_machine(place, monkeypatch, local):
    left = place / f"snellen-{'0' * 8}-{'1' * 16}"
    left.mkdir()
    os.utime(left, (1, 1))
    monkeypatch.setattr(leftovers, "is_local", lambda folder: local)
    ((_, said),) = swept(monkeypatch)
    assert left.exists() is not local and left.name in said
    assert ("removed" if local else "stays") in said


def test_two_runs_that_remove_the_same(place, monkeypatch):
    """One that the other has removed keeps this one from no further folder."""
    first, second = (place / f"snellen-{leftovers.machine()}-{n * 16}" for n in "12")
    for left in (first, second):
        left.mkdir()
        os.utime(left, (1, 1))

    def is_noted(path):
        if path == str(first):
            first.rmdir()
        return False

    monkeypatch.setattr(temporary.unfinished, "is_noted", is_noted)
    assert swept(monkeypatch) == [
        (str(place), f"removed what a killed run had left: {second.name}")
    ]
