"""The bar that callers of functions are offered: in a notebook, on a terminal, elsewhere."""

from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import snellen
from snellen.jobs import Bar, Progress, bar
from snellen.stills.still import Still, write


class Kernel:
    """IPython's shell in a notebook, and what its cells show."""

    def __init__(self):
        self.kernel, self.execution_count, self.outputs = object(), 1, []

    def display(self, data, raw, display_id):
        assert raw and display_id
        self.outputs.append(data)
        number = len(self.outputs) - 1

        def update(data, raw):
            assert raw
            self.outputs[number] = data

        return SimpleNamespace(update=update)


@pytest.fixture
def shell(monkeypatch):
    found, ipython, shown = Kernel(), ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython, shown.display = lambda: found, found.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setattr(bar, "OFTEN", 0.0)
    return found


class Terminal(io.StringIO):
    def isatty(self):
        return True


def steps(events, count=4, subject="film.mkv"):
    for done in range(count + 1):
        events.progress(Progress(subject, done, count, 2.0, (count - done) / 2))


def test_a_cell_has_one_output_which_is_replaced(shell):
    events = Bar()
    steps(events)
    (found,) = shell.outputs
    assert found["text/plain"] == "film.mkv: 4 of 4 frames, 2.0 frames/s"
    assert found["text/html"].startswith('<div><progress value="4" max="4"></progress> film.mkv')
    shell.execution_count = 2
    steps(events, 2, "<b>.mkv")
    assert len(shell.outputs) == 2 and "&lt;b&gt;.mkv: 2 of 2" in shell.outputs[1]["text/html"]


def test_films_and_images_are_drawn_in_a_notebook(shell, tmp_path):
    write(tmp_path / "a.png", Still(np.full((40, 48), 99, np.uint8)))
    for number in (1, 2, 3):
        write(tmp_path / f"f{number}.png", Still(np.full((40, 48), 50 * number, np.uint8)))
    source = str(tmp_path / "f%d.png")
    film = tmp_path / "film.mkv"
    snellen.upscale_file(source, film, method="cnn-fast", fps=5, events=Bar())
    assert "3 of 3 frames" in shell.outputs[-1]["text/plain"] and len(shell.outputs) == 1
    snellen.score_files(film, film, events=Bar())
    assert "3 of 3 frames" in shell.outputs[-1]["text/plain"] and len(shell.outputs) == 2


def test_not_more_often_than_the_eye_needs(shell, monkeypatch):
    monkeypatch.setattr(bar, "OFTEN", 1000.0)
    drawn = []
    monkeypatch.setattr(bar.Bar, "_draw", lambda self, progress, ended: drawn.append(progress.done))
    events = Bar()
    steps(events)
    steps(events, 2, "other.mkv")
    assert drawn == [0, 4, 0, 2]


def test_a_terminal_has_one_line(monkeypatch):
    monkeypatch.setattr(bar, "OFTEN", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    steps(Bar(), 1, "a\x1b[2J.mkv")
    text = sys.stderr.getvalue()
    assert text.count("\n") == 1 and text.endswith("a\N{REPLACEMENT CHARACTER}[2J.mkv: 1 of 1 "
                                                   "frames, 2.0 frames/s\x1b[K\n")  # fmt: skip
    assert "0 of 1 frames, 2.0 frames/s, 0 s left" in text


def test_elsewhere_there_is_no_bar_but_warnings_are_said(capsys):
    events = Bar()
    steps(events)
    assert capsys.readouterr() == ("", "")
    events.warning("a.mkv", "`crf` is rounded")
    events.notice("first use", "loops are compiled")
    assert capsys.readouterr().err == (
        "warning: a.mkv: crf is rounded\nfirst use: loops are compiled\n"
    )


def test_an_output_that_cannot_be_drawn_ends_no_run(shell):
    shell.display = None
    sys.modules["IPython.display"].display = None
    steps(Bar())
    assert shell.outputs == []


def test_an_unknown_total_and_a_stage():
    progress = Progress("a.mkv", 7, None, 0.0, None, "row", "luma")
    assert bar.line(progress) == "a.mkv: luma: 7 rows"
    assert bar.html(progress, "x") == "<div><progress></progress> x</div>"
