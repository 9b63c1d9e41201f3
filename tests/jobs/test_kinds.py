"""Files are what their content says, in every command, in folders and in names of results."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.errors import InputError
from snellen.jobs.inputs.naming import beside, written
from snellen.jobs.inputs.sequence import files_of, makes_film
from snellen.stills.still import read
from snellen.video.opening import check_moves
from snellen_lab.protocol import pictures
from support.cli import names, run

ODD = {"a.jpe": "JPEG", "b.mpo": "MPO", "c.jpx": "JPEG2000", "d.dib": "BMP", "e": "PNG"}
HOW = {"method": "cnn-fast", "device": "cpu"}
DURATIONS = [40, 100, 1000, 30]
HAS_WEBP = "webp_anim" in av.formats_available


@pytest.fixture
def odd(picture, tmp_path):
    """A folder of images under unusual names, of a text, and of sound."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name, form in ODD.items():
        Image.fromarray(picture()).save(folder / name, form)
    (folder / "notes.txt").write_text("Notes.\n" * 20)
    (folder / "song").write_bytes(b"ID3\4" + bytes(100))
    return folder


def animation(path, colours=True):
    """Save four pictures, each shown for a time of its own."""
    ramp = np.add.outer(np.arange(48) * 4, np.arange(64) * 3) % 256
    one = np.stack([ramp, ramp[::-1], ramp[:, ::-1]], -1).astype(np.uint8)
    frames = [Image.fromarray(np.roll(one, 5 * n, 1)) for n in range(4)]
    lossless = {"lossless": True} if path.suffix == ".webp" else {}
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=DURATIONS, **lossless)
    return path


def test_one_by_one(odd, tmp_path):
    for name in ODD:
        found = snellen.upscale_file(odd / name, tmp_path / f"{name}.png", **HOW)
        assert read(found.target).pixels.shape[:2] == (found.height, found.width)
    found = snellen.deblur_file(
        odd / "a.jpe", tmp_path / "sharp.png", prior=None, psf_size=3, iterations=1, device="cpu"
    )
    assert found.target.exists()
    for other in ("b.mpo", "d.dib"):
        found = snellen.score_files(odd / "a.jpe", odd / other, metrics=["psnr"], device="cpu")
        assert found.kind == "an image"


def test_of_a_folder(odd, tmp_path, capsys):
    options = ["--method", "cnn-fast", "--device", "cpu"]
    assert run("upscale", odd, "-o", tmp_path / "out", *options) == 0
    assert names(tmp_path / "out") == ["a.png", "b.png", "c.png", "d.png", "e.png"]
    assert "5 done, 0 failed, 0 skipped" in capsys.readouterr().out
    assert [one.name for one in files_of(odd)] == list(ODD)
    assert [one.name for one in pictures(odd)] == list(ODD)


