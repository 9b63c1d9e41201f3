"""Outputs that are there before a run over many files, or come from another run beside it."""

from __future__ import annotations

import json
import pickle
import time
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

import snellen
from snellen.cli.report import Report
from snellen.errors import InputError, OutputError
from snellen.files import atomic
from snellen.files.existing import AppearedError, BusyError, ExistsError, exists
from snellen.jobs.calls import planning
from snellen.jobs.calls.planning import Plan, passed_over, without_existing
from support.cli import names, run

HOW = ["--method", "cnn-fast", "--device", "cpu"]
SHARPENED = ["--psf-size", 3, "--iterations", 1, "--prior", "none", "--device", "cpu"]


@pytest.fixture
def folder(picture, tmp_path):
    found = tmp_path / "in"
    found.mkdir()
    for name in ("a.png", "b.png", "c.png", "d.png"):
        Image.fromarray(picture()).save(found / name)
    (tmp_path / "out").mkdir()
    return found


def there(folder, *which):
    """Write outputs, as a run before has done."""
    for name in which:
        (folder.parent / "out" / name).write_bytes(b"made before")


@pytest.mark.parametrize("words", [["upscale", *HOW], ["deblur", *SHARPENED]])
def test_one_line_says_how_many_outputs_exist_and_what_to_do(folder, tmp_path, capsys, words):
    there(folder, "a.png", "b.png", "c.png")
    assert run(words[0], folder, "-o", tmp_path / "out", *words[1:]) == 2
    out, err = capsys.readouterr()
    assert err.count("error:") == 1 and "3 of 4 outputs exist, as " in err
    assert "--skip-existing" in err and "--overwrite" in err
    assert "1 done, 3 failed, 0 skipped" in out
    assert names(tmp_path / "out") == ["a.png", "b.png", "c.png", "d.png"]
    assert (tmp_path / "out" / "a.png").read_bytes() == b"made before"


def test_all_of_them_exist(folder, tmp_path, capsys):
    there(folder, "a.png", "b.png", "c.png", "d.png")
    assert run("upscale", folder, "-o", tmp_path / "out", *HOW, "--dry-run") == 2
    assert "4 of 4 outputs exist" in capsys.readouterr().err
    assert run("upscale", folder, "-o", tmp_path / "out", *HOW, "--json") == 2
    first, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["event"] == "error" and first["exit_code"] == 2
    assert last == {"event": "summary", "done": 0, "damaged": 0, "failed": 4, "skipped": 0}


def test_the_advice_helps(folder, tmp_path, capsys):
    there(folder, "a.png", "b.png")
    assert run("upscale", folder, "-o", tmp_path / "out", *HOW, "--skip-existing") == 0
    assert "2 done, 0 failed, 2 skipped" in capsys.readouterr().out
    assert run("upscale", folder, "-o", tmp_path / "out", *HOW, "--overwrite") == 0
    assert "4 done" in capsys.readouterr().out


def test_python_is_told_the_same_in_its_words(folder, tmp_path):
    there(folder, "a.png", "b.png")
    how = {"method": "cnn-fast", "device": "cpu"}
    with pytest.raises(InputError, match=r"2 of 4 outputs exist.*skip_existing=True") as caught:
        snellen.upscale_files(folder, tmp_path / "out", **how)
    assert not getattr(caught.value, "__notes__", [])
    assert names(tmp_path / "out") == ["a.png", "b.png", "c.png", "d.png"]


def test_one_file_is_told_of_its_own_output(folder, tmp_path, capsys):
    there(folder, "a.png")
    assert run("upscale", folder / "a.png", "-o", tmp_path / "out" / "a.png", *HOW) == 2
    err = capsys.readouterr().err
    assert "a.png exists" in err and "--skip-existing" not in err
    assert run("upscale", folder, "-o", tmp_path / "out", *HOW) == 2
    err = capsys.readouterr().err
    assert "a.png exists" in err and "--skip-existing" in err


