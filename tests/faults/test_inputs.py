"""Inputs that change while they are read: said or without effect, never a crash."""

from __future__ import annotations

import os
import random
import subprocess
import time

import pytest

from support.faults import COMMANDS, Scene, inputs, measured

SEED = int(os.environ.get("SNELLEN_FAULTS_SEED", "0")) or random.SystemRandom().getrandbits(31)
NAMES = {
    "film": "in/film.mkv",
    "deblur film": "in/clip.y4m",
    "score films": "in/other.y4m",
    "folder": "in/folder/e.png",
    "train": "in/folder/e.png",
    "pipe": "in/clip.y4m",
}


def grown(path):
    with path.open("ab") as file:
        file.write(os.urandom(20_000))


def shrunk(path):
    os.truncate(path, path.stat().st_size // 3)


def zeroed(path):
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 3)
        file.write(bytes(size // 2))


def emptied(path):
    os.truncate(path, 0)


def removed(path):
    path.unlink()


def replaced(path):
    other = path.with_name("new")
    other.write_bytes(b"something else\n" * 1000)
    other.replace(path)


WAYS = (grown, shrunk, zeroed, emptied, removed, replaced)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    return inputs(tmp_path_factory.mktemp("given") / "in")


def changed(folder, given, command, ways, draw):
    """Change the input of a command at a moment of its run; return what was wrong."""
    scene = Scene(folder / "scene", given)
    whole = measured(scene, command)
    found = []
    for way in ways:
        delay = draw.uniform(0, whole.seconds)
        scene.reset()
        child = scene.start(command)
        try:
            child.wait(delay)
        except subprocess.TimeoutExpired:
            way(scene.folder / NAMES[command.name])
        ended = scene.end(child, time.monotonic(), True, 60)
        what = f"seed {SEED}: {command.name}, {way.__name__} after {delay:.3f} s"
        made = scene.visible()
        same = ended.out == whole.out or whole.out_varies(ended.out)
        same = same and made.keys() == whole.files.keys()
        same = same and all(whole.is_whole(name, data) for name, data in made.items())
        wrong = []
        if ended.code not in (0, 2, 3):
            wrong.append(f"exit code {ended.code}")
        # A folder that was listed after the file had gone is another folder.
        gone = way is removed and NAMES[command.name].startswith("in/folder/")
        if ended.code == 0 and not same and not gone:
            wrong.append("another result, and not a word")
        if ended.code and not ended.err.strip():
            wrong.append(f"exit code {ended.code} without a word")
        if "Traceback" in ended.err or "Exception ignored" in ended.err or scene.hidden():
            wrong.append(f"{scene.hidden()} left")
        found += [f"{what}: {one}; {ended.err[-500:]!r}" for one in wrong]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_any_change_at_any_moment(tmp_path, given, name):
    draw = random.Random(SEED)
    command = next(c for c in COMMANDS if c.name == name)
    found = changed(tmp_path, given, command, WAYS, draw)
    assert found == [], "\n".join(found)
