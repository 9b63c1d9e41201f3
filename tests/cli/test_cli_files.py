"""Several files on the command line: names of results, folders, a summary, a log, levels."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.errors import InputError
from snellen.jobs.events import Silent
from support.cli import names, refused, run

pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def here(random, tmp_path, monkeypatch, small_model):
    """A current folder with pictures, in a folder too."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.png", "in/b.png", "in/deep/c.png"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (8, 9, 3), np.uint8)).save(name)
    Path("m.safetensors").write_bytes(Path(small_model).read_bytes())
    return tmp_path


HOW = ["--model", "m.safetensors", "--device", "cpu"]
DEBLUR = ["--psf-size", 3, "--iterations", 1, "--device", "cpu"]


@pytest.mark.slow
def test_an_output_that_is_not_named(capsys, here):
    assert run("upscale", "a.png", *HOW) == 0
    assert capsys.readouterr().out == "a-x2.png: 18×16, A+ (m.safetensors)\n"
    before = Path("a-x2.png").read_bytes()
    refused("upscale", capsys, ["a.png", *HOW], "a-x2.png exists", "--overwrite")
    assert Path("a-x2.png").read_bytes() == before
    assert run("upscale", "a.png", "-y", *HOW) == 0
    assert run("deblur", "a.png", *DEBLUR) == 0 and Path("a-sharp.png").exists()
    assert run("deblur", "a.png", "a-sharp.png", "--burst", "-o", "new/b.png", *DEBLUR) == 0
    assert names(Path("new")) == ["b.png"]
    capsys.readouterr()
    refused("upscale", capsys, ["-", *HOW], "standard input needs a -o")


def test_folders_in_folders_and_a_summary(capsys, here):
    Path("in/deep/d.png").write_text("no picture")
    assert run("upscale", "in", "-r", *HOW) == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "2 done, 1 failed, 0 skipped" and "d.png" in err
    assert names(Path("in-x2")) == ["b.png", "deep"] and names(Path("in-x2/deep")) == ["c.png"]
    Path("in/deep/d.png").unlink()
    assert run("upscale", "in", "a.png", "-r", "-o", "in-x2", "--skip-existing", *HOW) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "in/b.png: skipped, in-x2/b.png is there",
        "in/deep/c.png: skipped, in-x2/deep/c.png is there",
        "in-x2/a.png: 18×16, A+ (m.safetensors)",
        "1 done, 0 failed, 2 skipped",
    ]
    assert run("upscale", "in", "-r", "--skip-existing", "--json", *HOW) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["skipped", "skipped", "summary"]
    assert lines[-1] == {"event": "summary", "done": 0, "damaged": 0, "failed": 0, "skipped": 2}


def test_a_name_without_suffix_may_be_meant_as_a_folder(capsys, here):
    said = "name new.png, for instance, or new/ if it is to be a folder"
    for given in (["a.png"], ["a.png", "a.png"]):  # which is one
        refused("upscale", capsys, [*given, "-o", "new", *HOW], "new: got no suffix", said)


@pytest.mark.parametrize("given", ["'two'", "0", "1025", "'1.5'"])
def test_a_number_of_workers_that_is_none(capsys, here, given):
    said = f"--workers': got {given}; expected a whole number, 1 to 1024"
    refused("upscale", capsys, ["a.png", "--workers", given.strip("'"), *HOW], said)


def test_what_has_no_effect_on_images_is_said_once_of_a_folder(capsys, here):
    assert run("deblur", "in", "-r", "-o", "s", "--warm", *DEBLUR) == 0
    err = capsys.readouterr().err
    assert err.count("--warm is for video") == 1 and len(names(Path("s"))) == 2


