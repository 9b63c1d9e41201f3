"""Training of one network on a folder: what `snellen train --method cnn` does."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from snellen.cli.train import train as command
from snellen.cnn.model import read
from snellen.errors import DeviceError, InputError
from snellen.jobs import NetworkSettings, Progress, Silent, TrainJob, run
from support.aplus.drawings import drawing

torch = pytest.importorskip("torch")
Run = importlib.import_module("snellen_lab.cnn.run").Run

SMALL = {"steps": 15, "batch": 2, "patch": 8}


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "drawings"
    found.mkdir()
    for k in range(4):
        Image.fromarray(np.uint8(drawing(k) * 255 + 0.5)).save(found / f"d{k}.png")
    return found


def job(folder, name, **more):
    settings = NetworkSettings(2, **{**SMALL, **more})
    target = folder.parent / f"{name}.safetensors"
    return TrainJob(images=folder, target=target, settings=settings, device="cpu", threads=1)


class Stopped(Silent):
    """Events that end the run at a step."""

    def __init__(self, step):
        self.step, self.steps = step, []

    def progress(self, progress: Progress) -> None:
        self.steps.append(progress)
        if progress.done == self.step:
            raise KeyboardInterrupt


def test_a_training_that_goes_on_gives_the_same_network(folder):
    once = job(folder, "once")
    first = run(TrainJob.from_json(once.to_json()))
    assert first.report.begun == 0 and first.report.steps == 15 and first.report.images == 4
    assert first.report.parameters == sum(a.size for a in _arrays(first.model)) == 10200
    threads, heard = torch.get_num_threads(), Stopped(10)
    again = job(folder, "twice")
    with pytest.raises(KeyboardInterrupt):
        run(again, heard)
    assert torch.get_num_threads() == threads
    assert again.checkpoint.exists() and not again.target.exists()
    assert [one.done for one in heard.steps] == [0, 5, 10]
    assert {(one.total, one.unit, one.stage) for one in heard.steps} == {(15, "step", "training")}
    second = run(again)
    assert second.report.begun == 10 and not again.checkpoint.exists()
    assert second.model.digest == first.model.digest == read(again.target).digest
    other = run(job(folder, "seed", seed=1))
    assert other.model.digest != first.model.digest


@pytest.mark.parametrize("place", ["a chunk", "a look", "the state"])
def test_an_interrupt_anywhere_keeps_what_was_finished(folder, monkeypatch, place):
    """Also in the first minute: the same command goes on, and the network is the same."""
    wanted = run(job(folder, "once", steps=20, hold_out=1)).model.digest
    name = {"a chunk": "_chunk", "a look": "look", "the state": "_states"}[place]
    plain, count = getattr(Run, name), 0

    def stopping(self, *given):
        nonlocal count
        count += 1
        found = plain(self, *given)
        if count == 3:  # in the third chunk, behind the third look, or the second state
            raise KeyboardInterrupt
        return found

    given = job(folder, "twice", steps=20, hold_out=1)
    with monkeypatch.context() as patched:
        patched.setattr(Run, name, stopping)
        with pytest.raises(KeyboardInterrupt):
            run(given)
    assert given.checkpoint.exists() and not given.target.exists()
    second = run(given)
    assert 0 < second.report.begun < 20 and second.model.digest == wanted


def test_an_interrupt_before_anything_is_finished_keeps_nothing(folder, monkeypatch):
    given = job(folder, "early")
    with pytest.raises(KeyboardInterrupt):
        run(given, Stopped(0))
    assert not given.checkpoint.exists()
    with pytest.raises(KeyboardInterrupt):
        run(given, Stopped(5))
    kept = given.checkpoint.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        run(given, Stopped(5))  # it goes on there, and is stopped at once
    assert given.checkpoint.read_bytes() == kept


@pytest.mark.parametrize(
    ("method", "step", "said"),
    [
        ("cnn", 5, "m.checkpoint has what was learnt: the same command goes on from there"),
        ("cnn", 0, "nothing is kept: no step was finished"),
        pytest.param(
            "aplus",
            0,
            "nothing is kept of a training of A+: the same command begins again",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_command_says_what_there_is(folder, monkeypatch, method, step, said):
    class Silenced(Stopped):
        def __init__(self, stack):
            super().__init__(step)

        def progress(self, progress: Progress) -> None:
            if method == "aplus":
                raise KeyboardInterrupt
            super().progress(progress)

    monkeypatch.setattr("snellen.cli.train._events", Silenced)
    words = ["--method", method, "--images", folder, "-o", folder.parent / "m.safetensors"]
    words += ["--steps", 20, "--batch", 2, "--patch", 8] if method == "cnn" else ["--anchors", 16]
    found = CliRunner().invoke(command, [str(word) for word in words])
    assert said in found.stderr and "Traceback" not in found.stderr
    assert found.exit_code != 0


def _arrays(model):
    from snellen.cnn.model import TENSORS

    return [getattr(model, name) for name in TENSORS]


def test_a_checkpoint_of_another_training_is_refused(folder):
    given = job(folder, "m")
    with pytest.raises(KeyboardInterrupt):
        run(given, Stopped(5))
    for other in (job(folder, "m", seed=1), job(folder, "m", network="fine")):
        with pytest.raises(InputError, match="of other tasks, settings or data"):
            run(other)
    for data in (b"mine", b"", b"\x08" + bytes(20)):
        given.checkpoint.write_bytes(data)
        with pytest.raises(InputError, match="not the checkpoint of a training"):
            run(given)
        assert given.checkpoint.read_bytes() == data
    assert not given.target.exists()


def test_the_command(folder, tmp_path):
    output = tmp_path / "m.safetensors"
    words = [
        "--method",
        "cnn",
        "--images",
        folder,
        "-o",
        output,
        "--hold-out",
        1,
        "--validate",
        folder,
        "--about",
        "attribution=Ann (CC0)",
        "--device",
        "cpu",
        "--json",
    ]
    for name, value in SMALL.items():
        words += [f"--{name}", value]
    done = CliRunner().invoke(command, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["images"] == 3 and facts["steps"] == 15 and facts["device"] == "CPU"
    assert facts["held_out"][-1]["step"] == 15 and facts["held_out"][-1]["psnr"] > 20
    assert len(facts["validation"]["drawings"]["images"]) == 4
    model = read(output)
    assert model.scale == 2 and output.stat().st_size < 200_000
    about = model.about
    assert about["data"] == "drawings" and about["attribution"] == "Ann (CC0)"
    assert "--method cnn" in about["command"] and about["steps"] == "15 of 15"
    assert json.loads(about["settings"])["batch"] == 2 and "PyTorch" in about["versions"]
    assert float(about["psnr_drawings"]) == pytest.approx(
        facts["validation"]["drawings"]["psnr"], abs=1e-4
    )
    assert not any(str(tmp_path) in value for value in about.values())
    assert sorted(one.name for one in tmp_path.iterdir()) == ["drawings", "m.safetensors"]


@pytest.mark.parametrize(
    ("more", "said"),
    [({"hold_out": 4}, "less than the 4 images"), ({"patch": 64}, "no picture has 64×64 samples")],
)
def test_what_cannot_be_learnt(folder, more, said):
    with pytest.raises(InputError, match=said):
        run(job(folder, "m", **more))
    assert [one.name for one in folder.parent.iterdir()] == ["drawings"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu(folder):
    from dataclasses import replace

    with pytest.raises(DeviceError, match="PyTorch finds 0 GPUs"):
        run(replace(job(folder, "m"), device="cuda"))
    with pytest.raises(InputError, match='expected "auto", "cpu"'):
        run(replace(job(folder, "m"), device="tpu"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")
def test_a_gpu_goes_on_with_the_same_numbers(folder):
    from dataclasses import replace

    once, again = (
        replace(job(folder, name, steps=150), device="cuda:0") for name in ("once", "twice")
    )
    first = run(once)
    with pytest.raises(KeyboardInterrupt):
        run(again, Stopped(100))
    second = run(again)
    assert second.report.begun == 100 and first.report.device == second.report.device != "CPU"
    assert first.model.digest == second.model.digest
