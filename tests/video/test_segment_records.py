"""Records and packets of segments whose numbers cannot be, although their checksums are right."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import asdict
from hashlib import sha256

import numpy as np
import pytest

from snellen.errors import OutputError
from snellen.jobs.steps.deblur_step import FrameFits
from snellen.mia.result import Restored
from snellen.video.segments import packets, store
from snellen.video.segments.manifest import plain, read_manifest, record_of
from snellen.video.segments.values import Record

RECORD = Record(1, 3, (0, "a"), (90, "b"), 1, 54, "0" * 64, "1" * 64, "cpu")


@pytest.mark.cases
@pytest.mark.parametrize(
    "change",
    [
        {"frames": -1}, {"frames": 10**30}, {"delay": 2**63}, {"size": -5}, {"moved": 10**19},
        {"transparent": -1}, {"number": -1}, {"first": [0]}, {"first": ["0", "a"]},
        {"after": [10**30, "b"]}, {"after": [True, "b"]}, {"first": [0, 5]}, {"first": []},
    ],
)  # fmt: skip
def test_numbers_that_cannot_be(change):
    found = plain(asdict(RECORD))
    assert record_of(json.loads(json.dumps(found))) == RECORD
    with pytest.raises((ValueError, TypeError)):
        record_of({**found, **change})


def written(file, times=(0, 2, 1), duration=1):
    with file.open("wb") as out:
        writer = packets.PacketWriter(out)
        for time in times:
            writer._put(struct.pack("<qqIB", time, duration, 5, 1) + b"abcde")
    return file.read_bytes()


@pytest.mark.cases
@pytest.mark.parametrize(
    "harm",
    [
        lambda data: data[:-1], lambda data: data + b"x", lambda data: data[:-26] + data[-20:],
        lambda data: b"x" + data[1:], lambda data: b"", lambda data: data[:18],
        lambda data: data[:34] + b"\xff\xff\xff\xff" + data[38:],
        lambda data: data[:18] + b"\xff" * 7 + b"\x7f" + data[26:],
        lambda data: data[:26] + b"\xff" * 8 + data[34:],
    ],
)  # fmt: skip
def test_packets_that_cannot_be(tmp_path, harm):
    file = tmp_path / "0001.packets"
    data = written(file)
    assert packets.is_sound(file, len(data), 1)
    assert not packets.is_sound(file, len(data), 2)
    assert not packets.is_sound(file, len(data) + 1, 1)
    harmed = harm(data)
    file.write_bytes(harmed)
    assert not packets.is_sound(file, len(harmed), 1)


def test_a_segment_of_false_numbers_is_made_again(tmp_path):
    found = store.Store(tmp_path, {})
    data = written(found.file(1))
    good = Record(1, 3, None, None, 1, len(data), sha256(data).hexdigest(), "", "cpu")
    for change, whole in (({}, {1}), ({"delay": 10**9}, set()), ({"size": 9}, set())):
        found = store.Store(tmp_path, {})
        found.records = {1: Record(**{**asdict(good), **change})}
        assert found.whole() == whole


def test_a_manifest_beyond_all_sizes_is_none(tmp_path):
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(1 << 40)
    assert read_manifest(tmp_path) is None


def _at_each_entry(data, offset, byte):
    """Harm each entry of a zip file's directory: the version that it needs, or its flags."""
    whole = bytearray(data)
    for found in re.finditer(b"PK\1\2", data):
        whole[found.start() + offset : found.start() + offset + 1] = byte
    return bytes(whole)


@pytest.mark.parametrize("harm", [lambda data: data[:100], lambda data: b"x" * 50,
                                  lambda data: data.replace(b"fit.npy", b"fat.npy"),
                                  lambda data: _at_each_entry(data, 6, b"\x80"),
                                  lambda data: _at_each_entry(data, 8, b"\1")])  # fmt: skip
def test_notes_that_cannot_be_read(harm):
    fits = FrameFits(lambda row: None, keep=True)
    fits.add(Restored(None, np.ones((3, 3), np.float32), 0.5, 2, (), None), 1.5)
    packed = fits.packed(0, 1)
    fits.unpack([packed])
    with pytest.raises(OutputError, match="cannot be read; make the segments anew"):
        fits.unpack([harm(packed)])
