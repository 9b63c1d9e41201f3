"""The registry of containers: one entry makes a suffix known, and nothing else lists suffixes."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

import pytest

import snellen
from snellen.errors import InputError
from snellen.files import containers, kinds
from snellen.files.containers import Container, container, suffixes
from snellen.files.still_formats import SUFFIXES
from snellen.jobs.inputs.naming import written
from snellen.video.sink.output import Output
from snellen.video.source.truncation import headerless

OTHERS = ("bench",)


@pytest.fixture
def made_up(monkeypatch):
    known = Container(muxer="nut", kept=True, segments=True, header=True, either=True)
    monkeypatch.setitem(containers.CONTAINERS, ".reel", known)


def test_a_made_up_container_is_known_everywhere(made_up, tmp_path):
    path = tmp_path / "film.REEL"
    assert Output(path, None, overwrite=False).muxer == "nut"
    assert written(path) == "film.REEL" and kinds.is_known(path) and kinds.names_unread(path)
    with (tmp_path / "noise").open("w+b") as file:
        file.write(b"noise, no container")
        assert "no header of a .reel file" in (headerless(file, path, "mjpeg") or "")
    with pytest.raises(InputError, match=r"expected one of \.mp4, .*\.reel, or a pattern"):
        Output(tmp_path / "film.real", None, overwrite=False)
    assert ".reel" in suffixes(lambda one: one.segments)


def test_a_suffix_is_of_any_case():
    assert container(".MP4") is container(".mp4")
    assert container(".txt") == Container(named=False)


def test_nothing_else_lists_suffixes():
    """No tuple, set or dictionary of code has two of films or images."""
    root = Path(snellen.__file__).parent
    known = {*containers.CONTAINERS, *SUFFIXES}
    found = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if place.parts[0] in OTHERS or place.name in ("containers.py", "still_formats.py"):
            continue
        for one in ast.walk(ast.parse(path.read_text())):
            if isinstance(one, ast.Tuple | ast.Set | ast.List):
                parts = one.elts
            elif isinstance(one, ast.Dict):
                parts = [key for key in one.keys if key is not None]
            else:
                continue
            named = [part.value for part in parts if isinstance(part, ast.Constant)]
            if len(known & {*map(str, named)}) > 1:
                found.append(f"{place}:{one.lineno}")
    assert not found


def test_every_entry_says_something():
    empty = Container(named=False)
    for suffix, known in containers.CONTAINERS.items():
        assert any(getattr(known, f.name) != getattr(empty, f.name) for f in fields(known)), suffix
