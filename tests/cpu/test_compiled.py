"""Compiled loops are kept on disk, and whatever is wrong there, they work."""

from __future__ import annotations

import os
import subprocess
import sys
from types import FunctionType

import numpy as np
import pytest

from snellen import caches
from snellen.cpu import compiled as module
from snellen.cpu.compiled import compiled

FACTOR = 2.0


def scaled(x):
    return FACTOR * x + 1


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """An empty cache; returns its files."""
    monkeypatch.setattr(caches, "folders", lambda: iter([caches.Folder(tmp_path, private=True)]))
    return lambda: sorted((tmp_path / "loops").glob("*"))


def hits(loop, dtype=np.float32):
    """Return whether the code came from the disk."""
    assert loop(dtype(1.5)) == 4
    return bool(loop.stats.cache_hits)


def test_the_code_is_kept_on_disk(kept):
    assert not hits(compiled(scaled)) and len(kept()) == 1
    assert hits(compiled(scaled)) and len(kept()) == 1
    assert not hits(compiled(scaled), np.float64) and len(kept()) == 2


def test_constants_and_callees_count(kept):
    assert not hits(compiled(scaled))
    other = FunctionType(scaled.__code__, {**globals(), "FACTOR": 3.0}, "scaled")
    assert compiled(other)(np.float32(1)) == 4  # not 3, which the code on disk would give


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[:-1], lambda data: data[:-9] + b"\0" + data[-8:]],
)
def test_a_damaged_file_is_replaced(kept, damage):
    compiled(scaled)(np.float32(1))
    (file,) = kept()
    file.write_bytes(damage(file.read_bytes()))
    assert not hits(compiled(scaled))
    assert hits(compiled(scaled))


@pytest.mark.parametrize("content", [b"", b"no pickle", b"N."])
def test_what_numba_does_not_take_is_replaced(kept, content):
    """As of another version: whole, but not what is expected."""
    compiled(scaled)(np.float32(1))
    (file,) = kept()
    caches.write(module.KIND, file.stem, content)
    assert not hits(compiled(scaled))
    assert hits(compiled(scaled))


def test_what_others_can_write_is_not_run(kept, tmp_path):
    """A pickle of theirs would run their code."""
    compiled(scaled)(np.float32(1))
    (tmp_path / "loops").chmod(0o777)
    assert not hits(compiled(scaled))


def test_without_a_folder_that_can_be_written(monkeypatch):
    monkeypatch.setattr(caches, "folders", lambda: iter(()))
    assert not hits(compiled(scaled))


def test_what_is_in_a_closure_is_not_kept(kept):
    factor = 2.0

    def closed(x):
        return factor * x + 1

    assert not hits(compiled(closed)) and not kept()


def test_numbas_cache_folder_is_not_read(monkeypatch, kept, tmp_path):
    """$NUMBA_CACHE_DIR may be a folder that everybody can write to."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "numba"))
    compiled(scaled)(np.float32(1))
    assert not (tmp_path / "numba").exists()


@pytest.mark.slow
def test_without_compiling_at_all():
    code = "from snellen.cpu.compiled import compiled as c; f = lambda x: x; assert c(f) is f"
    disabled = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=disabled)
