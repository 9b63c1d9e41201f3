"""Jobs with a target quality: by MAD and VMAF themselves, upscaled and deblurred."""

from __future__ import annotations

import numpy as np
import pytest

import snellen
from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.jobs import UpscaleJob, VideoOptions
from snellen.jobs.events import Silent
from snellen.jobs.runs.target import MadMeasure, aim_of
from snellen.schema import named
from snellen.video import vmaf
from snellen.video.sink.encoding import Encoding
from support.heard import Heard
from support.video.clips import make

FAST = {"preset": "ultrafast", "device": "cpu"}


def test_a_job_with_a_target_is_exact_as_json(tmp_path):
    encoding = Encoding(target_vmaf=93.5, target_pool="p5", max_bitrate="20M")
    job = UpscaleJob(
        source=tmp_path / "a.mkv", target=tmp_path / "b.mkv", video=VideoOptions(encoding=encoding)
    )
    again = UpscaleJob.from_json(job.to_json())
    assert again == job
    assert again.video.encoding.max_bitrate == 20_000_000
    assert set(named(job.video)) == {"target_vmaf", "target_pool", "max_bitrate"}


def test_the_measure_is_mad():
    random = np.random.default_rng(0)
    one = random.integers(16, 235, (64, 64)).astype(np.uint8)
    other = np.clip(one + random.normal(0, 9, one.shape), 0, 255).astype(np.uint8)
    measure = MadMeasure("cpu", "film", Silent())
    format = Format(64, 64, 8)
    same, worse = measure.scores([(one, one), (one, other)], format)
    assert same == 0
    assert worse == pytest.approx(float(snellen.score(one, other, device="cpu").mad))
    measure.close()
    assert aim_of(Encoding(), "cpu", "film", Silent()) is None


def test_vmaf_without_its_filter_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(vmaf, "filters_available", frozenset())
    source = make(tmp_path / "in.mkv", frames=2)
    with pytest.raises(InputError, match=r"Python 3\.12") as caught:
        snellen.upscale_file(source, tmp_path / "out.mkv", target_vmaf=95, device="cpu")
    assert caught.value.parameter == "target_vmaf"
    assert not (tmp_path / "out.mkv").exists()


@pytest.mark.slow
def test_a_film_is_enlarged_to_a_mad(tmp_path):
    source = make(tmp_path / "in.mkv", frames=40)
    events = Heard()
    result = snellen.upscale_file(
        source, tmp_path / "out.mkv", target_mad=12, method="cnn-fast", events=events, **FAST
    )
    reached = result.summary.reached
    assert (reached.metric, reached.frames) == ("mad", 32)
    assert reached.choice.reached
    assert abs(reached.difference) < 4
    assert any("is chosen" in line for line in events.notices)


@pytest.mark.slow
@pytest.mark.skipif(not vmaf.is_there(), reason="PyAV before 19 has no libvmaf")
def test_a_film_is_enlarged_to_a_vmaf(tmp_path):
    source = make(tmp_path / "in.mkv", frames=40)
    result = snellen.upscale_file(
        source, tmp_path / "out.mkv", target_vmaf=80, method="cnn-fast", **FAST
    )
    assert result.summary.reached.frames == 39
    assert abs(result.summary.reached.difference) < 3


@pytest.mark.skipif(not vmaf.is_there(), reason="PyAV before 19 has no libvmaf")
def test_a_model_of_vmaf_that_looks_at_chroma_is_a_target(tmp_path, heard):
    source = make(tmp_path / "in.mkv", frames=12, size=(112, 80))
    notices = []
    heard.notice = lambda *said: notices.append(said[1])
    result = snellen.upscale_file(
        source, tmp_path / "out.mkv", target_vmaf=70, vmaf_model="v1", method="cnn-fast",
        events=heard, **FAST,
    )  # fmt: skip
    reached = result.summary.reached
    assert reached.model == "vmaf_v1.0.16_3d0h" and "(mean, vmaf_v1.0.16_3d0h)" in str(reached)
    assert any("VMAF (v1) 70 (mean, vmaf_v1.0.16_3d0h) is searched for" in one for one in notices)
    assert reached.score is not None and reached.choice.probes
    for given in ({"target_mad": 3}, {"crf": 20}):
        with pytest.raises(InputError, match=r"`?vmaf_model`? without `?target_vmaf"):
            snellen.upscale_file(source, tmp_path / "no.mkv", vmaf_model="v1", **given)


@pytest.mark.slow
def test_frames_of_probes_are_not_among_those_of_a_deblurred_film(tmp_path):
    source = make(tmp_path / "in.mkv", frames=12)
    settings = {"iterations": 3, "psf_size": 5, "prior": None, "target_mad": 8}
    events = Heard()
    result = snellen.deblur_file(
        source, tmp_path / "out.mkv", events=events, window=2, **settings, **FAST
    )
    assert len(result.frames) == len(events.rows) == 12
    assert result.summary.reached.choice.reached
    with pytest.raises(InputError, match="whole film"):
        snellen.deblur_file(source, tmp_path / "no.mkv", warm=True, **settings, **FAST)
