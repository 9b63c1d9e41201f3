"""Metrics that nobody has: an entry of the registry and a function, and every door has them."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from snellen import compare_files, score, score_files
from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.jobs import ScoreJob, score_pairs
from snellen.jobs.events import Silent
from snellen.jobs.runs.target import PictureMeasure, aim_of
from snellen.jobs.sharing import cluster_task
from snellen.metrics import registry
from snellen.stills.still import Still, write
from snellen.video.sink.encoding import Encoding, Target
from support.cli import run
from support.fake_ray import fake_ray
from support.scores import FRAMES

FUNCTION = """
def furthest(reference, distorted, white):
    return float(abs(reference.astype(float) - distorted).max() / white)
def reddest(reference, distorted):
    assert reference.shape == distorted.shape and len(reference) == 3
    assert reference.dtype == distorted.dtype == "float32"
    return float(abs(reference - distorted)[0].mean())
"""
ENTRY = """
from snellen.metrics.registry import Goal, Metric, add
goal = Goal(most=1.0, pools=("mean", "p95"), tolerance=0.02)
add(Metric(name="furthest", title="FurthestError", better="lower", scale="0: equal", identical=0.0,
           smallest=3, goal=goal, home="furthest"))
add(Metric(name="reddest", title="RedError", better="lower", scale="0: equal", identical=0.0,
           of="colours", smallest=3, goal=goal, home="furthest"))
