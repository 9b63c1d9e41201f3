"""Tests share code through the package support: no test module imports another one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))
SHARED = {"support", *(program.parent.name for program in TESTS.glob("*/__main__.py"))}
"""Folders whose modules are imported: those of programs, such as the fuzzer, by their tests."""


def imported(path):
    """Yield the names of the modules that a file imports, in full."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write the whole name"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_only_support_is_imported(path):
    folders = {entry.name for entry in TESTS.iterdir() if entry.is_dir()} - SHARED
    for name in imported(path):
        parts = name.split(".")
        assert not any(part.startswith("test_") or part == "conftest" for part in parts), name
        # `cuda`, `fft` and the like may be libraries; a folder of ours holds what is asked for.
        if parts[0] in folders:
            found = TESTS.joinpath(*parts)
            assert not (found.is_dir() or found.with_suffix(".py").exists()), name


@pytest.mark.parametrize(
    "path", sorted((TESTS / "support").rglob("*.py")), ids=lambda path: path.name
)
def test_support_holds_no_tests(path):
    assert not path.name.startswith("test_")
    for node in ast.parse(path.read_text()).body:
        assert not getattr(node, "name", "").startswith("test_"), node.name
