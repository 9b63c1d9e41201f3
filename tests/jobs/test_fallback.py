"""The one fall-back to the CPU, and where it steps in."""

from __future__ import annotations

from io import TextIOWrapper

import numpy as np
import pytest

import snellen
from snellen.errors import DeviceError, plain
from snellen.gpu import device, driver
from snellen.jobs.fallback import chosen, on_device
from snellen.jobs.kinds import score_step
from snellen.jobs.steps import deblur_step
from snellen.stills.still import Still, read, write
from snellen.upscaling import image as module

FULL = "the GPU's memory does not suffice"
TEXT = f"the CPU is used: {FULL}; use `device`=cpu"


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that "auto" chooses, and that cannot do anything."""
    monkeypatch.setattr(device, "why_not", lambda number=0: "")
    monkeypatch.setattr(device, "name", lambda used: used)


def full(used):
    if used != "cpu":
        raise DeviceError(FULL, parameter="device", advice="use `device`=cpu")
    return used


@pytest.mark.parametrize("repeatable", [False, True])
@pytest.mark.parametrize("asked", ["auto", "cpu", "cuda", "cuda:0"])
def test_only_auto_falls_back_and_only_what_can_be_repeated(gpu, heard, asked, repeatable):
    if asked == "cpu" or (asked == "auto" and repeatable):
        assert on_device(full, asked, "a.png", heard, repeatable) == "cpu"
    else:
        with pytest.raises(DeviceError, match=FULL):
            on_device(full, asked, "a.png", heard, repeatable)
    warned = asked == "auto" and repeatable
    assert heard.warnings == [("a.png", TEXT)] * warned


def test_an_error_of_the_cpu_is_raised(heard, monkeypatch):
    def broken(used):
        raise DeviceError(f"{used} is broken")

    monkeypatch.setattr(device, "why_not", lambda number=0: "no GPU")
    with pytest.raises(DeviceError, match="cpu is broken"):
        on_device(broken, "auto", "a.png", heard)


def test_other_errors_do_not_fall_back(gpu, heard):
    def wrong(used):
        raise ValueError(used)

    with pytest.raises(ValueError, match="cuda:0"):
        on_device(wrong, "auto", "a.png", heard)


@pytest.mark.parametrize("version", [0, 12040])
def test_why_auto_takes_the_cpu_where_there_is_a_driver(heard, monkeypatch, version):
    monkeypatch.setattr(driver, "version", lambda: version)
    monkeypatch.setattr(device, "why_not", lambda number=0: "update the driver")
    assert chosen("auto", heard) == "cpu" and chosen("cpu", heard) == "cpu"
    expected = [("`device`=auto", "the CPU is used: update the driver")]
    assert heard.warnings == expected * bool(version)


def test_several_devices(gpu, heard):
    assert chosen("cuda:0,cuda:1", heard) == "cuda:0,cuda:1"
    with pytest.raises(DeviceError, match="each once"):
        chosen("cuda:0,cpu", heard)


def test_an_image_is_enlarged_on_the_cpu(
    gpu, heard, picture, saved, small_model, tmp_path, monkeypatch
):
    enlarge = module.enlarged

    def noted(image, scale, model, used, *rest, **options):
        return enlarge(image, scale, model, full(used))

    monkeypatch.setattr("snellen.upscaling.image.enlarged", noted)
    source = saved("a.png", pixels := picture())
    result = snellen.upscale_file(source, tmp_path / "b.png", model=small_model, events=heard)
    assert result.device == "cpu" and heard.warnings == [(str(source), TEXT)]
    assert (read(result.target).pixels == enlarge(pixels, 2, small_model, "cpu")).all()


def test_an_image_is_restored_on_the_cpu(gpu, heard, picture, saved, tmp_path, monkeypatch):
    restore = snellen.deblur

    def noted(image, **settings):
        full(settings["device"])
        return restore(image, **settings)

    monkeypatch.setattr("snellen.mia.image.deblur", noted)
    result = snellen.deblur_file(
        saved("a.png", picture()), tmp_path / "b.png", psf_size=5, iterations=3, events=heard
    )
    assert result.device == "cpu" and len(heard.warnings) == 1
    with pytest.raises(DeviceError, match=FULL):
        snellen.deblur_file(tmp_path / "a.png", tmp_path / "c.png", device="cuda")


def test_a_film_is_restored_on_the_cpu(gpu, heard, clip, tmp_path, monkeypatch):
    class Full(snellen.Deblurrer):
        def __init__(self, *arguments, **settings):
            full(settings["device"])
            super().__init__(*arguments, **settings)

    monkeypatch.setattr(deblur_step, "Deblurrer", Full)
    result = snellen.deblur_file(
        clip, tmp_path / "b.y4m", psf_size=5, iterations=3, psf_out=tmp_path / "p.npy",
        events=heard,
    )  # fmt: skip
    assert result.device == "cpu" and len(result.frames) == len(heard.frames) == 4
    assert heard.warnings == [(str(clip), TEXT)]
    assert np.load(tmp_path / "p.npy").shape == (4, 5, 5)


@pytest.mark.slow
def test_a_film_whose_first_frames_the_gpu_did(gpu, heard, clip, tmp_path, monkeypatch):
    """They are done again on the CPU, and count once."""

    class Full(snellen.Deblurrer):
        def __init__(self, *arguments, device, **settings):
            super().__init__(*arguments, device="cpu", **settings)
            self.asked, self.count = device, 0

        def run(self, *arguments, **settings):
            self.count += 1
            if self.count > 2:
                full(self.asked)
            return super().run(*arguments, **settings)

    monkeypatch.setattr(deblur_step, "Deblurrer", Full)
    result = snellen.deblur_file(
        clip, tmp_path / "b.y4m", psf_size=5, iterations=3, psf_out=tmp_path / "p.npy",
        events=heard,
    )  # fmt: skip
    assert [row.frame for row in result.frames] == [0, 1, 2, 3]
    assert np.load(tmp_path / "p.npy").shape == (4, 5, 5) and len(heard.warnings) == 1


def test_standard_input_cannot_be_read_twice(gpu, heard, clip, tmp_path, small_model, monkeypatch):
    class Full(snellen.Upscaler):
        def __init__(self, scale, model, device, chroma):
            full(device)

    monkeypatch.setattr("snellen.jobs.runs.upscale_video.Upscaler", Full)
    with clip.open("rb") as file, pytest.raises(DeviceError, match=FULL):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(file))
        snellen.upscale_file("-", tmp_path / "b.y4m", model=small_model, events=heard)
    assert heard.warnings == [] and list(tmp_path.glob("b*")) == []


def test_images_are_scored_on_the_cpu(gpu, heard, picture, saved, monkeypatch):
    class Full(snellen.Scorer):
        def __init__(self, *, device, **settings):
            super().__init__(device="cpu", **settings)
            self.device = device

        def prepare(self, *arguments, **settings):
            full(self.device)
            return super().prepare(*arguments, **settings)

    monkeypatch.setattr(score_step, "Scorer", Full)
    both = saved("a.png", picture((160, 164))), saved("b.png", picture((160, 164)))
    result = snellen.score_files(*both, events=heard)
    assert result.method.device == "cpu" and result.table.rows[0].mad > 0
    assert heard.warnings == [(f"{both[0]} {both[1]}", TEXT)]
    assert result.warnings == (plain(TEXT),)
    with pytest.raises(DeviceError, match=FULL):
        snellen.score_files(*both, device="cuda")


def test_once_on_the_cpu_all_images_are_scored_there(gpu, heard, picture, tmp_path, monkeypatch):
    """Of two sizes, for each of which the scorer is prepared."""
    asked = []

    class Full(snellen.Scorer):
        def __init__(self, *, device, **settings):
            super().__init__(device="cpu", **settings)
            self.device = device

        def prepare(self, *arguments, **settings):
            asked.append(self.device)
            full(self.device)
            return super().prepare(*arguments, **settings)

    monkeypatch.setattr(score_step, "Scorer", Full)
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        for name, shape in (("a", (40, 44)), ("b", (44, 48))):
            write(folder / f"{name}.png", Still(picture(shape)))
    assert len(snellen.score_files(tmp_path / "one", tmp_path / "two").table.rows) == 2
    assert asked == ["cuda:0", "cpu", "cpu"]


@pytest.mark.parametrize("device", ["cuda:1,cuda:0", ["cuda:1", "0"]])
@pytest.mark.parametrize("kind", ["image", "film"])
def test_of_several_gpus_the_first_makes_what_has_no_segments(
    gpu, picture, saved, clip, tmp_path, kind, device, monkeypatch
):
    def asked(*words, **options):
        found = [one for one in (*words, *options.values()) if str(one).startswith("cuda")]
        raise DeviceError(f"asked for {found}")

    for place in (
        "upscaling.image.enlarged", "jobs.runs.upscale_video.Upscaler",
        "jobs.runs.deblur_image.image.deblur", "jobs.runs.deblur_video.DeblurStep",
    ):  # fmt: skip
        monkeypatch.setattr(f"snellen.{place}", asked)
    source = clip if kind == "film" else saved("a.png", picture())
    target = tmp_path / f"out{source.suffix}"
    for work in (snellen.upscale_file, snellen.deblur_file):
        with pytest.raises(DeviceError, match=r"asked for \['cuda:1'\]"):
            work(source, target, device=device)
        assert not target.exists()
