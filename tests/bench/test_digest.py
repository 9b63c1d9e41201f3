"""The source digest: the same from files and from a commit, and what counts."""

from __future__ import annotations

import json
import subprocess

import pytest

from benchmarks import commit
from snellen.bench import digest


@pytest.fixture
def checkout(tmp_path):
    """A checkout with one commit, caches and files that do not count."""
    for name, text in {
        "src/package/a.py": "a = 1\n", "src/package/data.bin": "\0é\r\n", "tests/test_a.py": "",
        "README.md": "nothing that runs",
    }.items():  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "one")
    (tmp_path / "src/package/__pycache__").mkdir()
    (tmp_path / "src/package/__pycache__/a.pyc").write_bytes(b"x")
    (tmp_path / "src/.cache").write_bytes(b"x")
    return tmp_path


def _git(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_files_and_their_commit_have_one_digest(checkout):
    found = digest.digest(checkout)
    assert len(found) == 64 and found == commit.of_commit("HEAD", checkout)
    assert commit.find(found, checkout) == _git(checkout, "rev-parse", "HEAD")
    (checkout / "README.md").write_text("other words")
    assert digest.digest(checkout) == found
    (checkout / "tests/test_a.py").write_text("x")
    assert digest.digest(checkout) != found
    assert commit.find(digest.digest(checkout), checkout) is None


def test_names_count_beside_contents(checkout):
    before = digest.digest(checkout)
    (checkout / "src/package/a.py").rename(checkout / "src/package/b.py")
    assert digest.digest(checkout) != before


def test_the_commit_is_written_into_results(checkout, monkeypatch, capsys):
    known, unknown = checkout / "known.json", checkout / "unknown.json"
    known.write_text(json.dumps({"digest": digest.digest(checkout), "cells": []}))
    unknown.write_text(json.dumps({"digest": "0" * 64}))
    found = {digest.digest(checkout): "1234"}
    monkeypatch.setattr(commit, "find", found.get)
    assert commit.main([str(known)]) == 0 and json.loads(known.read_text())["commit"] == "1234"
    assert commit.main([str(known), str(unknown)]) == 1
    assert "commit" not in json.loads(unknown.read_text())
    assert "no commit has the source digest 000" in capsys.readouterr().err


@pytest.mark.slow
def test_the_source_that_runs():
    found = digest.source()
    assert len(found["digest"]) == 64 and found["digest_of"] in ("src and tests", "package")