def test_a_joined_film_is_ended_by_its_job(tmp_path, monkeypatch):
    (tmp_path / "b.mkv").touch()
    found = Plan(((tmp_path / "a.mkv", tmp_path / "b.mkv"),), several=True)
    assert without_existing(found).existing == found.pairs
    monkeypatch.setattr(planning, "is_joined", lambda target: True)
    assert without_existing(found) == found


def test_very_many_outputs_that_exist_are_told_apart_at_once(tmp_path):
    (there := tmp_path / "there.png").touch()
    every = [(Path(f"{n}.png"), there if n % 2 else Path("none.png")) for n in range(16_000)]
    begin = time.process_time()
    found = without_existing(Plan(tuple(every), several=True))
    assert time.process_time() - begin < 2
    assert found.existing == tuple(every[1::2]) and found.pairs == tuple(every[::2])


@pytest.mark.parametrize("when", ["before it begins", "while it is made"])
def test_an_output_of_another_run_is_skipped(folder, tmp_path, capsys, monkeypatch, when):
    """Two equal runs at once: the later one leaves out what the other one has made meanwhile."""
    begun, checked = Report.begun, atomic.check_target

    def made(target):
        if target.name == "b.png" and not target.exists():
            target.write_bytes(b"made by the other run")

    def begins(self, subject, target, job):
        made(Path(target))
        begun(self, subject, target, job)

    def checks(target, source, overwrite):
        checked(target, source, overwrite)
        made(target)

    if when == "before it begins":
        monkeypatch.setattr(Report, "begun", begins)
    else:
        monkeypatch.setattr(atomic, "check_target", checks)
    words = [folder, "-o", tmp_path / "out", *HOW]
    assert run("upscale", *words, "--skip-existing") == 0
    out, err = capsys.readouterr()
    assert "3 done, 0 failed, 1 skipped" in out and "b.png is there" in out
    assert "error" not in err
    assert (tmp_path / "out" / "b.png").read_bytes() == b"made by the other run"
    (tmp_path / "out" / "b.png").unlink()
    for name in ("a.png", "c.png", "d.png"):
        (tmp_path / "out" / name).unlink()
    assert run("upscale", *words) == (2 if when == "before it begins" else 1)
    assert "3 done, 1 failed, 0 skipped" in capsys.readouterr().out


def test_python_skips_it_too(folder, tmp_path, monkeypatch):
    checked = atomic.check_target

    def checks(target, source, overwrite):
        checked(target, source, overwrite)
        if target.name == "b.png":
            target.write_bytes(b"made by the other run")

    monkeypatch.setattr(atomic, "check_target", checks)
    found = snellen.upscale_files(
        folder, tmp_path / "out", skip_existing=True, method="cnn-fast", device="cpu"
    )
    assert [one.source.name for one in found] == ["a.png", "c.png", "d.png"]


def test_which_errors_are_passed_over(tmp_path):
    target = tmp_path / "a.mkv"
    asked = Plan((), several=True, skip_existing=True)
    errors = [exists(target), AppearedError("appeared"), BusyError("busy")]
    assert (
        passed_over(asked, target, errors[0]) is None
    )  # it is another file, as a PSF, that exists
    assert passed_over(asked, target, errors[2]) == "another run is making it"
    target.touch()
    assert passed_over(asked, target, errors[0]) == f"{target} is there"
    assert passed_over(asked, target, errors[1]) == f"{target} is there"
    for error in (InputError("damaged"), OutputError("disk full"), None):
        assert passed_over(asked, target, error) is None
    for error in errors:
        assert passed_over(replace(asked, skip_existing=False), target, error) is None
        assert type(pickle.loads(pickle.dumps(error))) is type(error)  # workers return them
    assert isinstance(errors[0], ExistsError) and errors[0].exit_code == 2
    assert errors[1].exit_code == 1
