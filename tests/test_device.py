"""Names of devices and the facts of the machine."""

from __future__ import annotations

import json

import pytest

from snellen import device, machine
from snellen.errors import DeviceError


@pytest.mark.parametrize("name", ["auto", "cpu"])
def test_the_cpu(name):
    assert device.resolve(name) == "cpu"


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:12"])
def test_no_gpu_kernels_yet(name):
    with pytest.raises(DeviceError, match="no GPU kernels yet; use --device cpu"):
        device.resolve(name)


@pytest.mark.parametrize("name", ["", "gpu", "cuda:", "cuda:x", "CPU", "cuda:-1", "cpu:0"])
def test_unknown(name):
    with pytest.raises(DeviceError, match="there are auto, cpu"):
        device.resolve(name)


def test_threads():
    assert device.threads() >= 1


def test_facts_are_json_with_everything_told():
    found = json.loads(json.dumps(machine.facts()))
    assert found["cpu"] and found["threads"] == device.threads()
    assert found["blas"] and all(name.strip() for name in found["blas"])
    assert isinstance(found["gpu"], list)
    for name in ("snellen", "python", "numpy", "scipy", "numba", "pyav", "ffmpeg", "system"):
        assert isinstance(found[name], str) and found[name]


def test_no_driver_is_no_gpu(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(machine.ctypes, "CDLL", missing)
    assert machine.gpus() == []
