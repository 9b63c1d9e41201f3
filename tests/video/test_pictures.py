"""Films as pictures with numbers in their names."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.errors import InputError, OutputError
from snellen.files import atomic
from snellen.files.atomic import protected
from snellen.files.numbering import is_pattern, numbered, there
from snellen.frames.frame import Format, Frame
from snellen.jobs.events import Collected
from snellen.stills import still
from snellen.video.convert import Encoding
from snellen.video.sink import staging
from snellen.video.sink.pictures import rgb
from support.cli import run
from support.jobs import Heard
from support.video.clips import make, picture
from support.video.converting import convert
from support.video.steps import Nearest

WEIGHTS = {1: (0.2126, 0.0722), 5: (0.299, 0.114), 6: (0.299, 0.114), 9: (0.2627, 0.0593)}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return make(tmp_path_factory.mktemp("film") / "film.mkv", codec="ffv1", frames=3, audio="aac")


@pytest.mark.parametrize("matrix", WEIGHTS)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("bits", [8, 10, 16])
def test_colours_are_those_of_the_standards(matrix, full, bits):
    """Rounding is half a code; floats of 32 bits add some thousandths at 16 bits."""
    random, step = np.random.default_rng(bits), 1 << (bits - 8)
    y, u, v = (random.integers(low * step, high * step, (8, 10)) for low, high in
               ((16, 235), (90, 160), (90, 160)))  # fmt: skip
    kind = np.uint8 if bits == 8 else np.uint16
    got = rgb(Frame(tuple(p.astype(kind) for p in (y, u, v)), 0, 1),
              Format(10, 8, bits, (0, 0)), (matrix, full))  # fmt: skip
    black, luma, chroma = (0, (1 << bits) - 1, (1 << bits) - 1) if full else (
        16 * step, 219 * step, 224 * step
    )  # fmt: skip
    y, u, v = (y - black) / luma, (u - 128 * step) / chroma, (v - 128 * step) / chroma
    red, blue = WEIGHTS[matrix]
    r, b = y + 2 * (1 - red) * v, y + 2 * (1 - blue) * u
    g = (y - red * r - blue * b) / (1 - red - blue)
    white = 255 if bits == 8 else 65535
    want = np.clip(np.stack((r, g, b), -1), 0, 1) * white
    assert got.dtype == kind
    assert np.abs(got - want).max() <= 0.51


def test_chroma_is_interpolated():
    planes = np.full((16, 16), 126, np.uint8), *(np.zeros((8, 8), np.uint8) for _ in range(2))
    planes[1][:], planes[2][:] = 128, np.linspace(100, 156, 8)
    red = rgb(Frame(planes, 0, 1), Format(16, 16, 8, (1, 1)), (1, False))[8, :, 0].astype(int)
    assert (np.diff(red)[1:-1] > 0).all()  # no pair of equal ones


@pytest.mark.slow
def test_a_film_becomes_pictures(film, tmp_path):
    heard = Heard()
    result = snellen.upscale_file(
        film, tmp_path / "out" / "f%04d.png", device="cpu", events=Collected(heard)
    )
    assert names(tmp_path / "out") == ["f0001.png", "f0002.png", "f0003.png"]
    assert (result.width, result.height, result.summary.frames) == (128, 96, 3)
    assert result.summary.encoder == "png"
    assert [t for _, t in heard.warnings] == ["audio stream 1 (aac, eng): .png cannot hold it"]
    with Image.open(tmp_path / "out" / "f0002.png") as first:
        assert (first.mode, first.size) == ("RGB", (128, 96))


@pytest.mark.slow
def test_pictures_are_the_frames(film, tmp_path):
    convert(film, tmp_path / "%d.png", Nearest(1))
    for number in range(3):
        luma = np.from_dlpack(picture(number).planes[0]).astype(float)
        with Image.open(tmp_path / f"{number + 1}.png") as one:
            # The weights of luma give it back, whatever chroma is, where nothing is clipped.
            got = np.asarray(one.convert("RGB")).astype(float) @ (0.299, 0.587, 0.114)
        near = np.abs(got - (luma - 16) * 255 / 219) < 1
        assert near.mean() > 0.9


@pytest.mark.slow
def test_depth(tmp_path):
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt="yuv420p10le", frames=1)
    convert(source, tmp_path / "a%d.png", Nearest())
    assert still.read(tmp_path / "a1.png").pixels.dtype == np.uint16
    summary = convert(source, tmp_path / "b%d.jpg", Nearest(), quality=50)
    assert summary.dropped == ("10 bit samples are rounded to 8 bit (.jpg)",)
    assert still.read(tmp_path / "b1.jpg").pixels.dtype == np.uint8
    grey = make(tmp_path / "grey.mkv", codec="ffv1", pix_fmt="gray", frames=1)
    convert(grey, tmp_path / "c%d.png", Nearest())
    assert still.read(tmp_path / "c1.png").pixels.ndim == 2


@pytest.mark.slow
def test_all_pictures_of_an_animation(tmp_path):
    frames = [Image.new("L", (16, 12), 40 * n) for n in range(4)]
    frames[0].save(tmp_path / "in.gif", save_all=True, append_images=frames[1:], duration=100)
    snellen.upscale_file(tmp_path / "in.gif", tmp_path / "f%d.png", device="cpu")
    assert names(tmp_path) == ["f1.png", "f2.png", "f3.png", "f4.png", "in.gif"]


class Fails(Nearest):
    """Fails at the second frame."""

    def run(self, frame, *args):
        if frame.pts:
            raise OutputError("no more")
        return super().run(frame, *args)


def test_after_an_error_there_is_nothing(film, tmp_path):
    with pytest.raises(OutputError, match="no more"):
        convert(film, tmp_path / "%d.png", Fails())
    assert names(tmp_path) == []


def test_errors_of_the_disk_name_the_output(film, tmp_path, monkeypatch):
    def full(path, *args):
        try:
            raise OSError(28, "No space left on device")
        except OSError as error:
            raise OutputError(f"{path} could not be written") from error

    monkeypatch.setattr(still, "write", full)
    with pytest.raises(
        OutputError, match=r"/%d\.png could not be written: No space left"
    ) as caught:
        convert(film, tmp_path / "%d.png", Nearest())
    assert "snellen-" not in str(caught.value)
    assert names(tmp_path) == []


def test_overwrite_and_what_was_there(film, tmp_path):
    for number in (2, 4, 5):
        (tmp_path / f"f{number}.png").write_bytes(b"old")
    (tmp_path / "f02.png").write_bytes(b"another")
    with pytest.raises(InputError, match=r"f2\.png exists"):
        convert(film, tmp_path / "f%d.png", Nearest())
    summary = convert(film, tmp_path / "f%d.png", Nearest(), overwrite=True)
    assert any("f4.png and 1 more are of an earlier run" in text for text in summary.warnings)
    assert (tmp_path / "f2.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "f02.png").read_bytes() == b"another"


def test_what_is_replaced_passes_on_its_permissions(tmp_path):
    target = tmp_path / "f%d.png"
    (tmp_path / "f1.png").touch(0o600)
    with protected([]), staging.staged(target, True) as folder:
        for number in (1, 2):
            with atomic.writing(folder / f"f{number}.png", False) as file:
                file.write(b"new")
            (folder / f"f{number}.png").chmod(0o644)
        hidden = folder.name
    assert [(tmp_path / f"f{n}.png").stat().st_mode & 0o777 for n in (1, 2)] == [0o600, 0o644]
    assert (tmp_path / "f1.png").read_bytes() == b"new"
    with protected([]):
        with staging.staged(target, True) as folder, atomic.writing(folder / "f1.png", False):
            pass
        with pytest.raises(InputError) as caught:  # the error names the output as the user did
            staging.check(target, True)
    assert "f1.png" in str(caught.value) and ".snellen-" not in str(caught.value)
    assert hidden not in names(tmp_path)


def test_inputs_are_not_replaced(film, tmp_path):
    copy = tmp_path / "f2.png"
    copy.hardlink_to(film)
    with pytest.raises(InputError, match="input"):
        snellen.upscale_file(film, tmp_path / "f%d.png", overwrite=True, device="cpu")
    assert names(tmp_path) == ["f2.png"]


@pytest.mark.slow
def test_skipped_where_they_are_there(film, tmp_path, capsys):
    words = ["upscale", film, "-o", tmp_path / "f%d.jpg", "--device", "cpu", "--quality", "80"]
    assert run(*words) == 0
    assert names(tmp_path) == ["f1.jpg", "f2.jpg", "f3.jpg"]
    assert "quality" not in capsys.readouterr().err
    assert run(*words, "--skip-existing") == 0
    assert "skipped" in "".join(capsys.readouterr())


@pytest.mark.slow
def test_settings_of_films_are_refused(film, tmp_path):
    for setting in (Encoding("libx264"), Encoding(crf=3), Encoding(pix_fmt="yuv420p")):
        with pytest.raises(InputError, match=r"which pictures \(\.png\) do not have"):
            convert(film, tmp_path / "%d.png", Nearest(), encoding=setting)
    with pytest.raises(InputError, match="holds grey only"):
        convert(film, tmp_path / "%d.pgm", Nearest())


def test_a_literal_name_wins(film, tmp_path):
    (tmp_path / "f%d.png").write_bytes(b"here")
    assert not is_pattern(tmp_path / "f%d.png")
    with pytest.raises(InputError, match="for a video"):
        convert(film, tmp_path / "f%d.png", Nearest(), overwrite=True)


def test_names(tmp_path):
    assert [numbered(name, 7) for name in ("%d", "a%03db", "%09d")] == ["7", "a007b", "000000007"]
    assert numbered("%02d", 123) == "123"
    for name in ("f%d.png", "f%03d.png"):
        assert is_pattern(tmp_path / name)
    for name in ("f.png", "f%d%d.png", "f%s.png", "f%0d.png", "f%12d.png"):
        assert not is_pattern(tmp_path / name)
    for name in ("f001.png", "f1000.png", "f01.png", "f0001.png", "fx.png", "f002.png.part"):
        (tmp_path / name).touch()
    assert [one.name for one in there(tmp_path / "f%03d.png")] == ["f001.png", "f1000.png"]


def test_leftovers_of_a_killed_run_are_removed(tmp_path):
    target = tmp_path / "f%d.png"
    dead = tmp_path / ".fd.png.snellen-dead"
    dead.mkdir()
    (dead / ".lock").touch()
    with staging.staged(target, False) as folder:
        assert names(tmp_path) == [folder.name]
        (folder / "f1.png").touch()
        with staging.staged(target, False) as other:  # that of a living run stays
            assert folder.is_dir()
            assert other != folder
    assert names(tmp_path) == ["f1.png"]


def test_a_run_that_was_killed_before_it_had_its_lock(tmp_path):
    target = tmp_path / "f%d.png"
    for name, files in (("a", ()), ("b", (".new",)), ("other", (".new", "mine")), ("new", ())):
        folder = tmp_path / f".fd.png.snellen-{name}"
        folder.mkdir()
        for file in files:
            (folder / file).touch()
        if name != "new":
            os.utime(folder, (0, 0))
    (tmp_path / ".fd.png.snellen-link").symlink_to(".fd.png.snellen-a", True)
    with staging.staged(target, False) as folder:
        assert (folder / ".lock").is_file()
    left = [name.rsplit("-")[-1] for name in names(tmp_path)]
    assert left == ["link", "new", "other"]  # one may be about to be locked, or is not ours


def test_leftovers_without_locks(tmp_path, monkeypatch):
    """On Windows a file that somebody has open is not removed, which tells that a run lives."""
    monkeypatch.setattr(staging, "fcntl", None)
    for name in ("dead", "alive"):
        (tmp_path / f".fd.png.snellen-{name}").mkdir()
        (tmp_path / f".fd.png.snellen-{name}" / ".lock").touch()
    unlink = Path.unlink

    def refused(path, *args):
        if "alive" in str(path):
            raise PermissionError
        unlink(path, *args)

    monkeypatch.setattr(Path, "unlink", refused)
    with staging.staged(tmp_path / "f%d.png", False):
        pass
    assert names(tmp_path) == [".fd.png.snellen-alive"]


@pytest.mark.slow
def test_variable_rate_is_said(tmp_path):
    source = make(tmp_path / "in.mkv", codec="ffv1", times=[0, 40, 200, 240],
                  time_base=Fraction(1, 1000))  # fmt: skip
    summary = convert(source, tmp_path / "%d.png", Nearest())
    assert "pictures hold no times: the variable frame rate is lost" in summary.warnings
    with av.open(str(tmp_path / "1.png")) as back:
        assert back.streams.video[0].width == 128
