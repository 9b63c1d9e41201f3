"""snellen upscale with videos: a few runs; the pipeline has tests of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import av
import numpy as np
import pytest

from snellen.errors import DeviceError
from snellen.frames.frame import Format, Frame
from snellen.gpu import device
from snellen.upscaling import upscaler
from snellen.upscaling.upscaler import Upscaler
from snellen.video.sink import hardware
from snellen.video.source import nvdec
from support.cli import run

pytestmark = pytest.mark.usefixtures("signals")

WIDTH, HEIGHT, FRAMES = 20, 14, 5
SHAPES = [(HEIGHT, WIDTH), (HEIGHT // 2, WIDTH // 2), (HEIGHT // 2, WIDTH // 2)]


@pytest.fixture
def frames(random):
    return [[random.integers(16, 236, s, np.uint8) for s in SHAPES] for _ in range(FRAMES)]


@pytest.fixture
def clip(frames, tmp_path):
    path = tmp_path / "clip.y4m"
    head = f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip A1:1 C420mpeg2\n".encode()
    pictures = [b"FRAME\n" + b"".join(p.tobytes() for p in frame) for frame in frames]
    path.write_bytes(head + b"".join(pictures))
    return path


def planes(path):
    """Decoded planes of every frame, by PyAV alone."""
    with av.open(str(path)) as container:
        found = []
        for frame in container.decode(video=0):
            views = [np.frombuffer(p, np.uint8).reshape(-1, p.line_size) for p in frame.planes]
            widths = [frame.width, frame.width // 2, frame.width // 2]
            found.append([v[:, :w].copy() for v, w in zip(views, widths, strict=True)])
    return found


def enlarged(small_model, frames):
    with Upscaler(2, small_model) as step:
        step.prepare(Format(WIDTH, HEIGHT, 8, (1, 1)))
        return [step.run(Frame(tuple(frame))).planes for frame in frames]


def same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.y4m", "out.mkv"])
def test_every_frame(capsys, clip, frames, tmp_path, small_model, name):
    lossless = ["--codec", "ffv1"] if name.endswith("mkv") else []
    goal = tmp_path / name
    assert run("upscale", clip, "-o", goal, "--model", small_model, *lossless) == 0
    out, _ = capsys.readouterr()
    assert f"{goal}: 5 frames" in out
    same(planes(goal), enlarged(small_model, frames))


def test_the_cpu_steps_in_where_autos_gpu_has_no_room(
    capsys, clip, frames, tmp_path, small_model, monkeypatch
):
    class Full:
        slots = 1

        def __init__(self, *arguments, **settings):
            raise DeviceError("the GPU's memory does not suffice")

    wanted = enlarged(small_model, frames)
    monkeypatch.setattr(device, "resolve", lambda asked: "cpu" if asked == "cpu" else "cuda:0")
    monkeypatch.setattr(device, "name", lambda used: used)
    monkeypatch.setattr(upscaler.cuda, "Backend", Full)
    goal = tmp_path / "out.y4m"
    words = ["upscale", clip, "-o", goal, "--model", small_model]
    assert run(*words, "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["event"] == "warning" and "memory does not suffice" in lines[0]["message"]
    assert lines[-1]["device"] == "cpu"
    same(planes(goal), wanted)
    before = goal.read_bytes()
    assert run(*words, "--overwrite", "--device", "cuda") == 2  # what is asked for is not replaced
    assert "memory does not suffice" in capsys.readouterr().err
    assert goal.read_bytes() == before


@pytest.mark.slow
def test_part_and_json(capsys, clip, frames, tmp_path, small_model):
    goal = tmp_path / "out.y4m"
    words = ["--model", small_model, "--frames", 2, "--json"]
    assert run("upscale", clip, "-o", goal, *words) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[-1]["event"] == "done" and lines[-1]["frames"] == 2
    assert (lines[-1]["width"], lines[-1]["height"]) == (40, 28)
    same(planes(goal), enlarged(small_model, frames[:2]))


def test_pipes(clip, frames, tmp_path, small_model):
    command = [sys.executable, "-m", "snellen", "upscale", "-", "-o", "-", "--model", small_model]
    done = subprocess.run(command, input=clip.read_bytes(), capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    (tmp_path / "out.y4m").write_bytes(done.stdout)
    same(planes(tmp_path / "out.y4m"), enlarged(small_model, frames))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.y4m", "out.mkv"])
def test_an_interrupt_leaves_nothing(capsys, clip, tmp_path, small_model, monkeypatch, name):
    whole = upscaler.Upscaler.run
    count = []

    def interrupted(self, frame):
        count.append(1)
        if len(count) > 4:  # prepare runs two
            raise KeyboardInterrupt
        return whole(self, frame)

    monkeypatch.setattr(upscaler.Upscaler, "run", interrupted)
    assert run("upscale", clip, "-o", tmp_path / name, "--model", small_model) == 130
    err = capsys.readouterr().err
    assert "interrupted" in err and "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["clip.y4m"]


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["auto", "cpu", "nvdec"])
def test_decoders(capsys, clip, frames, tmp_path, small_model, monkeypatch, decoder):
    """The same frames; one that does not work is replaced, with a warning."""
    monkeypatch.setattr(nvdec, "probe", lambda *_: "no such device")
    goal = tmp_path / "out.y4m"
    words = ["--model", small_model, "--decoder", decoder]
    assert run("upscale", clip, "-o", goal, *words) == 0
    line = f"warning: {clip}: NVDEC does not work here (no such device): the CPU decodes instead\n"
    assert capsys.readouterr().err == (line if decoder == "nvdec" else "")
    same(planes(goal), enlarged(small_model, frames))


@pytest.mark.slow
def test_an_encoder_of_nvidias(capsys, clip, tmp_path, small_model, monkeypatch):
    monkeypatch.setattr(hardware, "probe", lambda *_: "no such device")
    goal = tmp_path / "out.mkv"
    words = ["--model", small_model, "--codec", "h264_nvenc", "--preset", "p1", "--crf", 20]
    assert run("upscale", clip, "-o", goal, *words, "--strict") == 2
    assert "strict, but h264_nvenc does not work here" in capsys.readouterr().err
    assert not goal.exists()
    assert run("upscale", clip, "-o", goal, *words, "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    warnings = [line["message"] for line in lines if line["event"] == "warning"]
    line = "h264_nvenc does not work here (no such device): libx264 is used instead"
    assert warnings == [line] == lines[-1]["warnings"]
    assert lines[-1]["encoder"] == "libx264"


@pytest.mark.slow
def test_the_device_is_named(capsys, clip, tmp_path, small_model):
    words = ["upscale", clip, "-o", tmp_path / "out.y4m", "--model", small_model, "--overwrite"]
    assert run(*words, "--device", "cpu", "--json") == 0
    done = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert done["device"] and done["decoder"] == "cpu"
    assert run(*words, "--device", "cpu") == 0
    assert capsys.readouterr().out.endswith(f" s on {done['device']}, A+ (small.safetensors)\n")


@pytest.mark.slow
@pytest.mark.parametrize("chroma", ["auto", "cpu", "gpu"])
def test_chroma_reaches_the_upscaler(clip, tmp_path, small_model, monkeypatch, chroma):
    asked = []

    class Asking(Upscaler):
        def __init__(self, scale, model, device, chroma):
            asked.append(chroma)
            super().__init__(scale, model, device)

    monkeypatch.setattr("snellen.jobs.runs.upscale_video.Upscaler", Asking)
    words = ["--model", small_model, "--chroma", chroma, "--device", "cpu"]
    assert run("upscale", clip, "-o", tmp_path / "out.y4m", *words) == 0
    assert asked == [chroma]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--start", "soon"], "expected seconds"),
        (["--duration", "0"], "more than 0"),
        (["--start", "1:-30"], "expected seconds"),
        (["--start", "1:75"], "expected seconds"),
        (["--start", "1/2"], "expected seconds"),
        (["--start", "1e9"], "expected seconds"),
        (["--start", "1:2:3:4"], "expected seconds"),
        (["-e", "tune"], "expected KEY=VALUE"),
        (["--codec", "no-such-codec"], "no-such-codec"),
        (["--preset", "warp"], "--preset warp; libx264 expects one of ultrafast"),
        (["--model", "no-such-model"], "neither a file"),
    ],
)
def test_wrong_options(capsys, clip, tmp_path, small_model, words, said):
    goal = tmp_path / "out.mkv"
    assert run("upscale", clip, "-o", goal, "--model", small_model, *words) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and said in err
    assert not goal.exists()


def test_a_text_called_video(capsys, tmp_path, small_model):
    (tmp_path / "text.mp4").write_text("no video\n" * 100)
    words = [tmp_path / "text.mp4", "-o", tmp_path / "out.mkv", "--model", small_model]
    assert run("upscale", *words) == 2
    assert "text.mp4" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["text.mp4"]
