"""Models, PSFs and positions from strangers: an error in one line, whatever is in them."""

from __future__ import annotations

import json
import os
import pickle
import struct
from io import BytesIO

import numpy as np
import pytest

from snellen.aplus.model import Model
from snellen.errors import InputError, ModelError
from snellen.jobs.options import psf_files
from snellen.jobs.options.positions import Region
from snellen.upscaling.models import load


def tensors(model, **changes):
    """Return a safetensors file of a model with a changed header."""
    parts, head, start = [], {}, 0
    for name in ("anchors", "basis", "projections"):
        data = np.ascontiguousarray(getattr(model, name))
        head[name] = {
            "dtype": "F32",
            "shape": data.shape,
            "data_offsets": [start, start + data.nbytes],
        }
        start += data.nbytes
        parts.append(data.tobytes())
    head["__metadata__"] = {"format": "snellen-aplus-1", "scale": "2", "window": "3"}
    for name, change in changes.items():
        head[name] = {**head[name], **change} if head.get(name) else change
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


@pytest.mark.parametrize(
    "changes",
    [
        *({"basis": {"dtype": kind}} for kind in ("F8_E4M3", "BF16", "I8", "F64", "X", 1)),
        *({"anchors": {"shape": size}} for size in ([0], [2**63, 2], [2**32] * 2, [-1], "x", [])),
        {"anchors": {"data_offsets": [0, 2**62]}},
        {"basis": {"data_offsets": [0, 4]}},
        {"__metadata__": {"scale": "9" * 5000}},
        {"__metadata__": {"window": "\ud800"}},
        {"__metadata__": {"window": "1" + "0" * 4000}},
    ],
)  # fmt: skip
def test_models(random_model, tmp_path, changes):
    path = tmp_path / "m.safetensors"
    path.write_bytes(tensors(random_model(2)))
    load(path, 2)
    path.write_bytes(tensors(random_model(2), **changes))
    os.utime(path, (0, 0))  # another time, even where clocks are slow
    with pytest.raises(ModelError) as caught:
        load(path, 2)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 6000


def test_a_model_of_a_file_is_read_only(small_model):
    """All callers get the same one."""
    model = load(small_model, 2)
    for array in (model.anchors, model.basis, model.projections):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


@pytest.mark.parametrize("name", ["basis", "projections"])
def test_models_that_would_overflow(random_model, name):
    one = random_model(2)
    parts = {key: getattr(one, key) for key in ("anchors", "basis", "projections")}
    parts[name] = parts[name] * np.float32(1e30)
    with pytest.raises(ModelError, match=rf"got {name} with a value of .*; expected at most"):
        Model(2, 3, **parts)


class Evil:
    def __reduce__(self):
        return os.abort, ()


def array_file(array, pickled=False):
    file = BytesIO()
    np.save(file, array, allow_pickle=pickled)
    return file.getvalue()


def header(text, data=b""):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1") + data


def claims(shape, kind="<f4"):
    return header(
        f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}\n", b"\1" * 99
    )


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x93NUMPY", b"PK\x03\x04 and no archive", b"PK\x05\x06" + bytes(18),
        array_file(np.ones((5, 5)))[:-1],
        claims((10**10, 10**10)), claims((2**62, 4)), claims((100_000, 100_000)), claims((-1, 5)),
        claims((5, 5), "<f16"), claims((2, 2), "|O"), claims((2, 2), "<c8"),
        claims((2, 2), "|S4"), claims((2, 2), "<M8[s]"),
        header("(" * 5000), header("9" * 9900), header("{'descr': '<f4'"), header("'x' * 10**9"),
        header("x" * 60_000), header("[]"),
        array_file(np.array([[Evil()]], object), pickled=True), pickle.dumps(Evil()),
        array_file(np.array([(1, 2)], "i4,f4")),
        *(array_file(np.full((5, 5), value)) for value in (np.nan, np.inf, -1.0, 0.0)),
    ],
)  # fmt: skip
def test_psfs(tmp_path, data):
    (tmp_path / "psf.npy").write_bytes(data)
    with pytest.raises(InputError) as caught:
        psf_files.read(tmp_path / "psf.npy")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "array",
    [
        np.ones((5, 5), ">f4"),
        np.asfortranarray(np.arange(1, 26).reshape(5, 5)),
        np.ones((4, 6), bool),
    ],
)
def test_unusual_psfs_that_are_sound(tmp_path, array):
    np.save(tmp_path / "psf.npy", array)
    np.testing.assert_array_equal(psf_files.read(tmp_path / "psf.npy"), array)


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff\xfe1\x00,\x002\x00", b"\x00" * 100, b"1,2\x00", b"nan,1", b"1e3,4",
        b"\x1b[31m,2", b"9" * 100 + b",1", b"#" * 1000, b",,,", b"1,2,3", b" " * 1000,
        b"1" * 100_000,
    ],
)  # fmt: skip
def test_positions(tmp_path, data):
    (tmp_path / "track.txt").write_bytes(data)
    with pytest.raises(InputError) as caught:
        Region(4, 4, positions=tmp_path / "track.txt").track()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400 + len(str(tmp_path))


@pytest.mark.cases(3)
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/proc/self/mem", ".", "/nowhere"])
def test_what_is_no_ordinary_file(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("snellen.jobs.options.positions._MOST_BYTES", 1 << 20)
    (tmp_path / "psf.npy").symlink_to(path)
    for read in (
        lambda: load(tmp_path / "psf.npy", 2),
        lambda: psf_files.read(tmp_path / "psf.npy"),
        Region(4, 4, positions=tmp_path / "psf.npy").track,
    ):
        with pytest.raises(InputError):
            read()
