"""VMAF of films among their scores, against FFmpeg's filter on the same frames."""

from __future__ import annotations

import csv
import gc
import json
from contextlib import suppress

import av
import numpy as np
import pytest
from PIL import Image

from snellen import score_files
from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import vmaf
from support.cli import run
from support.video.clips import make

pytestmark = [
    pytest.mark.usefixtures("signals"),
    pytest.mark.skipif(not vmaf.is_there(), reason="PyAV before 19 has no libvmaf"),
]

FRAMES = 6


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A film and a coarse copy."""
    folder = tmp_path_factory.mktemp("vmaf")
    one = make(folder / "one.mkv", codec="ffv1", frames=FRAMES)
    return one, make(folder / "two.mkv", frames=FRAMES, options={"crf": "40"})


def of_ffmpeg(reference, scored, log, pix_fmt="yuv420p"):
    """VMAF of each frame, as FFmpeg's program has it: by its own reader, formats and filter."""
    graph = av.filter.Graph()
    names, sides = ("scored", "reference"), []
    with av.open(str(scored)) as one, av.open(str(reference)) as other:
        target = graph.add("libvmaf", f"log_fmt=json:log_path={log}")
        for number, (name, file) in enumerate(zip(names, (one, other), strict=True)):
            buffer = graph.add_buffer(template=file.streams.video[0], name=name)
            form = graph.add("format", pix_fmt)
            buffer.link_to(form)
            form.link_to(target, 0, number)
            sides.append((file, buffer))
        sink = graph.add("buffersink")
        target.link_to(sink)
        graph.configure()
        for file, buffer in sides:
            for frame in file.decode(video=0):
                buffer.push(frame)
            buffer.push(None)
        with suppress(av.BlockingIOError, av.EOFError):
            while True:
                sink.pull()
        del graph, target, sink, buffer, form, sides, frame
    gc.collect()
    return [one["metrics"]["vmaf"] for one in json.loads(log.read_text())["frames"]]


def test_it_is_that_of_ffmpeg(pair, tmp_path):
    """Beside other metrics and alone."""
    wanted = of_ffmpeg(*pair, tmp_path / "log.json")
    rows = score_files(*pair, metrics="vmaf").table.rows
    assert [row.vmaf for row in rows] == wanted and len(wanted) == FRAMES
    assert [row.frame for row in rows] == list(range(FRAMES))
    assert rows[0].mad is rows[0].psnr is None
    result = score_files(*pair, metrics="vmaf,psnr,mad")
    assert [row.vmaf for row in result.table.rows] == wanted
    assert result.table.scores == ("mad", "hi", "lo", "psnr", "vmaf")
    plain = score_files(*pair, metrics="mad,psnr").table.rows
    assert [(row.mad, row.psnr) for row in result.table.rows] == [
        (row.mad, row.psnr) for row in plain
    ]
    assert result.table.pooled()["vmaf"].mean == pytest.approx(np.mean(wanted))


@pytest.mark.parametrize("deeper", [0, 1])
def test_films_of_two_depths(pair, tmp_path, deeper):
    """Both are brought to the deeper one by a shift, as FFmpeg's scaler does."""
    films = list(pair)
    films[deeper] = make(tmp_path / "deep.mkv", codec="ffv1", pix_fmt="yuv420p10le", frames=FRAMES)
    wanted = of_ffmpeg(*films, tmp_path / "log.json", "yuv420p10le")
    rows = score_files(*films, metrics="psnr,vmaf").table.rows
    assert [row.vmaf for row in rows] == wanted


def test_parts_of_a_film(pair):
    """The first frame that is scored lacks motion; the last one has it from the one before."""
    whole = [row.vmaf for row in score_files(*pair, metrics="vmaf").table.rows]
    rows = score_files(*pair, metrics="vmaf", start="0.08").table.rows
    assert [row.frame for row in rows] == [2, 3, 4, 5]
    assert [row.vmaf for row in rows[1:]] == whole[3:]
    (row,) = score_files(*pair, metrics="vmaf", frames=1).table.rows
    assert row.vmaf == pytest.approx(whole[0], abs=1)


