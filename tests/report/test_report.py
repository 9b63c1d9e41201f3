"""Reports: they fit, hold nothing of others but what NOTICE names, and let nothing foreign run."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.errors import InputError
from snellen.report import encode, fit, page, vendored
from snellen.report.contents import Picture
from support.report import contents, moments

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "src" / "snellen" / "report"


class Reader(HTMLParser):
    """Elements of a page with their attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.texts.append((*self.elements[-1], data))


def data_of(html):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html.decode())
    return json.loads(found[1])


def pixels(address):
    kind, _, text = address.partition(";base64,")
    assert kind in ("data:image/webp", "data:image/png")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


def test_vendored_files_are_unchanged_and_named():
    there = {one.relative_to(REPORT).as_posix(): one for one in (REPORT / "uplot").iterdir()}
    found = {name: hashlib.sha256(one.read_bytes()).hexdigest() for name, one in there.items()}
    assert found == vendored.SHA256
    banner = (REPORT / "uplot/uPlot.iife.min.js").read_text("utf-8")[:80]
    assert f"(v{vendored.VERSION})" in banner
    notice, why = ((ROOT / name).read_text("utf-8") for name in ("NOTICE", "docs/dependencies.md"))
    assert f"uPlot {vendored.VERSION} ({vendored.LICENCE})" in notice and vendored.SOURCE in notice
    assert (REPORT / "uplot/LICENSE").read_text("utf-8").strip() in notice
    assert f"uPlot {vendored.VERSION}" in why


@pytest.mark.slow
def test_nothing_foreign_becomes_html_and_only_our_scripts_run():
    made = fit.fitted(contents(), moments(), 30_000_000)
    html = made.html.decode()
    reader = Reader(html)
    assert "alert" not in str([one for one in reader.elements if one[0] != "meta"])
    policy = next(a["content"] for t, a in reader.elements if a.get("http-equiv"))
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["img-src"] == "data:"
    assert "unsafe" not in policy and "http" not in policy
    digests = {"script": [], "style": []}
    for tag, attributes, text in reader.texts:
        if attributes.get("type") != "application/json":
            assert "alert(" not in text
            digest = hashlib.sha256(text.encode()).digest()
            digests[tag].append(f"'sha256-{base64.b64encode(digest).decode()}'")
    assert rules["script-src"].split() == digests["script"] and len(digests["script"]) == 3
    assert rules["style-src"].split() == digests["style"] and len(digests["style"]) == 2
    sources = [a for t, a in reader.elements if "src" in a or "href" in a]
    assert sources == [{"rel": "icon", "href": "data:,"}]
    assert "\u202e" not in html and "on" + "error=alert(2)&gt;" in html  # there, as text
    assert not any(name.startswith("on") for _, a in reader.elements for name in a)


@pytest.mark.slow
def test_pictures_of_a_small_report_are_without_loss():
    given = moments()
    made = fit.fitted(contents(), given, 30_000_000)
    assert made.setting == fit.Setting(None, 1, 3)
    found = data_of(made.html)["moments"]
    assert [one["row"] for one in found] == [2, 7, 12]
    for one, before in zip(found, given, strict=True):
        for address, picture in zip(one["pictures"], before.pictures, strict=True):
            assert (pixels(address) == picture.samples).all()
        assert pixels(one["maps"][1]["appearance"]).shape[:2] == (120, 160)
    assert b"without loss; crops without loss" in made.html


def test_it_fits_by_quality_then_size_then_number():
    given, what = moments(size=(80, 96)), contents()
    files = fit._Files(what, given)
    wanted = [fit.Setting(85, 1, 3), fit.Setting(70, 0.5, 3), fit.Setting(70, 0.25, 2)]
    for setting in wanted:
        most = files.bytes(setting, 1 << 30)
        made = fit.fitted(what, given, most)
        assert made.setting == setting and len(made.html) <= most
        kept = data_of(made.html)["moments"]
        # Those of the least rank, which are the worst frames, stay; crops stay as they are.
        assert [one["row"] for one in kept] == [2, 7, 12][: setting.moments]
        for one, before in zip(kept, given, strict=False):
            assert pixels(one["pictures"][1]).shape[0] == 80 * setting.share
            for address, crop in zip(one["crops"], before.crops, strict=True):
                assert (pixels(address) == crop.samples).all()
    assert b"of quality 70, at 25 % of their width and height, 2 of 3 frames;" in made.html
    with pytest.raises(InputError, match="the smallest report of these inputs has 0"):
        fit.fitted(what, given, 90_000)


def test_long_films_are_drawn_through_their_worst_frames():
    rows = 3 * page.POINTS + 5
    given = contents(rows=rows)
    peak = list(given.scores[1]["mad"])
    peak[7777] = 1000.0
    given = replace(given, scores=(given.scores[0], {**given.scores[1], "mad": tuple(peak)}))
    keep, every = page.thinned(given, {8123})
    assert every == 4 and len(keep) < page.POINTS and keep == sorted(set(keep))
    assert {7777, 8123, 7, 2} <= set(keep)
    assert page.thinned(contents(rows=9), set()) == (list(range(9)), 1)


def test_large_pictures_and_profiles():
    picture = Picture(np.zeros((4, 17000, 3), np.uint8), b"profile")
    assert pixels(encode.lossless(picture)).shape[1] == encode.WIDEST
    text = encode.thumbnail(picture).partition(",")[2]
    small = Image.open(io.BytesIO(base64.b64decode(text)))
    assert small.width == encode.THUMBNAIL and small.info["icc_profile"] == b"profile"


def test_the_first_screen_says_what_figures_are_not():
    """Above the pictures, in every report and preview: they are made by this page."""
    html = fit.fitted(contents(), moments(), 30_000_000).html.decode()
    head = " ".join(html.partition("<header>")[2].partition("</header>")[0].split())
    assert "figures tell how far a picture is from" in head and "not how good it looks" in head
