"""Files that encoders write: by the film alone, and by no check."""

from __future__ import annotations

import pytest

from snellen.video.convert import Encoding
from snellen.video.sink.encode import of_whole_film, silent
from support.video.clips import make
from support.video.converting import convert, dry_run
from support.video.steps import Nearest


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"x264-params": "pass=1:stats=a.log"}, {}),
        ({"x264-params": "keyint=9:pass=3:stats=a\\:b.log:me=dia"},
         {"x264-params": "keyint=9:me=dia"}),
        ({"x264-params": "pass=1", "stats": "a.log", "g": "9"}, {"g": "9"}),
        ({"x264-params": "pass=2:stats=a.log", "b": "1M"}, None),
        ({"x264opts": "dump_yuv=a.yuv:bframes=2"}, {"x264opts": "bframes=2"}),
        ({"flags": "+pass1+cgop", "passlogfile": "a.log"}, {"flags": "+cgop"}),
        ({"flags": "pass1"}, {}),
        ({"flags": "+pass2", "stats": "a.log"}, None),
        ({"x265-params": "csv=a.csv:pools=1", "x265-stats": "a.log"},
         {"x265-params": "pools=1", "x265-stats": "a.log"}),
        ({"svtav1-params": "crf=0", "tune": "grain", "empty": ""}, None),
    ],
)  # fmt: skip
def test_what_is_left_of_options_writes_no_file(options, left):
    assert silent(options) == (options if left is None else left)


@pytest.mark.parametrize(
    ("options", "whole"),
    [
        ({"x264-params": "me=dia:pass=2"}, True),
        ({"flags": "+pass2+cgop"}, True),
        ({"flags": "+pass1"}, True),
        ({"stats": "a.log"}, True),
        ({"x265-params": "pools=1:csv=a.csv"}, True),
        ({"multipass": "fullres", "flags": "+cgop", "x264-params": "bypass=1"}, False),
    ],
)
def test_a_film_is_not_cut_whose_encoder_keeps_files_about_all_of_it(options, whole):
    assert of_whole_film(options) is whole


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return make(tmp_path_factory.mktemp("files") / "in.mkv", frames=2)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(
    ("codec", "options"),
    [("libx264", {"x264-params": "pass=1:stats=notes.log"}), ("libx264", {"x264-params": "pass=1"}),
     ("libx264", {"flags": "+pass1", "stats": "notes.log"}),
     ("libx265", {"x265-params": "pass=1:stats=notes.log"}),
     ("libx265", {"x265-params": "csv=notes.log:csv-log-level=1"})],
)  # fmt: skip
def test_a_dry_run_and_what_is_refused_write_none(
    film, tmp_path, monkeypatch, codec, options, there
):
    monkeypatch.chdir(tmp_path)
    notes = tmp_path / "notes.log"
    if there:
        notes.write_text("before")
    encoding = Encoding(codec, "ultrafast", options=options)
    dry_run(film, tmp_path / "out.mkv", Nearest(), encoding=encoding)
    with pytest.raises(Exception, match="expected"):
        convert(film, tmp_path / "out.mkv", Refusing(), encoding=encoding)
    assert list(tmp_path.iterdir()) == ([notes] if there else [])
    assert not there or notes.read_text() == "before"


def test_the_film_itself_writes_them(film, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    encoding = Encoding("libx264", options={"x264-params": "pass=1:stats=notes.log"})
    convert(film, tmp_path / "out.mkv", Nearest(), encoding=encoding)
    assert "#options" in (tmp_path / "notes.log").read_text()
    encoding = Encoding("libx264", options={"x264-params": "pass=2:stats=notes.log", "b": "100k"})
    convert(film, tmp_path / "second.mkv", Nearest(), encoding=encoding)


class Refusing(Nearest):
    """A step that refuses to be prepared, after all else has been checked."""

    def prepare(self, format, bits=None, *, on_device=False):
        from snellen.errors import InputError

        raise InputError("got this; expected another")
