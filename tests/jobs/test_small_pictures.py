"""Pictures that are too small for MAD: who wants how many pixels of which file."""

import numpy as np
import pytest
from PIL import Image

from snellen import compare_files, score_files
from snellen.errors import InputError
from snellen.jobs import UpscaleJob
from snellen.jobs.calls.previews import preview
from snellen.jobs.kinds.score_step import little
from snellen.jobs.options.options import VideoOptions
from snellen.video import vmaf
from snellen.video.sink.encoding import Encoding
from support.video.clips import make


def images(folder, side):
    """Write two images of noise; return their paths."""
    random, made = np.random.default_rng(3), []
    for name in "ab":
        (folder / name).mkdir()
        made.append(folder / name / "x.png")
        Image.fromarray(random.integers(0, 256, (side, side), np.uint8)).save(made[-1])
    return made


def film(path, side):
    return make(path, codec="ffv1", size=(side, side), frames=3)


def test_scores_of_images_and_folders(tmp_path):
    one, other = images(tmp_path, 32)
    for pair in ((one, other), (one.parent, other.parent)):
        with pytest.raises(InputError, match=r"a/x\.png.*32×32; .*34×34, for MAD") as caught:
            score_files(*pair, device="cpu")
        assert caught.value.advice == "PSNR, SSIM and SSIMULACRA 2 take 11×11"
    assert score_files(one, other, metrics="psnr", device="cpu").table.rows[0].psnr > 0


def test_one_metric_that_takes_them_is_told_of_alone(tmp_path):
    one, other = images(tmp_path, 8)
    with pytest.raises(InputError, match="11×11, for PSNR") as caught:
        score_files(one, other, metrics="psnr", device="cpu")
    assert caught.value.advice == "SSIMULACRA 2 takes 8×8"


def test_films_and_reports(tmp_path):
    one, other = film(tmp_path / "a.mkv", 32), film(tmp_path / "b.mkv", 32)
    with pytest.raises(InputError, match=r"a\.mkv \S*b\.mkv: got pictures of 32×32"):
        score_files(one, other, device="cpu")
    with pytest.raises(InputError, match=r"a\.mkv \S*b\.mkv: got pictures of 32×32"):
        compare_files(one, [other], tmp_path / "r.html", device="cpu")


def test_previews(tmp_path, small_model):
    source = film(tmp_path / "a.mkv", 32)
    job = UpscaleJob(source=source, target=tmp_path / "o.mkv", model=small_model, device="cpu")
    with pytest.raises(InputError, match=r"a\.mkv: got pictures of 32×32.*report of a preview"):
        preview(job, tmp_path / "p.html", count=1)


@pytest.mark.parametrize(
    ("target", "side", "said"),
    [
        ({"target_mad": 5}, 16, r"a\.mkv: got pictures of 32×32.*`?target_mad"),
        ({"target_vmaf": 90}, 8, r"a\.mkv: got pictures of 16×16; .*17×17 for VMAF"),
    ],
)
def test_targets(tmp_path, small_model, target, side, said):
    from snellen.jobs import run

    if "target_vmaf" in target and not vmaf.is_there():
        pytest.skip("PyAV before 19 has no libvmaf")
    source = film(tmp_path / "a.mkv", side)
    video = VideoOptions(encoding=Encoding(**target))
    job = UpscaleJob(
        source=source, target=tmp_path / "o.mkv", model=small_model, device="cpu", video=video
    )
    with pytest.raises(InputError, match=said):
        run(job)


@pytest.mark.parametrize("kind", ["images", "films"])
def test_what_says_little_is_said(tmp_path, kind):
    """MAD of 34×34 noise is 0."""
    if kind == "images":
        pair = images(tmp_path, 34)
    else:
        pair = film(tmp_path / "a.mkv", 34), film(tmp_path / "b.mkv", 34)
    (said,) = score_files(*pair, device="cpu").warnings
    assert "34×34 are too small for MAD to say much" in said and "1×1 pixels count" in said
    assert score_files(*pair, metrics="ssim", device="cpu").warnings == ()


def test_from_one_block_on_nothing_is_said():
    assert little(49, 49) is None and little(34, 290) is None
    assert "15×17 pixels" in little(48, 50)


@pytest.mark.skipif(not vmaf.is_there(), reason="PyAV before 19 has no libvmaf")
def test_vmaf_names_its_films(tmp_path):
    one, other = film(tmp_path / "a.mkv", 16), film(tmp_path / "b.mkv", 16)
    for metrics in ("vmaf", "psnr,vmaf"):
        with pytest.raises(InputError, match=r"a\.mkv \S*b\.mkv: .*16×16; .*17×17 for VMAF"):
            score_files(one, other, metrics=metrics, device="cpu")
    with pytest.raises(InputError, match=r"a\.mkv \S*b\.mkv: .*16×16; .*17×17 for VMAF"):
        compare_files(one, [other], tmp_path / "r.html", metrics="psnr,vmaf", device="cpu")
