"""Films and images at a size that is asked for, by A+ and a filter."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image

import snellen
from snellen import InputError
from snellen.jobs import UpscaleJob
from support.models import only_2014
from support.video.clips import luma, make, read


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return make(tmp_path_factory.mktemp("film") / "in.mkv", frames=3, audio="aac")


def size_of(path):
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        ratio = stream.sample_aspect_ratio
        shape = None if not ratio else Fraction(ratio.numerator, ratio.denominator)
        return stream.width, stream.height, shape


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"size": "100x90"}, (100, 76)),
        ({"size": "128x72", "fit": "pad"}, (128, 72)),
        ({"height": 90}, (120, 90)),
        ({"scale": 1.5}, (96, 72)),
        pytest.param({"scale": 5}, (320, 240), marks=pytest.mark.slow),
        pytest.param({"size": "100x90", "fit": "crop"}, (100, 90), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_film(film, tmp_path, settings, size):
    target = tmp_path / "out.mkv"
    result = snellen.upscale_file(film, target, device="cpu", preset="ultrafast", **settings)
    assert (result.width, result.height) == size
    assert size_of(target)[:2] == size
    after = read(target)
    assert (len(after.frames), after.types) == (3, ["video", "audio"])
    assert after.times == read(film).times


def test_narrow_pixels_become_square(tmp_path):
    source = make(tmp_path / "in.mkv", frames=2, aspect=Fraction(4, 3))
    for settings, expected in (
        ({"height": 96}, (170, 96, Fraction(1))),
        ({"scale": 1.5}, (96, 72, Fraction(4, 3))),
    ):
        target = tmp_path / "out.mp4"
        snellen.upscale_file(
            source, target, device="cpu", preset="ultrafast", overwrite=True, **settings
        )
        assert size_of(target) == expected


def test_an_image(tmp_path):
    Image.fromarray(np.tile(np.arange(0, 240, 4, np.uint8), (40, 1))).save(tmp_path / "in.png")
    result = snellen.upscale_file(
        tmp_path / "in.png", tmp_path / "out.png", size="100x90", device="cpu"
    )
    assert (result.width, result.height) == (100, 67)
    ramp = np.asarray(Image.open(tmp_path / "out.png")).astype(float)
    step = np.diff(ramp[33, 10:-10]).mean()
    assert step == pytest.approx(4 * 60 / 100, rel=0.02)


def test_a_model_of_another_magnification(film, tmp_path):
    """A model that is named makes any size, by itself or twice; not another whole magnification."""
    Image.new("L", (60, 40)).save(tmp_path / "in.png")
    for source, size in ((film, (120, 90)), (tmp_path / "in.png", (135, 90))):
        target = tmp_path / f"out{source.suffix}"
        how = {"model": "t91-x3", "device": "cpu"}
        result = snellen.upscale_file(source, target, size="160x90", **how)
        assert (result.width, result.height, result.model) == (*size, "t91-x3")
        with pytest.raises(InputError, match="the model enlarges ×3; expected ×2; give scale=3"):
            snellen.upscale_file(source, tmp_path / f"other{source.suffix}", **how)


def test_a_pair_of_numbers_is_a_size(tmp_path):
    Image.new("L", (60, 40)).save(tmp_path / "in.png")
    how = {"model": "t91-x2", "device": "cpu", "size": (np.int64(90), 100)}
    result = snellen.upscale_file(tmp_path / "in.png", tmp_path / "out.png", **how)
    assert (result.width, result.height) == (90, 60)
    (result,) = snellen.upscale_files(tmp_path / "in.png", **how)
    assert result.target.name == "in-90x100.png"
    with pytest.raises(InputError, match=r"got size=\(90, 2.5\); expected"):
        snellen.upscale_file(tmp_path / "in.png", size=(90, 2.5))


def test_what_is_large_enough_is_refused(film, tmp_path):
    said = r"size=64x64 makes 64×48 of a picture of 64×48"
    with pytest.raises(InputError, match=said) as caught:
        snellen.upscale_file(film, tmp_path / "out.mkv", size="64x64", device="cpu")
    assert caught.value.parameter == "size"
    assert not (tmp_path / "out.mkv").exists()


def test_a_job_with_a_size_is_exact_as_json():
    job = UpscaleJob(source="a.mkv", target="b.mkv", size="4k", fit="pad")
    assert UpscaleJob.from_json(job.to_json()) == job
    assert job.magnification is None
    assert UpscaleJob(source="a.mkv", target="b.mkv", scale=3.0).magnification == 3
    old = UpscaleJob(source="a.mkv", target="b.mkv", scale=3)
    assert (old.to_json(), type(old.scale)) == (
        UpscaleJob(source="a.mkv", target="b.mkv", scale=3.0).to_json(), int,
    )  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("settings", [{"scale": 6}, {"size": "100x90"}, {"scale": 5}], ids=str)
def test_a_film_on_a_gpu(film, tmp_path, monkeypatch, settings):
    """Between two magnifications frames stay on the GPU; the filter gets them from there.

    By A+ of 2014: CPU and GPU choose the same anchors, while networks may round elsewhere.
    """
    only_2014(monkeypatch)
    found = []
    for device in ("cpu", "cuda"):
        target = tmp_path / f"{device}.mkv"
        result = snellen.upscale_file(film, target, device=device, codec="ffv1", **settings)
        found.append([luma(frame).astype(int) for frame in read(target).frames])
    assert result.device != "cpu"
    for one, other in zip(*found, strict=True):
        # Either may round an intermediate code the other way; enlarging passes that on.
        assert np.abs(one - other).max() <= 2
