"""Hidden files of killed runs: removed by the next run to the same output, and only these."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from snellen import unfinished
from snellen.files import atomic, leftovers

fcntl = pytest.importorskip("fcntl")

_KILLED = """
import os, sys
from pathlib import Path
from snellen.files import atomic
with atomic.replacing(Path(sys.argv[1]), False) as temporary:
    temporary.write_bytes(b"half")
    print(temporary.name, flush=True)
    sys.stdin.read()
"""


def hidden(folder):
    return sorted(path.name for path in folder.glob(".*"))


@pytest.fixture(scope="module")
def dead_name():
    """Return a function that makes a leftover as a killed run would."""

    def make(target):
        path = target.parent / leftovers._new_name(target)
        path.write_bytes(b"half")
        return path

    return make


def write(target, warn=None):
    with atomic.protected([], warn), atomic.writing(target, True) as file:
        file.write(b"done")
    assert target.read_bytes() == b"done"


def test_a_killed_run(tmp_path):
    target = tmp_path / "out.png"
    run = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with run:
        name = run.stdout.readline().decode().strip()
        heard = []
        write(target, lambda *words: heard.append(words))
        assert hidden(tmp_path) == [name] and heard == []  # its owner lives
        run.send_signal(signal.SIGKILL)
    write(target, lambda *words: heard.append(words))
    assert hidden(tmp_path) == []
    assert heard == [(str(target), f"removed what a killed run had left: {name}")]


def test_only_of_the_same_output(tmp_path, dead_name):
    for name in ("other.png", "out.PNG", "out.png.png", "x" * 200 + ".png"):
        dead_name(tmp_path / name)
    ours = dead_name(tmp_path / "out.png")
    write(tmp_path / "out.png")
    assert len(hidden(tmp_path)) == 4 and not ours.exists()


def test_what_is_not_ours(tmp_path, dead_name):
    target = tmp_path / "out.png"
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    (tmp_path / leftovers._new_name(target)).symlink_to(precious)
    (tmp_path / leftovers._new_name(target)).mkdir()
    os.mkfifo(tmp_path / leftovers._new_name(target))
    (tmp_path / ".out.snellen-123.png").touch()
    (tmp_path / leftovers._new_name(target)[1:]).touch()
    read = dead_name(target)
    before = sorted(path.name for path in tmp_path.iterdir())
    with atomic.protected([read]):  # someone saves what is left of it
        write(target)
    assert sorted([*before, "out.png"]) == sorted(path.name for path in tmp_path.iterdir())
    assert precious.read_bytes() == b"mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_a_file_of_another_user(tmp_path, dead_name):
    theirs = dead_name(tmp_path / "out.png")
    os.chown(theirs, 12345, -1)
    write(tmp_path / "out.png")
    assert theirs.exists()


def test_a_file_system_without_locks(tmp_path, dead_name, monkeypatch):
    left, heard = dead_name(tmp_path / "out.png"), []

    def refuse(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    write(tmp_path / "out.png", lambda *words: heard.append(words))
    assert left.exists() and len(heard) == 1 and left.name in heard[0][1]


@pytest.mark.parametrize("local", [True, False])
def test_a_file_of_another_machine(tmp_path, dead_name, monkeypatch, local):
    """In a shared folder its owner may live where locks here do not tell."""
    with monkeypatch.context() as other:
        other.setattr(leftovers, "machine", lambda: "0" * 8)
        left = dead_name(tmp_path / "out.png")
    heard = []
    monkeypatch.setattr(leftovers, "is_local", lambda folder: local)
    write(tmp_path / "out.png", lambda *words: heard.append(words))
    assert left.exists() != local and left.name in heard[0][1]
    assert ("another machine" in heard[0][1]) != local


def test_which_file_systems_are_local(tmp_path):
    assert not leftovers.is_local(Path("/proc/self"))
    assert leftovers.is_local(tmp_path) in (True, False)


def test_no_limit_to_what_names_hold(tmp_path):
    for name in ("a" * 255, "\u00e4" * 127, "a." + "b" * 250, "\udcff\udcfe.png", "new\nline.png"):
        write(tmp_path / name)
    assert hidden(tmp_path) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # other threads of the test run
@pytest.mark.parametrize("fails", [True, False])
def test_a_forked_child_touches_nothing(tmp_path, fails):
    target, child = tmp_path / "out.png", 0
    try:
        with atomic.replacing(target, False) as temporary:
            temporary.write_bytes(b"done")
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                assert temporary.exists() and not target.exists()
            elif fails:
                raise KeyboardInterrupt
    finally:
        if child == 0:
            os._exit(0)
    assert target.read_bytes() == b"done"


def test_the_race_for_a_file_that_is_not_yet_locked(tmp_path, monkeypatch):
    """Another run takes a new file for a leftover, between its making and its lock."""
    target, real, stolen = tmp_path / "out.png", leftovers.lock, []

    def late(descriptor):
        if not stolen:
            (path,) = tmp_path.glob(".*")
            stolen.append(path)
            path.unlink()
        return real(descriptor)

    monkeypatch.setattr(leftovers, "lock", late)
    write(target)
    assert stolen and hidden(tmp_path) == []


def test_an_owner_that_is_interrupted_before_it_holds_the_file(tmp_path):
    left = leftovers.Temporary(tmp_path / "out.png")
    left.make(0o600)
    assert len(hidden(tmp_path)) == 1
    del left
    unfinished.clear()
    assert hidden(tmp_path) == []


def test_a_whole_folder(tmp_path, dead_name):
    heard = []
    left = sorted(dead_name(tmp_path / name).name for name in ("one.png", "other.png"))
    with atomic.replacing(tmp_path / "living.png", True):
        with atomic.protected([], lambda *words: heard.append(words)):
            atomic.sweep(tmp_path)
        assert len(hidden(tmp_path)) == 1
    assert heard == [(str(tmp_path), f"removed what a killed run had left: {', '.join(left)}")]


def test_without_locks_of_this_kind(tmp_path, dead_name, monkeypatch):
    """Windows has none; there no open file can be removed."""
    monkeypatch.setattr(leftovers, "fcntl", None)
    dead_name(tmp_path / "out.png")
    with atomic.replacing(tmp_path / "out.png", True) as temporary:
        write(tmp_path / "out.png")
        assert temporary.exists()
    assert hidden(tmp_path) == []


def test_a_folder_that_is_moved_meanwhile(tmp_path):
    folder, moved = tmp_path / "folder", tmp_path / "moved"
    folder.mkdir()
    with (
        pytest.raises(OSError, match="has been removed"),
        atomic.writing(folder / "out.png", True) as file,
    ):
        file.write(b"done")
        folder.rename(moved)
    assert list(moved.iterdir()) == []


def test_a_temporary_file_that_another_one_takes_the_place_of(tmp_path):
    with (
        pytest.raises(OSError, match="has been removed"),
        atomic.replacing(tmp_path / "out.png", True) as temporary,
    ):
        temporary.unlink()
        temporary.write_bytes(b"not ours")
    assert temporary.read_bytes() == b"not ours" and not (tmp_path / "out.png").exists()
