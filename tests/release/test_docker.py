"""The Dockerfile names what is there; slow tests run its steps, as far as they need no image."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from snellen import __version__
from snellen.cli.commands import cli

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COPIED = [word for line in re.findall(r"^COPY (.*)$", TEXT, re.M) for word in line.split()[:-1]]


def test_what_is_copied_is_there_and_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {f"!{name}" for name in COPIED} == {one for one in ignored if one[0] == "!"}
    assert all((ROOT / name).exists() for name in COPIED)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {project["readme"], *project["license-files"]} <= set(COPIED)
    extras = re.findall(r"EXTRAS=(\w+)|; (cuda12)", TEXT)
    assert {one for pair in extras for one in pair if one} <= set(project["optional-dependencies"])


def test_its_commands_and_its_python_are_ours():
    for command in re.findall(r"^RUN snellen (.*)$", TEXT, re.M):
        context = cli.make_context("snellen", command.split())
        name, sub, rest = cli.resolve_command(context, command.split())
        assert isinstance(sub.make_context(name, rest, parent=context), click.Context)
    classifiers = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for version in re.findall(r"^FROM python:([\d.]+)-slim", TEXT, re.M):
        assert f"Python :: {version}" in classifiers


def test_the_lock_has_every_package_in_a_version_that_is_allowed():
    """With digests: pip refuses a package without one, of the lock or needed by one in it."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.findall(
        r"^([\w.-]+)==(\S+)(.*(?:\n    --hash=sha256:[0-9a-f]{64}.*)+)", lock, re.M
    )
    assert len(entries) == len(re.findall("^[a-z]", lock, re.M))
    versions = {name: Version(version) for name, version, _ in entries}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for one in map(Requirement, project["dependencies"]):
        assert versions[one.name] in one.specifier, one
    assert "://" not in lock


def test_labels_are_of_this_version():
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', TEXT))
    assert labels["title"] == "snellen" and labels["description"]
    assert labels["version"] == __version__ and labels["licenses"] == "Apache-2.0"


@pytest.mark.slow
def test_the_wheel_is_made_of_what_is_copied(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in COPIED:
        one = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        (shutil.copytree if one.is_dir() else shutil.copy)(
            one, source / name, **({"ignore": ignored} if one.is_dir() else {})
        )
    words = ["hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run([sys.executable, "-m", *words], cwd=source, check=True, capture_output=True)
    assert len(list(tmp_path.glob("snellen-*.whl"))) == 1


@pytest.mark.slow
def test_after_warming_nothing_is_compiled(random, tmp_path):
    """The step of the Dockerfile, then the first uses of commands."""
    import numpy as np
    from PIL import Image

    from support.video.clips import make

    def run(*words):
        folders = {"SNELLEN_CACHE": "cache", "XDG_CACHE_HOME": "home", "TMPDIR": ""}
        environment = {**os.environ, **{k: str(tmp_path / one) for k, one in folders.items()}}
        done = subprocess.run(
            [sys.executable, "-m", "snellen", *map(str, words)],
            env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=500,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    found = json.loads(run("doctor", "--warm", "--json", "--device", "cpu").stdout)
    assert found["kept"] == str(tmp_path / "cache") and found["warning"] == ""
    kept = sorted((tmp_path / "cache").rglob("*.bin"))
    assert found["compiled"]["loops"] == len(kept) > 20
    Image.fromarray(random.integers(0, 256, (60, 64, 4), np.uint8)).save(tmp_path / "a.png")
    Image.fromarray(random.integers(0, 65536, (60, 64), np.uint16)).save(tmp_path / "g.png")
    make(tmp_path / "f.mkv", frames=36)
    make(tmp_path / "t.mkv", frames=2, codec="libx265", pix_fmt="yuv422p10le")
    for words in (
        ["upscale", "a.png", "g.png", "f.mkv", "t.mkv", "-o", "o"],
        ["upscale", "g.png", "f.mkv", "-o", "o3", "--scale", 3],
        ["deblur", "a.png", "g.png", "-o", "d", "--psf-size", 7, "--iterations", 11, "--tv", 0.01],
        ["deblur", "f.mkv", "-o", "d.mkv", "--roi", "4,4,32,32", "--psf-size", 5, "--frames", 2],
        ["deblur", "g.png", "-o", "l.png", "--prior", "l0", "--psf-size", 7],
        ["score", "f.mkv", "f.mkv", "--temporal", "--map-out", "maps"],
        ["score", "g.png", "l.png"],
    ):
        done = run(*words, "--device", "cpu")
        assert "first use" not in done.stderr, (words, done.stderr)
    assert sorted((tmp_path / "cache").rglob("*.bin")) == kept
