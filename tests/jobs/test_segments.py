"""Where the segments of an output are, and what of a job they depend on."""

from __future__ import annotations

import os
from fractions import Fraction

import pytest

from snellen.errors import DeviceError
from snellen.frames.step import Traits
from snellen.jobs import fallback
from snellen.jobs.events import Silent
from snellen.jobs.inputs.naming import segments_folder
from snellen.jobs.kinds.upscale import UpscaleJob
from snellen.jobs.options.options import VideoOptions
from snellen.jobs.runs.film import converted
from snellen.jobs.sharing.segments import segments_of
from snellen.video.segments import cuts
from support.video.clips import make, read
from support.video.converting import convert
from support.video.segments import KEYS, LOSSLESS, Dying, KilledError, same
from support.video.steps import Nearest


@pytest.mark.parametrize("letter", ["a", "ä", "語"])
def test_the_longest_name_of_an_output_has_a_folder(tmp_path, letter):
    stem = letter * (250 // len(letter.encode()))
    first, second = (segments_folder(tmp_path / f"{stem}{end}.mkv") for end in "12")
    first.mkdir()
    assert first != second
    assert len(os.fsencode(first.name)) <= 255
    assert segments_folder(tmp_path / "film.mkv") == tmp_path / "film.mkv.segments"


class Heard(Silent):
    def __init__(self):
        self.said = []

    def notice(self, subject, text):
        self.said.append(text)

    warning = notice


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    monkeypatch.setattr(cuts, "OTHERWISE", 1)


class Failing(Dying):
    """A step on a GPU that is lost after so many frames."""

    def __init__(self, frames):
        super().__init__(frames)
        self.traits = Traits(device_name="NVIDIA H100")

    def run(self, frame):
        try:
            return super().run(frame)
        except KilledError:
            raise DeviceError("the GPU is lost") from None


@pytest.mark.slow
@pytest.mark.parametrize("discard", [False, True])
def test_what_a_gpu_has_finished_before_it_fails_is_kept(tmp_path, short, monkeypatch, discard):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=50, options=KEYS)
    monkeypatch.setattr(fallback, "chosen", lambda device, events: "cuda:0")
    steps = []

    def step(info, device):
        steps.append(Failing(30) if device == "cuda:0" else Nearest())
        return steps[-1], info

    job = UpscaleJob(
        source=source, target=tmp_path / "out.mkv", discard_segments=discard,
        video=VideoOptions(encoding=LOSSLESS),
    )  # fmt: skip
    events = Heard()
    summary = converted(job, step, events, segments_of(job, None, events))
    _, cpu = steps
    assert cpu.ran == 50 - 24
    assert summary.frames == 50
    assert any("the CPU is used: the GPU is lost" in text for text in events.said)
    assert any("2 of 5 segments are finished" in text for text in events.said)
    assert any("segments were made on NVIDIA H100 and cpu" in text for text in summary.warnings)
    convert(source, tmp_path / "whole.mkv", Nearest(), encoding=LOSSLESS)
    same(tmp_path / "whole.mkv", job.target)


@pytest.mark.slow
def test_sound_may_be_another_one_when_a_run_goes_on(tmp_path, short):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS, audio="mp2")
    target = tmp_path / "out.mkv"

    def run(step, audio):
        video = VideoOptions(encoding=LOSSLESS, audio=audio)
        job = UpscaleJob(source=source, target=target, video=video, device="cpu")
        events = Heard()
        make = lambda info, device: (step, info)  # noqa: E731
        converted(job, make, events, segments_of(job, None, events))
        return events.said

    with pytest.raises(KilledError):
        run(Dying(30), "copy")
    assert any("2 of 4 segments are finished" in text for text in run(Nearest(), "aac"))
    assert read(target).container.streams.audio[0].codec_context.name == "aac"
