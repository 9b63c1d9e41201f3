"""Inputs survive whatever is named as an output; disks that are full leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from support.cli import names, run
from support.video.clips import make

pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def place(random, tmp_path, monkeypatch, small_model):
    """Return a current folder with inputs of all kinds, and a folder for outputs."""
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        pixels = random.integers(0, 256, (40, 44, 3), np.uint8)
        Image.fromarray(pixels).save(f"{name}.png")
    np.save("psf.npy", np.full((3, 3), 1 / 9, np.float32))
    Path("roi.txt").write_text("0,0\n" * 3)
    Path("m.safetensors").write_bytes(Path(small_model).read_bytes())
    make(tmp_path / "f.y4m", codec="rawvideo", frames=2)
    Path("out").mkdir()
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


UPSCALE = ["--model", "m.safetensors", "--device", "cpu", "--overwrite"]
DEBLUR = ["--iterations", "1", "--device", "cpu", "--overwrite"]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
@pytest.mark.parametrize(
    ("output", "source", "words"),
    [
        ("out/a.png", "c.png", ["upscale", "a.png", "c.png", "-o", "out", *UPSCALE]),
        ("o.png", "m.safetensors", ["upscale", "a.png", "-o", "o.png", *UPSCALE]),
        ("o.y4m", "f.y4m", ["upscale", "f.y4m", "-o", "o.y4m", *UPSCALE]),
        ("o.y4m", "m.safetensors", ["upscale", "f.y4m", "-o", "o.y4m", *UPSCALE]),
        ("o.png", "psf.npy", ["deblur", "a.png", "-o", "o.png", "--psf", "psf.npy", *DEBLUR]),
        ("o.png", "psf.npy", ["deblur", "a.png", "-o", "o.png", "--psf-start", "psf.npy", *DEBLUR]),
        ("o.npy", "psf.npy", ["deblur", "a.png", "-o", "p.png", "--psf", "psf.npy", "--psf-out",
                              "o.npy", *DEBLUR]),
        ("o.y4m", "roi.txt", ["deblur", "f.y4m", "-o", "o.y4m", "--roi", "8,8", "--roi-file",
                              "roi.txt", *DEBLUR]),
        ("t.csv", "b.png", ["score", "a.png", "b.png", "--csv", "t.csv", "--overwrite"]),
        ("o.safetensors", "b.png", ["train", "--images", ".", "-o", "o.safetensors",
                                    "--overwrite"]),
    ],
)  # fmt: skip
def test_no_input_is_replaced(place, link, output, source, words):
    getattr(Path(output), link)(place / source)
    before = contents(place)
    assert run(*words) == 2
    assert contents(place) | before == contents(place)
    added = contents(place).keys() - before.keys()
    assert added <= {place / "out" / "c.png"}


def test_outputs_that_are_one_file(capsys, place):
    Path("out/a.png").symlink_to("b.png")
    assert run("upscale", "a.png", "b.png", "-o", "out", *UPSCALE) == 2
    said = "a.png would become out/a.png, and so would b.png, since out/b.png is the same file"
    assert said in capsys.readouterr().err
    assert not Path("out/b.png").exists()
    Path("psfs").mkdir()
    Path("psfs/b.png.npy").symlink_to(place / "out" / "c.png")
    Path("out/a.png").unlink()
    words = ["--psf", "psf.npy", "--psf-out", "psfs", *DEBLUR]
    assert run("deblur", "b.png", "c.png", "-o", "out", *words) == 2
    assert "several inputs would become" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("source", ["-", pytest.param("/dev/stdin", marks=pytest.mark.slow)])
def test_the_file_behind_standard_input(place, source):
    if source != "-" and not Path(source).exists():
        pytest.skip("no /dev/stdin here")
    os.link("f.y4m", "o.y4m")
    before = Path("f.y4m").read_bytes()
    words = ["upscale", source, "-o", "o.y4m", *UPSCALE]
    with Path("f.y4m").open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "snellen", *words],
            stdin=stream,
            capture_output=True,
            timeout=100,
        )
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1, done.stderr
    assert b"is the input itself" in done.stderr
    assert Path("f.y4m").read_bytes() == before


@pytest.mark.parametrize("source", ["-", "f.y4m"])
def test_standard_output_into_an_input(place, source):
    before = Path("f.y4m").read_bytes()
    words = ["upscale", source, "-o", "-", "--json", *UPSCALE]
    with Path("f.y4m").open("rb") as stream, Path("f.y4m").open("ab") as out:
        done = subprocess.run(
            [sys.executable, "-m", "snellen", *words],
            stdin=stream, stdout=out, stderr=subprocess.PIPE, timeout=100,
        )  # fmt: skip
    assert done.returncode == 2 and b"standard output goes" in done.stderr, done.stderr
    assert Path("f.y4m").read_bytes() == before


@pytest.mark.parametrize(
    ("suffix", "words"),
    [
        (".png", ["upscale", "a.png", *UPSCALE, "-o"]),
        (".y4m", ["upscale", "f.y4m", *UPSCALE, "-o"]),
        (".npy", ["deblur", "a.png", "-o", "p.png", "--psf", "psf.npy", *DEBLUR, "--psf-out"]),
        (".csv", ["score", "a.png", "b.png", "--overwrite", "--csv"]),
        (".safetensors", ["train", "--images", ".", "--overwrite", "-o"]),
    ],
)
@pytest.mark.parametrize("what", ["loop", "device", "pipe", "missing"])
def test_links_that_lead_to_no_file(capsys, place, suffix, words, what):
    output = Path("l" + suffix)
    os.mkfifo("pipe")
    leads = {"loop": output, "device": "/dev/full", "pipe": "pipe", "missing": "no/file"}
    output.symlink_to(leads[what])
    assert run(*words, output) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and str(output) in err
    assert output.is_symlink() and not list(place.glob(".*"))


@pytest.mark.parametrize("words", [["-o", "full/o.png"], ["--json", "-o", "full/o.png"]])
def test_a_full_disk(capfd, place, words):
    """Of 64 KiB, 60 of them used: the folder takes a file, but not the result."""
    Path("full").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", "full"]
    try:
        done = subprocess.run(mount, capture_output=True, timeout=60).returncode
    except FileNotFoundError:
        done = 1
    if done:
        pytest.skip("a file system can be mounted by root only")
    try:
        Path("full/used").write_bytes(bytes(60 << 10))
        noise = np.random.default_rng(1).integers(0, 256, (60, 60, 3), np.uint8)
        Image.fromarray(noise).save("noise.png")
        assert run("upscale", "noise.png", *words, *UPSCALE) == 1
        assert "o.png could not be written: No space left" in "".join(capfd.readouterr())
        assert run("score", "a.png", "b.png", "--map-out", "full/maps") == 1
        assert "could not be written: No space left" in "".join(capfd.readouterr())
        assert names(Path("full")) == ["used"]
        Path("full/more").write_bytes(bytes(4 << 10))
        for output in (["--csv", "full/t.csv"], ["--map-out", "full/maps"]):
            assert run("score", "a.png", "b.png", *output) == 1
            assert "No space left on device" in "".join(capfd.readouterr())
        assert names(Path("full")) == ["more", "used"]
    finally:
        subprocess.run(["umount", "full"], timeout=60)


def test_a_read_only_file_system(capfd, place):
    Path("disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "none", "disk"]
    try:
        done = subprocess.run(mount, capture_output=True, timeout=60).returncode
    except FileNotFoundError:
        done = 1
    if done:
        pytest.skip("a file system can be mounted by root only")
    try:
        for words in (
            ["upscale", "a.png", "-o", "disk/o.png", *UPSCALE],
            ["deblur", "a.png", "-o", "o.png", "--psf-out", "disk/o.npy", *DEBLUR],
            ["score", "a.png", "b.png", "--csv", "disk/t.csv"],
            ["score", "a.png", "b.png", "--map-out", "disk/maps"],
            ["train", "--images", ".", "-o", "disk/o.safetensors"],
        ):
            assert run(*words) == 1
            out, err = capfd.readouterr()
            assert not out and err.count("\n") == 1 and "disk" in err, err
            assert "Read-only file system" in err
        assert not Path("o.png").exists()
    finally:
        subprocess.run(["umount", "disk"], timeout=60)


_LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # which the limit would cut off for all later tests
from snellen.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
main(sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "words", "output"),
    [
        (100, ["upscale", "a.png", "-o", "o.png", *UPSCALE], "o.png"),
        (0, ["upscale", "a.png", "-o", "o.png", *UPSCALE], "o.png"),
        (1000, ["upscale", "f.y4m", "-o", "o.y4m", *UPSCALE], "o.y4m"),
        (100, ["upscale", "f.y4m", "-o", "o.mkv", *UPSCALE], "o.mkv"),
        (5, ["score", "a.png", "b.png", "--csv", "t.csv"], "t.csv"),
        (2000, ["score", "a.png", "b.png", "--map-out", "maps"], "maps"),
        (50, ["score", "a.png", "b.png", "--map-out", "maps"], "maps"),
    ],
)
def test_a_limit_of_file_sizes(place, limit, words, output):
    pytest.importorskip("resource")
    before = contents(place)
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(limit), *words],
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    *warnings, error = done.stderr.splitlines()  # that small pictures say little of MAD
    assert done.returncode == 1 and all(one.startswith("warning: ") for one in warnings)
    assert output in error and "File too large" in error
    assert contents(place) == before and not Path(output).exists()


@pytest.mark.slow
def test_a_killed_run_and_the_next(place):
    make(place / "long.mkv", frames=200)
    words = ["upscale", "long.mkv", "-o", "out/o.mkv", *UPSCALE]
    process = subprocess.Popen([sys.executable, "-m", "snellen", *words], stdout=subprocess.DEVNULL)
    with process:
        limit = time.monotonic() + 200
        while not list(Path("out").glob(".*")) and process.poll() is None:
            assert time.monotonic() < limit
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    (left,) = names(Path("out"))
    words += ["--frames", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "snellen", *words], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0 and names(Path("out")) == ["o.mkv"]
    assert done.stderr == (f"warning: out/o.mkv: removed what a killed run had left: {left}\n")
