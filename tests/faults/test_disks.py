"""Disks that are full, folders that take no file: one line that names them, and no half file."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess

import pytest

from support.faults import COMMANDS, Scene, inputs, no_core, tree

DROP, DAC_OVERRIDE = 24, 1
"""PR_CAPBSET_DROP and CAP_DAC_OVERRIDE of Linux."""
WRITERS = [c for c in COMMANDS if c.words[-1] != "-" and c.name not in ("bench",)]
QUICK = ("train",)


def chosen(commands):
    """A parameter for each command; most are slow."""
    return [
        pytest.param(c, id=c.name, marks=[] if c.name in QUICK else pytest.mark.slow)
        for c in commands
    ]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    return inputs(tmp_path_factory.mktemp("given") / "in")


@pytest.fixture
def scene(tmp_path, given):
    return Scene(tmp_path / "scene", given)


def refused(scene, ended, *words):
    """Check for exit code 1 or 2, a line of error with some of these words, and nothing made."""
    lines = [
        line for line in ended.err.splitlines() if line.startswith(("error: ", '{"event": "error"'))
    ]
    assert ended.code in (1, 2) and lines, ended
    assert "Traceback" not in ended.err and "Exception ignored" not in ended.err, ended.err
    assert any(word in line for line in lines for word in words), lines
    assert not scene.hidden(), scene.hidden()
    assert tree(scene.folder / "in") == scene.before
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("size", [700, pytest.param(0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", chosen(WRITERS))
def test_a_limit_of_the_files_size(scene, command, size):
    def limited():
        no_core()
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    # The limit is for files: what the child says goes to pipes.
    done = scene.piped(command, limited)
    if done.code == 0:  # what it makes is smaller
        assert all(len(data) <= size for data in scene.visible().values()) and not scene.hidden()
        return
    refused(scene, done, "out/", "output")
    assert all(len(data) <= size for data in scene.visible().values())


@pytest.fixture
def small_disk(scene):
    """The folder of outputs is a disk of 32 KB."""
    out = scene.folder / "out"
    mount = shutil.which("mount")
    command = [mount or "", "-t", "tmpfs", "-o", "size=32k", "none", str(out)]
    if not mount or os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    yield out
    subprocess.run(["umount", str(out)], check=True)


@pytest.mark.parametrize("command", chosen(WRITERS))
def test_a_disk_that_is_full(scene, small_disk, command):
    (small_disk / "full").write_bytes(b"x" * (28 << 10))
    ended = scene.piped(command)
    assert (small_disk / "full").stat().st_size == 28 << 10
    if ended.code:
        refused(scene, ended, "out", "output")
    assert not scene.hidden()


def ordinary():
    """Take root's right to write everywhere from a child."""
    no_core()
    if not os.geteuid() and ctypes.CDLL(None).prctl(DROP, DAC_OVERRIDE, 0, 0, 0):
        os._exit(77)


@pytest.mark.parametrize("command", chosen(WRITERS))
def test_a_folder_that_takes_no_file(scene, command):
    (scene.folder / "out").chmod(0o555)
    tried = subprocess.run(["touch", "out/new"], cwd=scene.folder, preexec_fn=ordinary, check=False)
    if tried.returncode in (0, 77):
        pytest.skip("this user writes everywhere")
    ended = scene.piped(command, ordinary)
    refused(scene, ended, "out")
    assert not scene.visible()
