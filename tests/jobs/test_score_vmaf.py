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


def of_ffmpeg(reference, scored, log, pix_fmt="yuv420p", model="version=vmaf_v0.6.1"):
    """VMAF of each frame, as FFmpeg's program has it: by its own reader, formats and filter."""
    graph = av.filter.Graph()
    names, sides = ("scored", "reference"), []
    with av.open(str(scored)) as one, av.open(str(reference)) as other:
        target = graph.add("libvmaf", f"log_fmt=json:log_path={log}:model={model}")
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


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """As `pair`, large enough for models of version 1; luma and chroma differ."""
    folder = tmp_path_factory.mktemp("large")
    how = {"frames": FRAMES, "size": (330, 270)}
    one = make(folder / "one.mkv", codec="ffv1", **how)
    return one, make(folder / "two.mkv", options={"crf": "40"}, **how)


VERSIONS = [  # of libvmaf 3.2, by what users call them
    ("v0.6.1", "vmaf_v0.6.1"), ("4k", "vmaf_4k_v0.6.1"), ("neg", "vmaf_v0.6.1neg"),
    ("4k-neg", "vmaf_4k_v0.6.1neg"), ("v1", "vmaf_v1.0.16_3d0h"),
    ("v1-phone", "vmaf_v1.0.16_5d0h"), ("v1-4k", "vmaf_v1.0.16_1d5h_2160"),
    ("v1-hfr", "vmaf_v1.0.16_hfr_3d0h"), ("v1-hfr-phone", "vmaf_v1.0.16_hfr_5d0h"),
    ("v1-hfr-4k", "vmaf_v1.0.16_hfr_1d5h_2160"),
]  # fmt: skip


@pytest.mark.cases(len(VERSIONS))
@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_models(large, tmp_path, name, version):
    wanted = of_ffmpeg(*large, tmp_path / "log.json", model=f"version={version}")
    table = score_files(*large, metrics="vmaf", vmaf_model=name, table=tmp_path / "t.csv").table
    assert [row.vmaf for row in table.rows] == wanted
    assert table.models == {"vmaf_model": version}
    head, first, *_ = (tmp_path / "t.csv").read_text().splitlines()
    assert head == "frame,time,vmaf,vmaf_model" and first.endswith(f",{version}")


def test_the_phone_of_version_0(pair, tmp_path):
    how = "version=vmaf_v0.6.1\\:enable_transform=true"
    wanted = of_ffmpeg(*pair, tmp_path / "log.json", model=how)
    table = score_files(*pair, metrics="vmaf", vmaf_model="phone").table
    assert [row.vmaf for row in table.rows] == wanted
    assert table.models == {"vmaf_model": "vmaf_v0.6.1 (phone)"}


def test_every_model_is_in_the_library():
    """Those of the largest screens need the largest pictures."""
    planes = [np.full((320, 320), 90, np.uint8), *[np.full((160, 160), 128, np.uint8)] * 2]
    for name in vmaf.MODELS:
        given = tuple(planes) if vmaf.whole(name) else planes[0]
        format = Format(320, 320, 8, (1, 1) if vmaf.whole(name) else None)
        assert len(vmaf.scores([(given, given)] * 2, format, name)) == 2


def test_models_of_version_1_look_at_chroma(large, tmp_path):
    """Depths are brought to the deeper one."""
    grey = make(tmp_path / "a.mkv", codec="ffv1", frames=FRAMES, size=(330, 270),
                pix_fmt="yuv420p10le")  # fmt: skip
    how = {"metrics": "psnr,vmaf", "vmaf_model": "v1"}
    wanted = of_ffmpeg(grey, large[1], tmp_path / "log.json", "yuv420p10le",
                       "version=vmaf_v1.0.16_3d0h")  # fmt: skip
    assert [row.vmaf for row in score_files(grey, large[1], **how).table.rows] == wanted
    for name, every in (("v1", 4), ("v1-hfr", 5)):
        how = {"metrics": "vmaf", "vmaf_model": name}
        whole = score_files(*large, **how).table.rows
        assert score_files(*large, **how, every=every).table.rows == whole[::every]


def test_pictures_and_models_that_do_not_suit(pair, large, tmp_path):
    def refused(match, *films, model="v1", **options):
        with pytest.raises(InputError, match=match) as caught:
            score_files(*films, metrics="vmaf", vmaf_model=model, **options)
        return caught.value

    refused("64×48; expected at least 216×160 for VMAF, model vmaf_v1.0.16_3d0h", *pair)
    refused("330×270; expected at least 318×318 .*3d0h_2160", *large, model="v1-4k-3h")
    said = refused("vmaf_model='v2'; expected one of auto, v0.6.1, 4k, .*, v1-hfr-4k-3h", *pair,
                   model="v2")  # fmt: skip
    assert said.parameter == "vmaf_model"
    how = {"codec": "ffv1", "frames": 2, "size": (330, 270)}
    deep = make(tmp_path / "deep.mkv", pix_fmt="yuv420p12le", **how)
    refused("takes 4:2:0, 4:2:2 and 4:4:4 of 8 to 10 bits", deep, deep)
    other = make(tmp_path / "other.mkv", pix_fmt="yuv444p", **how)
    refused("VMAF compares chroma here, .* subsampled differently", large[0], other)
    with pytest.raises(InputError, match="vmaf_model with metrics=psnr; it is of vmaf"):
        score_files(*pair, metrics="psnr", vmaf_model="neg")


def test_films_of_hdr_are_told_of(tmp_path):
    film = make(tmp_path / "hdr.mkv", codec="ffv1", pix_fmt="yuv420p10le", colour=(1, 9, 9, 16),
                frames=2)  # fmt: skip
    (text,) = score_files(film, film, metrics="vmaf").warnings  # the same film: once
    assert "transfer function is PQ, and VMAF was fitted to SDR: scores say less" in text
    assert not score_files(film, film, metrics="psnr").warnings


def test_every_output_names_the_model(large, tmp_path, capsys):
    words = ["score", *large, "--metrics", "vmaf", "--vmaf-model", "v1"]
    version = "vmaf_v1.0.16_3d0h"
    assert run(*words, "--json") == 0
    *rows, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert last["vmaf_model"] == rows[0]["vmaf_model"] == version
    assert run(*words, "--report", tmp_path / "r.html") == 0
    assert f"VMAF model: {version}" in capsys.readouterr().out
    assert f"vmaf_model={version}" in (tmp_path / "r.html").read_text()
    (tmp_path / "list.csv").write_text(f"{large[0]},{large[1]}\n")
    assert run("score", "--pairs", tmp_path / "list.csv", *words[3:], "--csv",
               tmp_path / "t.csv") == 0  # fmt: skip
    with (tmp_path / "t.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["vmaf_model"] == version


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

    def fail(stream, *settings):
        made.append(stream._log.parent)
        raise MemoryError

    monkeypatch.setattr(vmaf.Stream, "_built", fail)
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
