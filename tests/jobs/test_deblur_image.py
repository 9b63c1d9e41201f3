"""Images restored: settings, regions, bursts, transparency, PSFs as files, refusals."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from PIL import Image

from snellen.errors import InputError
from snellen.jobs.options import psf_files
from snellen.stills.still import read
from support.cli import names
from support.mia.plain import deblur, deblur_file

QUICK = {"psf_size": 5, "iterations": 3, "device": "cpu"}
PSF = np.array([[1, 2, 1], [2, 9, 4], [1, 4, 2]], float)


def refused(match, *arguments, **options):
    """Check for an InputError that says this."""
    with pytest.raises(InputError, match=match):
        deblur_file(*arguments, **options)


def test_a_known_blur_is_undone(picture, saved, tmp_path):
    """In the right direction: PSF is not symmetric."""
    sharp = picture((40, 40)) / 255
    weights = PSF / PSF.sum()
    padded = np.pad(sharp, 1, mode="edge")
    blurred = sum(
        weights[i, j] * padded[2 - i : 42 - i, 2 - j : 42 - j] for i in range(3) for j in range(3)
    )
    source, target = saved("in.tif", blurred.astype(np.float32)), tmp_path / "out.tif"
    deblur_file(source, target, PSF, iterations=300, device="cpu")
    errors = [
        np.abs(one[2:-2, 2:-2] - sharp[2:-2, 2:-2]).mean() for one in (blurred, read(target).pixels)
    ]
    assert errors[1] < errors[0] / 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"psf_size": 8},
        {"noise": "gaussian"},
        {"read_noise": 0.1},
        {"tv": 0.02},
        {"edges": "taper"},
        {"tile": 14},
        {"recentre": False},
        {"recentre": "whole"},
        {"iterations": 300, "tolerance": 0.05},
        {"iterations": 100, "dtype": "float64"},
    ],
)
def test_settings_reach_the_method(picture, saved, tmp_path, settings):
    source = saved("in.tif", picture().astype(np.float32) / 255)
    result = deblur_file(source, tmp_path / "out.tif", **{**QUICK, **settings})
    wanted = deblur(read(source).pixels, **{**QUICK, **settings})
    assert (read(result.target).pixels == wanted.image).all()
    assert (result.fit, result.iterations) == (wanted.fit, wanted.iterations)


def test_a_prior_has_its_own_defaults(picture, saved, tmp_path, monkeypatch):
    """So neither iterations nor weight are passed on where nobody asked for them."""
    asked = []

    def noted(image, **settings):
        asked.append(settings)
        return deblur(image, **QUICK)

    monkeypatch.setattr("snellen.mia.image.deblur", noted)
    run = partial(deblur_file, saved("in.png", picture()), device="cpu", prior="l0")
    run(tmp_path / "a.png")
    run(tmp_path / "b.png", tv=0.002, iterations=9)
    assert [one["prior"] for one in asked] == ["l0", "l0"]
    assert not {"iterations", "tv"} & asked[0].keys()
    assert (asked[1]["iterations"], asked[1]["tv"]) == (9, 0.002)


def test_transparency_stays(picture, saved, tmp_path):
    pixels = picture((20, 24, 4))
    found = read(deblur_file(saved("in.png", pixels), tmp_path / "out.png", **QUICK).target).pixels
    assert (found[..., 3] == pixels[..., 3]).all()
    assert (found[..., :3] == deblur(pixels[..., :3], **QUICK).image).all()
    grey = np.stack([picture()] * 3 + [pixels[..., 3]], -1)
    deblur_file(saved("g.png", grey, grey_alpha=True), tmp_path / "out-grey.png", **QUICK)
    with Image.open(tmp_path / "out-grey.png") as image:
        assert image.mode == "LA"
        found = np.asarray(image)
    assert (found[..., 0] == deblur(grey[..., 0], **QUICK).image).all()
    assert (found[..., 1] == grey[..., 3]).all()


@pytest.mark.parametrize("value", [0, 77])
def test_a_picture_of_one_value_is_itself(saved, tmp_path, value):
    source = saved("in.png", np.full((20, 24), value, np.uint8))
    result = deblur_file(source, tmp_path / "out.png", **QUICK)
    assert (read(result.target).pixels == value).all() and np.isfinite(result.fit)


@pytest.mark.parametrize("shape", [(20, 24), (20, 24, 3), (20, 24, 4)])
def test_a_region_of_an_image(picture, saved, tmp_path, shape):
    pixels = picture(shape)
    source = saved("in.png", pixels)
    part = pixels[2:13, 5:21]
    wanted = part.copy()
    colours = part[..., :3] if len(shape) == 3 else part
    restored = deblur(np.ascontiguousarray(colours), **QUICK).image
    (wanted[..., :3] if len(shape) == 3 else wanted)[...] = restored
    region = {"region": (5, 2, 16, 11), **QUICK}
    result = deblur_file(source, tmp_path / "part.png", **region)
    assert (read(result.target).pixels == wanted).all()
    assert (result.width, result.height) == (16, 11)
    result = deblur_file(source, tmp_path / "whole.png", **region, paste_back=True)
    whole = pixels.copy()
    whole[2:13, 5:21] = wanted
    assert (read(result.target).pixels == whole).all()


def test_positions_are_for_video(picture, saved, tmp_path):
    """An image has no frames that they could be of."""
    source = saved("in.png", picture())
    refused(
        f"{source}: positions is for video; of an image name the region by region X,Y,W,H",
        source, tmp_path / "out.png", region=(16, 11), positions=[(1, 2)], **QUICK,
    )  # fmt: skip
    assert names(tmp_path) == ["in.png"]


def test_white_that_hardly_is_1_is_warned_of(picture, saved, tmp_path, heard):
    pixels = picture().astype(np.float32)
    how = {**QUICK, "events": heard, "overwrite": True}
    deblur_file(saved("in.tif", pixels), tmp_path / "out.tif", **how)
    ((subject, text),) = heard.warnings
    assert subject == str(tmp_path / "in.tif")
    assert f"go up to {pixels.max():g}, which is taken" in text and "`data_range`" in text
    found = read(tmp_path / "out.tif").pixels
    assert (found == deblur(pixels, **QUICK, data_range=float(pixels.max())).image).all()
    heard.warnings.clear()
    deblur_file(saved("b.tif", pixels / 255 * 1.5), tmp_path / "out.tif", **how)
    deblur_file(saved("c.tif", pixels), tmp_path / "out.tif", data_range=255, **how)
    assert heard.warnings == []


def test_integers_have_a_white(picture, saved, tmp_path, heard):
    source, target = saved("in.png", picture()), tmp_path / "out.png"
    deblur_file(source, target, **QUICK, data_range=100, events=heard)
    text = "`data_range` is for float images: without effect on an image of 8 bit"
    assert heard.warnings == [(str(source), text)]
    assert (read(target).pixels == deblur(read(source).pixels, **QUICK).image).all()


def test_options_of_videos_are_warned_of(picture, saved, tmp_path, heard):
    source = saved("in.png", picture())
    result = deblur_file(
        source, tmp_path / "out.png", **QUICK, crf=3, encoder_options={"tune": "film"}, frames=2,
        decoder="cpu", window=2, warm=True, events=heard,
    )  # fmt: skip
    wanted = ["window", "warm", "frames", "crf", "encoder_options", "decoder"]
    assert [text.split("`")[1] for _, text in heard.warnings] == wanted
    assert all("is for video: without effect on an image" in text for _, text in heard.warnings)
    assert result.warnings == tuple(text for _, text in heard.warnings)


def test_refused_bursts(picture, saved, tmp_path):
    one, other = saved("a.png", picture()), saved("b.png", picture((20, 24, 3)))
    target = tmp_path / "out.png"
    refused("b.png is 24×20 RGB uint8.*one object", [one, other], target)
    refused("two images or more", [one], target)
    refused(r"a\.mp4 is no image", [one, tmp_path / "a.mp4"], target)
    refused("is a folder", [one, other], tmp_path)
    refused("is the input itself", [one, one], one, overwrite=True)
    refused("is the input itself", [one, other], other, overwrite=True)
    refused("a prior finds the PSF of one picture", [one, other], target, prior="l0")
    assert names(tmp_path) == ["a.png", "b.png"]


@pytest.mark.slow
def test_psfs_go_out_and_come_in(picture, saved, tmp_path):
    pixels = picture((30, 32))
    source, wanted = saved("in.png", pixels), deblur(pixels, **QUICK)
    run = partial(deblur_file, source, tmp_path / "out.png", overwrite=True, device="cpu")
    for name in ("psf.npy", "psf.png"):
        path = tmp_path / name
        run(psf_size=5, iterations=3, psf_out=path)
        run(path, iterations=4)
        given = np.load(path) if name == "psf.npy" else read(path).pixels
        again = deblur(pixels, given, iterations=4, device="cpu").image
        assert (read(tmp_path / "out.png").pixels == again).all()
    path = tmp_path / "psf.npy"
    again = deblur(pixels, psf_size=7, iterations=4, start=np.load(path), device="cpu").image
    for start in (path, str(path), np.load(path)):
        run(psf_size=7, iterations=4, psf_start=start)
        assert (read(tmp_path / "out.png").pixels == again).all()
    found = np.load(tmp_path / "psf.npy")
    assert found.dtype == np.float32 and (found == wanted.psf).all()
    with Image.open(tmp_path / "psf.png") as image:
        assert image.mode == "I;16"
        shades, white = np.asarray(image), float(image.text["white"])
    assert shades.max() == 65535
    assert np.abs(shades / 65535 * white - found).max() <= white / 65535 / 2 * 1.001


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (np.zeros((3, 3)), "0 everywhere"),
        (-np.ones((3, 3)), "negative"),
        (np.full((3, 3), np.nan), "NaN"),
        (np.ones((99, 99)), "99×99"),
        (np.ones(3), "rows and columns"),
        (b"no array", r"psf\.npy: not an array of NumPy; expected what numpy\.save writes"),
        (None, "no such file"),
    ],
)
def test_a_psf_that_is_none(picture, saved, tmp_path, content, said):
    source, path = saved("in.png", picture()), tmp_path / "psf.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content)
    refused(said, source, tmp_path / "out.png", path, device="cpu")
    assert not (tmp_path / "out.png").exists()


def test_a_psf_as_a_picture_is_grey(picture, saved, tmp_path):
    source, target = saved("in.png", picture()), tmp_path / "out.png"
    refused("has colours", source, target, saved("psf.png", picture((5, 5, 3))))
    refused(r"\.npy", source, target, tmp_path / "psf.txt")
    same = np.stack([picture((5, 5))] * 3, -1)
    deblur_file(source, target, saved("grey.png", same), iterations=2, device="cpu")


@pytest.mark.parametrize("name", ["psf.npy", "psf.png"])
def test_the_psf_gets_its_name_before_the_image(picture, saved, tmp_path, monkeypatch, name):
    """A kill between them must not leave an image that counts as done."""
    target, write = tmp_path / "out.png", psf_files.write

    def dying(*given):
        write(*given)
        assert not target.exists() and len(list(tmp_path.glob(".out*"))) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(psf_files, "write", dying)
    with pytest.raises(KeyboardInterrupt):
        deblur_file(saved("in.png", picture()), target, psf_out=tmp_path / name,
                    **QUICK)  # fmt: skip
    assert names(tmp_path) == ["in.png", name]


def test_psf_out_is_checked_before_any_work(picture, saved, tmp_path):
    source, target = saved("in.png", picture()), tmp_path / "out.png"
    (tmp_path / "psf.npy").write_bytes(b"mine")
    run = partial(refused, source=source, target=target, **QUICK)
    run("psf.npy exists", psf_out=tmp_path / "psf.npy")
    run("written as .npy or .png", psf_out=tmp_path / "psf.txt", overwrite=True)
    run("is the input itself", psf_out=source, overwrite=True)
    run("choose another file for one", psf_out=target, overwrite=True)
    run("cannot be made: Not a directory", psf_out=source / "no" / "psf.npy")
    assert (tmp_path / "psf.npy").read_bytes() == b"mine" and not target.exists()
    np.save(tmp_path / "known.npy", PSF)
    refused(
        "is the input itself", source, target, tmp_path / "known.npy", overwrite=True,
        psf_out=tmp_path / "known.npy",
    )  # fmt: skip


@pytest.mark.slow
def test_progress_of_every_stage(picture, saved, tmp_path, heard):
    """The search of the prior by turns, the channels after luma; each by a clock of its own."""
    how = {"psf_size": 9, "iterations": 20, "device": "cpu", "events": heard, "overwrite": True}
    run = partial(deblur_file, saved("in.png", picture((40, 44, 3))), tmp_path / "out.png", **how)
    run()
    seen = [(step.stage, step.unit, step.done, step.total) for step in heard.steps]
    assert seen == [(s, "iteration", n, 20) for s in ("picture", "channels") for n in (10, 20)]
    assert [step.eta == 0 for step in heard.steps] == [False, True] * 2
    heard.steps.clear()
    run(prior="l0")
    turns = [step for step in heard.steps if step.stage == "prior"]
    seen = [(step.unit, step.done, step.total, step.eta) for step in turns]
    assert seen == [("turn", n, 45, None) for n in range(1, 46)]
    assert [(step.stage, step.done) for step in heard.steps[45:]] == [
        ("picture", 10),
        ("picture", 20),
    ]
    heard.steps.clear()
    run(prior="l0", tile=36)
    seen = [(step.done, step.total) for step in heard.steps if step.stage == "prior"]
    assert seen == [(n, 180) for n in range(1, 181)]