def test_a_folder_is_made_only_if_something_comes_into_it(capsys, here):
    refused("upscale", capsys, ["none.png", "-o", "x/y/o.png", *HOW], "no such file")
    refused("upscale", capsys, ["a.png", "-o", "x/o.txt", *HOW], "no image format")
    assert not Path("x").exists()
    assert run("upscale", "a.png", "-o", "x/y/", *HOW) == 0 and names(Path("x/y")) == ["a.png"]
    assert run("score", "a.png", "x/y/a.png", "--csv", "t/t.csv", "--resize") in (0, 2)
    assert run("deblur", "in", "-r", "-o", "s", "--psf-out", "psfs", *DEBLUR) == 0
    assert names(Path("psfs")) == ["b.png.npy", "c.png.npy"]


def test_how_much_is_said(capsys, here):
    assert run("upscale", "in", "-q", "-o", "1", *HOW) == 0
    assert capsys.readouterr() == ("", "")
    assert run("upscale", "in", "-v", "-o", "2", *HOW) == 0
    assert capsys.readouterr().err == ("in/b.png → 2/b.png: model=m.safetensors, device=cpu\n")
    assert run("deblur", "a.png", "-v", "-o", "b.png", *DEBLUR) == 0
    said = capsys.readouterr().err.splitlines()[0]
    assert said == "a.png → b.png: psf_size=3, iterations=1, device=cpu"
    refused("upscale", capsys, ["a.png", "-v", "-q", *HOW], "-v with -q")
    assert run("upscale", "in", "-v", "--json", "-o", "3", *HOW) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["event"] == "begin" and first["job"]["$type"] == "UpscaleJob"
    Image.new("L", (40, 40)).save("l.png")
    assert run("score", "l.png", "l.png", "-q") == 0
    assert capsys.readouterr().out.startswith("MAD 0.0000")  # it is what was asked for


def test_a_log(capsys, here):
    assert run("upscale", "in", "none.png", "-q", "--log", "run.log", "-o", "o", *HOW) == 2
    assert run("upscale", "a.png", "--log", "run.log", *HOW) == 0
    text = Path("run.log").read_text()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line) for line in text.splitlines())
    said = [line[20:] for line in text.splitlines()]
    assert said[0].endswith("snellen upscale in none.png -q --log run.log -o o " + " ".join(HOW))
    assert said[1:6] == [
        "in/b.png → o/b.png: model=m.safetensors, device=cpu",
        "o/b.png: 18×16, A+ (m.safetensors)",
        "none.png → o/none.png: model=m.safetensors, device=cpu",
        "error: none.png: no such file",
        "1 done, 1 failed, 0 skipped",
    ]
    assert said[6] == "exit code 2" and said[-1] == "exit code 0" and len(said) == 11


@pytest.mark.slow
def test_results_among_the_inputs_are_skipped_as_such(capsys, here):
    assert run("upscale", "a.png", *HOW) == 0
    capsys.readouterr()
    assert run("upscale", "a.png", "a-x2.png", "--skip-existing", *HOW) == 0
    said = capsys.readouterr().out.splitlines()
    assert "a.png: skipped, a-x2.png is there" in said
    assert "a-x2.png: skipped, it is the result of a.png" in said
    # Without --skip-existing, too; and the others go on.
    assert run("upscale", "a-x2.png", "in/b.png", "a.png", *HOW) == 2
    out, err = capsys.readouterr()
    assert "a-x2.png exists" in err
    assert out.splitlines()[-1] == "1 done, 1 failed, 1 skipped"


def test_inputs_of_one_result_stop_no_other(capsys, here):
    Path("in/b.heic").write_bytes(b"")
    assert run("upscale", "in", "a.png", "-o", "o", *HOW) == 2
    out, err = capsys.readouterr()
    assert out.splitlines() == ["o/a.png: 18×16, A+ (m.safetensors)", "1 done, 2 failed, 0 skipped"]
    assert err.splitlines() == [
        f"error: in/b.{one} would become o/b.png, and so would in/b.{other}; convert one of them "
        "apart, to another name" for one, other in (("heic", "png"), ("png", "heic"))
    ]  # fmt: skip


