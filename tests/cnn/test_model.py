"""Model files of compact networks: exact round trips, and clear errors for all else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load, save

from snellen.cnn.definition import SIZES
from snellen.cnn.model import TENSORS, read
from snellen.errors import ModelError, OutputError
from support.cnn import reference


def rewritten(path, change):
    """Write the tensors and strings of a model file anew, changed."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    tensors, strings = load(data), header["__metadata__"]
    change(tensors, strings)
    path.write_bytes(save(tensors, strings))


@pytest.mark.parametrize("side", [3, 5])
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_round_trip(random, tmp_path, scale, side):
    model = reference.model(random, scale, 3, 8, side)
    model.save(tmp_path / "a.safetensors")
    found = read(tmp_path / "a.safetensors")
    assert found.scale == scale and found.digest == model.digest
    assert dict(found.about) == {"made": "by chance"}
    for name in TENSORS:
        np.testing.assert_array_equal(getattr(found, name), getattr(model, name))
        assert not getattr(found, name).flags.writeable
    found.save(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    with pytest.raises(OutputError):
        found.save(tmp_path / "b.safetensors", overwrite=False)


def test_arrays_that_are_not_contiguous_are_saved_as_they_are(random, tmp_path):
    model = reference.model(random, 2, 3, 8, 3)
    turned = {name: np.asfortranarray(getattr(model, name)) for name in TENSORS}
    turned = {name: array for name, array in turned.items() if array.ndim > 1}
    assert not any(array.flags.c_contiguous for array in turned.values())
    other = replace(model, **turned)
    assert all(getattr(other, name).flags.c_contiguous for name in TENSORS)
    assert other.digest == model.digest
    other.save(tmp_path / "turned")
    model.save(tmp_path / "plain")
    assert (tmp_path / "turned").read_bytes() == (tmp_path / "plain").read_bytes()
    for name in TENSORS:
        assert (getattr(read(tmp_path / "turned"), name) == getattr(model, name)).all()


def test_files_are_small(random, tmp_path):
    for layers, channels in SIZES.values():
        model = reference.model(random, 4, layers, channels)
        model.save(tmp_path / "a.safetensors")
        assert (tmp_path / "a.safetensors").stat().st_size < 150_000


def test_digest_is_of_all_that_counts(random):
    model = reference.model(random, 2)
    other = {name: getattr(model, name) + np.float16(0.5) for name in TENSORS}
    digests = {model.digest, *(replace(model, **{n: a}).digest for n, a in other.items())}
    assert len(digests) == len(TENSORS) + 1
    assert replace(model, about={}).digest == model.digest


WRONG = {
    "scale 5": {"scale": 5},
    "first_weight of shape": {"first_weight": np.zeros((4, 9), np.float16)},
    "body_bias of shape": {"body_bias": np.zeros(4, np.float16)},
    "skip of shape": {"skip": np.zeros((4, 7, 7), np.float16)},
    "dtype float32": {"last_bias": np.zeros(4, np.float32)},
    "NaN or infinity in body_slope": {"body_slope": np.full((2, 4), np.inf, np.float16)},
    "last_weight of shape": {"last_weight": np.zeros((9, 4, 3, 3), np.float16)},
}


@pytest.mark.cases
@pytest.mark.parametrize("message", WRONG)
def test_wrong_arrays(random, message):
    with pytest.raises(ModelError, match=message):
        replace(reference.model(random, 2), **WRONG[message])


def test_too_many_channels(random):
    with pytest.raises(ModelError, match=r"body_bias of shape \(0, 65\)"):
        reference.model(random, 2, 0, 65)


def test_wrong_files(random, tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(ModelError):
        read(path)
    reference.model(random, 2).save(path)
    whole = path.read_bytes()
    for data in (b"", whole[:100], whole[:-1], whole + b"x", b"\xff" * 64, bytes(1 << 23)):
        path.write_bytes(data)
        with pytest.raises(ModelError):
            read(path)
    for change in (
        lambda tensors, strings: tensors.pop("skip"),
        lambda tensors, strings: tensors.update(more=np.zeros(3, np.float16)),
        lambda tensors, strings: tensors.update(skip=np.zeros((4, 5, 5))),
        lambda tensors, strings: strings.pop("format"),
        lambda tensors, strings: strings.update(format="snellen-aplus-1"),
        lambda tensors, strings: strings.pop("scale"),
        lambda tensors, strings: strings.update(scale="2.0"),
        lambda tensors, strings: strings.update(scale="3"),
    ):
        path.write_bytes(whole)
        rewritten(path, change)
        with pytest.raises(ModelError, match=r"a\.safetensors"):
            read(path)
