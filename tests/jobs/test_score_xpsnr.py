"""XPSNR of films among their scores, against FFmpeg's filter on the same frames."""

from __future__ import annotations

import csv
import json
import math
from contextlib import suppress
from fractions import Fraction

import av
import numpy as np
import pytest

from snellen import compare_files, score_files
from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import xpsnr
from support.cli import run
from support.video.clips import make

pytestmark = [
    pytest.mark.usefixtures("signals"),
    pytest.mark.skipif(not xpsnr.is_there(), reason="this FFmpeg has no xpsnr"),
]
FRAMES = 6
PARTS = ("xpsnr_y", "xpsnr_u", "xpsnr_v")


def both(folder, **how):
    """A film and a coarse copy."""
    one = make(folder / "one.mkv", codec="ffv1", frames=FRAMES, **how)
    return one, make(folder / "two.mkv", frames=FRAMES, options={"crf": "40"}, **how)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return both(tmp_path_factory.mktemp("xpsnr"))


def of_ffmpeg(reference, scored):
    """Y, U and V of each frame, as FFmpeg's program has them: by its own reader and filter."""
    graph, found = av.filter.Graph(), []
    with av.open(str(reference)) as one, av.open(str(scored)) as other:
        target, sink = graph.add("xpsnr"), graph.add("buffersink")
        buffers = []
        for number, file in enumerate((one, other)):
            stream = file.streams.video[0]  # with its rate, as FFmpeg's program makes an input
            context = stream.codec_context
            buffers.append(
                graph.add(
                    "buffer",
                    f"video_size={context.width}x{context.height}:pix_fmt={context.pix_fmt}:"
                    f"time_base={stream.time_base}:frame_rate={stream.average_rate}",
                )
            )
            buffers[-1].link_to(target, 0, number)
        target.link_to(sink)
        graph.configure()
        for file, buffer in zip((one, other), buffers, strict=True):
            for frame in file.decode(video=0):
                buffer.push(frame)
            buffer.push(None)
        with suppress(av.BlockingIOError, av.EOFError):
            while True:
                metadata = sink.pull().metadata
                found.append([float(metadata[f"lavfi.xpsnr.xpsnr.{plane}"]) for plane in "yuv"])
    return found


def scores(rows):
    return [[getattr(row, name) for name in PARTS] for row in rows]


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"rate": Fraction(50)},
        {"pix_fmt": "yuv444p10le"},
        {"pix_fmt": "yuv422p", "size": (66, 50)},
    ],
)
def test_it_is_that_of_ffmpeg(tmp_path, how):
    """From 32 frames a second on it counts otherwise."""
    pair = both(tmp_path, **how)
    wanted = of_ffmpeg(*pair)
    rows = score_files(*pair, metrics="xpsnr,psnr").table.rows
    assert scores(rows) == wanted and len(wanted) == FRAMES
    assert [row.xpsnr for row in rows] == [min(one) for one in wanted]
    for every in (3, 5):
        some = score_files(*pair, metrics="xpsnr", every=every).table.rows
        assert scores(some) == wanted[::every]


def test_films_whose_rows_the_filter_would_misread(tmp_path):
    """Of more than 8 bits FFmpeg pads rows to 32 bytes and more, and the filter takes them for
    pixels: 10 bits score as 8 bits of the same codes do, 12 dB lower and 12 dB back."""
    eight, ten = (
        make(tmp_path / f"{bits}.mkv", codec="ffv1", frames=3, size=(70, 48), pix_fmt=name)
        for bits, name in ((8, "yuv420p"), (10, "yuv420p10le"))
    )
    noisy = make(tmp_path / "noisy.mkv", frames=3, size=(70, 48), options={"crf": "45"})
    (plain, *_), (deep, *_) = (
        score_files(one, noisy, metrics="xpsnr").table.rows for one in (eight, ten)
    )
    # Peaks are 255 · 4 and 1023, and the weights' least activity differs.
    assert deep.xpsnr_y == pytest.approx(plain.xpsnr_y, abs=0.5)


def test_identical_and_grey_films(pair, tmp_path, capsys):
    rows = score_files(pair[0], pair[0], metrics="xpsnr").table.rows
    assert all(row.xpsnr == math.inf for row in rows)
    grey = [
        make(tmp_path / f"{name}.mkv", codec="ffv1", pix_fmt="gray", frames=3, size=size)
        for name, size in (("a", (64, 48)), ("b", (32, 24)))
    ]
    row, *_ = score_files(*grey, metrics="xpsnr", resize=True).table.rows
    assert row.xpsnr == row.xpsnr_y < row.xpsnr_u == row.xpsnr_v == math.inf


def test_outputs(pair, tmp_path, capsys):
    assert run("score", *pair, "--metrics", "xpsnr", "--json", "--csv", tmp_path / "t.csv") == 0
    *rows, last = map(json.loads, capsys.readouterr().out.splitlines())
    with (tmp_path / "t.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [float(row["xpsnr_u"]) for row in table] == [row["xpsnr_u"] for row in rows]
    assert last["pooled"]["xpsnr"]["mean"] == pytest.approx(np.mean([r["xpsnr"] for r in rows]))
    assert last["worst"][0]["xpsnr"] == min(row["xpsnr"] for row in rows)
    compare_files(pair[0], pair[1], tmp_path / "r.html", metrics="xpsnr", device="cpu")
    assert ">XPSNR<" in (tmp_path / "r.html").read_text()


def test_what_it_cannot_take(pair, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"got 16 bits; .* takes up to 14"):
        xpsnr.Stream(Format(64, 48, 16, (1, 1)), 25)
    with pytest.raises(InputError, match=r"33×48 4:2:0 10 bit; .* even sizes only"):
        xpsnr.Stream(Format(33, 48, 10, (1, 1)), 25)
    other = make(tmp_path / "c.mkv", codec="ffv1", pix_fmt="yuv444p", frames=2)
    with pytest.raises(InputError, match="XPSNR compares chroma here"):
        score_files(pair[0], other, metrics="xpsnr")
    monkeypatch.setattr(xpsnr, "filters_available", frozenset())
    with pytest.raises(InputError, match="without the filter xpsnr") as caught:
        score_files(*pair, metrics="xpsnr")
    assert caught.value.parameter == "metrics"
