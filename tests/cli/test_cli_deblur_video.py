"""snellen deblur with videos: texts, pipes, damage, interrupts, JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

import av
import numpy as np
import pytest

from snellen.frames.luma import samples
from snellen.gpu import device
from snellen.mia import cpu
from support import cli
from support.cli import names, run
from support.jobs import FORMAT, FRAMES, HEIGHT, WIDTH, coded, planes, same
from support.mia.plain import deblur
from support.video.clips import make

pytestmark = pytest.mark.usefixtures("signals")

refused = partial(cli.refused, "deblur")

QUICK = {"psf_size": 5, "iterations": 3}
WORDS = ["--psf-size", 5, "--iterations", 3, "--device", "cpu", "--prior", "none"]


def json_lines(capsys, *words, code=0):
    """The lines of JSON but for progress."""
    assert run("deblur", *words, "--json") == code
    out, err = capsys.readouterr()
    assert err == ""
    lines = [json.loads(line) for line in out.splitlines()]
    return [line for line in lines if line["event"] != "progress"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.y4m", "out.mkv"])
def test_every_frame(capsys, clip, frames, tmp_path, name):
    lossless = ["--codec", "ffv1"] if name.endswith("mkv") else []
    goal = tmp_path / name
    assert run("deblur", clip, "-o", goal, *WORDS, *lossless) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{goal}: 4 frames, 24×20 4:2:0 8 bit → 24×20 4:2:0 8 bit")
    assert " ms a frame (99 %: " in out and "3 iterations, fit " in out and err == ""
    found = [deblur(samples(one[0], FORMAT), **QUICK, device="cpu").image for one in frames]
    same(planes(goal), [coded(one) for one in found], frames)


def test_each_frame_judged_by_itself(capsys, clip, frames, tmp_path, monkeypatch):
    """As a still: those without a blur stay as they are."""
    asked = iter(["no blur", "restored", "restored", "no blur", "implausible", "no blur"])
    monkeypatch.setattr("snellen.mia.l0.judge.before", lambda *_: next(asked))
    monkeypatch.setattr("snellen.mia.l0.judge.after", lambda *_: "restored")
    goal = tmp_path / "out.y4m"
    words = [clip, "-o", goal, "--psf-size", 3, "--device", "cpu", "--prior", "frames"]
    *each, notice, warning, done = json_lines(capsys, *words)
    outcomes = ["no blur", "restored", "no blur", "implausible"]
    assert [line["outcome"] for line in each] == outcomes
    assert notice["message"] == (
        "in 2 of 4 frames no blur found that could be undone: left as it is"
    )
    assert warning["message"].startswith("in 1 of 4 frames the blur that was found is not plaus")
    assert done["outcome"] == "restored" and done["warnings"] == [warning["message"]]
    for found, given, outcome in zip(planes(goal), frames, outcomes, strict=True):
        assert (found[0] == given[0]).all() == (outcome != "restored")


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], True), (["--iterations", 1], False), (["--window", 2], False), (["--tile", 20], False),
        (["--prior", "none"], False), (["--roi", "2,2,12,12"], False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("outcomes", [["no blur"] * 4, ["no blur", "restored", "no blur"]])
def test_a_film_for_which_nothing_was_chosen(
    capsys, clip, tmp_path, monkeypatch, words, said, outcomes
):
    """Plain MIA makes sharp frames worse, of which a warning tells; who chooses it knows."""
    asked = iter(outcomes)
    monkeypatch.setattr("snellen.jobs.runs.deblur_video.LOOK_EVERY", 1)
    monkeypatch.setattr("snellen.mia.l0.judge.before", lambda *_: next(asked, "no blur"))
    given = [clip, "-o", tmp_path / "out.mkv", "--psf-size", 3, "--device", "cpu", *words]
    assert run("deblur", *given) == 0
    assert capsys.readouterr().err == (said and "restored" not in outcomes) * (
        f"warning: {clip}: no blur found in the first frames: plain MIA makes sharp frames worse; "
        "--prior frames leaves them as they are\n"
    )


@pytest.mark.gpu
@pytest.mark.parametrize("words", [[], ["--warm"], ["--edges", "taper", "--roi", "4,2,16,16"]])
def test_every_frame_on_the_gpu(capsys, clip, tmp_path, words):
    """As on the CPU, but for a step where rounding decides."""
    goals = [tmp_path / "cpu.y4m", tmp_path / "cuda.y4m"]
    for goal in goals:
        assert run("deblur", clip, "-o", goal, *WORDS[:4], *words, "--device", goal.stem) == 0
    assert f" s on {device.name('cuda:0')};" in capsys.readouterr().out
    for one, other in zip(*map(planes, goals), strict=True):
        assert all(np.abs(a.astype(int) - b).max() <= 1 for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--roi", "0,0,25,10"], "got a region of 25×10 for frames of 24×20"),
        (["--roi", "20,0,12,10"], "the region leaves the frame"),
        (["--roi", "0,0,12,4"], "got a PSF of 5×5 for a picture of 12×4"),
        (["--psf-size", 31], "got a PSF of 31×31 for a picture of 24×20"),
        (["--tile", 4], "--tile 4 with a PSF"),
        (["--start", "soon"], "expected seconds"),
        (
            ["--noise", "gaussian", "--read-noise", "0.1"],
            "--read-noise 0.1 with --noise 'gaussian'",
        ),
    ],
)
def test_what_cannot_be_done_leaves_nothing(capsys, clip, tmp_path, words, said):
    out = ["--psf-out", tmp_path / "psf.npy"]
    refused(capsys, [clip, "-o", tmp_path / "out.mkv", *WORDS, *words, *out], said)
    assert names(tmp_path) == ["clip.y4m"]


def test_an_odd_region_needs_other_pixels(capsys, clip, tmp_path):
    words = [clip, "-o", tmp_path / "out.mkv", *WORDS, "--roi", "0,0,13,10"]
    refused(capsys, words, "4:4:4", "take an even width and height, or")
    assert names(tmp_path) == ["clip.y4m"]


@pytest.mark.slow
def test_json(capsys, clip, frames, tmp_path):
    goal, psf = tmp_path / "out.y4m", tmp_path / "psf.png"
    *rows, done = json_lines(capsys, clip, "-o", goal, *WORDS, "--psf-out", psf)
    found = [deblur(samples(one[0], FORMAT), **QUICK, device="cpu") for one in frames]
    for number, (row, one) in enumerate(zip(rows, found, strict=True)):
        assert row.pop("ms") > 0
        assert row == {
            "event": "frame", "input": str(clip), "frame": number, "fit": one.fit, "iterations": 3,
                "outcome": None,
        }  # fmt: skip
    assert done["event"] == "done" and done["frames"] == FRAMES and done["psf"] == str(psf)
    assert done["fit"] == pytest.approx(np.mean([one.fit for one in found]))
    assert done["iterations"] == 3 and 0 < done["ms_p50"] <= done["ms_p99"]
    assert (done["width"], done["height"], done["device"]) == (WIDTH, HEIGHT, "cpu")
    with av.open(str(psf)) as container:  # of the last frame
        shades = next(container.decode(video=0)).to_ndarray(format="gray16le")
    wanted = found[-1].psf / found[-1].psf.max() * 65535
    assert np.abs(shades - wanted).max() < 0.51


@pytest.mark.slow
def test_pipes(clip, frames, tmp_path):
    command = [
        sys.executable,
        "-m",
        "snellen",
        "deblur",
        "-",
        "-o",
        "-",
        *map(str, WORDS),
        "--json",
    ]
    done = subprocess.run(command, input=clip.read_bytes(), capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    (tmp_path / "out.y4m").write_bytes(done.stdout)
    found = [deblur(samples(one[0], FORMAT), **QUICK, device="cpu").image for one in frames]
    same(planes(tmp_path / "out.y4m"), [coded(one) for one in found], frames)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in lines if line["event"] != "progress"][-1] == "done"


@pytest.mark.slow
def test_a_damaged_video_is_restored_as_far_as_it_goes(capsys, tmp_path):
    source = make(tmp_path / "whole.mp4", frames=20, container={"movflags": "faststart"})
    (tmp_path / "cut.mp4").write_bytes(source.read_bytes()[:-2000])
    lines = json_lines(capsys, tmp_path / "cut.mp4", "-o", tmp_path / "out.y4m", *WORDS, code=3)
    rows = [line for line in lines if line["event"] == "frame"]
    assert lines[-2]["event"] == "done" and lines[-2]["lost"] and len(rows) < 20
    assert lines[-1]["event"] == "error" and lines[-1]["exit_code"] == 3
    assert len(planes(tmp_path / "out.y4m")) == len(rows) > 0


@pytest.mark.parametrize("name", ["out.y4m", "out.mkv"])
def test_an_interrupt_leaves_nothing(capsys, clip, tmp_path, monkeypatch, name):
    whole, count = cpu.Backend.iterate, []

    def interrupted(self, iterations):
        count.append(1)
        if len(count) > 3:  # prepare has its own
            raise KeyboardInterrupt
        whole(self, iterations)

    monkeypatch.setattr(cpu.Backend, "iterate", interrupted)
    words = [clip, "-o", tmp_path / name, *WORDS, "--psf-out", tmp_path / "psf.npy"]
    assert run("deblur", *words) == 130
    err = capsys.readouterr().err
    assert "interrupted" in err and "Traceback" not in err
    assert names(tmp_path) == ["clip.y4m"]
