"""How results show themselves in a notebook: small, escaped, and of any library's arrays."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.frames import brief, notebook
from snellen.jobs import ScoreRow, ScoreTable, UpscaleJob, UpscaleResult
from snellen.mad import heatmap
from support.mad.drawn import pair


def pictures(html):
    """The pictures of a text, by what stands below them."""
    found = re.findall(r'alt="(\w+)" src="data:image/png;base64,([\w+/=]+)"', html)
    return {name: Image.open(io.BytesIO(base64.b64decode(data))) for name, data in found}


def cells(html):
    return re.findall(r"<t[hd]>(.*?)</t[hd]>", html)


def test_a_score_shows_numbers_and_maps(random):
    score = snellen.score(*pair(random, (64, 48)), maps=True, metrics="mad,psnr", device="cpu")
    html = score._repr_html_()
    assert cells(html) == ["MAD", "HI", "LO", "PSNR"] + [
        f"{one:.6g}" for one in (score.mad, score.hi, score.lo, score.psnr)
    ]
    found = pictures(html)
    assert list(found) == ["detection", "appearance"]
    wanted = heatmap.palette()[heatmap.shades(score.appearance, heatmap.BRIGHTEST["appearance"])]
    np.testing.assert_array_equal(np.asarray(found["appearance"]), wanted)
    assert not pictures(snellen.Score(1.0, 2.0, 3.0)._repr_html_())


def test_scores_of_a_batch_are_rows_of_which_few_are_shown():
    many = np.arange(25.0)
    html = snellen.Score(many, many, many, np.zeros((25, 9, 9)))._repr_html_()
    assert html.count("<tr>") == 1 + brief.ROWS + 1 and "… 15 more" in html
    assert not pictures(html)


def test_a_restored_picture_shows_itself_and_its_blur(random):
    image = random.integers(0, 256, (60, 80, 3), dtype=np.uint8)
    found = snellen.deblur(image, psf_size=5, iterations=2, prior=None, device="cpu")
    html = found._repr_html_()
    shown = pictures(html)
    np.testing.assert_array_equal(np.asarray(shown["restored"]), found.image)
    assert shown["blur"].size == (125, 125) and np.asarray(shown["blur"]).max() == 255
    assert cells(html)[2:6] == ["fit", f"{found.fit:.6g}", "iterations", "2"]
    batch = snellen.Restored(np.zeros((2, 9, 9, 5)), np.ones((2, 3, 3)) / 9, 0.0, 1)
    assert not pictures(batch._repr_html_())


def test_tables_show_statistics_and_the_worst_first():
    rows = tuple(
        ScoreRow({"mad": float(n), "hi": n + 1.0, "lo": n + 2.0}, frame=n, time=n / 25)
        for n in range(12)
    )
    html = ScoreTable(rows)._repr_html_()
    assert cells(html)[:3] == ["", "mean", "harmonic_mean"] and "… 2 more" in html
    assert html.index("<td>11</td>") < html.index("<td>10</td>")


def test_others_are_tables_of_their_fields_and_what_is_foreign_is_escaped():
    job = UpscaleJob(source=Path("<script>.png"), target=Path("b.png"), scale=3)
    html = job._repr_html_()
    assert cells(html)[:6] == ["UpscaleJob", "", "source", "&#x27;&lt;script&gt;.png&#x27;",
                               "target", "&#x27;b.png&#x27;"]  # fmt: skip
    result = UpscaleResult(job.source, job.target, 3, 4, "cpu", warnings=("<b>",))
    assert "<b>" not in result._repr_html_() and "&lt;b&gt;" in result._repr_html_()


@pytest.mark.parametrize(
    ("image", "least", "greatest"),
    [
        (np.full((4, 4), 65535, np.uint16), 255, 255),
        (np.full((4, 4, 3), 0.5, np.float32), 128, 128),
        (np.array([[0.0, 4.0]]), 0, 255),
        (np.array([[np.nan, np.inf, -1.0, 1.0]]), 0, 255),
        (np.zeros((0, 4)), None, None),
    ],
)
def test_samples_of_every_kind(image, least, greatest):
    found = notebook.pixels(image)
    assert found.dtype == np.uint8 and (
        least is None or (found.min(), found.max()) == (least, greatest)
    )


def test_large_pictures_are_shrunk():
    html = notebook.picture(notebook.pixels(np.zeros((3000, 4000, 3), np.uint8)), "large")
    assert pictures(html)["large"].size == (384, 288) and len(html) < 5000
