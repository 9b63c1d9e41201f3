"""A metric that nobody has: an entry of the registry and a function, and every door has it."""

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
from snellen.jobs.runs.target import aim_of
from snellen.jobs.sharing import cluster_task
from snellen.metrics import registry
from snellen.video.sink.encoding import Encoding, Target
from support.cli import run
from support.fake_ray import fake_ray
from support.scores import FRAMES

FUNCTION = """
def furthest(reference, distorted, white):
    return float(abs(reference.astype(float) - distorted).max() / white)
"""
ENTRY = """
from snellen.metrics.registry import Goal, Metric, add
add(Metric(name="furthest", title="FurthestError", better="lower", scale="0: equal", identical=0.0,
           smallest=3, goal=Goal(most=1.0, pools=("mean", "p95"), tolerance=0.02), home="furthest"))
"""
pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture(autouse=True)
def made_up(tmp_path, monkeypatch):
    """Have the metric here and in processes that are begun, as if it stood in the registry."""
    folder = tmp_path / "python"
    folder.mkdir()
    (folder / "furthest.py").write_text(FUNCTION)
    (folder / "sitecustomize.py").write_text(ENTRY)
    exec(ENTRY, {})
    monkeypatch.syspath_prepend(folder)
    paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
    yield
    del registry.METRICS["furthest"]
    sys.modules.pop("furthest", None)


@pytest.fixture
def wanted(films):
    """The score of each frame of the bad film."""
    rows = score_files(*films[::2], metrics="furthest", device="cpu").table.rows
    assert len(rows) == FRAMES and all(0 < row.furthest < 1 for row in rows)
    return [row.furthest for row in rows]


def test_arrays(random):
    one, other = random.integers(0, 256, (2, 40, 36)).astype(np.uint8)
    found = score(one, [other, one], metrics=["furthest", "mad"], device="cpu")
    far = np.abs(one.astype(float) - other).max() / 255
    assert found.furthest.tolist() == [far, 0] and found.psnr is None
    assert "furthest=<float64 (2,)>" in repr(found) and "FurthestError" in found._repr_html_()
    with pytest.raises(InputError, match=f"some of {', '.join(registry.known())}, as text"):
        score(one, other, metrics="farthest")
    assert score(one[:3, :3], other[:3, :3], metrics="furthest", device="cpu").furthest > 0


def test_files_tables_and_maps(films, tmp_path, wanted):
    result = score_files(
        *films[::2], metrics="mad,furthest", table=tmp_path / "t.csv", maps=tmp_path / "maps",
        worst=2, device="cpu", align=True, report=tmp_path / "r.html",
    )  # fmt: skip
    assert result.table.scores == ("mad", "hi", "lo", "furthest")
    assert result.table.pooled()["furthest"].mean == pytest.approx(np.mean(wanted))
    with (tmp_path / "t.csv").open() as file:
        assert [float(row["furthest"]) for row in csv.DictReader(file)] == wanted
    assert (tmp_path / "maps" / "index.json").read_text().count('"furthest": ') >= 2
    assert ">FurthestError<" in (tmp_path / "r.html").read_text()
    alone = score_files(*films[::2], metrics="furthest", device="cpu").table
    assert alone.worst(1)[0].furthest == max(wanted)


def test_images_and_folders(folders):
    rows = score_files(*folders, metrics="furthest", device="cpu").table.rows
    assert [row.name for row in rows] == ["a", "b", "c"]
    (one,) = (sorted(folder.iterdir())[0] for folder in folders[:1])
    same = score_files(one, one, metrics="furthest,psnr", device="cpu").table.rows[0]
    assert (same.furthest, same.mad) == (0, None)


def test_the_command(films, capsys, wanted):
    words = ["score", *films[::2], "--metrics", "furthest", "--device", "cpu", "--worst", 1]
    assert run(*words, "--json") == 0
    *rows, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [row["furthest"] for row in rows] == wanted
    assert last["worst"][0]["furthest"] == max(wanted)
    assert run(*words) == 0
    text = capsys.readouterr().out
    assert f"FurthestError{np.mean(wanted):14.4f}" in text
    assert f"FurthestError {max(wanted):.4f}" in text
    assert run(*words, "--csv", "-") == 0
    assert capsys.readouterr().out.startswith("frame,time,furthest\n")


def test_pairs(films, tmp_path, capsys, wanted):
    (tmp_path / "list.csv").write_text(f"{films[0]},{films[2]}\n{films[0]},{films[0]}\n")
    words = ["score", "--pairs", tmp_path / "list.csv", "--metrics", "furthest", "--device", "cpu"]
    assert run(*words, "--csv", tmp_path / "t.csv") == 0
    with (tmp_path / "t.csv").open() as file:
        means = [float(row["furthest"]) for row in csv.DictReader(file)]
    assert means == [pytest.approx(np.mean(wanted)), 0]
    assert run(*words) == 0
    assert "FurthestError 0.0000" in capsys.readouterr().out
    job = ScoreJob(reference=films[0], distorted=films[2], metrics=("furthest",), device="cpu")
    (found,) = score_pairs([job])
    assert found.facts()["furthest"] == pytest.approx(np.mean(wanted))


def test_compare(films, tmp_path, wanted):
    target = tmp_path / "r.html"
    compare_files(films[0], films[1:], target, metrics="furthest", pictures=2, device="cpu")
    html = target.read_text("utf-8")
    data = json.loads(re.search(r'type="application/json" id="data">(.*?)</script>', html)[1])
    assert data["scores"][1]["furthest"] == pytest.approx(wanted, rel=1e-5)
    assert data["worst"][0] == [int(np.argmax(wanted)), 1]
    assert ">FurthestError<" in html and "0: equal" in html


def test_workers_and_clusters(clips, monkeypatch):
    """Of processes that have imported nothing from here."""
    alone = score_files(*clips, metrics="furthest", device="cpu").table
    assert score_files(*clips, metrics="furthest", device="cpu", workers=2).table == alone
    ray = fake_ray({"CPU": 2.0}, {"CPU": 2.0})
    ray.connected = True
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.exceptions", ray.exceptions)
    monkeypatch.setattr(cluster_task, "_workers", {})
    found = score_files(*clips, metrics="furthest", device="cpu", threads=2, cluster="auto")
    assert found.table == alone


def test_targets():
    """Its parameter would be a field of Encoding."""
    encoding = SimpleNamespace(target=Target("furthest", 0.25, "mean"))
    aim = aim_of(encoding, "cpu", "film", Silent())
    assert (aim.target.parameter, aim.target.name) == ("target_furthest", "FurthestError")
    planes = np.zeros((8, 8), np.uint8), np.full((8, 8), 51, np.uint8)
    assert aim.measure.scores([planes, planes[:1] * 2], Format(8, 8, 8)) == [0.2, 0]
    with pytest.raises(InputError, match=r"without `?target_mad`? or .* or `?target_furthest"):
        Encoding(target_pool="mean")


def test_every_goal_has_its_field():
    shipped = {name for name in registry.goals() if name != "furthest"}
    assert all(hasattr(Encoding(), f"target_{name}") for name in shipped)


def test_sizes_are_those_of_the_implementations():
    from snellen.mad.definition import MARGIN, SMALLEST
    from snellen.metrics.ssim import WINDOW

    assert registry.METRICS["mad"].smallest == SMALLEST
    assert f"margin of {sum(MARGIN)} pixels" in registry.METRICS["mad"].why
    assert registry.METRICS["ssim"].smallest == WINDOW