def test_folders_are_scored(odd, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in ODD:
        (other / Path(name).with_suffix(".xyz").name).write_bytes((odd / name).read_bytes())
    (odd / "film.dat").write_bytes(b"\x1aE\xdf\xa3" + bytes(50))
    found = snellen.score_files(odd, other, metrics=["psnr"], device="cpu")
    assert found.kind == "a folder" and len(found.table.rows) == len(ODD)
    assert any("videos are left out: film.dat" in one for one in found.warnings)


def test_pairs(odd, tmp_path, capsys):
    table = tmp_path / "pairs.csv"
    table.write_text("in/a.jpe,in/d.dib\n")
    assert run("score", "--pairs", table, "--metrics", "psnr", "--device", "cpu") == 0
    assert "d.dib" in capsys.readouterr().out


def test_names_of_results(odd, tmp_path):
    assert written(odd / "a.jpe") == "a.png" and beside(odd / "e", "x2").name == "e-x2.png"
    film = tmp_path / "film.png"
    film.write_bytes(b"\x1aE\xdf\xa3" + bytes(50))
    assert written(film) == "film.mkv" and beside(film, "4k").name == "film-4k.mkv"
    assert written(odd / "b.jpg") == "b.jpg"  # which is not there: its name counts


@pytest.mark.parametrize("suffix", [".gif", ".png", ".webp"])
def test_an_animation_becomes_a_film_of_its_pictures(tmp_path, suffix):
    if suffix == ".webp" and not HAS_WEBP:
        pytest.skip("this FFmpeg reads no animated WebP")
    source = animation(tmp_path / f"a{suffix}")
    for target, film in (("a.mkv", True), ("f%02d.png", True), ("a.png", False), ("a.tif", False)):
        assert makes_film(source, tmp_path / target, None) == film
    snellen.upscale_file(source, tmp_path / "film.mkv", codec="ffv1", **HOW)
    with av.open(str(tmp_path / "film.mkv")) as film:
        times = [float(frame.time) for frame in film.decode(video=0)]
    assert times == pytest.approx([0, 0.04, 0.14, 1.14])  # both count ms


@pytest.mark.skipif(not HAS_WEBP, reason="this FFmpeg reads no animated WebP")
def test_both_kinds_without_loss_give_the_same_pictures(tmp_path):
    films = []
    for suffix in (".png", ".webp"):
        target = tmp_path / f"film{suffix}.mkv"
        source = animation(tmp_path / f"a{suffix}")
        snellen.upscale_file(source, target, codec="ffv1", source_kind="clean", **HOW)
        with av.open(str(target)) as film:
            films.append([[bytes(p) for p in f.planes[:3]] for f in film.decode(video=0)])
    assert len(films[0]) == 4 and films[0] == films[1]


def test_an_animated_avif_is_refused_by_its_name(tmp_path):
    source = animation(tmp_path / "a.avif")
    with pytest.raises(InputError, match=r"animated AVIF.*not read as a film") as caught:
        snellen.upscale_file(source, tmp_path / "a.mkv", **HOW)
    assert "first picture" in caught.value.advice
    snellen.upscale_file(source, tmp_path / "a.png", **HOW)


def test_an_animated_webp_that_this_ffmpeg_does_not_read(tmp_path):
    source = animation(tmp_path / "a.webp")
    with av.open(str(source), format="webp_pipe") as container:
        with pytest.raises(InputError, match=r"animated WebP.*does not read as a film"):
            check_moves(source, "a.webp", container)
        check_moves(tmp_path / "other.webp", "other.webp", container)


@pytest.mark.parametrize("command", ["upscale", "deblur", "score", "compare"])
@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("notes.txt", b"Notes.\n" * 9, "is text"), ("film.mp4", b"", "is empty"),
        ("a.pdf", b"%PDF-1.7\n\xff", "is a PDF document"), ("a.zip", b"PK\3\4" + bytes(9), "ZIP"),
        ("photo.jpg", b"Error 404\n", "(it is text)"),
    ],
)  # fmt: skip
def test_other_files_are_named_as_what_they_are(tmp_path, capsys, command, name, data, said):
    path = tmp_path / name
    path.write_bytes(data)
    words = {"score": [path], "compare": [path, "-o", tmp_path / "a.html"]}.get(command, [])
    assert run(command, path, *words, "--device", "cpu") == 2
    err = capsys.readouterr().err.replace(name, "")
    assert said in err
    assert "damaged" not in err and ".mp4" not in err


@pytest.mark.parametrize("command", ["upscale", "deblur"])
def test_an_image_as_output_does_not_hide_what_the_input_is(tmp_path, capsys, command):
    (path := tmp_path / "notes.txt").write_bytes(b"Notes.\n")
    assert run(command, path, "-o", tmp_path / "out.png", "--device", "cpu") == 2
    assert capsys.readouterr().err.endswith("notes.txt is text; expected a video or an image\n")


@pytest.mark.parametrize("command", ["upscale", "deblur", "score"])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\0\0\0\x18ftypisom\0\0\2\0isomiso2" + bytes(99), "is an MP4 or QuickTime film"),
        (b"\x1aE\xdf\xa3" + bytes(99), "is a Matroska or WebM film"), (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(99), "is a PNG image"), (b"Notes\n", "is text"),
    ],
)  # fmt: skip
def test_what_comes_through_a_pipe_is_named(tmp_path, capsys, monkeypatch, command, data, said):
    """A film in a pipe is y4m; whoever pipes another one is told to name its file."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    words = {"score": [animation(tmp_path / "a.gif")]}.get(command, ["-o", tmp_path / "a.mkv"])
    assert run(command, "-", *words, "--device", "cpu") == 2
    err = capsys.readouterr().err
    assert said in err and "expected y4m" in err
    assert "damaged" not in err and ".mp4" not in err
    assert "name the file itself" in err or not data


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_comes_through_a_named_pipe_is_named(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(b"PK\3\4" + bytes(99)))
    writer.start()
    with pytest.raises(InputError, match="is a ZIP archive"):
        snellen.upscale_file(tmp_path / "pipe", tmp_path / "out.mkv", **HOW)
    writer.join()


def test_a_film_that_was_cut_off_is_still_called_so(tmp_path):
    path = tmp_path / "film.mp4"
    path.write_bytes(b"\0\0\0\x18ftypisom\0\0\2\0isomiso2\0\0\1\0mdat" + b"\x81\0\xff" * 300)
    with pytest.raises(InputError, match=r"an MP4 or QuickTime film does.*cut off before"):
        snellen.upscale_file(path, tmp_path / "out.mkv", **HOW)
