"""Compiled loops are kept on disk, and whatever is wrong there, they work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import FunctionType

import numpy as np
import PIL.Image
import pytest

from snellen import caches
from snellen.cpu import compiler, machine
from snellen.cpu.compiled import compiled
from snellen.cpu.external import multiply_add

FACTOR = 2.0


def scale(x, out):
    for i in range(out.shape[0]):
        out[i] = FACTOR * x[i] + 1


def transpose(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[j, i]


@compiled
def add(x, number, out):
    for i in range(out.shape[0]):
        out[i] = x[i] + number


def twice(x, number, out):
    add(x, number, out)
    add(out, number, out)


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """An empty cache; returns its files."""
    monkeypatch.setattr(caches, "folders", lambda: iter([caches.Folder(tmp_path, private=True)]))
    return lambda: sorted((tmp_path / "loops").glob("*"))


@pytest.fixture
def made(monkeypatch):
    """Names of what is compiled."""
    names, compile = [], compiler.loop

    def loop(name, *arguments):
        names.append(name)
        return compile(name, *arguments)

    monkeypatch.setattr(compiler, "loop", loop)
    return names


def scaled(loop, dtype=np.float32):
    out = np.zeros(3, dtype)
    loop(np.array([1, 1.5, 2], dtype), out)
    return out.tolist()


@pytest.mark.slow
def test_the_code_is_kept_on_disk(kept, made):
    for types, dtype in enumerate((np.float32, np.float64), 1):
        for _ in range(2):
            assert scaled(compiled(scale), dtype) == [3, 4, 5]
            assert len(kept()) == len(made) == types


@pytest.mark.slow
def test_types_may_change_from_call_to_call(kept, made):
    loop = compiled(scale)
    for dtype in (np.float32, np.float64, np.float32, np.int16):
        assert scaled(loop, dtype) == ([3, 3, 5] if dtype is np.int16 else [3, 4, 5])
    assert len(loop.types) == len(made) == 3


def test_constants_and_callees_count(kept, made):
    scaled(compiled(scale))
    other = FunctionType(scale.__code__, {**globals(), "FACTOR": 3.0}, "scale")
    assert scaled(compiled(other)) == [4, 5.5, 7]  # not what the code on disk would give
    out = np.zeros(2)
    compiled(twice)(np.ones(2), 0.5, out)
    assert out.tolist() == [2, 2] and len(made) == 3
    minus = compiled(FunctionType(add.function.__code__, {"FACTOR": 1}, "add"))
    minus.function.__code__ = scale.__code__.replace(co_name="add")
    changed = FunctionType(twice.__code__, {"add": minus}, "twice")
    with pytest.raises(Exception, match="argument"):  # compiled again: what it calls takes two
        compiled(changed)(np.ones(2), 0.5, out)


def test_numbers_have_the_types_they_come_with(kept):
    out = np.zeros(1)
    for number, wanted in ((1, 2), (0.1, 1.1), (np.float32(0.1), 1 + float(np.float32(0.1)))):
        add(np.ones(1), number, out)
        assert out[0] == wanted
    for odd in ("1", None, np.int32(1), [1]):
        with pytest.raises(TypeError, match="expected an array, int or float"):
            add(np.ones(1), odd, out)


def test_layouts():
    plane, out = np.arange(12.0).reshape(3, 4), np.zeros((8, 6))
    loop = compiled(transpose, strided=("out",))
    loop(plane, out[::2, ::2])
    assert (out[::2, ::2] == plane.T).all() and not out[1::2].any()
    loop(plane[:, :2].copy(), np.zeros((2, 3)))
    with pytest.raises(TypeError, match="C-contiguous"):
        loop(plane[:, ::2], np.zeros((2, 3)))
    with pytest.raises(TypeError, match="native byte order"):
        loop(plane.astype(plane.dtype.newbyteorder("S")), out[:4, :3])
    loop(plane, out[:4, :3])
    with pytest.raises(TypeError, match="takes 2 arguments"):
        loop(plane)


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[:-1], lambda data: data[:-1] + bytes([data[-1] ^ 1])],
)
def test_a_damaged_file_is_replaced(kept, made, damage):
    scaled(compiled(scale))
    (file,) = kept()
    file.write_bytes(damage(file.read_bytes()))
    for _ in range(2):
        assert scaled(compiled(scale)) == [3, 4, 5] and len(made) == 2


@pytest.mark.cases(3)
@pytest.mark.parametrize("symbols", [None, "no_such_symbol", ["no_such_symbol"], [1]])
def test_what_cannot_be_loaded_is_replaced(kept, made, symbols):
    """As of another version: whole, but not what is expected."""
    scaled(compiled(scale))
    (file,) = kept()
    caches.write(machine.KIND, file.stem, json.dumps(symbols).encode() + b"\nrest")
    for _ in range(2):
        assert scaled(compiled(scale)) == [3, 4, 5] and len(made) == 2


@pytest.mark.slow
def test_what_others_can_write_is_not_run(kept, made, tmp_path):
    scaled(compiled(scale))
    (tmp_path / "loops").chmod(0o777)
    assert scaled(compiled(scale)) == [3, 4, 5] and len(made) == 2


@pytest.mark.slow
def test_without_a_folder_that_can_be_written(monkeypatch, made):
    monkeypatch.setattr(caches, "folders", lambda: iter(()))
    for _ in range(2):
        assert scaled(compiled(scale)) == [3, 4, 5]
    assert len(made) == 2


def test_a_closure_is_refused():
    factor = 2.0

    def closed(x):
        x[0] = factor

    with pytest.raises(TypeError, match="closure"):
        compiled(closed)


def test_numbas_cache_folder_is_not_read(monkeypatch, kept, tmp_path):
    """$NUMBA_CACHE_DIR may be a folder that everybody can write to."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "numba"))
    scaled(compiled(scale))
    assert not (tmp_path / "numba").exists()


WARM = """
import sys
from snellen.cli import main
try:
    main(["upscale", "--device", "cpu", *sys.argv[1:]])
finally:
    packages = {"numba", "av", "rich", "simplejpeg", "yaml", "scipy.fft", "scipy.linalg"}
    print(packages & set(sys.modules), file=sys.stderr)
"""


def test_kept_code_runs_without_what_compiles_it(tmp_path):
    """What a picture does not need takes longer to import than the picture takes."""
    PIL.Image.new("RGB", (9, 9)).save(tmp_path / "in.png")
    for name in "ab":
        command = [sys.executable, "-c", WARM, tmp_path / "in.png", "-o", tmp_path / f"{name}.png"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr == "set()\n"


@pytest.mark.slow
def test_without_compiling_at_all():
    code = "from snellen.cpu.compiled import compiled as c; f = lambda x: x; assert c(f) is f"
    disabled = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=disabled)


def fused(a, b, c, out):
    for i in range(len(out)):
        out[i] = multiply_add(a[i], b[i], c[i])


def test_products_are_added_with_one_rounding(kept, monkeypatch):
    """Where the processor can do so, else with two; in Python always with one."""
    a, b, c = np.random.RandomState(1).random_sample((3, 1000)).astype(np.float32)
    once = (a.astype(np.float64) * b - c).astype(np.float32)
    twice = a * b - c
    assert (once != twice).any()
    out = np.empty_like(a)
    compiled(fused)(a, b, -c, out)
    assert np.array_equal(out, once) or np.array_equal(out, twice)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    compiled(fused)(a, b, -c, out)
    assert np.array_equal(out, once)
