"""snellen score: two videos, two images, two folders."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys

import click
import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.cli.score import score
from snellen.errors import OutputError
from snellen.mad import scorer
from snellen.mad.temporal import st_mad
from snellen.stills.still import Still, write
from support.cli import run
from support.scores import FRAMES
from support.video.clips import HEIGHT, WIDTH, make, read
from support.video.clips import luma as plane

pytestmark = pytest.mark.usefixtures("signals")

KEYS = ["mean", "harmonic_mean", "min", "max", "median", "p5", "p95"]


def json_lines(capsys, *words, code=0):
    """The lines of JSON on standard output, and those on standard error."""
    assert run("score", *words, "--json") == code
    out, err = capsys.readouterr()
    return [[json.loads(line) for line in text.splitlines()] for text in (out, err)]


def warned(lines):
    return [line["message"] for line in lines if line["event"] == "warning"]


@pytest.mark.slow
def test_a_film_and_itself(capsys, films):
    *rows, last = json_lines(capsys, films[0], films[0])[0]
    assert [row["frame"] for row in rows] == list(range(FRAMES))
    assert [row["time"] for row in rows] == [n / 25 for n in range(FRAMES)]
    assert all(row[name] == 0 for row in rows for name in ("mad", "hi", "lo"))
    pooled = last["pooled"]
    assert list(pooled) == ["mad", "hi", "lo"]
    assert all(list(one) == KEYS and not any(one.values()) for one in pooled.values())
    assert last["frames"] == last["reference_frames"] == last["distorted_frames"] == FRAMES
    assert (last["variant"], last["hi_scale"], last["eight_bit_lut"]) == ("2011", 200, False)
    assert (last["offset"], last["every"], last["resized"]) == (0, 1, None)
    assert last["device"] and last["warnings"] == [] and last["lost"] == []


@pytest.mark.slow
def test_text(capsys, films):
    assert run("score", films[0], films[2], "--worst", 2) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["mean", "harmonic", "median", "min", "max", "p5", "p95"]
    assert [line.split()[0] for line in lines[1:4]] == ["MAD", "HI", "LO"]
    assert "6 frames of 6 and 6, 64×48 4:2:0 8 bit" in lines[4]
    assert sum(line.startswith("worst: frame") for line in lines) == 2
    assert err == ""


@pytest.mark.slow
def test_different_lengths_are_warned_of(capsys, films, tmp_path):
    short = make(tmp_path / "short.mkv", codec="ffv1", frames=4)
    lines, said = json_lines(capsys, films[0], short)
    assert len(lines) == 5 and lines[-1]["pooled"]["mad"]["max"] == 0
    assert (lines[-1]["reference_frames"], lines[-1]["distorted_frames"]) == (6, 4)
    assert warned(said) == lines[-1]["warnings"]
    assert "has 6 frames" in warned(said)[0] and "has 4" in warned(said)[0]
    assert run("score", films[0], short) == 0
    assert "warning: " in capsys.readouterr().err


@pytest.mark.slow
def test_sizes(capsys, films, tmp_path):
    large = make(tmp_path / "large.mkv", codec="ffv1", frames=FRAMES, size=(128, 96))
    assert run("score", films[0], large) == 2
    err = capsys.readouterr().err
    assert "64×48" in err and "128×96" in err and "--resize" in err
    lines, said = json_lines(capsys, films[0], large, "--resize")
    assert "Lanczos" in lines[-1]["resized"] and "Lanczos" in warned(said)[0]
    assert (lines[-1]["width"], lines[-1]["height"]) == (WIDTH, HEIGHT)


@pytest.mark.slow
def test_csv(capsys, films, tmp_path):
    rows = json_lines(capsys, films[0], films[2], "--csv", tmp_path / "t.csv")[0][:-1]
    with (tmp_path / "t.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{k: str(v) for k, v in r.items()} for r in rows]
    assert run("score", films[0], films[2], "--csv", "-") == 0
    out, err = capsys.readouterr()
    assert out == (tmp_path / "t.csv").read_text()
    assert err.splitlines()[1].startswith("MAD")
    assert run("score", films[0], films[2], "--csv", tmp_path / "t.csv") == 2
    assert "--overwrite" in capsys.readouterr().err
    assert run("score", films[0], films[1], "--csv", tmp_path / "t.csv", "--overwrite") == 0
    assert (tmp_path / "t.csv").read_text() != out


@pytest.mark.slow
def test_one_pair_of_images(capsys, images, tmp_path):
    for reference, distorted, wanted in images:
        lines, said = json_lines(capsys, reference, distorted, "--device", "cpu")
        assert len(lines) == 1 and list(lines[0]) == ["mad", "hi", "lo"]
        assert [one["event"] for one in said] == ["warning"] * ("tiny" in reference.name)
        # 1e-9 relative: what the float64 backend is held to.
        assert lines[0]["mad"] == pytest.approx(wanted["MAD"], rel=1e-9)
    maps = tmp_path / "maps"
    words = ["--map-out", maps, "--csv", "-", "--device", "cpu"]
    assert run("score", reference, distorted, *words) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "mad,hi,lo" and err.startswith("MAD ")
    assert json.loads((maps / "index.json").read_text())["maps"][0]["mad"] == lines[0]["mad"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--variant", "paper"], {"variant": "paper"}),
        (["--hi-scale", "10"], {"hi_scale": 10}),
        (["--eight-bit-lut"], {"eight_bit_lut": True}),
        (["--dtype", "float32"], {"dtype": "float32", "device": "cpu"}),
    ],
)
def test_settings(capsys, images, words, settings):
    reference, distorted, _ = images[0]
    found = json_lines(capsys, reference, distorted, "--device", "cpu", *words)[0][0]
    arrays = [np.asarray(Image.open(path)) for path in (reference, distorted)]
    wanted = snellen.score(*arrays, **{"device": "cpu", **settings})
    assert (found["mad"], found["hi"], found["lo"]) == (wanted.mad, wanted.hi, wanted.lo)


def test_folders(capsys, tmp_path, random):
    for folder, suffix in (("one", "png"), ("two", "tif")):
        (tmp_path / folder).mkdir()
        for number in range(3):
            size = (50, 50 + 2 * (number % 2))
            pixels = random.integers(0, 256, size, np.uint8)
            write(tmp_path / folder / f"{number}.{suffix}", Still(pixels))
    words = [tmp_path / "one", tmp_path / "two"]
    *rows, last = json_lines(
        capsys, *words, "--map-out", tmp_path / "maps", "--csv", tmp_path / "t.csv"
    )[0]
    assert [(row["frame"], row["name"]) for row in rows] == [(n, str(n)) for n in range(3)]
    pair = [tmp_path / "one" / "1.png", tmp_path / "two" / "1.tif"]
    assert json_lines(capsys, *pair)[0][0]["mad"] == rows[1]["mad"]
    assert last["frames"] == 3 and last["pooled"]["mad"]["max"] == max(r["mad"] for r in rows)
    assert (tmp_path / "maps" / f"{last['worst'][0]['name']}_detection.png").exists()
    assert (tmp_path / "t.csv").read_text().startswith("frame,name,mad,hi,lo\n0,0,")
    rows = json_lines(capsys, *words, "--every", 2)[0][:-1]
    assert [row["frame"] for row in rows] == [0, 2]
    assert run("score", *words) == 0
    assert "3 pairs of images" in capsys.readouterr().out


def test_st_mad(capsys, clips):
    last = json_lines(capsys, *clips, "--temporal")[0][-1]
    wanted = st_mad(*(np.stack([plane(f) for f in read(clip).frames]) for clip in clips))
    assert (last["stmad"], last["smad"], last["tmad"]) == (wanted.stmad, wanted.smad, wanted.tmad)
    assert run("score", *clips, "--temporal") == 0
    assert f"ST-MAD {wanted.stmad:.4f}" in capsys.readouterr().out


def test_st_mad_of_too_short_a_film_is_reported_last(capsys, films):
    lines, said = json_lines(capsys, films[0], films[2], "--temporal", code=2)
    assert len(lines) == FRAMES + 1 and lines[-1]["stmad"] is None
    assert lines[-1]["pooled"]["mad"]["mean"] > 0
    assert said[-1]["event"] == "error" and "--temporal needs 34" in said[-1]["message"]


@pytest.mark.slow
def test_pipes(films, tmp_path):
    y4m = tmp_path / "film.y4m"
    make(y4m, codec="rawvideo", frames=FRAMES)
    for words in (["-", films[2]], [films[2], "-"]):
        command = [sys.executable, "-m", "snellen", "score", *map(str, words), "--json"]
        done = subprocess.run(command, input=y4m.read_bytes(), capture_output=True, timeout=100)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        assert len(done.stdout.splitlines()) == FRAMES + 1


@pytest.mark.slow
def test_damage(capsys, films, tmp_path):
    torn = tmp_path / "torn.y4m"
    make(torn, codec="rawvideo", frames=FRAMES)
    torn.write_bytes(torn.read_bytes()[:-100])
    lines, said = json_lines(capsys, films[0], torn, code=3)
    assert len(lines) == FRAMES and "ends early" in lines[-1]["lost"][0]
    assert said[-1]["exit_code"] == 3 and "torn.y4m" in said[-1]["message"]
    assert run("score", films[0], torn) == 3
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("MAD") and "error: damaged" in err


@pytest.mark.slow
def test_an_interrupt_leaves_nothing(capsys, films, tmp_path, monkeypatch):
    whole, count = scorer.Scorer.submit, []

    def interrupted(self, reference, distorted, **options):
        count.append(1)
        if len(count) > 3:
            raise KeyboardInterrupt
        return whole(self, reference, distorted, **options)

    monkeypatch.setattr(scorer.Scorer, "submit", interrupted)
    words = ["--csv", tmp_path / "t.csv", "--map-out", tmp_path / "maps"]
    assert run("score", films[0], films[2], *words) == 130
    assert "interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.cases(23)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["film", "image"], "is a video, .*is an image"),
        (["folder", "image"], "is a folder, .*is an image"),
        (["-", "-"], "not both"),
        (["film", "none.mkv"], "none.mkv"),
        (["image", "none.png"], "none.png: no such file or folder"),
        (["none", "film"], "none: no such file or folder"),
        (["folder", "none"], "none: no such file or folder"),
        (["x" * 300, "film"], "too long"),
        (["image", "layers.psd"], "layers.psd: images of this type are not read; convert"),
        (["film", "film", "--json", "--csv", "-"], "standard output"),
        (["image", "image", "--offset", "1"], "--offset .*for videos"),
        (["image", "image", "--every", "2"], "--every .*videos and folders"),
        (["film", "film", "--offset", "9"], "no frame has a partner"),
        (["film", "film", "--start", "soon"], "expected seconds"),
        (["film", "film", "--hi-scale", "-1"], "--hi-scale -1"),
        (["film", "film", "--temporal", "--every", "2"], "needs all frames"),
        (["film", "film", "--temporal", "--frames", "33"], "34 frames"),
        (["film", "film", "--map-out", "-"], "standard output"),
        (["film", "film", "--map-out", "tiny.png/no/maps"], "cannot be made"),
        (["film", "film", "--csv", "film"], "input itself"),
        (["folder", "folder", "--map-out", "folder", "--overwrite"], "input itself"),
        (["film", "film", "--map-out", "maps", "--csv", "maps"], "folder of maps"),
        (["film", "film", "--map-out", "folder", "--csv", "folder/t", "--overwrite"], "of maps"),
        (["tiny", "tiny"], "34×34"),
    ],
)
def test_wrong_use(capsys, films, images, tmp_path, words, said, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "a.png", Still(np.zeros((40, 40), np.uint8)))
    write(tmp_path / "tiny.png", Still(np.zeros((33, 40), np.uint8)))
    (tmp_path / "layers.psd").write_bytes(b"8BPS")
    monkeypatch.chdir(tmp_path)
    named = {"film": films[0], "image": images[0][0], "folder": folder, "tiny": "tiny.png"}
    before = sorted(tmp_path.rglob("*"))
    assert run("score", *(named.get(word, word) for word in words)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and re.search(f"error.*{said}", err), err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_table_is_read_back(capsys, films):
    assert run("score", films[0], films[1], "--csv", "-", "--frames", 2) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["frame", "time", "mad", "hi", "lo"] and len(rows) == 3


def test_a_table_is_never_the_film_on_standard_input(tmp_path):
    film = make(tmp_path / "film.y4m", codec="rawvideo", frames=2)
    before = film.read_bytes()
    command = [sys.executable, "-m", "snellen", "score", "-", film, "--csv", tmp_path / "t.csv"]
    (tmp_path / "t.csv").hardlink_to(film)
    with film.open("rb") as stream:
        done = subprocess.run(
            [*map(str, command), "--overwrite"], stdin=stream, capture_output=True, timeout=100
        )
    assert done.returncode == 2 and b"input itself" in done.stderr
    assert film.read_bytes() == (tmp_path / "t.csv").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["films", "images", "folders"])
def test_scores_are_reported_where_files_cannot_be_written(
    capsys, request, tmp_path, monkeypatch, kind
):
    """What the disk refuses at the end costs neither the scores nor the other file."""

    def refuse(self, path, overwrite):
        raise OutputError("t.csv could not be written: No space left on device")

    inputs = request.getfixturevalue(kind)
    inputs = inputs[0][:2] if kind == "images" else inputs[:2]
    table, maps = tmp_path / "t.csv", tmp_path / "maps"
    words = [*inputs, "--csv", table, "--map-out", maps]
    monkeypatch.setattr("snellen.jobs.steps.score_table.ScoreTable.write", refuse)
    assert run("score", *words) == 1
    out, err = capsys.readouterr()
    assert "MAD" in out and "maps of these" not in out and "No space left" in err
    assert (maps / "index.json").exists() and not table.exists()
    lines, said = json_lines(capsys, *words, "--overwrite", code=1)
    assert "mad" in (lines[-1] if kind == "images" else lines[-1]["pooled"])
    assert said[-1]["event"] == "error" and said[-1]["exit_code"] == 1


def test_files_are_written_where_nobody_listens(films, tmp_path):
    command = [sys.executable, "-m", "snellen", "score", *films[:2], "--csv", tmp_path / "t.csv"]
    with open("/dev/full", "wb") as full:  # noqa: PTH123 (what the shell would give)
        done = subprocess.run(
            [*map(str, command)], stdout=full, stderr=subprocess.PIPE, timeout=100
        )
    assert done.returncode != 0
    assert len((tmp_path / "t.csv").read_text().splitlines()) == FRAMES + 1


@pytest.mark.slow
def test_errors_of_folders_are_json_too(capsys, films, tmp_path, monkeypatch):
    def refuse(self, *arguments, **settings):
        raise PermissionError(13, "Permission denied")

    words = [*films[:2], "--map-out", tmp_path / "maps"]
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.mkdir", refuse)
        said = json_lines(capsys, *words, code=1)[1]
    assert said[-1]["exit_code"] == 1 and "could not be made" in said[-1]["message"]
    (tmp_path / "maps").mkdir()
    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    said = json_lines(capsys, *words, code=2)[1]
    assert said[-1]["exit_code"] == 2 and "Permission denied" in said[-1]["message"]


def test_a_warning_names_its_input_once(capsys, tmp_path, random):
    pixels = random.integers(0, 256, (50, 60, 4), np.uint8)
    write(tmp_path / "a.png", Still(pixels))
    write(tmp_path / "b.png", Still(pixels[..., :3]))
    assert run("score", tmp_path / "a.png", tmp_path / "b.png") == 0
    wanted = f"warning: {tmp_path / 'a.png'}: transparency does not count\n"
    assert capsys.readouterr().err == wanted
    assert run("score", tmp_path / "a.png", tmp_path / "a.png") == 0
    assert capsys.readouterr().err == wanted


def test_a_warning_of_both_names_both(capsys, films, tmp_path):
    short = make(tmp_path / "short.mkv", codec="ffv1", frames=1)
    assert run("score", films[0], short) == 0
    out, err = capsys.readouterr()
    assert err.startswith(f"warning: {films[0]} {short}: {films[0]} has 6 frames, ")
    assert "1 pair was compared" in err and "1 frame of 6 and 1, " in out


def test_any_positive_hi_scale(capsys, images):
    words = [*images[0][:2], "--device", "cpu", "--hi-scale"]
    assert json_lines(capsys, *words, "37.5")[0][0]["hi"] > 0
    text = " ".join(score.get_help(click.Context(score)).split())
    assert "any positive number" in text and "[default: 200]" in text


def test_metrics(capsys, films, tmp_path):
    """Columns and statistics of each; the infinite PSNR of equal frames is null in JSON."""
    table = tmp_path / "scores.csv"
    words = ["--metrics", "mad,psnr,ssim", "--csv", table]
    lines = json_lines(capsys, films[0], films[0], *words)[0]
    assert lines[0]["psnr"] is None and lines[0]["ssim"] == 1
    pooled = lines[-1]["pooled"]
    assert set(pooled) == {"mad", "hi", "lo", "psnr", "ssim"} and pooled["psnr"]["mean"] is None
    assert list(pooled["psnr"]) == [*KEYS, "of_mean_mse"] and pooled["psnr"]["of_mean_mse"] is None
    assert list(pooled["ssim"]) == KEYS
    assert table.read_text().splitlines()[:2] == [
        "frame,time,mad,hi,lo,psnr,ssim",
        "0,0.0,0.0,0.0,0.0,inf,1.0",
    ]
    last = json_lines(capsys, films[0], films[0], "--metrics", "psnr", "--frames", 1)[0][-1]
    assert last["device"] == "cpu"  # of MAD, which was not computed, nothing is said
    assert not {"variant", "hi_scale", "eight_bit_lut", "dtype"} & set(last)


def test_an_animation_against_an_image(capsys, images, tmp_path):
    first = images[0][0]
    with Image.open(first) as image:
        grey = image.convert("L")
    grey.save(tmp_path / "a.gif", save_all=True, append_images=[grey.rotate(180)])
    assert run("score", first, tmp_path / "a.gif", "--device", "cpu") == 0
    assert "a.gif: it holds several pictures: the first one is taken" in capsys.readouterr().err
