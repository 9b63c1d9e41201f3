"""Which input becomes which output; values of options."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.files.kinds import is_image
from snellen.jobs.calls.planning import plan
from snellen.jobs.inputs.search import expanded
from snellen.jobs.kinds.deblur import psf_targets
from snellen.jobs.options.options import VideoOptions, device_list, paths
from snellen.jobs.options.positions import Region
from snellen.schema import named
from snellen.video.clip import Clip, rate, seconds


def planned(inputs, output):
    """Return each input with its output."""
    found = plan([Path(one) for one in inputs], Path(output), lambda source: "x2")
    assert not found.failed and not found.skipped
    return list(found.pairs)


@pytest.fixture
def folder(tmp_path):
    """A folder with images, videos, and other things."""
    found = tmp_path / "in"
    (found / "deeper").mkdir(parents=True)
    for name in ("b.MKV", "a.png", "c.jpg", "d.avi", ".hidden.png", "notes.txt"):
        (found / name).touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "empty").mkdir()
    return found


def test_a_folder_is_its_videos_and_images(folder):
    assert [path.name for path in expanded([folder])] == ["a.png", "b.MKV", "c.jpg", "d.avi"]
    assert expanded([Path("x.mkv"), Path("-")]) == [Path("x.mkv"), Path("-")]
    assert is_image(Path("a.PNG")) and not is_image(Path("a.mkv"))


def test_outputs_are_called_as_their_inputs(folder, tmp_path):
    """But for what cannot be written."""
    out = tmp_path / "out"
    targets = [target.name for _, target in planned([folder], out)]
    assert targets == ["a.png", "b.MKV", "c.jpg", "d.mkv"]
    assert planned([Path("x.webm")], out) == [(Path("x.webm"), out / "x.mkv")]
    assert planned([Path("x.webm")], Path("y.mp4")) == [(Path("x.webm"), Path("y.mp4"))]
    assert planned([Path("-")], Path("-")) == [(Path("-"), Path("-"))]


@pytest.mark.parametrize(
    ("inputs", "output", "said"),
    [
        (["x.mkv", "y.mkv"], "in/a.png", "a.png is a file; several inputs need a folder"),
        (["in"], "none.png", r"need a folder as output, and none\.png names a file"),
        (["empty"], "out", "holds no video and no image"),
        (["x.mkv", "y.mkv"], "-", "standard output takes one input"),
        (["-"], "out", "standard input needs a file name"),
        ([], "out", "got no source"),
    ],
)
def test_what_cannot_be_planned(folder, tmp_path, monkeypatch, inputs, output, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        planned(inputs, output)


def test_psfs_of_several_results(tmp_path):
    targets = [Path("a.png"), Path("b.mkv")]
    assert psf_targets(targets, None) == [None, None]
    assert psf_targets(targets[:1], Path("p.npy")) == [Path("p.npy")]
    assert psf_targets(targets, tmp_path) == [tmp_path / "a.png.npy", tmp_path / "b.mkv.npy"]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, None), (0, 0), (2, 2), (0.1, Fraction(1, 10)), (Fraction(1, 3), Fraction(1, 3)),
        ("12.5", Fraction(25, 2)), ("1:02.5", Fraction(125, 2)), ("1:00:01", 3601),
        (np.float32(0.5), Fraction(1, 2)), (np.int64(3), 3),
    ],
)  # fmt: skip
def test_seconds(value, wanted):
    assert seconds(value, "start") == wanted


@pytest.mark.parametrize(
    "value", ["soon", "1:-30", "1:75", "1/2", "1e9", "1:2:3:4", "", True, [1], float("inf")]
)
def test_no_seconds(value):
    with pytest.raises(InputError, match="expected seconds") as caught:
        seconds(value, "duration")
    assert caught.value.parameter == "duration" and "duration=" in str(caught.value)


def test_no_rate():
    """Whatever the value is, and whatever it takes to write it."""
    deep = []
    for _ in range(3000):
        deep = [deep]
    for value in (deep, 10**5000, "fast", [25], True):
        with pytest.raises(InputError, match=r"got fps=.*; expected pictures a second"):
            rate(value)


def test_which_options_of_videos_are_named():
    assert named(VideoOptions()) == ()
    assert named(VideoOptions(Clip(frames=3, deinterlace=True), decoder="nvdec")) == (
        "frames", "deinterlace", "decoder",
    )  # fmt: skip


def test_lists():
    assert device_list("cuda:0, cuda:1") == device_list(["cuda:0", "cuda:1"]) == "cuda:0,cuda:1"
    with pytest.raises(InputError, match="device=3"):
        device_list(3)
    assert paths("a", "source") == (Path("a"),)
    assert paths(["a", Path("b")], "source") == (Path("a"), Path("b"))


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("region", "positions", "wanted"),
    [
        (None, None, None),
        ("5,2,16,11", None, Region(16, 11, 5, 2)),
        (" 5 2 16 11 ", None, Region(16, 11, 5, 2)),
        ((5, 2, 16, 11), None, Region(16, 11, 5, 2)),
        ("16,11", "at.txt", Region(16, 11, positions=Path("at.txt"))),
        ((16, 11), [(1, 2)], Region(16, 11, positions=((1, 2),))),
        (Region(1, 2), None, Region(1, 2)),
    ],
)
def test_regions(region, positions, wanted):
    assert Region.of(region, positions) == wanted


@pytest.mark.parametrize("region", ["5,2,16", "5,2,16,x", "5,2,1.5,4", (1, 2, 3.5, 4), 7, "16,11"])
def test_no_region(region):
    with pytest.raises(InputError, match="expected whole numbers X,Y,W,H"):
        Region.of(region)
