"""Heat maps: colours, values that come back, and files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from snellen.errors import InputError, OutputError
from snellen.mad import heatmap
from snellen.mad.heatmap import BRIGHTEST, DETECTION, Worst
from snellen.mad.result import Score

FACTS = {"reference": "a", "distorted": "b"}


def scored(mad, random, shape=(48, 64)):
    return Score(mad, 1.0, 2.0, random.uniform(0, 600, shape), random.uniform(0, 25, shape))


def test_the_palette_gets_lighter_all_the_way():
    luma = heatmap.palette() @ [0.299, 0.587, 0.114]
    assert luma[0] < 2 and luma[-1] > 240 and (np.diff(luma) > 0).all()


@pytest.mark.parametrize("brightest", BRIGHTEST.values())
def test_colours_and_values(brightest):
    assert heatmap.shades(np.array([0.0, brightest, 9 * brightest]), brightest).tolist() == [
        0,
        255,
        255,
    ]
    every = np.arange(256, dtype=np.uint8)
    assert (heatmap.shades(heatmap.values(every, brightest), brightest) == every).all()
    assert heatmap.values(every, brightest)[[0, -1]] == pytest.approx([0, brightest])


def test_negative_noise_is_dark():
    assert heatmap.shades(np.array([-1e-12]), 20.0) == 0


def test_the_worst_are_kept(random):
    worst = Worst(2)
    for number, mad in enumerate([3.0, 5.0, 1.0, 5.0, 4.0]):
        wanted = worst.wants(mad)
        assert wanted == (number in (0, 1, 3))
        if wanted:
            worst.keep(f"frame{number}", scored(mad, random), {"frame": number})
    assert [one.name for one in worst.kept] == ["frame1", "frame3"]


def test_more_and_more_of_the_worst(random):
    """Those that worse ones replace may never get colours; few wait for them at a time."""
    worst, scores = Worst(3), [scored(float(mad), random) for mad in range(40)]
    for number, score in enumerate(scores):
        assert worst.wants(score.mad)
        worst.keep(f"frame{number}", score, {"frame": number})
        assert len(worst._begun) <= 2 * heatmap.SHADING
    assert [one.facts["frame"] for one in worst.kept] == [39, 38, 37]
    for one in worst.kept:
        score = scores[one.facts["frame"]]
        wanted = heatmap.shades(DETECTION * score.detection, BRIGHTEST["detection"])
        np.testing.assert_array_equal(one.detection, wanted)
        wanted = heatmap.shades(score.appearance, BRIGHTEST["appearance"])
        np.testing.assert_array_equal(one.appearance, wanted)


def test_none_are_wanted():
    assert not Worst(0).wants(100.0)


def test_files(tmp_path, random):
    worst, score = Worst(1), scored(3.0, random)
    worst.keep("frame000007", score, {"frame": 7})
    folder = tmp_path / "maps"
    heatmap.check(folder, overwrite=False)
    heatmap.write(folder, worst, FACTS, overwrite=False)
    index = json.loads((folder / "index.json").read_text())
    assert index["reference"] == "a"
    (entry,) = index["maps"]
    assert entry["frame"] == 7
    maps = {"detection": DETECTION * score.detection, "appearance": score.appearance}
    names = {"index.json", index["legend"]}
    for kind, values in maps.items():
        scale = index["scales"][kind]
        assert (scale["darkest"], scale["brightest"]) == (0, BRIGHTEST[kind])
        with Image.open(folder / entry[kind]) as image:
            assert image.size == (64, 48)
            assert f"darkest 0, brightest {BRIGHTEST[kind]:g}" in image.text["Description"]
            numbers = np.asarray(image)
            assert (np.asarray(image.convert("RGB")) == heatmap.palette()[numbers]).all()
        back = heatmap.values(numbers, BRIGHTEST[kind])
        # Half a step of 256 on the logarithmic scale.
        step = np.log1p(BRIGHTEST[kind]) / 255
        found, wanted = np.log1p(back), np.log1p(np.minimum(values, BRIGHTEST[kind]))
        assert abs(found - wanted).max() <= step / 2 * (1 + 1e-9)
        names.add(entry[kind])
    assert {path.name for path in folder.iterdir()} == names


def test_long_names_are_cut_and_stay_apart(tmp_path):
    """A file's name may have 255 bytes, and those of its maps have more behind it."""
    worst, planes = Worst(2), np.ones((2, 40, 40))
    for last, mad in (("é", 1.0), ("è", 2.0)):
        worst.keep("é" * 126 + last, Score(mad, 1, 1, *planes), {"mad": mad})
    heatmap.write(tmp_path, worst, FACTS, overwrite=False)
    entries = json.loads((tmp_path / "index.json").read_text())["maps"]
    files = [entry[kind] for entry in entries for kind in BRIGHTEST]
    assert len({*files}) == 4 and all((tmp_path / file).is_file() for file in files)
    assert all(file.startswith("é" * 100) for file in files)


