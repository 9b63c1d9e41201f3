"""Objects with threads or a GPU in forked children: an error, never a hang; see support.forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from snellen import process
from snellen.errors import InputError
from support.video import clips

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
PROGRAM = Path(__file__).parent / "support" / "forks.py"


def forks(*arguments, **environment):
    """Run a part of the program in a process of its own: this one may have threads."""
    done = subprocess.run(
        [sys.executable, PROGRAM, *map(str, arguments)],
        capture_output=True, text=True, timeout=500, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_open_objects_in_children():
    forks("objects")


@pytest.mark.gpu
def test_open_objects_on_a_gpu_in_children():
    forks("gpu")


@pytest.mark.slow
def test_forks_while_threads_work():
    forks("busy", 30)


@pytest.mark.slow
def test_a_fork_while_loops_are_compiled(tmp_path):
    forks("compiling", SNELLEN_CACHE=str(tmp_path / "cache"), XDG_CACHE_HOME=str(tmp_path))


@pytest.mark.slow
def test_a_child_leaves_its_parents_film_alone(tmp_path):
    clips.make(tmp_path / "in.mkv", frames=40)
    (tmp_path / "out").mkdir()
    forks("film", tmp_path / "in.mkv", tmp_path / "out")


def test_a_lock_is_free_in_a_child():
    """A thread of the parent holds it."""
    lock, taken, done = process.lock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        child = fork()
        if not child:
            os._exit(not lock.acquire(timeout=5))
        assert os.waitpid(child, 0)[1] == 0
        assert not lock.acquire(timeout=0.01)
    finally:
        done.set()
        thread.join()


def test_a_home_knows_its_process(monkeypatch):
    home = process.Home("this thing")
    home.check()
    assert home.here and not home.keep(home)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert not home.here and home.keep(home)
    with pytest.raises(InputError, match="this thing was made in another process"):
        home.check()


def fork():
    """Fork without Python's warning that this process has threads."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
