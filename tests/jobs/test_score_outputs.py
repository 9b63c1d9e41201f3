"""Tables and maps of scoring jobs: what they hold, and what they never replace."""

from __future__ import annotations

import csv
import json
import os
import threading
from collections import deque

import numpy as np
import pytest
from PIL import Image

from snellen import score_files
from snellen.errors import InputError, OutputError
from snellen.frames.frame import Format
from snellen.jobs.kinds.score_step import ScoreStep
from snellen.jobs.options.methods import MadSettings
from snellen.mad.heatmap import Worst
from snellen.mad.scorer import Scorer
from support.cli import names
from support.mad import drawn
from support.video.clips import HEIGHT, WIDTH


def refused(match, *inputs, **options):
    """Check for an InputError that says this, before anything was scored."""
    with pytest.raises(InputError, match=match) as caught:
        score_files(*inputs, **options)
    assert caught.value.result is None


@pytest.mark.slow
def test_a_table(films, folders, tmp_path):
    table = tmp_path / "t.csv"
    rows = score_files(films[0], films[2], table=table).table.rows
    with table.open(newline="") as file:
        wanted = [{name: str(value) for name, value in row.facts().items()} for row in rows]
        assert list(csv.DictReader(file)) == wanted
    refused("t.csv exists", films[0], films[2], table=table)
    before = table.read_text()
    score_files(films[0], films[1], table=table, overwrite=True)
    assert table.read_text() != before
    score_files(*folders, table=table, overwrite=True)
    assert table.read_text().startswith("frame,name,mad,hi,lo\n0,a,")


@pytest.mark.slow
def test_maps_of_the_worst(films, tmp_path):
    maps = tmp_path / "maps"
    result = score_files(films[0], films[2], maps=maps, worst=2)
    index = json.loads((maps / "index.json").read_text())
    worst = result.table.worst(2)
    assert [one["frame"] for one in index["maps"]] == [row.frame for row in worst]
    assert [one["mad"] for one in index["maps"]] == [row.mad for row in worst]
    assert index["variant"] == "2011" and index["distorted"] == str(films[2])
    for one in index["maps"]:
        for kind in ("detection", "appearance"):
            assert one[kind] == f"frame{one['frame']:06}_{kind}.png"
            with Image.open(maps / one[kind]) as image:
                assert image.size == (WIDTH, HEIGHT) and np.asarray(image).any()
    assert len(names(maps)) == 6
    refused("not empty", films[0], films[2], maps=maps)
    (maps / "notes.txt").write_text("mine")
    score_files(films[0], films[2], maps=maps, overwrite=True)  # those of before are removed
    (one,) = json.loads((maps / "index.json").read_text())["maps"]
    ours = ["index.json", "legend.png", one["detection"], one["appearance"]]
    assert names(maps) == sorted([*ours, "notes.txt"])


@pytest.mark.slow
def test_maps_that_are_wanted_in_a_row_are_computed_with_the_score(random, monkeypatch):
    """Where a film gets worse and worse, no frame but the first is scored twice."""
    begun = []

    def submit(scorer, one, other, *, maps=False):
        begun.append((int(other[0, 0]), maps))
        return original(scorer, one, other, maps=maps)

    original = Scorer.submit
    monkeypatch.setattr(Scorer, "submit", submit)
    scene = drawn.scene(random, (70, 90))
    one = scene.astype(np.uint8)
    worst = Worst(1)
    step = ScoreStep(MadSettings(), ("mad",), "cpu", worst, False, {}, "", None)
    step.prepare(Format(90, 70))
    pending, found = deque(), []
    for number, sigma in enumerate([5, 10, 20, 30, 8, 7, 40]):
        other = drawn.noisy(random, scene, sigma).astype(np.uint8)
        other[0, 0] = number
        pending.append((number, step.submit(one, other)))
        if len(pending) < 2:
            continue
        found.append(_kept(*pending.popleft(), worst))
    found.append(_kept(*pending.popleft(), worst))
    step.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("maps")]
    assert [number for number, kept in found if kept] == [0, 1, 2, 3, 6]
    again = {number for number, _ in begun if [n for n, _ in begun].count(number) == 2}
    assert again == {0, 1, 6}
    assert [number for number, maps in begun if maps and number not in again] == [2, 3, 4, 5]


def _kept(number, wait, worst):
    """Take a score as a run does."""
    score = wait()
    kept = score.detection is not None
    assert kept == (score.appearance is not None) == worst.wants(score.mad)
    if kept:
        worst.keep(f"frame{number}", score, {})
    return number, kept


@pytest.mark.slow
def test_maps_of_images(images, folders, tmp_path):
    maps = tmp_path / "maps"
    row = score_files(*images[0][:2], maps=maps, device="cpu").table.rows[0]
    (one,) = json.loads((maps / "index.json").read_text())["maps"]
    assert (one["name"], one["mad"]) == (images[0][0].stem, row.mad)
    (worst,) = score_files(*folders, maps=tmp_path / "more").table.worst(1)
    assert (tmp_path / "more" / f"{worst.name}_detection.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
def test_a_table_is_never_an_image_of_a_folder(folders, tmp_path, link):
    image = folders[1] / "b.png"
    table, before = image, image.read_bytes()
    if link:
        table = tmp_path / "table.csv"
        getattr(table, link)(image)
    refused("input itself", *folders, table=table, overwrite=True)
    assert image.read_bytes() == before
    score_files(*folders, table=folders[1] / "scores.csv")


@pytest.mark.parametrize("linked", [False, True])
def test_maps_never_replace_an_input(images, tmp_path, linked):
    maps, reference = tmp_path / "maps", tmp_path / "reference.png"
    maps.mkdir()
    images[0][0].rename(reference)
    before = reference.read_bytes()
    if linked:
        (maps / "legend.png").symlink_to(reference)
    else:
        reference = reference.rename(maps / "legend.png")
    refused("holds an input", reference, images[0][1], maps=maps, overwrite=True)
    assert reference.read_bytes() == before and names(maps) == ["legend.png"]


@pytest.mark.parametrize("output", [{"table": "t.csv"}, {"maps": "maps"}])
def test_a_folder_that_takes_no_file_is_refused_before_any_work(films, monkeypatch, output):
    def refuse(path, flags, mode=0o777, **where):
        if flags & (os.O_CREAT | os.O_TMPFILE) == 0:
            return opened(path, flags, mode, **where)
        raise OSError(30, "Read-only file system")

    opened = os.open
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OutputError, match="Read-only file system") as caught:
        score_files(films[0], films[1], **output)
    assert caught.value.result is None


def test_a_pipe_is_no_table(films, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused("can be replaced", films[0], films[1], table=tmp_path / "pipe", overwrite=True)
    assert (tmp_path / "pipe").is_fifo()


def test_standard_output_is_for_neither(films):
    refused("cannot go to standard output; name a file as table", *films[:2], table="-")
    refused("cannot go to standard output; name a folder as maps", *films[:2], maps="-")


def test_a_table_by_a_link_in_the_folder_of_maps(films, tmp_path):
    """Whose target lies elsewhere: the link would be among the maps all the same."""
    (tmp_path / "maps").mkdir()
    (tmp_path / "t.csv").touch()
    link = tmp_path / "maps" / "t.csv"
    link.symlink_to(tmp_path / "t.csv")
    refused(
        "would lie in the folder of maps", *films[:2], maps=link.parent, table=link, overwrite=True
    )
