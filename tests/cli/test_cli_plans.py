"""--plan, --segments and --join."""

from __future__ import annotations

from fractions import Fraction

import pytest

from snellen.video.segments import cuts
from support.cli import run
from support.video.clips import make

KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "bf": "2", "preset": "veryfast"}


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    return make(tmp_path / "in.mkv", rate=Fraction(12), frames=30, size=(48, 32), options=KEYS)


@pytest.mark.slow
def test_a_plan_its_parts_and_the_join(capsys, source, small_model, tmp_path):
    plan, target = tmp_path / "a.plan", tmp_path / "out.mkv"
    words = [source, "-o", target, "--model", small_model, "--device", "cpu", "--plan", plan]
    assert run("upscale", *words) == 0
    assert capsys.readouterr().out == f"{plan}: 3 segments, 30 frames\n"
    assert run("upscale", *words) == 2
    assert f"{plan} exists" in capsys.readouterr().err
    assert run("upscale", "--plan", plan, "--segments", "2:3") == 0
    assert capsys.readouterr().out == f"{plan}: segments 2 to 3 of 3 are finished\n"
    assert run("upscale", "--plan", plan, "--segments", "4:6") == 0
    assert capsys.readouterr().out == f"{plan}: nothing to make: the film has 3 segments\n"
    assert run("upscale", "--plan", plan, "--segments", "3:9") == 0
    assert capsys.readouterr().out == f"{plan}: segment 3 of 3 is finished\n"
    assert run("upscale", "--plan", plan, "--join") == 2
    assert "are not there, or not whole: 1; make these first" in capsys.readouterr().err
    assert run("upscale", "--plan", plan, "--segments", "1", "--threads", "1") == 0
    capsys.readouterr()
    assert run("upscale", "--plan", plan, "--join") == 0
    assert capsys.readouterr().out.startswith(f"{target}: 30 frames")


@pytest.mark.parametrize(
    ("plan", "said"),
    [("-", "--plan names a file"), ("out.mkv", "is to be the plan and the result"),
     ("./../PLACE/out.mkv", "is to be the plan and the result")],
)  # fmt: skip
def test_a_plan_is_a_file_of_its_own(capsys, source, tmp_path, monkeypatch, plan, said):
    monkeypatch.chdir(tmp_path)
    words = ["upscale", source, "-o", tmp_path / "out.mkv", "--device", "cpu"]
    assert run(*words, "--plan", plan.replace("PLACE", tmp_path.name)) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.mkv").exists() and not (tmp_path / "-").exists()


@pytest.mark.cases
@pytest.mark.parametrize(
    ("words", "said"),
    [(["--segments", "1:2"], "--segments needs --plan FILE"),
     (["--join"], "--join needs --plan FILE"),
     (["a.mkv", "--plan", "p", "--join"], "--join goes without INPUT"),
     (["--plan", "p", "--join", "--crf", "3"], "--join goes without --crf"),
     (["--plan", "p", "--join", "--cluster", "auto"], "--join goes without --cluster: this"),
     (["--plan", "p", "--segments", "-1"], "got --segments -1"),
     (["--plan", "p", "--join", "--segments", "1"], "--segments goes without --join"),
     (["--plan", "p"], "--plan without INPUT needs --segments A:B or --join"),
     (["--plan", "p", "--segments", "x"], "got --segments x; expected the first and the last one"),
     (["--plan", "p", "--segments", "3:2"], "got --segments 3:2"),
     (["--plan", "p", "--segments", "0:2"], "got --segments 0:2"),
     (["a.mkv", "--plan", "p", "--dry-run"], "got --plan with --dry-run"),
     (["a.mkv", "--plan", "p", "--report", "r.html"], "got --plan with --report"),
     (["--plan", "p", "--segments", "1:2"], "p: no such file")],
)  # fmt: skip
def test_what_does_not_go_together(capsys, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    for command in ("upscale", "deblur"):
        assert run(command, *words) == 2
        assert said in capsys.readouterr().err


@pytest.mark.slow
def test_a_film_is_deblurred_by_a_plan(capsys, source, tmp_path):
    plan, target = tmp_path / "a.plan", tmp_path / "out.mkv"
    words = ["--psf-size", 3, "--iterations", 2, "--prior", "none", "--device", "cpu"]
    psfs = tmp_path / "psfs.npy"
    assert run("deblur", source, "-o", target, *words, "--psf-out", psfs, "--plan", plan) == 0
    assert run("deblur", "--plan", plan, "--segments", "1:3") == 0
    psfs.write_bytes(b"another's")
    assert run("deblur", "--plan", plan, "--join") == 2  # before the work
    psfs.unlink()
    capsys.readouterr()
    assert run("deblur", "--plan", plan, "--join") == 0
    assert capsys.readouterr().out.startswith(f"{target}: 30 frames")
    assert run("upscale", "--plan", plan, "--join") == 2
    assert "is a plan of snellen deblur" in capsys.readouterr().err