def test_the_legend_shows_both_scales(tmp_path):
    heatmap.write(tmp_path, Worst(1), FACTS, overwrite=True)
    with Image.open(tmp_path / "legend.png") as image:
        colours = {colour for _, colour in image.getcolors(10000)}
    assert {tuple(colour) for colour in heatmap.palette().tolist()} <= colours


def test_what_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    for path, said in (
        (tmp_path / "none" / "maps", "does not exist"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "link", "a broken link"),
        (tmp_path / ("x" * 300), "too long"),
        (tmp_path, "not empty"),
    ):
        with pytest.raises(InputError, match=said):
            heatmap.check(path, overwrite=False)
    heatmap.check(tmp_path, overwrite=True)


def test_what_has_come_to_exist_is_left(tmp_path, random):
    worst = Worst(1)
    worst.keep("a", scored(1.0, random), {})
    (tmp_path / "a_detection.png").write_text("mine")
    with pytest.raises(OutputError, match="exist meanwhile"):
        heatmap.write(tmp_path, worst, FACTS, overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["a_detection.png"]


def test_what_the_disk_refuses_is_our_own_error(tmp_path, monkeypatch):
    def refuse(self, *arguments, **settings):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch, pytest.raises(InputError, match="Permission denied"):
        patch.setattr("pathlib.Path.iterdir", refuse)
        heatmap.check(tmp_path, overwrite=False)
    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(OutputError, match="maps could not be made: Permission denied"):
        heatmap.write(tmp_path / "maps", Worst(1), FACTS, overwrite=True)


def drawn(folder, random, *names):
    worst = Worst(len(names))
    for name in names:
        worst.keep(name, scored(1.0, random), {})
    heatmap.write(folder, worst, FACTS, overwrite=True)
    return {path.name for path in folder.iterdir()}


def test_maps_of_the_run_before_are_removed(tmp_path, random):
    """Those that its index names, and nothing else."""
    folder = tmp_path / "maps"
    drawn(folder, random, "a", "b")
    (folder / "x_detection.png").write_text("mine")
    files = {f"{name}_{kind}.png" for name in "bc" for kind in BRIGHTEST}
    assert drawn(folder, random, "b", "c") == files | {
        "index.json", "legend.png", "x_detection.png"
    }  # fmt: skip


@pytest.mark.cases
@pytest.mark.parametrize(
    "index",
    [
        "no JSON",
        "[]",
        '{"maps": 3}',
        '{"maps": [{"detection": "a.png"}]}',
        '{"maps": [{"detection": "a.png", "appearance": "index.json"}]}',
        '{"maps": [{"detection": "../a_detection.png", "appearance": "b/a_appearance.png"}]}',
    ],
)
def test_an_index_that_is_not_ours_removes_nothing(tmp_path, random, index):
    folder = tmp_path / "maps"
    (folder / "b").mkdir(parents=True)
    others = [folder / "a.png", tmp_path / "a_detection.png", folder / "b" / "a_appearance.png"]
    for path in others:
        path.write_text("mine")
    (folder / "index.json").write_text(index)
    drawn(folder, random, "c")
    assert all(path.read_text() == "mine" for path in others)


@pytest.mark.parametrize("there", [False, True])
def test_new_files_are_removed_after_an_error(tmp_path, random, monkeypatch, there):
    """And the folder, where it is new; what has been replaced is whole."""
    worst, folder, real = Worst(1), tmp_path / "maps", heatmap._bytes
    worst.keep("frame1", scored(3.0, random), {"frame": 1})
    if there:
        folder.mkdir()
        (folder / "frame1_detection.png").write_bytes(b"before")
        (folder / "mine.txt").touch()

    def fails(image, text=None):
        if text is None:  # the legend
            raise OutputError("no space")
        return real(image, text)

    monkeypatch.setattr(heatmap, "_bytes", fails)
    with pytest.raises(OutputError):
        heatmap.write(folder, worst, FACTS, overwrite=True)
    if there:
        assert {path.name for path in folder.iterdir()} == {"frame1_detection.png", "mine.txt"}
        with Image.open(folder / "frame1_detection.png") as image:
            image.load()
    else:
        assert not folder.exists()
