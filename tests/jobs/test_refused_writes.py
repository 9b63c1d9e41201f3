"""Files that filters and encoders write are left as they are by what is refused or not the film."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from snellen import upscale_file
from snellen.errors import InputError, OutputError
from snellen.files.atomic import protected
from snellen.jobs import UpscaleJob
from snellen.jobs.calls.dry import dry_run
from snellen.jobs.calls.execute import run
from snellen.jobs.calls.previews import preview
from snellen.jobs.kinds.enhance import Enhancement
from snellen.jobs.options.options import VideoOptions
from snellen.video.sink.encoding import Encoding
from support.video.clips import make

PRINT = "signalstats,metadata=print:file={}"


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.log"
    path.write_text("before")
    return path


@pytest.fixture
def job(tmp_path, small_model):
    film = make(tmp_path / "in.mkv", frames=12, size=(64, 64))
    return UpscaleJob(source=film, target=tmp_path / "out.mkv", model=small_model, device="cpu")


def noted(job, notes, parameter="vf"):
    """Return a job whose filter and whose encoder write files."""
    statistics = {"x264-params": f"pass=1:stats={notes}"}
    return replace(
        job, enhancement=Enhancement(**{parameter: PRINT.format(notes)}),
        video=VideoOptions(encoding=Encoding("libx264", "ultrafast", options=statistics)),
    )  # fmt: skip


def test_a_dry_run(job, notes, heard):
    found = dry_run(noted(job, notes), heard)
    assert f"metadata=print:file={notes}" in found.film.chain[1]
    assert sorted(p.name for p in notes.parent.iterdir()) == ["in.mkv", "notes.log"]
    assert notes.read_text() == "before"


@pytest.mark.slow
def test_a_preview(job, notes, heard):
    preview({"one": noted(job, notes)}, notes.parent / "p.html", count=1, length=0.2, events=heard)
    assert sorted(p.name for p in notes.parent.iterdir()) == ["in.mkv", "notes.log", "p.html"]
    assert notes.read_text() == "before"


@pytest.mark.slow
@pytest.mark.parametrize("parameter", ["vf", "post_vf"])
def test_a_film(job, notes, parameter):
    run(replace(noted(job, notes, parameter), video=VideoOptions()))
    assert notes.read_text().count("frame:") == 12 and "before" not in notes.read_text()


@pytest.mark.parametrize(
    "wrong", [{"vf": PRINT + ",psnr"}, {"vf": PRINT, "post_vf": "nothing"},
              {"vf": PRINT, "codec": "none"}, {"vf": PRINT, "crf": 60},
              {"vf": PRINT, "codec": "libx264", "preset": "ultrafast", "audio": "sing"},
              {"vf": PRINT + ",select=0"}],
)  # fmt: skip
def test_what_is_refused(job, notes, wrong):
    given = {key: value.format(notes) if "vf" in key else value for key, value in wrong.items()}
    with pytest.raises(InputError):
        upscale_file(job.source, job.target, device="cpu", model=job.model, **given)
    assert notes.read_text() == "before" and not job.target.exists()


@pytest.mark.parametrize("dry", [False, True])
def test_a_file_that_cannot_be_written_is_refused_before_work(job, tmp_path, heard, dry):
    for path, words in (
        (tmp_path / "none/notes.log", "does not exist"), (tmp_path, "is a folder"),
        (job.target, "is the output"),
    ):  # fmt: skip
        wrong = replace(job, enhancement=Enhancement(vf=PRINT.format(path)))
        with pytest.raises(InputError, match=words):
            dry_run(wrong, heard) if dry else run(wrong)
    chains = {"vf": PRINT.format(tmp_path / "a.log"), "post_vf": PRINT.format(tmp_path / "./a.log")}
    with pytest.raises(InputError, match="that of another filter"):
        run(replace(job, enhancement=Enhancement(**chains)))
    assert [path.name for path in tmp_path.iterdir()] == ["in.mkv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_on_a_full_disk_there_is_no_film_and_a_word(job):
    with pytest.raises(OutputError, match="/dev/full: No space left"):
        run(replace(job, enhancement=Enhancement(vf=PRINT.format("/dev/full"))))
    assert not job.target.exists()


def test_a_file_beside_the_output_in_a_folder_that_is_made(job, tmp_path):
    notes = tmp_path / "new/notes.log"
    enhancement = Enhancement(vf=PRINT.format(notes))
    run(replace(job, target=tmp_path / "new/out.mkv", enhancement=enhancement))
    assert sorted(p.name for p in notes.parent.iterdir()) == ["notes.log", "out.mkv"]


def test_the_next_film_of_a_run_does_not_replace_the_text_of_this_one(job, notes):
    first = replace(job, enhancement=Enhancement(vf=PRINT.format(notes)))
    with protected([]):
        run(first)
        text = notes.read_text()
        with pytest.raises(InputError, match="an output of this run already"):
            run(replace(first, target=job.target.with_name("next.mkv")))
    assert "frame:11" in text and notes.read_text() == text
    assert not job.target.with_name("next.mkv").exists()
