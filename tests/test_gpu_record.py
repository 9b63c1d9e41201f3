"""The record of the GPU tests, and the check before a release; on any machine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.digest import digest

ROOT = Path(__file__).parents[1]

CONFTEST = """
import pytest

pytest_plugins = ["support.gpu_record"]
"""

TESTS = """
import pytest

pytestmark = [pytest.mark.gpu]

@pytest.mark.parametrize("number", range(5))
def test_passes(number):
    pass

def test_fails():
    assert {passes}

def test_skips():
    pytest.skip("two GPUs are needed")

@pytest.mark.xfail(strict=True)
def test_is_known_to_fail():
    assert False

@pytest.fixture
def broken():
    assert {passes}

def test_error(broken):
    pass
"""

SETTINGS = '[tool.pytest.ini_options]\ntestpaths = ["tests"]\nmarkers = ["gpu"]\n'


@pytest.fixture
def checkout(tmp_path):
    """A maker of checkouts with a few GPU tests, all of which pass, or not."""

    def make(passes):
        for name, text in {
            "src/package.py": "", "pyproject.toml": SETTINGS, "tests/conftest.py": CONFTEST,
            "tests/test_gpu.py": TESTS.format(passes=passes),
            "tests/test_cpu.py": "def test_cpu():\n    pass\n",
        }.items():  # fmt: skip
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


def recorded(folder, *words, code=0):
    """Run a checkout's tests in a process of their own; return the record."""
    paths = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words,
         "--gpu-record", "out/record.json"],
        cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    record = folder / "out" / "record.json"
    return json.loads(record.read_text()) if record.exists() else done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_counts_and_digest(checkout, workers):
    folder = checkout(False)
    record = recorded(folder, "-m", "gpu", "-n", str(workers), code=1)
    assert record["tests"] == {"passed": 5, "failed": 1, "error": 1, "skipped": 1, "xfailed": 1}
    assert record["skipped"] == {"two GPUs are needed": 1}
    assert record["complete"] and record["unchanged"] and record["exit_status"] == 1
    assert record["digest"] == digest(folder) and isinstance(record["gpu"], list)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "complete"),
    [(["tests"], True), (["tests/test_gpu.py"], False), (["-k", "passes"], False)],
)
def test_complete(checkout, words, complete):
    record = recorded(checkout(True), "-m", "gpu", *words)
    assert record["complete"] == complete and record["exit_status"] == 0


def test_only_gpu_tests_are_recorded(checkout):
    assert "add -m gpu" in recorded(checkout(True), code=4)


@pytest.fixture(scope="module")
def check():
    """The script of `make release-check`."""
    file = ROOT / ".ci" / "release_check.py"
    module = importlib.util.module_from_spec(
        spec := importlib.util.spec_from_file_location("release_check", file)
    )
    spec.loader.exec_module(module)
    return module


GOOD = {
    "digest": "1a", "unchanged": True, "complete": True, "date": "2026-01-01", "gpu": ["H200"],
    "exit_status": 0, "tests": {"passed": 9, "failed": 0, "error": 0, "skipped": 2},
}  # fmt: skip


def test_a_good_record(check):
    assert check.faults(GOOD, "1a") == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"digest": "2b"}, "differ from the run of 2026-01-01 on H200: 1a here, 2b there"),
        ({"unchanged": False}, "changed during"),
        ({"complete": False}, "some of the GPU tests only"),
        ({"gpu": []}, "no test passed on a GPU"),
        ({"tests": {**GOOD["tests"], "passed": 0}}, "no test passed on a GPU"),
        ({"tests": {**GOOD["tests"], "failed": 1}, "exit_status": 1}, "1 tests failed"),
        ({"exit_status": 2}, "exit status 2"),
    ],
)
def test_a_fault(check, change, words):
    (fault,) = check.faults({**GOOD, **change}, "1a")
    assert words in fault


def test_without_a_record(check, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "RECORD", tmp_path / "none.json")
    assert check.main() == 1 and "no record" in capsys.readouterr().err