@pytest.mark.slow
def test_errors_of_several_inputs_name_theirs(capsys, here):
    Image.new("L", (40, 40)).save("large.png")
    words = ["--size", "20x20", "--device", "cpu"]
    said = "--size 20x20 makes 20×20 of a picture of 40×40; expected a larger one"
    assert run("upscale", "a.png", "large.png", "-o", "o", *words) == 2
    assert capsys.readouterr().err == f"error: large.png: {said}\n"
    with pytest.raises(InputError, match=r"large\.png: size=20x20 makes") as caught:
        snellen.upscale_files(["large.png", "in"], "p", size="20x20", device="cpu")
    assert caught.value.parameter == "size"
    refused("upscale", capsys, ["large.png", *words], f"error: {said}")


def test_python_says_which_results_it_leaves_out(here):
    heard = []

    class Heard(Silent):
        def notice(self, subject, message):
            heard.append((subject, message))

    Path("a-x2.png").touch()
    how = {"model": "m.safetensors", "device": "cpu", "events": Heard()}
    (one,) = snellen.upscale_files(["a.png", "a-x2.png"], "o", **how)
    assert one.target == Path("o/a.png")
    assert ("a-x2.png", "skipped, it is the result of a.png") in heard


def test_a_log_of_an_interrupted_command(capsys, here, monkeypatch):
    def strike(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("snellen.cli.upscale._jobs", strike)
    assert run("upscale", "a.png", "--log", "run.log", *HOW) == 130
    said = [line[20:] for line in Path("run.log").read_text().splitlines()]
    assert said[-2:] == ["interrupted", "exit code 130"]


def test_warnings_of_a_result_in_json_name_options(capsys, here):
    assert run("upscale", "a.png", "--crf", "9", "--quality", "5", "--json", *HOW) == 0
    *said, done = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    warned = [one["message"] for one in said if one["event"] == "warning"]
    assert warned[0] == "--crf is for video: without effect on an image"
    assert len(warned) == 2 and warned[1].startswith("--quality is for")
    assert done["warnings"] == warned


@pytest.mark.cases
@pytest.mark.parametrize("value", ["99", "-1", "nan"])
def test_values_are_checked_before_any_work(capsys, here, value):
    words = ["a.png", "none.mkv", "--crf", value, *HOW]
    refused("upscale", capsys, words, f"got --crf {value}", "from 0 to 63")
    assert not Path("a-x2.png").exists()


def test_help_has_the_real_defaults(capsys):
    from snellen.video.sink.registry import ENCODERS, defaults

    assert run("upscale", "--help") == 0
    said = " ".join(capsys.readouterr().out.replace("-\n", "-").split())
    assert f"loss: {defaults(lambda one: one.crf)}]" in said.replace("libvpx- vp9", "libvpx-vp9")
    assert f"[default: {defaults(lambda one: one.preset)}]" in said
    quality = {name: known.crf for name, known in ENCODERS.items()}
    assert quality["libx265"] == quality["libx264"] == quality["hevc_nvenc"] == 16


@pytest.mark.slow
def test_threads_of_a_run(here, monkeypatch, capsys):
    """Those of the CPU's work, of encoder and decoder; not those of the next run."""
    from snellen.cpu import threads
    from snellen.video.sink import encode
    from support.video.clips import make

    make(here / "f.mkv", frames=2)
    seen = []
    real = encode._open_encoder

    def opened(stream, plan):
        seen.append((threads.available(), stream.codec_context.thread_count))
        return real(stream, plan)

    monkeypatch.setattr(encode, "_open_encoder", opened)
    assert run("upscale", "f.mkv", "-o", "1.mkv", "--threads", 3, *HOW) == 0
    assert (3, 3) in seen and {one for one, _ in seen} == {3}
    assert threads.available() == threads.cores() and threads.chosen() is None
    capsys.readouterr()
    refused("upscale", capsys, ["a.png", "--threads", "0", *HOW], "--threads")


def test_the_first_use_is_said_at_once(here, monkeypatch, first_use_is_said):
    """And a warning names the variable where nothing, or the temporary folder, keeps the code."""
    from snellen import caches
    from snellen.jobs import first_use
    from snellen.jobs.events import Silent

    heard = []

    class Heard(Silent):
        def notice(self, subject, message):
            heard.append((subject, message))

        def warning(self, subject, message):
            heard.append(("warning", subject, message))

    places = {name: here / name for name in ("chosen", "home", "temporary")}
    monkeypatch.setenv("SNELLEN_CACHE", str(places["chosen"]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(places["home"]))
    monkeypatch.setattr("tempfile.tempdir", str(places["temporary"]))
    places["temporary"].mkdir()
    with first_use.announced(Heard()):
        caches.compiling("loops")
        assert len(heard) == 1
        caches.compiling("loops")
    ((subject, message),) = heard
    assert subject == "first use" and "loops are compiled for this processor" in message
    assert message.endswith(f"they are kept in {places['chosen']}")
    caches.compiling("loops")  # nobody listens any more
    assert len(heard) == 1
    for name in ("chosen", "home", "temporary"):
        if places[name].is_dir():
            for one in sorted(places[name].rglob("*"), reverse=True):
                one.rmdir()
            places[name].rmdir()
        places[name].write_bytes(b"")  # no folder can be there
        heard.clear()
        with first_use.announced(Heard()):
            caches.compiling("kernels")
        warned = [text for kind, *text in heard if kind == "warning"]
        ((about, text),) = warned
        assert about == "SNELLEN_CACHE"
        if name == "chosen":
            assert "chosen is not used: " in text
        else:
            assert "only you can write" in text
            assert ("folder for temporary files" in text) == (name == "home")
            assert ("each start compiles anew" in text) == (name == "temporary")


def test_a_notice_is_one_line(capsys):
    from snellen.cli.report import QUIET, Report

    for level, wanted in ((1, "first use: text\n"), (QUIET, "")):
        with Report(False, level=level) as report:
            report.notice("first use", "text")
        assert capsys.readouterr() == ("", wanted)
    with Report(True) as report:
        report.notice("first use", "text")
    assert json.loads(capsys.readouterr().out)["event"] == "notice"


def test_a_log_harms_no_file(capsys, here):
    before = Path("a.png").read_bytes()
    for name in ("a.png", "in/b.png", "m.safetensors"):
        assert run("upscale", "a.png", "--log", name, *HOW) == 2
        said = capsys.readouterr().err
        assert "is no log of Snellen's" in said or "name one file" in said or "an image" in said
    assert run("upscale", "a.png", "--log", "/dev/null", *HOW) == 2
    assert Path("a.png").read_bytes() == before and not Path("a-x2.png").exists()


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        ("upscale", ["a.png", "-o", "new"], "--log and -o name one file, new"),
        ("upscale", ["new"], "--log and INPUT name one file"),
        ("deblur", ["a.png", "--psf-out", "new"], "--log and --psf-out name one file"),
        ("score", ["a.png", "a.png", "--csv", "new"], "--log and --csv name one file"),
        ("score", ["new", "a.png"], "--log and REF name one file"),
        ("upscale", ["a.png"], "the log new.mkv has the name of an image or a video"),
    ],
    ids=str,
)
def test_a_log_that_is_another_file_is_refused_before_it_is_made(
    capsys, here, command, words, said
):
    refused(command, capsys, [*words, "--log", "new.mkv" if ".mkv" in said else "./new"], said)
    assert names(here) == ["a.png", "in", "m.safetensors"]


def test_the_folder_of_a_log_is_made(capsys, here):
    assert run("upscale", "a.png", "--log", "logs/new/x.log", *HOW) == 0
    assert Path("logs/new/x.log").read_text().count("\n") == 4
    Path("file").touch()
    capsys.readouterr()
    refused("upscale", capsys, ["a.png", "--log", "file/logs/x.log", *HOW], "cannot be made")
