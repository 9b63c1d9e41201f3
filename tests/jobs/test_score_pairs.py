"""Scores of many pairs: in order, by one worker or several, and taken up after a kill."""

from __future__ import annotations

import csv
import io
import json
import os
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.errors import InputError, OutputError
from snellen.files import atomic
from snellen.jobs import ScoreJob, run
from snellen.jobs.calls import pair_list
from snellen.jobs.calls.pair_list import read_pairs
from snellen.jobs.calls.pair_scores import score_pairs
from snellen.jobs.calls.pair_table import PairTable, maps_of
from support.cli import names
from support.cli import run as command

COLUMNS = ["reference", "distorted", "frames", "psnr", "psnr_of_mean_mse", "error"]


@pytest.fixture
def pictures(tmp_path):
    """Five pairs and their list; one has no second picture."""
    draw = np.random.default_rng(3)
    for number in range(5):
        samples = draw.integers(0, 256, (20, 24), np.uint8)
        Image.fromarray(samples).save(tmp_path / f"a{number}.png")
        Image.fromarray(np.uint8(samples // (number + 2))).save(tmp_path / f"b{number}.png")
    (tmp_path / "b3.png").unlink()
    names = tmp_path / "list.csv"
    names.write_text("".join(f"a{n}.png,b{n}.png\n" for n in range(5)))
    return names


def jobs(file):
    return [
        ScoreJob(reference=one, distorted=other, metrics=("psnr",), device="cpu")
        for one, other in read_pairs(file)
    ]


def numbers(scores):
    return [(one.distorted.name, *(p.mean for p in one.pooled.values())) for one in scores]


def test_pairs_are_scored_in_order_and_what_fails_is_said(pictures):
    found = list(score_pairs(jobs(pictures)))
    assert [one.distorted.name for one in found] == [f"b{n}.png" for n in range(5)]
    assert found[1].pooled["psnr"] == run(jobs(pictures)[1]).table.pooled()["psnr"]
    assert isinstance(found[3].error, InputError)
    assert "b3.png" in str(found[3].error)
    assert found[3].facts()["error"] == str(found[3].error)
    assert list(score_pairs([])) == []


def test_addresses_in_a_list_are_said_and_not_opened(pictures):
    pictures.write_text("a0.png,http://me:secret@127.0.0.1:1/b.png\na0.png,a1.png\n")
    one, other = score_pairs(jobs(pictures))
    assert "http://127.0.0.1:1/b.png is an address; expected the name of a file" in str(one.error)
    assert other.error is None


@pytest.mark.slow
def test_several_workers_find_the_same(pictures):
    one = list(score_pairs(jobs(pictures)))
    two = list(score_pairs(jobs(pictures), workers=2))
    assert numbers(one) == numbers(two)
    assert str(one[3].error) == str(two[3].error)


def rows(table):
    with table.open(newline="") as file:
        return list(csv.reader(file))


WORDS = ["--metrics", "psnr", "--device", "cpu"]


def test_the_table_of_a_list(capsys, pictures, tmp_path):
    table = tmp_path / "s.csv"
    words = ["--pairs", pictures, "--csv", table, *WORDS]
    assert command("score", *words) == 2
    assert "b3.png" in capsys.readouterr().err
    found = rows(table)
    assert found[0] == COLUMNS
    assert [Path(row[1]).name for row in found[1:]] == [f"b{n}.png" for n in range(5)]
    assert [row[2] for row in found[1:]] == ["1", "1", "1", "0", "1"]
    assert not (tmp_path / "s.csv.unfinished").exists()
    assert command("score", *words) == 2
    assert "s.csv exists" in capsys.readouterr().err


def test_errors_are_in_the_words_of_their_reader(capsys, pictures, tmp_path):
    """Python's in Python, and options in all that the command writes."""
    Image.new("L", (30, 30)).save(tmp_path / "b1.png")
    pictures.write_text("a1.png,b1.png\n")
    (one,) = score_pairs(jobs(pictures))
    assert " resize scales the distorted" in one.facts()["error"]
    words = ["--pairs", pictures, *WORDS]
    assert command("score", *words, "--csv", tmp_path / "s.csv") == 2
    said = " --resize scales the distorted"
    assert said in capsys.readouterr().err and said in rows(tmp_path / "s.csv")[1][-1]
    command("score", *words, "--json")
    assert said in json.loads(capsys.readouterr().out)["error"]
    command("score", *words, "--csv", "-")
    assert said in capsys.readouterr().out


def test_quiet_runs_write_what_they_are_asked_for(capsys, pictures):
    """As those of one pair do."""
    pictures.write_text("a1.png,b1.png\n")
    assert command("score", "--pairs", pictures, *WORDS, "-q") == 0
    out, err = capsys.readouterr()
    assert "PSNR" in out and err == ""
    assert command("score", *read_pairs(pictures)[0], *WORDS, "-q") == 0
    assert out.strip().endswith(capsys.readouterr().out.strip())


@pytest.mark.parametrize("end", ["a2.png,half of a line", "x" * 140_000 + "\n"])
def test_a_run_that_was_killed_is_taken_up(capsys, pictures, tmp_path, end):
    table, whole = tmp_path / "s.csv", tmp_path / "whole.csv"
    command("score", "--pairs", pictures, "--csv", whole, *WORDS)
    base = jobs(pictures)[0]
    pairs = read_pairs(pictures)
    same = replace(base, reference=pictures, distorted=pictures)
    with pytest.raises(KeyboardInterrupt), PairTable(table, same, pairs, False) as growing:
        for number, score in enumerate(score_pairs(jobs(pictures)[:2])):
            growing.begin(number)
            growing.add(number, score.facts())
        raise KeyboardInterrupt
    assert not table.exists()
    with (tmp_path / "s.csv.unfinished").open("a") as file:
        file.write(end)
    capsys.readouterr()
    assert command("score", "--pairs", pictures, "--csv", table, *WORDS) == 2
    assert "goes on: 2 of 5 pairs are scored" in capsys.readouterr().err
    assert rows(table) == rows(whole)
    assert names(tmp_path) == sorted(
        ["list.csv", "s.csv", "whole.csv", *(f"a{n}.png" for n in range(5)),
         *(f"b{n}.png" for n in range(5) if n != 3)]
    )  # fmt: skip


def begun(table, pictures, count):
    """Leave a table with rows of the first pairs, as a kill does."""
    same = replace(jobs(pictures)[0], reference=pictures, distorted=pictures)
    with (
        pytest.raises(KeyboardInterrupt),
        PairTable(table, same, read_pairs(pictures), False) as growing,
    ):
        for number, score in enumerate(score_pairs(jobs(pictures)[:count])):
            growing.begin(number)
            growing.add(number, score.facts())
        raise KeyboardInterrupt


def test_changed_files_and_failed_pairs_are_scored_again(capsys, pictures, tmp_path):
    """By size and time; the rows come in the order of the list."""
    table = tmp_path / "s.csv"
    begun(table, pictures, 4)
    Image.fromarray(np.full((20, 24), 9, np.uint8)).save(tmp_path / "b1.png")
    Image.fromarray(np.full((20, 24), 9, np.uint8)).save(tmp_path / "b3.png")
    capsys.readouterr()
    assert command("score", "--pairs", pictures, "--csv", table, *WORDS) == 0
    out, err = capsys.readouterr()
    said = "goes on: 2 of 5 pairs are scored; those left are scored, 1 with other files now and 1"
    assert said + " that failed again" in err
    assert [f"b{n}.png:" in out for n in range(5)] == [False, True, False, True, True]
    assert command("score", "--pairs", pictures, "--csv", tmp_path / "whole.csv", *WORDS) == 0
    assert rows(table) == rows(tmp_path / "whole.csv")


def test_changed_pictures_in_a_folder_are_noticed(pictures, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.new("L", (20, 24)).save(tmp_path / name / "x.png")
    pictures.write_text("a,b\n")
    table = tmp_path / "s.csv"
    begun(table, pictures, 1)
    same = replace(jobs(pictures)[0], reference=pictures, distorted=pictures)
    for left in ([], [0]):
        table_again = PairTable(table, same, read_pairs(pictures), False)
        with pytest.raises(KeyboardInterrupt), table_again as growing:
            assert growing.left == left and growing.changed == len(left)
            raise KeyboardInterrupt
        os.utime(tmp_path / "b" / "x.png", ns=(1, 1))


def test_other_columns_are_carried(capsys, pictures, tmp_path):
    """In any order, with newlines; a name among them that the table has of its own is refused."""
    pictures.write_text(
        'dmos,Distorted,note,Reference\n1.5,b1.png,"a,\nb",a1.png\n,b2.png,,a2.png\n'
    )
    assert [one.name for one in read_pairs(pictures)[0]] == ["a1.png", "b1.png"]
    words = ["score", "--pairs", pictures, *WORDS]
    assert command(*words, "--csv", tmp_path / "s.csv") == 0
    found = rows(tmp_path / "s.csv")
    assert found[0] == [*COLUMNS[:2], "dmos", "note", *COLUMNS[2:]]
    assert [row[2:4] for row in found[1:]] == [["1.5", "a,\nb"], ["", ""]]
    capsys.readouterr()
    command(*words, "--csv", "-")
    assert list(csv.reader(io.StringIO(capsys.readouterr().out, newline=""))) == found
    command(*words, "--json")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["carried"] for line in lines if "carried" in line] == [
        {"dmos": "1.5", "note": "a,\nb"}, {"dmos": "", "note": ""},
    ]  # fmt: skip
    pictures.write_text("reference,distorted,psnr\na1.png,b1.png,3\n")
    assert command(*words, "--csv", tmp_path / "t.csv") == 2
    assert "the list has a column psnr" in capsys.readouterr().err


def test_other_values_of_carried_columns_are_another_list(pictures, tmp_path):
    same = replace(jobs(pictures)[0], reference=pictures, distorted=pictures)
    for values in (1, 2):
        pictures.write_text(f"reference,distorted,dmos\na1.png,b1.png,{values}\n")
        table = PairTable(tmp_path / "s.csv", same, read_pairs(pictures), overwrite=True)
        assert not table.is_begun
        with pytest.raises(KeyboardInterrupt), table:
            raise KeyboardInterrupt


def test_maps_of_pairs(capsys, tmp_path):
    """A folder for each pair; no other files are replaced."""
    draw = np.random.default_rng(3)
    for name in ("a.png", "b.png", "c.png"):
        Image.fromarray(draw.integers(0, 256, (64, 64), np.uint8)).save(tmp_path / name)
    listed = tmp_path / "list.csv"
    listed.write_text("a.png,b.png\na.png,c.png\n")
    words = ["score", "--pairs", listed, "--map-out", tmp_path / "m", "--device", "cpu"]
    assert command(*words, "--csv", tmp_path / "s.csv") == 0
    assert sorted(names(tmp_path / "m")) == ["1-b", "2-c"]
    assert len(list((tmp_path / "m" / "2-c").glob("*.png"))) == 3  # two maps and their legend
    capsys.readouterr()
    assert command(*words) == 2
    assert "m is not empty" in capsys.readouterr().err
    assert command(*words, "-y", "--csv", tmp_path / "m" / "s.csv") == 2
    assert "would lie in the folder of maps" in capsys.readouterr().err


def test_a_pair_without_its_maps_is_scored_again(pictures, tmp_path):
    same = replace(jobs(pictures)[0], reference=pictures, distorted=pictures, metrics=("mad",))
    same = replace(same, maps=tmp_path / "m")
    table = tmp_path / "s.csv"
    maps_of(same.maps, 1, read_pairs(pictures)[1]).mkdir(parents=True)
    pairs = read_pairs(pictures)
    with pytest.raises(KeyboardInterrupt), PairTable(table, same, pairs, False) as growing:
        for number in range(2):
            growing.begin(number)
            growing.add(number, dict(zip(("reference", "distorted"), pairs[number], strict=True)))
        raise KeyboardInterrupt
    with PairTable(table, same, pairs, False) as growing:
        assert growing.left == [0, 2, 3, 4]


def test_a_table_of_the_longest_name(pictures, tmp_path):
    table = tmp_path / f"{'ä' * 125}x.csv"
    assert len(os.fsencode(table.name)) == 255
    begun(table, pictures, 1)
    assert len(names(tmp_path)) == 11
    assert command("score", "--pairs", pictures, "--csv", table, *WORDS) == 2
    assert len(rows(table)) == 6 and len(names(tmp_path)) == 11


def test_two_runs_do_not_write_one_table(pictures, tmp_path):
    table = tmp_path / "s.csv"
    same = replace(jobs(pictures)[0], reference=pictures, distorted=pictures)
    pairs = read_pairs(pictures)
    with PairTable(table, same, pairs, False) as growing:
        with pytest.raises(InputError, match=r"another run is writing .*s\.csv"):
            PairTable(table, same, pairs, False).__enter__()
        growing.begin(0)
        growing.add(0, next(score_pairs(jobs(pictures))).facts())
    assert len(rows(table)) == 2


@pytest.mark.parametrize("moment", ["_kept", "_hold"])
@pytest.mark.parametrize("is_begun", [False, True])
def test_of_two_runs_that_begin_at_the_same_moment_one_goes_on(
    pictures, tmp_path, monkeypatch, moment, is_begun
):
    """Whether there is a table to take up or not, and wherever the first one is at that moment."""
    table = tmp_path / "s.csv"
    same = replace(jobs(pictures)[0], reference=pictures, distorted=pictures)
    pairs = read_pairs(pictures)
    if is_begun:
        with pytest.raises(KeyboardInterrupt), PairTable(table, same, pairs, False):
            raise KeyboardInterrupt
    first, second = (PairTable(table, same, pairs, False) for _ in range(2))
    going, real = [], getattr(first, moment)

    def meanwhile(*given):
        if not going:
            with suppress(InputError):
                going.append(second.__enter__())
        return real(*given)

    monkeypatch.setattr(first, moment, meanwhile)
    try:
        going.append(first.__enter__())
    except InputError as error:
        assert f"another run is writing {table}" in str(error)
    (one,) = going
    one.begin(0)
    one.add(0, next(score_pairs(jobs(pictures))).facts())
    one.__exit__(None, None, None)
    assert len(rows(table)) == 2


def test_a_table_that_another_run_completes_in_this_moment(pictures, tmp_path, monkeypatch):
    real = atomic.rewriting

    @contextmanager
    def ended(*given, **how):
        with real(*given, **how) as file:
            yield file
        given[0].unlink()

    monkeypatch.setattr(atomic, "rewriting", ended)
    same = replace(jobs(pictures)[0], reference=pictures, distorted=pictures)
    before = names(tmp_path)
    with pytest.raises(InputError, match="another run is writing"):
        PairTable(tmp_path / "s.csv", same, read_pairs(pictures), False).__enter__()
    assert names(tmp_path) == before


def test_a_table_of_other_settings_is_not_taken_up(capsys, pictures, tmp_path):
    table = tmp_path / "s.csv"
    base = replace(jobs(pictures)[0], reference=pictures, distorted=pictures)
    with pytest.raises(KeyboardInterrupt), PairTable(table, base, read_pairs(pictures), False):
        raise KeyboardInterrupt
    words = ["score", "--pairs", pictures, "--csv", table, *WORDS, "--metrics", "ssim"]
    assert command(*words) == 2
    assert "s.csv.unfinished exists, of other pairs or settings" in capsys.readouterr().err
    assert command(*words, "--overwrite") == 2
    assert len(rows(table)) == 6
    assert not (tmp_path / "s.csv.unfinished").exists()


def test_a_table_is_replaced_at_the_end_only(pictures, tmp_path):
    table = tmp_path / "s.csv"
    table.write_text("precious")
    same = replace(jobs(pictures)[0], reference=pictures, distorted=pictures)
    with PairTable(table, same, read_pairs(pictures), True) as growing:
        growing.begin(0)
        growing.add(0, next(score_pairs(jobs(pictures))).facts())
        assert table.read_text() == "precious"
    assert len(rows(table)) == 2


def test_a_table_that_comes_to_exist_meanwhile_stays(pictures, tmp_path):
    table = tmp_path / "s.csv"
    same = replace(jobs(pictures)[0], reference=pictures, distorted=pictures)
    pairs = read_pairs(pictures)
    with (
        pytest.raises(OutputError, match="come to exist"),
        PairTable(table, same, pairs, False) as one,
    ):
        one.begin(0)
        one.add(0, next(score_pairs(jobs(pictures))).facts())
        table.write_text("precious")
    assert table.read_text() == "precious"
    table.unlink()
    with PairTable(table, same, pairs, False) as one:
        assert one.left == [1, 2, 3, 4]


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("text", "said"),
    [("", "has no pairs"), ("reference,distorted\n", "has no pairs"), ("a.png\n", "line 1 is"),
     ("a,b\nc,d,e\n", "line 2 is"), ("a,\n", "line 1 is"), ("-,b\n", "line 1 is"),
     ("./-,b\n", "line 1 is"), ("a,b\0c\n", "line 1"), ("a,b,3\n", "need a first line"),
     ("dmos,distorted,reference\n1,a\n", "line 2 is .*expected 3 values, of the columns dmos"),
     ("dmos,distorted,reference\n1,a,\n", "line 2 is .*names of two files in the columns"),
     ("dmos,distorted,reference,dmos\n", "two columns dmos"),
     ("reference,distorted,\n", "no name of column 3"),
     ("Reference, Distorted\n", "has no pairs")],
)  # fmt: skip
def test_lists_that_are_none(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    Path("list.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_pairs(Path("list.csv"))
    with pytest.raises(InputError):
        read_pairs(tmp_path)
    monkeypatch.setattr(pair_list, "LARGEST", 2)
    Path("list.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="more than 2 bytes"):
        read_pairs(Path("list.csv"))


@pytest.mark.cases
@pytest.mark.parametrize(
    ("words", "said"),
    [(["a", "b", "--pairs", "l"], "--pairs goes without REF and DIST"), (["a"], "'DIST'"),
     (["--pairs", "-"], "--pairs names a file"),
     (["--pairs", "list.csv", "--temporal", "--every", "2"], "leave --every out"),
     (["--pairs", "list.csv", "--map-out", "m", "--metrics", "psnr"], "it is of mad"),
     (["--pairs", "list.csv", "--map-out", "no/m"], "make it first"),
     (["--pairs", "list.csv", "--map-out", "."], ". is not empty"),
     (["--pairs", "list.csv", "--report", "r.html"], "--report")],
)  # fmt: skip
def test_what_does_not_go_together(capsys, pictures, monkeypatch, words, said):
    monkeypatch.chdir(pictures.parent)
    assert command("score", *words) == 2
    assert said in capsys.readouterr().err


def test_a_table_replaces_no_picture_of_the_list(capsys, pictures, tmp_path):
    before = (tmp_path / "a1.png").read_bytes()
    words = ["--pairs", pictures, "--csv", tmp_path / "a1.png", "-y", *WORDS]
    assert command("score", *words) == 2
    assert command("score", "--pairs", pictures, "--csv", pictures, "-y", *WORDS) == 2
    assert (tmp_path / "a1.png").read_bytes() == before
    assert len(read_pairs(pictures)) == 5


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_and_devices_of_a_list_are_refused(pictures):
    """Whoever made the list would have us wait for ever."""
    os.mkfifo(pictures.with_name("pipe.png"))
    pictures.write_text("pipe.png,b1.png\na1.png,/dev/zero\na1.png,b1.png\n")
    found = list(score_pairs(jobs(pictures)))
    assert [one.error is None for one in found] == [False, False, True]
    for one, name in zip(found, ("pipe.png", "/dev/zero"), strict=False):
        assert f"{name} is neither a file nor a folder" in str(one.error)


def kept(path):
    """Return what tells whether a file was changed; reading changes the time of access."""
    found = path.lstat()
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns


@pytest.mark.cases
@pytest.mark.parametrize("there", ["file", "pipe", "link", "other", "large"])
def test_what_is_no_state_of_a_table_stays(pictures, there):
    table, state = pictures.with_name("s.csv"), pictures.with_name("s.csv.unfinished")
    precious = pictures.with_name("precious")
    precious.write_text("snellen pairs")
    if there == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("no pipes with names here")
        os.mkfifo(state)
    elif there == "link":
        state.symlink_to(precious)
    elif there == "large":
        with state.open("wb") as file:
            file.truncate(1 << 40)  # one line
    else:
        state.write_text({"file": "snellen pairs", "other": '["snellen pairs"]'}[there])
    before = kept(state)
    job = ScoreJob(reference="a", distorted="b", metrics=("psnr",))
    with pytest.raises(InputError, match=r"s\.csv\.unfinished"):
        PairTable(table, job, read_pairs(pictures), overwrite=True)
    assert kept(state) == before and precious.read_text() == "snellen pairs"
    assert not table.exists()


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "given",
    [{"jobs": 3}, {"jobs": "ab"}, {"jobs": [None]}, {"jobs": np.zeros((2, 2))}, {"total": "1"},
     {"total": 10**400}, {"total": -1}, {"total": [2]}],
)  # fmt: skip
def test_what_are_no_jobs(pictures, given):
    with pytest.raises(InputError):
        list(score_pairs(**({"jobs": jobs(pictures)} | given)))
