"""snellen doctor: what works here, as text and as JSON."""

from __future__ import annotations

import json
import re
import sys

import pytest

from snellen.gpu import device
from snellen.upscaling.shipped import files
from support.cli import run

pytestmark = pytest.mark.usefixtures("signals")


FEW = ("t91-x2", "t91-x4", "cnn-fine-film-x2")


@pytest.fixture
def few(monkeypatch):
    """A package of some of its models: to try all of them takes seconds."""
    found = {name: path for name, path in files().items() if name in FEW}
    monkeypatch.setattr("snellen.upscaling.shipped.files", lambda: found)


@pytest.mark.slow
def test_json_names_models_and_encoders(capfd, few):
    assert run("doctor", "--json") == 0
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert out.count("\n") == 1 and err == ""
    assert sorted(found["models"]) == sorted(FEW)
    assert all(state.startswith("works: ×") for state in found["models"].values())
    assert found["encoders"]["libx264"] == "works"
    assert all(s == "works" or s.startswith("no: ") for s in found["encoders"].values())
    assert found["device"] == device.resolve("auto") and found["threads"] >= 1
    assert found["gpu_kernels"] == "no: " + device.why_not() or device.why_not() == ""


@pytest.mark.gpu
def test_a_kernel_is_tried_on_the_gpu(capfd):
    assert run("doctor", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert found["device"] == "cuda:0"
    assert re.match(r"works: compiled for sm_\d+, \d+ multiprocessors", found["gpu_kernels"])


def test_text_says_the_same(capfd, few):
    assert run("doctor") == 0
    out, err = capfd.readouterr()
    assert err == "" and "libx264      works" in out
    said = "learnt from film pictures, whose pack has the SHA-256"
    assert re.search(rf"cnn-fine-film-x2 +works: ×2, {said} [0-9a-f]{{12}}…", out)
    states = re.search(r"models:\n((  .*\n)+)", out)[1].splitlines()
    assert len({line.index(" works: ") for line in states}) == 1
    assert all(name in out for name in ("cpu:", "blas:", "gpu:", "t91-x2", "t91-x4"))


@pytest.mark.parametrize("data", [b"", b"no model", bytes(100)])
def test_a_damaged_model_is_reported_not_raised(capfd, monkeypatch, tmp_path, data):
    damaged = tmp_path / "bad.safetensors"
    damaged.write_bytes(data)
    models = {"t91-x2": files()["t91-x2"], "bad": damaged}
    monkeypatch.setattr("snellen.upscaling.shipped.files", lambda: models)
    assert run("doctor", "--json") == 0
    found = json.loads(capfd.readouterr().out)["models"]
    assert found["bad"].startswith("no: ") and found["t91-x2"].startswith("works")


def test_warm_says_what_it_prepares(capfd, monkeypatch, tmp_path, first_use_is_said):
    """All that it prepares: tests/release/test_docker.py."""
    from snellen import caches
    from snellen.jobs.calls import warm

    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    work = {"scores": lambda device: iter([lambda: caches.compiling("loops")] * 2)}
    monkeypatch.setattr(warm, "_WORK", work)
    assert run("doctor", "--warm", "--json", "--device", "cpu") == 0
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert err == "preparing scores on cpu\n" and found["seconds"].keys() == {"scores on cpu"}
    assert found["compiled"] == {"loops": 2} and found["kept"] == str(tmp_path / "cache")
    (tmp_path / "cache").chmod(0o777)
    assert run("doctor", "--warm", "--device", "cpu") == 0
    out, err = capfd.readouterr()
    assert "warning: SNELLEN_CACHE: " in err and "can be written by other users" in err
    assert run("doctor", "--warm", "--device", "cuda:99") == 2


@pytest.mark.skipif(sys.platform != "linux", reason="devices of Linux")
@pytest.mark.parametrize("kind", ["nvenc", "qsv"])
def test_a_missing_device_is_called_so(monkeypatch, tmp_path, kind):
    """By the doctor and by a film that asks for the encoder; what FFmpeg says is kept."""
    from snellen.gpu import driver
    from snellen.jobs.checkup import _encoder
    from snellen.video.sink import hardware

    monkeypatch.setattr(driver, "count", lambda: 0)
    monkeypatch.setattr(hardware, "_DEVICES", tmp_path)
    assert _encoder(f"h264_{kind}").startswith("no: no such device")
    monkeypatch.setattr(driver, "count", lambda: 1)
    (tmp_path / "renderD128").touch()
    assert "no such device" not in _encoder(f"h264_{kind}")


def test_no_warning_is_no_line():
    from snellen.cli.doctor import _lines

    assert _lines({"kept": "a", "warning": ""}) == ["kept:         a"]
    assert _lines({"warning": "b"}) == ["warning:      b"]