@pytest.mark.parametrize("every", [2, 4])
def test_of_some_frames_it_is_that_of_all(pair, every):
    """The frames beside each that is scored are seen for their motion."""
    whole = score_files(*pair, metrics="vmaf,psnr").table.rows
    rows = score_files(*pair, metrics="vmaf,psnr", every=every).table.rows
    assert rows == whole[::every]


def test_its_best_film_is_the_film_itself(pair):
    rows = score_files(pair[0], pair[0], metrics="vmaf").table.rows
    assert min(row.vmaf for row in rows) > 97


def test_a_graph_that_cannot_be_built_leaves_no_folder(monkeypatch):
    made = []

    def fail(stream, format):
        made.append(stream._log.parent)
        raise MemoryError

    monkeypatch.setattr(vmaf.Stream, "_build", fail)
    with pytest.raises(MemoryError) as caught:
        vmaf.Stream(Format(64, 48))
    assert caught.tb is not None and not made[0].exists()


def test_table_and_index_of_maps_have_it(pair, tmp_path, heard):
    result = score_files(
        *pair, metrics="mad,vmaf", table=tmp_path / "t.csv", maps=tmp_path / "maps", worst=2,
        events=heard,
    )  # fmt: skip
    with (tmp_path / "t.csv").open() as file:
        found = [float(row["vmaf"]) for row in csv.DictReader(file)]
    assert found == [row.vmaf for row in result.table.rows]
    index = json.loads((tmp_path / "maps" / "index.json").read_text())
    assert json.dumps(index).count('"vmaf": ') >= 2
    worst = result.table.worst(2)
    text = json.dumps(index)
    assert all(f'"vmaf": {row.vmaf}' in text for row in worst)


def test_what_it_is_not_for(pair, tmp_path):
    def refused(match, *inputs, **options):
        with pytest.raises(InputError, match=match) as caught:
            score_files(*inputs, metrics="psnr,vmaf", table=tmp_path / "t.csv", **options)
        assert caught.value.result is None and not (tmp_path / "t.csv").exists()

    Image.fromarray(np.zeros((40, 40), np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "folder").mkdir()
    image, folder = tmp_path / "a.png", tmp_path / "folder"
    refused("got metrics=psnr,vmaf with an image; vmaf is for videos", image, image)
    refused("got metrics=psnr,vmaf with a folder; vmaf is for videos", folder, folder)
    small = make(tmp_path / "small.mkv", codec="ffv1", size=(64, 16), frames=2)
    refused("got pictures of 64×16; expected at least 17×17 for VMAF", small, small)


def test_one_process_scores_it(pair, heard):
    notices = []
    heard.notice = lambda *said: notices.append(said[1])
    rows = score_files(*pair, metrics="vmaf", workers=2, events=heard).table.rows
    assert notices == ["one process scores them: VMAF counts by the frames around each"]
    assert len(rows) == FRAMES


def test_the_command(pair, tmp_path, capsys):
    assert run("score", *pair, "--metrics", "psnr,vmaf", "--json") == 0
    *rows, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [row["frame"] for row in rows] == list(range(FRAMES))
    assert last["pooled"]["vmaf"]["mean"] == pytest.approx(np.mean([row["vmaf"] for row in rows]))
    assert run("score", *pair, "--metrics", "vmaf") == 0
    assert "VMAF" in capsys.readouterr().out
    (tmp_path / "list.csv").write_text(f"{pair[0]},{pair[1]}\n{pair[0]},{pair[0]}\n")
    words = ["--pairs", tmp_path / "list.csv", "--csv", tmp_path / "t.csv", "--metrics", "vmaf"]
    assert run("score", *words) == 0
    with (tmp_path / "t.csv").open() as file:
        means = [float(row["vmaf"]) for row in csv.DictReader(file)]
    assert means[0] == pytest.approx(last["pooled"]["vmaf"]["mean"]) and means[1] > 97
