"""Patterns that a user typed, and names that only look like patterns or addresses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snellen.errors import InputError
from snellen.jobs.calls.planning import plan
from snellen.jobs.inputs.patterns import matching, the_only
from snellen.jobs.inputs.search import expanded

NAMES = ["x1.png", "x2.png", "x10.png", "x002.png", "y.png", ".x3.png", "x-1.png", "X1.png"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name in NAMES:
        (tmp_path / name).touch()
    (tmp_path / "d1").mkdir()
    (tmp_path / "d1" / "x1.png").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("x%d.png", ["x1.png", "x2.png", "x10.png"]),
        ("x%03d.png", ["x002.png"]),
        ("x%02d.png", ["x10.png"]),
        ("x?.png", ["x1.png", "x2.png"]),
        ("x[12].png", ["x1.png", "x2.png"]),
        ("[!x]*.png", ["X1.png", "y.png"]),
        ("x*.png", ["x1.png", "x2.png", "x002.png", "x10.png", "x-1.png"]),
        (".x*.png", [".x3.png"]),
        ("d*/x%d.png", ["d1/x1.png"]),
        ("d%d/x1.png", ["d1/x1.png"]),
        ("x1.png", ["x1.png"]),
        ("none.png", ["none.png"]),
        ("-", ["-"]),
    ],
)
def test_what_a_pattern_means(here, pattern, found):
    got = [str(path) for path in matching(Path(pattern))]
    assert sorted(got) == sorted(found)
    if pattern in ("x%d.png", "x?.png"):
        assert got == found  # x2 before x10


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pattern_means_no_pipe(here):
    """Nobody may ever write into it."""
    before = matching(Path("*.png"))
    os.mkfifo("pipe.png")
    assert matching(Path("*.png")) == before
    assert matching(Path("pipe.png")) == [Path("pipe.png")]


def test_a_pattern_of_an_absolute_path(here):
    assert matching(here / "x%03d.png") == [here / "x002.png"]


@pytest.mark.parametrize("name", ["x%03d.png", "x*.png", "x[12].png", "http:", "x?.png"])
def test_a_file_of_that_name_wins(here, name):
    (here / name).touch()
    assert matching(Path(name)) == [Path(name)]
    assert Path(name) in expanded([Path()]) or name == "http:"


@pytest.mark.parametrize("pattern", ["z%d.png", "z*.png", "none*/x1.png"])
def test_no_match_is_an_error(here, pattern):
    with pytest.raises(InputError, match="none matches it as a pattern"):
        matching(Path(pattern))


@pytest.mark.parametrize("address", ["http://host/a.png", "https://h/x*.mp4", "file:///etc/passwd"])
def test_addresses_are_refused(here, address):
    with pytest.raises(InputError, match="is an address"):
        plan([Path(address)], Path("out.png"), str)


def test_several_matches_need_a_folder(here):
    with pytest.raises(InputError, match="several inputs need a folder"):
        plan([Path("x%d.png")], Path("out.png"), str)
    (here / "out").mkdir()
    pairs = plan([Path("x%d.png")], Path("out"), str).pairs
    assert [target.name for _, target in pairs] == ["x1.png", "x2.png", "x10.png"]


def test_functions_of_one_file_take_one_match(here):
    assert the_only(Path("x%03d.png"), "source") == Path("x002.png")
    with pytest.raises(InputError, match="matches 3 files; expected one file"):
        the_only(Path("x%d.png"), "source")


def test_names_that_are_no_text(here):
    odd = os.fsdecode(b"x\xff%03d.png")
    (here / odd).touch()
    assert matching(Path(odd)) == [Path(odd)]
    assert Path(odd) in matching(Path("x*.png"))
