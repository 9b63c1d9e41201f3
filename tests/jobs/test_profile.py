"""The time of each stage as part of a result."""

from __future__ import annotations

import pytest

import snellen
from snellen.gpu import profile
from snellen.jobs.options.profile import StageTimes, recorded
from snellen.upscaling import image


def test_stages_are_recorded_where_they_are_wanted():
    with recorded(True) as found, profile.stage("match"):
        pass
    (times,) = found()
    assert times.stage == "match" and len(times.ms) == 1 and times.total == times.ms[0] >= 0
    with recorded(False) as found, profile.stage("match"):
        pass
    assert found() is None


def test_sums_and_medians():
    times = StageTimes("match", (1.0, 5.0, 3.0))
    assert (times.total, times.middle) == (9.0, 3.0)
    assert StageTimes("match", ()).middle == 0.0


def test_a_result_has_its_stages(picture, saved, tmp_path, small_model, monkeypatch):
    enlarge = image.enlarged

    def staged(*arguments, **options):
        with profile.stage("all of it"):
            return enlarge(*arguments, **options)

    monkeypatch.setattr(image, "enlarged", staged)
    source, how = saved("a.png", picture()), {"model": small_model, "device": "cpu"}
    made = snellen.upscale_file(source, tmp_path / "b.png", **how, profile=True)
    assert "all of it" in [one.stage for one in made.profile]
    assert snellen.upscale_file(source, tmp_path / "c.png", **how).profile is None


@pytest.mark.gpu
def test_stages_on_the_gpu(picture, saved, tmp_path, small_model):
    """Timed by events; the result is the same as without."""
    source, how = saved("a.png", picture()), {"model": small_model, "device": "cuda"}
    made = snellen.upscale_file(source, tmp_path / "b.png", **how, profile=True)
    assert {"match", "regress"} <= {one.stage for one in made.profile}
    assert all(one.total >= 0 and one.ms for one in made.profile)
    plain = snellen.upscale_file(source, tmp_path / "c.png", **how)
    assert plain.profile is None and plain.target.read_bytes() == made.target.read_bytes()
