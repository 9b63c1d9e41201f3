"""snellen deblur with videos: frames, moving regions, frames of one object, what is told."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

import av
import numpy as np
import pytest

from snellen.errors import DeviceError
from snellen.frames.frame import Format
from snellen.gpu import device
from snellen.jobs import deblur_step
from snellen.mia import cpu
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.image import deblur
from snellen.video.region import samples
from support import cli
from support.cli import names, run
from support.video.clips import make

pytestmark = pytest.mark.usefixtures("signals")

refused = partial(cli.refused, "deblur")

WIDTH, HEIGHT, FRAMES = 24, 20, 4
QUICK = {"psf_size": 5, "iterations": 3}
WORDS = ["--psf-size", 5, "--iterations", 3, "--device", "cpu"]
FORMAT = Format(WIDTH, HEIGHT, 8, (1, 1))


@pytest.fixture
def frames(random):
    """Planes of frames with edges that move."""
    steps = random.integers(20, 230, (8, 10)).astype(np.uint8).repeat(5, 0).repeat(5, 1)
    lumas = [steps[n : n + HEIGHT, 2 * n : 2 * n + WIDTH] for n in range(FRAMES)]
    shape = HEIGHT // 2, WIDTH // 2
    return [[luma, *random.integers(16, 240, (2, *shape), np.uint8)] for luma in lumas]


@pytest.fixture
def written(tmp_path):
    """A maker of y4m files."""

    def write(frames, name="clip.y4m"):
        height, width = frames[0][0].shape
        head = f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420mpeg2\n".encode()
        pictures = [b"FRAME\n" + b"".join(p.tobytes() for p in frame) for frame in frames]
        (tmp_path / name).write_bytes(head + b"".join(pictures))
        return tmp_path / name

    return write


@pytest.fixture
def clip(frames, written):
    return written(frames)


def planes(path):
    """Decoded planes of every frame, by PyAV alone."""
    with av.open(str(path)) as container:
        found = []
        for frame in container.decode(video=0):
            views = [np.frombuffer(p, np.uint8).reshape(-1, p.line_size) for p in frame.planes]
            widths = [frame.width, -(-frame.width // 2), -(-frame.width // 2)]
            found.append([v[:, :w].copy() for v, w in zip(views, widths, strict=True)])
    return found


def coded(restored):
    """Code values of restored luma of limited range."""
    return np.rint(np.clip(16 + np.float32(219) * restored, 0, 255)).astype(np.uint8)


def same(found, lumas, frames):
    """Whether these are the lumas, and the chroma that came."""
    assert len(found) == len(lumas) == len(frames)
    for one, luma, came in zip(found, lumas, frames, strict=True):
        assert (one[0] == luma).all()
        assert all((a == b).all() for a, b in zip(one[1:], came[1:], strict=True))


def told(capsys, *words, code=0):
    """The lines of JSON but for progress."""
    assert run("deblur", *words, "--json") == code
    out, err = capsys.readouterr()
    assert err == ""
    lines = [json.loads(line) for line in out.splitlines()]
    return [line for line in lines if line["event"] != "progress"]


@pytest.mark.parametrize("name", ["out.y4m", "out.mkv"])
def test_every_frame(capsys, clip, frames, tmp_path, name):
    lossless = ["--codec", "ffv1"] if name.endswith("mkv") else []
    goal = tmp_path / name
    assert run("deblur", clip, "-o", goal, *WORDS, *lossless) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{goal}: 4 frames, 24×20 4:2:0 8 bit → 24×20 4:2:0 8 bit")
    assert " ms a frame (99 %: " in out and "3 iterations, fit " in out and err == ""
    found = [deblur(samples(one[0], FORMAT), **QUICK, device="cpu").image for one in frames]
    same(planes(goal), [coded(one) for one in found], frames)


@pytest.mark.gpu
@pytest.mark.parametrize("words", [[], ["--warm"], ["--edges", "taper", "--roi", "4,2,16,16"]])
def test_every_frame_on_the_gpu(capsys, clip, tmp_path, words):
    """As on the CPU, but for a step where rounding decides."""
    goals = [tmp_path / "cpu.y4m", tmp_path / "cuda.y4m"]
    for goal in goals:
        assert run("deblur", clip, "-o", goal, *WORDS[:4], *words, "--device", goal.stem) == 0
    assert f" s on {device.name('cuda:0')};" in capsys.readouterr().out
    for one, other in zip(*map(planes, goals), strict=True):
        assert all(np.abs(a.astype(int) - b).max() <= 1 for a, b in zip(one, other, strict=True))


def test_frames_of_one_value(capsys, written, tmp_path):
    """Black, below black, grey, white and above white: themselves, and nothing is NaN."""
    values = [16, 4, 100, 235, 250]
    chroma = np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8)
    frames = [[np.full((HEIGHT, WIDTH), v, np.uint8), chroma, chroma] for v in values]
    goal = tmp_path / "out.y4m"
    lines = told(capsys, written(frames), "-o", goal, *WORDS, "--warm")
    assert [int(one[0].min()) for one in planes(goal)] == [16, 16, 100, 235, 250]
    assert [int(one[0].max()) for one in planes(goal)] == [16, 16, 100, 235, 250]
    assert all(np.isfinite(line["fit"]) for line in lines)


# Regions


@pytest.mark.parametrize("roi", ["6,4,12,10", "7,3,12,10", "0,0,24,20"])
def test_a_region(clip, frames, tmp_path, roi):
    x, y, width, height = map(int, roi.split(","))
    goal = tmp_path / "out.y4m"
    words = ["deblur", clip, "-o", goal, *WORDS, "--roi", roi]
    assert run(*words) == 0
    there = slice(y, y + height), slice(x, x + width)
    lumas = []
    for one in frames:
        part = np.ascontiguousarray(samples(one[0], FORMAT)[there])
        lumas.append(coded(deblur(part, **QUICK, device="cpu").image))
    found = planes(goal)
    assert all((one[0] == luma).all() for one, luma in zip(found, lumas, strict=True))
    assert all(one[1].shape == (height // 2, width // 2) for one in found)
    assert run(*words, "--paste-back", "--overwrite") == 0
    whole = [one[0].copy() for one in frames]
    for one, luma in zip(whole, lumas, strict=True):
        one[there] = luma
    same(planes(goal), whole, frames)


TEXT = "# x,y\n0,0\n 3 , 2 \n6 4\n9,6\n\n"


@pytest.mark.parametrize("roi", ["12,10", "7,7,12,10"])
def test_a_region_that_moves(capsys, clip, frames, tmp_path, roi):
    """By a file, whatever place --roi names."""
    (tmp_path / "at.txt").write_text(TEXT)
    goal = tmp_path / "out.y4m"
    words = [clip, "-o", goal, *WORDS, "--roi", roi, "--roi-file", tmp_path / "at.txt"]
    assert run("deblur", *words) == 0
    found = planes(goal)
    for n, (one, came) in enumerate(zip(found, frames, strict=True)):
        part = samples(came[0], FORMAT)[2 * n : 2 * n + 10, 3 * n : 3 * n + 12]
        wanted = deblur(np.ascontiguousarray(part), **QUICK, device="cpu").image
        assert (one[0] == coded(wanted)).all()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,0\n1,1\n2,2\n", "at.txt has 3 positions, but 4 frames or more will come"),
        ("0,0\n1,1\n2;2\n3,3\n", "at.txt line 3: got '2;2'; expected X,Y"),
        ("0,0\n\n2,2\n3,3\n4,4\n", "at.txt line 2: got an empty line"),
        ("#\n0,0\n1,1,1\n", "at.txt line 3: got '1,1,1'"),
        ("0,0\n1.5,1\n", "at.txt line 2: got '1.5,1'; expected X,Y in whole pixels"),
        ("0,0\n0,0\n#\n13,0\n0,0\n", "at.txt line 4 leaves the frame: 13,0 with a region of 12×10"),
        ("0,0\n0,-1\n0,0\n0,0\n", "at.txt line 2 leaves the frame"),
        ("# nothing\n", "at.txt has no position"),
        (b"\xff\xfe\x00", "at.txt is no text"),
        (None, "No such file"),
    ],
)
def test_wrong_positions(capsys, clip, tmp_path, text, said):
    """Told before any work, with the number of the line."""
    path = tmp_path / "at.txt"
    if isinstance(text, bytes):
        path.write_bytes(text)
    elif text is not None:
        path.write_text(text)
    before = names(tmp_path)
    words = [clip, "-o", tmp_path / "out.y4m", *WORDS, "--roi", "12,10", "--roi-file", path]
    refused(capsys, words, said)
    assert names(tmp_path) == before


def test_more_positions_than_frames(capsys, clip, tmp_path):
    (tmp_path / "at.txt").write_text("0,0\n" * 6)
    words = [clip, "-o", tmp_path / "out.y4m", *WORDS, "--overwrite"]
    words += ["--roi", "12,10", "--roi-file", tmp_path / "at.txt"]
    assert run("deblur", *words) == 0
    assert "at.txt has 2 positions more than there are frames" in capsys.readouterr().err
    assert run("deblur", *words, "--frames", 3) == 0
    assert capsys.readouterr().err == ""


def test_fewer_positions_will_do_for_a_part(clip, tmp_path):
    (tmp_path / "at.txt").write_text("0,0\n1,1\n")
    words = [clip, "-o", tmp_path / "out.y4m", *WORDS, "--frames", 2]
    assert run("deblur", *words, "--roi", "12,10", "--roi-file", tmp_path / "at.txt") == 0
    assert len(planes(tmp_path / "out.y4m")) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--roi", "0,0,25,10"], "a region of 25×10 came for frames of 24×20"),
        (["--roi", "20,0,12,10"], "the region leaves the frame"),
        (["--roi", "0,0,12,4"], "got a PSF of 5×5 for a picture of 12×4"),
        (["--psf-size", 31], "got a PSF of 31×31 for a picture of 24×20"),
        (["--tile", 4], "--tile 4 with a PSF"),
        (["--start", "soon"], "expected seconds"),
        (
            ["--noise", "gaussian", "--read-noise", "0.1"],
            "--read-noise 0.1 with --noise 'gaussian'",
        ),
    ],
)
def test_what_cannot_be_done_leaves_nothing(capsys, clip, tmp_path, words, said):
    out = ["--psf-out", tmp_path / "psf.npy"]
    refused(capsys, [clip, "-o", tmp_path / "out.mkv", *WORDS, *words, *out], said)
    assert names(tmp_path) == ["clip.y4m"]


# From frame to frame


def test_warm(capsys, clip, frames, tmp_path):
    goal, psf = tmp_path / "out.y4m", tmp_path / "psf.npy"
    lines = told(capsys, clip, "-o", goal, *WORDS, "--warm", "--psf-out", psf)
    with Deblurrer(**QUICK, edges="extend", warm=True, device="cpu") as deblurrer:
        deblurrer.prepare(Format(WIDTH, HEIGHT, 0))
        found = [deblurrer.run(samples(one[0], FORMAT)) for one in frames]
    same(planes(goal), [coded(one.image) for one in found], frames)
    assert (np.load(psf) == np.stack([one.psf for one in found])).all()
    assert [line["fit"] for line in lines[:-1]] == [one.fit for one in found]
    cold = deblur(samples(frames[1][0], FORMAT), **QUICK, device="cpu")
    assert (found[1].psf != cold.psf).any()


def test_a_window(clip, frames, tmp_path):
    """Of two frames: itself and the one before; of the first itself, twice."""
    goal, psf = tmp_path / "out.y4m", tmp_path / "psf.npy"
    assert run("deblur", clip, "-o", goal, *WORDS, "--window", 2, "--psf-out", psf) == 0
    lumas = [samples(one[0], FORMAT) for one in frames]
    pairs = zip([lumas[0], *lumas], lumas, strict=False)
    found = [deblur(np.stack(p), **QUICK, multiframe=True, device="cpu") for p in pairs]
    same(planes(goal), [coded(one.image) for one in found], frames)
    assert np.load(psf).shape == (FRAMES, 2, 5, 5)
    alone = deblur(lumas[0], **QUICK, device="cpu")
    assert np.abs(found[0].image - alone.image).max() < 1e-5  # of 1; sums of equal terms


@pytest.mark.parametrize(
    ("words", "settings"),
    [(["--tile", 14], {"tile": 14}), (["--tv", "0.02"], {"tv": 0.02}),
     (["--edges", "taper"], {"edges": "taper"})],
)  # fmt: skip
def test_options(clip, frames, tmp_path, words, settings):
    goal = tmp_path / "out.y4m"
    assert run("deblur", clip, "-o", goal, *WORDS, *words) == 0
    lumas = [samples(one[0], FORMAT) for one in frames]
    found = [deblur(one, **QUICK, **settings, device="cpu").image for one in lumas]
    same(planes(goal), [coded(one) for one in found], frames)
    plain = [coded(deblur(one, **QUICK, device="cpu").image) for one in lumas]
    assert any((one != coded(other)).any() for one, other in zip(plain, found, strict=True))


def test_a_psf_that_is_given(clip, frames, tmp_path):
    np.save(tmp_path / "psf.npy", np.eye(3))
    goal = tmp_path / "out.y4m"
    words = ["--psf", tmp_path / "psf.npy", "--iterations", 3, "--device", "cpu"]
    assert run("deblur", clip, "-o", goal, *words) == 0
    found = [
        deblur(samples(one[0], FORMAT), np.eye(3), iterations=3, device="cpu").image
        for one in frames
    ]
    same(planes(goal), [coded(one) for one in found], frames)


def test_psfs_of_a_single_frame_are_a_stack_too(clip, tmp_path):
    psf = tmp_path / "psf.npy"
    words = [clip, "-o", tmp_path / "out.y4m", *WORDS, "--frames", 1, "--psf-out", psf]
    assert run("deblur", *words) == 0
    assert np.load(psf).shape == (1, 5, 5)


def test_a_psf_for_each_frame_of_a_window(clip, frames, tmp_path):
    """The oldest first."""
    both = np.stack([np.eye(3), np.ones((3, 3))])
    np.save(tmp_path / "psf.npy", both)
    goal = tmp_path / "out.y4m"
    words = ["--psf", tmp_path / "psf.npy", "--iterations", 3, "--device", "cpu", "--window", 2]
    assert run("deblur", clip, "-o", goal, *words) == 0
    lumas = [samples(one[0], FORMAT) for one in frames]
    pairs = [np.stack(pair) for pair in zip([lumas[0], *lumas], lumas, strict=False)]
    how = {"multiframe": True, "iterations": 3, "device": "cpu"}
    same(planes(goal), [coded(deblur(one, both, **how).image) for one in pairs], frames)


def test_an_odd_region_needs_other_pixels(capsys, clip, tmp_path):
    words = [clip, "-o", tmp_path / "out.mkv", *WORDS, "--roi", "0,0,13,10"]
    refused(capsys, words, "4:4:4", "of a region take an even width and height")
    assert names(tmp_path) == ["clip.y4m"]


# What is told


def test_the_value_of_white_is_for_images(capsys, clip, frames, tmp_path):
    goal = tmp_path / "out.y4m"
    lines = told(capsys, clip, "-o", goal, *WORDS, "--data-range", 255)
    assert lines[0]["message"] == "--data-range is for float images: without effect on a video"
    found = [deblur(samples(one[0], FORMAT), **QUICK, device="cpu").image for one in frames]
    same(planes(goal), [coded(one) for one in found], frames)


def test_json(capsys, clip, frames, tmp_path):
    goal, psf = tmp_path / "out.y4m", tmp_path / "psf.png"
    *rows, done = told(capsys, clip, "-o", goal, *WORDS, "--psf-out", psf)
    found = [deblur(samples(one[0], FORMAT), **QUICK, device="cpu") for one in frames]
    for number, (row, one) in enumerate(zip(rows, found, strict=True)):
        assert row.pop("ms") > 0
        assert row == {
            "event": "frame", "input": str(clip), "frame": number, "fit": one.fit, "iterations": 3,
        }  # fmt: skip
    assert done["event"] == "done" and done["frames"] == FRAMES and done["psf"] == str(psf)
    assert done["fit"] == pytest.approx(np.mean([one.fit for one in found]))
    assert done["iterations"] == 3 and 0 < done["ms_p50"] <= done["ms_p99"]
    assert (done["width"], done["height"], done["device"]) == (WIDTH, HEIGHT, "cpu")
    with av.open(str(psf)) as container:  # of the last frame
        shades = next(container.decode(video=0)).to_ndarray(format="gray16le")
    wanted = found[-1].psf / found[-1].psf.max() * 65535
    assert np.abs(shades - wanted).max() < 0.51


def test_pipes(clip, frames, tmp_path):
    command = [
        sys.executable,
        "-m",
        "snellen",
        "deblur",
        "-",
        "-o",
        "-",
        *map(str, WORDS),
        "--json",
    ]
    done = subprocess.run(command, input=clip.read_bytes(), capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    (tmp_path / "out.y4m").write_bytes(done.stdout)
    found = [deblur(samples(one[0], FORMAT), **QUICK, device="cpu").image for one in frames]
    same(planes(tmp_path / "out.y4m"), [coded(one) for one in found], frames)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in lines if line["event"] != "progress"][-1] == "done"


def test_a_damaged_video_is_restored_as_far_as_it_goes(capsys, tmp_path):
    source = make(tmp_path / "whole.mp4", frames=20, container={"movflags": "faststart"})
    (tmp_path / "cut.mp4").write_bytes(source.read_bytes()[:-2000])
    lines = told(capsys, tmp_path / "cut.mp4", "-o", tmp_path / "out.y4m", *WORDS, code=3)
    rows = [line for line in lines if line["event"] == "frame"]
    assert lines[-2]["event"] == "done" and lines[-2]["lost"] and len(rows) < 20
    assert lines[-1]["event"] == "error" and lines[-1]["exit_code"] == 3
    assert len(planes(tmp_path / "out.y4m")) == len(rows) > 0


def test_the_cpu_steps_in_where_autos_gpu_has_no_room(capsys, clip, frames, tmp_path, monkeypatch):
    class Full(Deblurrer):
        def __init__(self, *arguments, **settings):
            if settings["device"] != "cpu":
                raise DeviceError("the GPU's memory does not suffice")
            super().__init__(*arguments, **settings)

    monkeypatch.setattr(device, "resolve", lambda asked: "cpu" if asked == "cpu" else "cuda:0")
    monkeypatch.setattr(device, "name", lambda used: used)
    monkeypatch.setattr(deblur_step, "Deblurrer", Full)
    words = [clip, "-o", tmp_path / "out.y4m", *WORDS[:4]]
    lines = told(capsys, *words)
    assert "memory does not suffice" in lines[0]["message"] and lines[-1]["device"] == "cpu"
    assert lines[-1]["frames"] == FRAMES and len(lines) == FRAMES + 2
    refused(capsys, [*words, "--overwrite", "--device", "cuda"], "memory does not suffice")


@pytest.mark.parametrize("name", ["out.y4m", "out.mkv"])
def test_an_interrupt_leaves_nothing(capsys, clip, tmp_path, monkeypatch, name):
    whole, count = cpu.Backend.iterate, []

    def interrupted(self, iterations):
        count.append(1)
        if len(count) > 3:  # prepare has its own
            raise KeyboardInterrupt
        whole(self, iterations)

    monkeypatch.setattr(cpu.Backend, "iterate", interrupted)
    words = [clip, "-o", tmp_path / name, *WORDS, "--psf-out", tmp_path / "psf.npy"]
    assert run("deblur", *words) == 130
    err = capsys.readouterr().err
    assert "interrupted" in err and "Traceback" not in err
    assert names(tmp_path) == ["clip.y4m"]
