"""Dry runs: all but the work, and nothing is written."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from snellen.errors import InputError, ModelError
from snellen.jobs import DeblurJob, MiaSettings, ScoreJob, Silent, UpscaleJob, dry_run, run
from snellen.jobs.calls.dry import DryRun
from snellen.jobs.options.options import VideoOptions
from snellen.video import estimate
from snellen.video.clip import Clip
from snellen.video.segments import cuts
from snellen.video.sink.encoding import Encoding
from support.cli import names
from support.video.clips import SRT, make

KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "preset": "veryfast"}


@pytest.fixture
def film(tmp_path):
    """A film of four seconds, with sound, subtitles and an attachment."""
    return make(
        tmp_path / "in.mkv", rate=Fraction(12), frames=50, options=KEYS, audio="aac",
        subtitles=SRT, attachments=(("font.ttf", "font/ttf", b"x" * 99),),
    )  # fmt: skip


def listing(folder):
    """Return each file with its size and the time of its last change."""
    return {one: (one.stat().st_size, one.stat().st_mtime_ns) for one in folder.rglob("*")}


def test_a_film(tmp_path, film, small_model, heard, monkeypatch):
    monkeypatch.setattr(estimate, "FEWEST", 4)
    monkeypatch.setattr(estimate, "MOST", 4)
    before = listing(tmp_path)
    job = UpscaleJob(source=film, target=tmp_path / "new/out.mp4", model=small_model, device="cpu")
    found = dry_run(job, heard)
    assert listing(tmp_path) == before
    assert (found.width, found.height, found.device, found.method) == (128, 96, "cpu", "aplus")
    plan = found.film
    outcomes = {one.type: one.outcome for one in plan.streams}
    assert outcomes == {"video": "worked on", "audio": "kept", "subtitle": "kept",
                        "attachment": "lost"}  # fmt: skip
    assert plan.chain == ("64×48 4:2:0 8 bit", "128×96 4:2:0 8 bit")
    assert (plan.encoder, plan.encoder_options["crf"], plan.pixel_format) == (
        "libx264", "16", "yuv420p"
    )  # fmt: skip
    assert any("attachment" in text for text in plan.dropped)
    assert [text for _, text in heard.warnings] == list(plan.warnings) == list(found.warnings)
    assert not plan.segments.starts and plan.segments.why is None
    assert (plan.estimate.frames, plan.estimate.places) == (20, 5)
    assert plan.estimate.seconds == pytest.approx(plan.frames / plan.estimate.fps)
    assert found.free > found.needed == plan.estimate.size
    # The estimate is of five frames in twelve, a key frame in twelve: half or twice is far off.
    result = run(job)
    assert 0.5 < plan.estimate.size / result.target.stat().st_size < 2
    assert result.summary.frames == plan.frames


class Stopping(Silent):
    """Events that end a run after so many frames."""

    def __init__(self, frames):
        self.frames = frames

    def progress(self, progress):
        if progress.done == self.frames:
            raise KeyboardInterrupt


def test_segments_and_what_is_finished(tmp_path, film, small_model, monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    monkeypatch.setattr(estimate, "FEWEST", 3)
    monkeypatch.setattr(estimate, "MOST", 3)
    how = {"source": film, "target": tmp_path / "out.mkv", "model": small_model, "device": "cpu"}
    job = UpscaleJob(**how)
    fresh = dry_run(job).film
    assert fresh.segments.starts == (0, 1, 2, 3, 4) and fresh.segments.finished == ()
    assert fresh.segments.folder == tmp_path / "out.mkv.segments"
    assert names(tmp_path) == ["in.mkv"]
    with pytest.raises(KeyboardInterrupt):
        run(job, Stopping(30))
    before = listing(tmp_path)
    found = dry_run(job)
    assert found.film.segments.finished == (1, 2) and found.film.segments.frames == 26
    assert found.film.estimate.seconds == pytest.approx(26 / found.film.estimate.fps)
    assert found.needed == 2 * found.film.estimate.size
    with pytest.raises(InputError, match="another job"):
        dry_run(UpscaleJob(**how, video=VideoOptions(encoding=Encoding(crf=30))))
    anew = dry_run(UpscaleJob(**how, discard_segments=True))
    assert anew.film.segments.finished == ()
    assert anew.workers == () and anew.cores is None
    several = dry_run(UpscaleJob(**how, workers=3, threads=7))
    assert (several.workers, several.cores) == (("cpu",) * 3, 2)
    assert several.film.segments.encoder_threads == found.film.segments.encoder_threads > 0
    whole = dry_run(UpscaleJob(**how, segments=False, workers=3))
    assert whole.film.segments.starts == () and whole.film.segments.why is None
    assert whole.workers == () and whole.film.segments.encoder_threads is None
    assert listing(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f%03d.png", "out.gif", "out.y4m", "out.avif"])
def test_outputs_of_all_kinds(tmp_path, film, small_model, name):
    job = UpscaleJob(source=film, target=tmp_path / name, model=small_model, device="cpu")
    found = dry_run(job)
    assert names(tmp_path) == ["in.mkv"]
    assert found.film.segments.starts == ()
    run(job)
    made = [one for one in tmp_path.iterdir() if one != film]
    size = sum(one.stat().st_size for one in made)
    # Pictures are alike; y4m has a header of 60 bytes beside frames of one size.
    assert found.film.estimate.size == pytest.approx(size, rel=0.2)


@pytest.mark.slow
def test_a_film_that_is_damaged_and_a_part(tmp_path, film, small_model):
    data = film.read_bytes()
    (tmp_path / "cut.mkv").write_bytes(data[: len(data) // 2])
    for source, start in (("cut.mkv", None), ("in.mkv", 2)):
        video = VideoOptions(clip=Clip(start=start))
        job = UpscaleJob(source=tmp_path / source, target=tmp_path / "o.mkv", model=small_model,
                         device="cpu", video=video)  # fmt: skip
        found = dry_run(job).film
        assert 0 < found.estimate.frames <= found.frames and found.estimate.size > 0


def test_an_image(tmp_path, saved, picture, small_model):
    source = saved("a.png", picture((20, 30, 3)))
    job = UpscaleJob(source=source, target=tmp_path / "new/b.png", model=small_model)
    found = dry_run(job)
    assert (found.width, found.height, found.film, found.method) == (60, 40, None, "aplus")
    assert names(tmp_path) == ["a.png"]
    assert found.source == source and found.free > 0 and found.needed is None
    sharp = DeblurJob(source=source, target=tmp_path / "c.png", mia=MiaSettings(psf_size=3))
    found = dry_run(sharp)
    assert (found.width, found.height, found.model) == (30, 20, "")


def test_deblurring_a_film(tmp_path, clip):
    mia = MiaSettings(psf_size=3, iterations=2)
    job = DeblurJob(source=clip, target=tmp_path / "o.mkv", mia=mia, device="cpu")
    found = dry_run(job)
    assert names(tmp_path) == ["clip.y4m"]
    assert found.film.estimate.frames == found.film.frames == 4
    assert (found.width, found.model) == (24, "")


@pytest.mark.slow
def test_what_a_run_refuses(tmp_path, film, small_model):
    how = {"source": film, "target": tmp_path / "o.mkv", "model": small_model, "device": "cpu"}
    (tmp_path / "there.mkv").write_bytes(b"x")
    (tmp_path / "no.mkv").write_bytes(b"x" * 5000)
    wrong = (
        ({"target": tmp_path / "there.mkv"}, InputError, "exists"),
        ({"target": film}, InputError, "is the input itself"),
        ({"source": tmp_path / "none.mkv"}, InputError, "no such file"),
        ({"source": tmp_path / "no.mkv"}, InputError, "no.mkv is text; expected"),
        ({"model": "none"}, ModelError, "none"),
        ({"strict": True, "target": tmp_path / "o.mp4"}, InputError, "would be lost"),
    )
    before = listing(tmp_path)
    for change, kind, words in wrong:
        with pytest.raises(kind, match=words):
            dry_run(UpscaleJob(**how | change))
    with pytest.raises(InputError, match="no dry run"):
        dry_run(ScoreJob(reference=film, distorted=film))
    assert listing(tmp_path) == before


@pytest.mark.parametrize(
    ("busy", "workers", "cores", "seconds"),
    [(1.0, 0, None, 60), (1.0, 4, 2, 15), (8.0, 4, 2, 60), (4.0, 4, 2, 30), (0.0, 2, 1, 30)],
)
def test_workers_share_the_cores(tmp_path, busy, workers, cores, seconds):
    """They are as many times as fast as one, as long as there are cores for it."""
    guess = estimate.Estimate(9, 1, 2.0, 60.0, 1000, busy)
    film = SimpleNamespace(estimate=guess)
    found = DryRun(tmp_path, tmp_path, 2, 2, "cpu", film=film, workers=("cpu",) * workers,
                   cores=cores)  # fmt: skip
    assert found.seconds == seconds


def test_what_is_unknown_is_not_said():
    assert estimate.Estimate(3, 1, 2.0, None, None).size is None
    found = estimate._Tried(frames=4, places=1, seconds=1, keys=1, key_bytes=100, others=3,
                            other_bytes=30)  # fmt: skip
    plan = type("Plan", (), {"encoder": type("E", (), {"options": {"g": "10"}})})
    assert estimate._video_size(plan, found, 20.0, 0) == 2 * 100 + 18 * 10
    assert estimate._video_size(plan, found, 20.0, 5) == 5 * 100 + 15 * 10
    assert np.isfinite(estimate._video_size(plan, estimate._Tried(), 20.0, 0))
