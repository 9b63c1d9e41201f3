"""Image sequences as films: which pictures, in which order, at which rate."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageCms

import snellen
from snellen.errors import IncompleteError, InputError
from snellen.jobs.calls.planning import plan
from snellen.jobs.inputs.sequence import files_of, opened
from snellen.video.clip import rate
from snellen.video.source.pictures import Pictures
from support.cli import run
from support.jobs import Heard

LOSSLESS = {"codec": "ffv1", "device": "cpu"}
SIZE = (40, 24)


def pictures(folder, numbers=range(1, 4), name="f{:03d}.png", mode="RGB", size=SIZE):
    """Write pictures of one colour, which tells their number."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        samples = np.full((size[1], size[0], 3), 20 * (number % 13), np.uint8)
        Image.fromarray(samples).convert(mode).save(folder / name.format(number))
    return folder


def luma(path):
    """Return the time and the luma of each frame, and the stream's rate."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        found = [
            (frame.time, int(np.from_dlpack(frame.planes[0])[12, 20]))
            for frame in container.decode(stream)
        ]
        return found, stream.average_rate


def levels(numbers):
    return [round(16 + 20 * n * 219 / 255) for n in numbers]


@pytest.mark.slow
@pytest.mark.parametrize(
    "typed",
    [
        *("in", "in/f%03d.png"),
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("in/*.png", "in/f00[1-3].png")),
    ],
)
def test_a_folder_or_a_pattern_becomes_a_film(tmp_path, monkeypatch, typed):
    monkeypatch.chdir(tmp_path)
    pictures(tmp_path / "in")
    result = snellen.upscale_file(typed, "out.mkv", fps=25, **LOSSLESS)
    assert (result.width, result.height, result.summary.frames) == (80, 48, 3)
    found, average = luma(tmp_path / "out.mkv")
    assert [value for _, value in found] == levels((1, 2, 3))
    assert [time for time, _ in found] == [0, 0.04, 0.08]
    assert average == 25


@pytest.mark.slow
def test_order_is_that_of_the_numbers(tmp_path):
    folder = pictures(tmp_path / "in", (1, 2, 10, 9), "f{}.png")
    heard = Heard()
    snellen.upscale_file(folder, tmp_path / "out.mkv", fps="24000/1001", events=heard, **LOSSLESS)
    found, average = luma(tmp_path / "out.mkv")
    assert [value for _, value in found] == levels((1, 2, 9, 10))
    assert average == pytest.approx(24000 / 1001, rel=1e-3)


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (25, Fraction(25)), ("23.976", Fraction(24000, 1001)), (29.97, Fraction(30000, 1001)),
        ("30000/1001", Fraction(30000, 1001)), ("12.5", Fraction(25, 2)),
        (Fraction(1, 2), Fraction(1, 2)), (None, None),
    ],
)  # fmt: skip
def test_rates(given, expected):
    assert rate(given) == expected


@pytest.mark.cases(9)
@pytest.mark.parametrize("given", [0, -1, "0", "1/0", "a", "", "1e9", 1001, float("nan"), [], True])
def test_what_is_no_rate(given):
    with pytest.raises(InputError) as caught:
        rate(given)
    assert caught.value.parameter == "fps"


@pytest.mark.slow
def test_depth_grey_and_alpha(tmp_path):
    folder = tmp_path / "deep"
    folder.mkdir()
    for number in (1, 2):
        deep = np.full((24, 40), 9000 * number, np.uint16)
        Image.fromarray(deep).save(folder / f"{number}.tif")
    snellen.upscale_file(folder, tmp_path / "deep.mkv", fps=10, **LOSSLESS)
    with av.open(str(tmp_path / "deep.mkv")) as back:
        assert next(back.decode(video=0)).format.name == "gray16le"
    pictures(tmp_path / "in", (1, 3))
    pictures(tmp_path / "in", (2,), mode="L")
    snellen.upscale_file(tmp_path / "in", tmp_path / "out.mkv", fps=10, **LOSSLESS)
    assert [value for _, value in luma(tmp_path / "out.mkv")[0]] == levels((1, 2, 3))
    pictures(tmp_path / "alpha", mode="RGBA")
    result = snellen.upscale_file(tmp_path / "alpha", tmp_path / "a.mkv", fps=10, **LOSSLESS)
    assert result.summary.pixel_format == "yuva444p" and not result.summary.dropped


@pytest.mark.slow
def test_a_black_beginning_in_grey_does_not_make_all_grey(tmp_path):
    pictures(tmp_path / "in", (1,), mode="L")
    folder = pictures(tmp_path / "in", (2, 3))
    snellen.upscale_file(folder, tmp_path / "out.mkv", fps=10, **LOSSLESS)
    with av.open(str(tmp_path / "out.mkv")) as back:
        assert next(back.decode(video=0)).format.name == "yuv444p"


def test_damage_is_said(tmp_path):
    folder = pictures(tmp_path / "in", range(1, 6))
    (folder / "f002.png").write_bytes(b"no picture")
    pictures(folder, (5,), size=(20, 24))
    with pytest.raises(IncompleteError) as caught:
        snellen.upscale_file(folder, tmp_path / "out.mkv", fps=10, **LOSSLESS)
    text = str(caught.value)
    assert "1 of 5 pictures could not be read" in text
    assert "f002.png" in text
    assert "f005.png has 20×24 pixels, and those before it 40×24" in text
    found, _ = luma(tmp_path / "out.mkv")
    assert [time for time, _ in found] == [0, 0.2, 0.3]  # the others keep their times
    assert [value for _, value in found] == levels((1, 3, 4))


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((1, 2, 4, 5), "follows number 2, and 1 is missing"),
        ((1, 2, 5, 6), "follows number 2, and 2 are missing"),
        ((1, 2, 3, 10), "follows number 3, and 6 are missing"),
        ((0, 10, 20, 50), "follows number 20, and 2 are missing"),
        ((1, 2, 3), None), ((2, 4, 6), None), ((5, 900, 7000), None), ((1, 9), None), ((7,), None),
    ],
)  # fmt: skip
def test_missing_numbers_are_said(tmp_path, numbers, said):
    folder = pictures(tmp_path / "in", numbers)
    heard = Heard()
    opened(folder, Fraction(10), heard)
    texts = [text for _, text in heard.warnings]
    assert (said in texts[0] and len(texts) == 1) if said else not texts


def test_pictures_that_are_renamed_meanwhile_are_said(tmp_path):
    """One would be read twice, and another one never."""
    folder = pictures(tmp_path / "in", range(1, 7))
    files = sorted(folder.iterdir())
    for number, file in enumerate(files):
        os.utime(file, ns=(number, 10**18 + number))
    film = Pictures(files, Fraction(25), "it")
    film.read(1)
    for file in reversed(files[2:5]):
        file.rename(files[files.index(file) + 1])
    while film.read(1 << 20):
        pass
    unread, changed = film.damage()
    assert "f003.png: no such file" in unread
    assert changed.startswith("3 of 6 pictures changed, or exchanged, while the film was read (")
    assert "f004.png" in changed and film.count == 6


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_pipes_among_pictures_are_not_waited_for(tmp_path, number):
    folder = pictures(tmp_path / "in", range(1, 6))
    files = sorted(folder.iterdir())
    pipe = files[number - 1]
    pipe.unlink()
    os.mkfifo(pipe)
    if number == 1:
        with pytest.raises(InputError, match=r"f001\.png is no file"):
            Pictures(files, Fraction(25), "it")
        return
    film = Pictures(files, Fraction(25), "it")
    while film.read(1 << 20):
        pass
    (said,) = film.damage()
    assert f"{pipe} is no file" in said


def test_colour_among_grey_pictures_is_said(tmp_path):
    folder = pictures(tmp_path / "in", (1, 3, 4), mode="L")
    pictures(folder, (2,))
    film = Pictures(sorted(folder.iterdir()), Fraction(25), "it")
    while film.read(1 << 20):
        pass
    assert film.damage() == ()
    (said,) = film.losses()
    assert said.startswith("1 of 4 pictures in colour, made grey as the first one (")
    assert "f002.png" in said


def test_what_later_pictures_carry_is_said(tmp_path):
    folder = pictures(tmp_path / "in", (1, 2, 3, 4))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for number in (2, 4):
        with Image.open(folder / f"f{number:03d}.png") as picture:
            picture.load()
            picture.save(folder / f"f{number:03d}.png", icc_profile=profile)
    film = Pictures(sorted(folder.iterdir()), Fraction(25), "it")
    assert film.lost == ()
    while film.read(1 << 20):
        pass
    (said,) = film.losses()
    assert said.startswith("2 of 4 pictures have what is lost: colour profile of the pictures")
    assert "f002.png" in said and "f004.png" in said
    with pytest.raises(InputError, match="this was lost: 2 of 4 pictures have what is lost"):
        snellen.upscale_file(folder, tmp_path / "out.mkv", strict=True, fps=10, **LOSSLESS)


@pytest.mark.slow
def test_strict_refuses_losses_that_only_reading_tells(tmp_path):
    folder = pictures(tmp_path / "in", (1, 3, 4), mode="L")
    pictures(folder, (2,))
    how = {**LOSSLESS, "overwrite": True, "fps": 10}
    result = snellen.upscale_file(folder, tmp_path / "out.mkv", **how)
    assert result.error is None and "1 of 4 pictures in colour" in str(result.warnings)
    (tmp_path / "out.mkv").unlink()
    with pytest.raises(InputError, match="strict, and this was lost: 1 of 4 pictures in colour"):
        snellen.upscale_file(folder, tmp_path / "out.mkv", strict=True, **how)
    assert not (tmp_path / "out.mkv").exists()


def test_a_folder_that_cannot_be_read(tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        files_of(tmp_path)


def test_what_is_no_sequence(tmp_path):
    folder = pictures(tmp_path / "in")
    for source, words in (
        (folder / "f001.png", "`fps` makes a film of many pictures"),
        (tmp_path / "none%d.png", "none matches"),
        (tmp_path / "none", "none: no such folder of pictures"),
    ):
        with pytest.raises(InputError, match=words.replace("`fps`", "fps")):
            snellen.upscale_file(source, tmp_path / "out.mkv", fps=10, **LOSSLESS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no image"):
        snellen.upscale_file(tmp_path / "empty", tmp_path / "out.mkv", fps=10, **LOSSLESS)
    with pytest.raises(InputError, match="got 2 inputs with `fps`".replace("`", "")):
        plan([folder, folder], None, lambda one: "x2", sequences=True)
    assert not (tmp_path / "out.mkv").exists()


def test_a_literal_name_wins(tmp_path):
    folder = pictures(tmp_path / "in")
    (folder / "f%03d.png").write_bytes((folder / "f001.png").read_bytes())
    with pytest.raises(InputError, match="fps makes a film of many pictures"):
        snellen.upscale_file(folder / "f%03d.png", tmp_path / "out.mkv", fps=10, **LOSSLESS)


def test_no_picture_is_replaced(tmp_path):
    folder = pictures(tmp_path / "in")
    (folder / "f002.mkv").hardlink_to(folder / "f002.png")
    with pytest.raises(InputError, match="input"):
        snellen.upscale_file(folder, folder / "f002.mkv", fps=10, overwrite=True, **LOSSLESS)
    with Image.open(folder / "f002.png") as kept:
        assert kept.size == SIZE


def test_names_of_films(tmp_path):
    folder = pictures(tmp_path / "shot")
    for source in (folder, folder / "f%03d.png"):
        assert plan([source], None, lambda one: "x2", sequences=True).pairs == (
            (source, tmp_path / "shot-x2.mkv"),
        )
        assert plan([source], tmp_path, lambda one: "x2", sequences=True).pairs == (
            (source, tmp_path / "shot.mkv"),
        )


def test_the_command(tmp_path, capsys):
    folder = pictures(tmp_path / "in")
    out = tmp_path / "out.mp4"
    words = ["upscale", str(folder / "f%03d.png"), "--fps", "25", "-o", str(out), "--preset",
             "ultrafast", "--device", "cpu", "--frames", "2"]  # fmt: skip
    assert run(*words) == 0, capsys.readouterr().err
    assert len(luma(out)[0]) == 2
    said = "few players play chroma of full resolution (4:4:4): --pix-fmt yuv420p halves it"
    assert said in capsys.readouterr().err
    assert run(*words, "-y", "--pix-fmt", "yuv420p") == 0
    assert "few players" not in capsys.readouterr().err
    assert run(*words, "--skip-existing") == 0
    assert "skipped" in "".join(capsys.readouterr())
    assert run("upscale", *sorted(folder.iterdir()), "--fps", "25") == 2
    assert "put the pattern in quotes" in capsys.readouterr().err