"""
TITLES = {"furthest": "FurthestError", "reddest": "RedError"}
pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture(params=sorted(TITLES))
def name(request):
    """One of luma, one of colours."""
    return request.param


@pytest.fixture(autouse=True)
def made_up(tmp_path, monkeypatch):
    """Have the metrics here and in processes that are begun, as if they stood in the registry."""
    folder = tmp_path / "python"
    folder.mkdir()
    (folder / "furthest.py").write_text(FUNCTION)
    (folder / "sitecustomize.py").write_text(ENTRY)
    exec(ENTRY, {})
    monkeypatch.syspath_prepend(folder)
    paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
    yield
    for name in TITLES:
        del registry.METRICS[name]
    sys.modules.pop("furthest", None)


@pytest.fixture
def wanted(films, name):
    """The score of each frame of the bad film."""
    rows = score_files(*films[::2], metrics=name, device="cpu").table.rows
    assert len(rows) == FRAMES and all(0 < getattr(row, name) < 1 for row in rows)
    return [getattr(row, name) for row in rows]


def srgb(codes):
    """IEC 61966-2-1, of codes of 8 bits."""
    values = codes / 255
    return np.where(values > 0.04045, ((values + 0.055) / 1.055) ** 2.4, values / 12.92)


def test_arrays(random):
    one, other = random.integers(0, 256, (2, 40, 36)).astype(np.uint8)
    found = score(one, [other, one], metrics=["furthest", "mad"], device="cpu")
    far = np.abs(one.astype(float) - other).max() / 255
    assert found.furthest.tolist() == [far, 0] and found.psnr is None
    assert "furthest=<float64 (2,)>" in repr(found) and "FurthestError" in found._repr_html_()
    with pytest.raises(InputError, match=f"some of {', '.join(registry.known())}, as text"):
        score(one, other, metrics="farthest")
    assert score(one[:3, :3], other[:3, :3], metrics="furthest", device="cpu").furthest > 0


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_colours_of_arrays(random, kind):
    codes = random.integers(0, 256, (2, 40, 36, 3))
    # 65535 is 257 · 255, so that all three are the same colours.
    one, other = {np.uint8: codes, np.uint16: codes * 257, np.float32: codes / 255}[kind].astype(
        kind
    )
    far = np.abs(srgb(codes[0]) - srgb(codes[1]))
    found = score(one, [other, one], metrics="furthest,reddest,mad", device="cpu")
    # A mean of float32 numbers, each to 6e-8.
    assert found.reddest.tolist() == [pytest.approx(far[..., 0].mean(), rel=1e-6), 0]
    grey = score(one[..., 1], other[..., 1], metrics="reddest", device="cpu")
    assert grey.reddest == pytest.approx(far[..., 1].mean(), rel=1e-6)
    planar = score(*(np.moveaxis(x, -1, 0) for x in (one, other)), channel_axis=0,
                   metrics="reddest", device="cpu")  # fmt: skip
    assert planar.reddest == found.reddest[0]


def test_files_tables_and_maps(films, tmp_path, wanted, name):
    result = score_files(
        *films[::2], metrics=f"mad,{name}", table=tmp_path / "t.csv", maps=tmp_path / "maps",
        worst=2, device="cpu", align=True, report=tmp_path / "r.html",
    )  # fmt: skip
    assert result.table.scores == ("mad", "hi", "lo", name)
    assert result.table.pooled()[name].mean == pytest.approx(np.mean(wanted))
    with (tmp_path / "t.csv").open() as file:
        assert [float(row[name]) for row in csv.DictReader(file)] == wanted
    assert (tmp_path / "maps" / "index.json").read_text().count(f'"{name}": ') >= 2
    assert f">{TITLES[name]}<" in (tmp_path / "r.html").read_text()
    alone = score_files(*films[::2], metrics=name, device="cpu").table
    assert getattr(alone.worst(1)[0], name) == max(wanted)


def test_images_and_folders(folders, name):
    rows = score_files(*folders, metrics=name, device="cpu").table.rows
    assert [row.name for row in rows] == ["a", "b", "c"]
    (one,) = (sorted(folder.iterdir())[0] for folder in folders[:1])
    same = score_files(one, one, metrics=f"{name},psnr", device="cpu").table.rows[0]
    assert (getattr(same, name), same.mad) == (0, None)


def test_colours_of_images(random, tmp_path):
    """Grey, RGB and RGBA; 8 and 16 bits and floats; of another size."""
    codes = random.integers(0, 256, (2, 40, 36, 3))
    far = np.abs(srgb(codes[0]) - srgb(codes[1]))[..., 0].mean()
    paths = [tmp_path / name for name in ("a.png", "b.png", "c.tif", "d.png", "e.png", "f.png")]
    opacity = np.full((40, 36, 1), 99)
    for path, pixels in zip(paths, (
        codes[0].astype(np.uint8), (codes[1] * 257).astype(np.uint16),
        (codes[1] / 255).astype(np.float32),
        np.concatenate([codes[1], opacity], -1).astype(np.uint8), codes[1][..., 0].astype(np.uint8),
        codes[1][::2, ::2].astype(np.uint8),
    ), strict=True):  # fmt: skip
        write(path, Still(pixels))
    warned = []
    for path in paths[1:5]:
        found = score_files(paths[0], path, metrics="reddest", device="cpu")
        warned.append(found.warnings)
        assert found.table.rows[0].reddest == pytest.approx(far, rel=1e-6)
    assert [any("transparency does not count" in text for text in one) for one in warned] == [
        False, False, True, False,
    ]  # fmt: skip
    small = score_files(paths[0], paths[5], metrics="reddest", resize=True, device="cpu")
    assert 0 < small.table.rows[0].reddest < 1


def test_the_command(films, capsys, wanted, name):
    words = ["score", *films[::2], "--metrics", name, "--device", "cpu", "--worst", 1]
    assert run(*words, "--json") == 0
    *rows, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [row[name] for row in rows] == wanted
    assert last["worst"][0][name] == max(wanted)
    assert run(*words) == 0
    text = capsys.readouterr().out
    title = TITLES[name]
    assert re.search(rf"{title} +{np.mean(wanted):.4f}\b", text)
    assert f"{title} {max(wanted):.4f}" in text
    assert run(*words, "--csv", "-") == 0
    assert capsys.readouterr().out.startswith(f"frame,time,{name}\n")


def test_pairs(films, tmp_path, capsys, wanted, name):
    (tmp_path / "list.csv").write_text(f"{films[0]},{films[2]}\n{films[0]},{films[0]}\n")
    words = ["score", "--pairs", tmp_path / "list.csv", "--metrics", name, "--device", "cpu"]
    assert run(*words, "--csv", tmp_path / "t.csv") == 0
    with (tmp_path / "t.csv").open() as file:
        means = [float(row[name]) for row in csv.DictReader(file)]
    assert means == [pytest.approx(np.mean(wanted)), 0]
    assert run(*words) == 0
    assert f"{TITLES[name]} 0.0000" in capsys.readouterr().out
    job = ScoreJob(reference=films[0], distorted=films[2], metrics=(name,), device="cpu")
    (found,) = score_pairs([job])
    assert found.facts()[name] == pytest.approx(np.mean(wanted))


def test_compare(films, tmp_path, wanted, name):
    target = tmp_path / "r.html"
    compare_files(films[0], films[1:], target, metrics=name, pictures=2, device="cpu")
    html = target.read_text("utf-8")
    data = json.loads(re.search(r'type="application/json" id="data">(.*?)</script>', html)[1])
    assert data["scores"][1][name] == pytest.approx(wanted, rel=1e-5)
    assert data["worst"][0] == [int(np.argmax(wanted)), 1]
    assert f">{TITLES[name]}<" in html and "0: equal" in html


def test_workers_and_clusters(clips, monkeypatch, name):
    """Of processes that have imported nothing from here."""
    alone = score_files(*clips, metrics=name, device="cpu").table
    assert score_files(*clips, metrics=name, device="cpu", workers=2).table == alone
    ray = fake_ray({"CPU": 2.0}, {"CPU": 2.0})
    ray.connected = True
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.exceptions", ray.exceptions)
    monkeypatch.setattr(cluster_task, "_workers", {})
    found = score_files(*clips, metrics=name, device="cpu", threads=2, cluster="auto")
    assert found.table == alone


def test_targets():
    """Its parameter would be a field of Encoding."""
    encoding = SimpleNamespace(target=Target("furthest", 0.25, "mean"))
    aim = aim_of(encoding, "cpu", "film", Silent())
    assert (aim.target.parameter, aim.target.name) == ("target_furthest", "FurthestError")
    planes = np.zeros((8, 8), np.uint8), np.full((8, 8), 51, np.uint8)
    assert aim.measure.scores([planes, planes[:1] * 2], Format(8, 8, 8)) == [0.2, 0]
    encoding = SimpleNamespace(target=Target("reddest", 0.25, "mean"))
    aim = aim_of(encoding, "cpu", "film", Silent())
    assert (aim.measure.colours, PictureMeasure.colours) == ("RedError", "")
    colours = np.zeros((3, 8, 8), np.float32), np.full((3, 8, 8), 0.25, np.float32)
    assert aim.measure.scores([colours, colours[:1] * 2], Format(8, 8, 8)) == [0.25, 0]
    with pytest.raises(InputError, match=r"without `?target_mad`? or .* or `?target_furthest"):
        Encoding(target_pool="mean")


def test_every_goal_has_its_field():
    shipped = {name for name in registry.goals() if name not in TITLES}
    assert all(hasattr(Encoding(), f"target_{name}") for name in shipped)


def test_sizes_are_those_of_the_implementations():
    from snellen.mad.definition import MARGIN, SMALLEST
    from snellen.metrics.ssim import WINDOW

    assert registry.METRICS["mad"].smallest == SMALLEST
    assert f"margin of {sum(MARGIN)} pixels" in registry.METRICS["mad"].why
    assert registry.METRICS["ssim"].smallest == WINDOW
