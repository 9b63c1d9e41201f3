"""snellen compare: a report as one HTML file."""

from __future__ import annotations

import html
import json

import pytest

from support.cli import refused, run

pytestmark = pytest.mark.usefixtures("signals")


def test_a_report_of_folders(folders, tmp_path, capsys):
    target = tmp_path / "reports" / "report.html"
    words = (*folders, "-o", target, "--metrics", "psnr", "--json", "--device", "cpu")
    assert run("compare", *words) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    done = lines[-1]
    assert done["event"] == "done" and done["output"] == str(target)
    assert done["bytes"] == target.stat().st_size and done["pictures"] == 3
    assert [line["psnr"] for line in lines if line["event"] == "frame"]
    assert done["scores"][0]["pooled"]["psnr"]["mean"] > 0
    page = html.unescape(target.read_text("utf-8"))
    assert f"snellen compare {folders[0]} {folders[1]} -o {target}" in page
    refused("compare", capsys, words[:-3], "report.html exists", "--overwrite")


def test_which_is_the_reference(folders, tmp_path, capsys):
    target, (one, other) = tmp_path / "report.html", folders
    refused("compare", capsys, (one, "-o", target), "alone; expected another file")
    refused("compare", capsys, (one, other, "-o", tmp_path / "report.png"), "-o", ".html")
    refused(
        "compare", capsys, (one, "-", "-o", target), "standard input can be read once",
    )  # fmt: skip
    refused(
        "compare", capsys, (one, other, "-o", target, "--report-size", "0.1"), "--report-size 0.1"
    )
    words = (one, "--reference", other, "-o", target, "--metrics", "psnr", "--device", "cpu")
    assert run("compare", *words) == 0
    assert f"{one}: PSNR" in capsys.readouterr().out
