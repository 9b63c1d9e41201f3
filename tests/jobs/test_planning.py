"""Which files a run takes, what their results are called, and which folders are made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snellen.errors import InputError, OutputError
from snellen.jobs.calls.planning import file_target, plan
from snellen.jobs.inputs import folders, naming
from snellen.jobs.inputs.search import expanded
from snellen.upscaling.target import target as wanted
from support.video.clips import make


def large(source):
    return "x2"


def times(scale):
    return wanted(scale, None, None, None)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A folder with folders in it, and links: to a file, to a folder, and in a circle."""
    monkeypatch.chdir(tmp_path)
    for name in ("b.png", "a.mkv", "z/c.jpg", "z/y/d.avi", "k/e.png", ".git/f.png", "k/.g.png"):
        path = Path("in") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    Path("else").mkdir()
    Path("else/far.png").touch()
    Path("in/l.png").symlink_to("../else/far.png")
    Path("in/outside").symlink_to("../else")
    Path("in/z/circle").symlink_to("..")
    Path("in/notes.txt").touch()
    return tmp_path


def pairs(*inputs, output=None, **how):
    found = plan([Path(one) for one in inputs], output and Path(output), large, **how)
    assert not found.failed
    return [(str(source), str(target)) for source, target in found.pairs]


def test_folders_in_folders(tree):
    """Files of a folder by name, then the folders in it; neither links to folders nor circles."""
    assert [str(one) for one in expanded([Path("in")])] == ["in/a.mkv", "in/b.png", "in/l.png"]
    assert pairs("in", recursive=True) == [
        ("in/a.mkv", "in-x2/a.mkv"), ("in/b.png", "in-x2/b.png"), ("in/l.png", "in-x2/l.png"),
        ("in/k/e.png", "in-x2/k/e.png"), ("in/z/c.jpg", "in-x2/z/c.jpg"),
        ("in/z/y/d.avi", "in-x2/z/y/d.mkv"),
    ]  # fmt: skip
    # A link that is named is followed.
    assert pairs("in/outside", recursive=True) == [("in/outside/far.png", "in/outside-x2/far.png")]
    with pytest.raises(InputError, match=r"holds no .*; recursive searches the folders in it"):
        plan([tree], None, large)


def test_results_in_the_folder_that_is_read_are_no_inputs(tree):
    Path("in/z/done").mkdir()
    Path("in/z/done/b.png").touch()
    found = pairs("in", output="in/z/done", recursive=True)
    assert ("in/k/e.png", "in/z/done/k/e.png") in found
    assert not [source for source, _ in found if source.startswith("in/z/done")]


def test_names_beside_the_inputs(tree):
    assert pairs("in/b.png") == [("in/b.png", "in/b-x2.png")]
    assert pairs("in/b.png", "in/z/y/d.avi", "in/k") == [
        ("in/b.png", "in/b-x2.png"), ("in/z/y/d.avi", "in/z/y/d-x2.mkv"),
        ("in/k/e.png", "in/k-x2/e.png"),
    ]  # fmt: skip
    os.chdir("in/k")
    assert pairs(".") == [("e.png", str(tree / "in/k-x2/e.png"))]
    assert pairs("../z") == [("../z/c.jpg", "../z-x2/c.jpg")]
    for name, said in (("-", "standard input needs a target"), ("/", "no name can be made")):
        with pytest.raises(InputError, match=said):
            naming.beside(Path(name), "x2")


def test_a_name_is_never_a_pattern(tree):
    """Names that are found, and their results."""
    for name in ("x%03d.png", "[ab].png", "*.png"):
        (tree / "else" / name).touch()
    assert [target for _, target in pairs("else")] == [
        "else-x2/*.png", "else-x2/[ab].png", "else-x2/far.png", "else-x2/x%03d.png",
    ]  # fmt: skip


def test_inputs_of_one_result_fail_and_are_both_named(tree):
    """The others are done."""
    for name in ("film.webm", "film.avi", "film.mkv", "a.heic", "a.png", "b.png"):
        Path("else", name).touch()
    found = plan([Path("else")], Path("new"), large)
    assert [source.name for source, _ in found.pairs] == ["b.png", "far.png"]
    assert [source.name for source, _ in found.failed] == [
        "a.heic", "a.png", "film.avi", "film.mkv", "film.webm",
    ]  # fmt: skip
    said = [str(error) for _, error in found.failed]
    assert said[0].startswith("else/a.heic would become new/a.png, and so would else/a.png; ")
    assert said[-1].startswith(
        "else/film.webm would become new/film.mkv, and so would else/film.avi and else/film.mkv; "
    )


def test_a_file_that_is_named_twice_counts_once(tree):
    assert pairs("in/b.png", "in/../in/b.png", output="b2.png") == [("in/b.png", "b2.png")]
    assert pairs("in/k", "in/k/e.png", output="new") == [("in/k/e.png", "new/e.png")]
    # Another name is another result.
    assert len(pairs("else", "in/l.png", output="new")) == 2


def test_results_of_inputs_are_no_inputs(tree):
    """Neither those of this run, nor those beside the inputs, which a run before has made."""

    def skipped(*inputs, output=None):
        found = plan([Path(one) for one in inputs], output and Path(output), large)
        assert not found.failed
        return [(one.source.name, one.why) for one in found.skipped]

    for name in ("b-x2.png", "b-x2-x2.png", "b-sharp.png", "cat-x2.png"):
        Path("in", name).touch()
    shell = sorted(map(str, Path("in").glob("*.png")))
    wanted = [
        ("b-x2-x2.png", "it is the result of in/b-x2.png"),
        ("b-x2.png", "it is the result of in/b.png"),
    ]
    assert skipped(*shell) == skipped("in") == skipped("in", output="new") == wanted
    assert ("in/b.png", "in/b-x2.png") in pairs("in/b.png", "in/cat-x2.png")
    # Of folders, those beside them.
    Path("else-x2").mkdir()
    Path("else-x2/far.png").touch()
    assert skipped("else", "else-x2") == [("far.png", "it is the result of else/far.png")]
    # Names of dots are names, too.
    dots = ["in/..png", "in/.-x2.png", "in/-x2.png"]
    assert [source for source, _ in pairs(*dots, output="new")] == dots[::2]
    # A link is none: what it leads to would be replaced.
    Path("in/l-x2.png").symlink_to("../else/far.png")
    assert ("in/l-x2.png", "in/l-x2-x2.png") in pairs("in/l.png", "in/l-x2.png")
    # What is no result is never replaced as one: both fail.
    Path("else-x2/b.png").touch()
    found = plan([Path("in/b.png"), Path("else-x2/b.png")], Path("else-x2"), large)
    assert not found.pairs and len(found.failed) == 2


def test_what_is_there_is_skipped(tree):
    for name in ("in/b-x2.png", "in/a.mkv"):
        Path(name).touch()
    found = plan([Path("in/a.mkv"), Path("in/b.png")], None, large, skip_existing=True)
    assert found.pairs == ((Path("in/a.mkv"), Path("in/a-x2.mkv")),)
    (one,) = found.skipped
    assert (one.source, one.target) == (Path("in/b.png"), Path("in/b-x2.png")) and found.several
    assert one.why == "in/b-x2.png is there"
    # A result that a shell's pattern has found is no new input.
    names = [Path("in/b-x2.png"), Path("in/b.png"), Path("in/l.png")]
    assert plan(names, None, large, skip_existing=True).pairs == (
        (Path("in/l.png"), Path("in/l-x2.png")),
    )
    # An input itself is no result: its job says so.
    assert len(pairs("in", output="in", skip_existing=True)) == 4
    with pytest.raises(InputError, match="skip_existing with overwrite"):
        plan(names, None, large, skip_existing=True, overwrite=True)


def test_a_folder_as_output_need_not_exist(tree):
    assert pairs("in/k", output="new/one") == [("in/k/e.png", "new/one/e.png")]
    assert pairs("in/b.png", output="new", into=True) == [("in/b.png", "new/b.png")]
    assert pairs("in/b.png", output="new") == [("in/b.png", "new")]
    assert pairs("in/k", output="k.png", into=True) == [("in/k/e.png", "k.png/e.png")]
    assert file_target(Path("in/b.png"), None, large) == Path("in/b-x2.png")
    assert file_target(Path("in/b.png"), "new/", large) == Path("new/b.png")
    assert file_target(Path("in/b.png"), "in", large) == Path("in/b.png")
    assert file_target(Path("in/b.png"), "new", large) == Path("new")


def test_a_folder_that_cannot_be_read_stops_no_other(tree, monkeypatch):
    real = os.scandir

    def denied(path):
        if Path(path).name == "z":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", denied)
    found = plan([Path("in")], None, large, recursive=True)
    assert [source.name for source, _ in found.pairs] == ["a.mkv", "b.png", "l.png", "e.png"]
    ((folder, error),) = found.failed
    assert folder == Path("in/z") and "in/z cannot be read: Permission denied" in str(error)


def test_a_link_to_nothing_stops_no_other(tree):
    Path("in/c.png").symlink_to("nowhere.png")
    Path("in/c.txt").symlink_to("nowhere.txt")
    found = plan([Path("in")], None, large)
    assert [source.name for source, _ in found.pairs] == ["a.mkv", "b.png", "l.png"]
    ((link, error),) = found.failed
    assert (
        link == Path("in/c.png") and str(error) == "in/c.png is a link to a file that is not there"
    )


def test_a_burst_is_one_result(tree):
    found = plan([Path("in/b.png"), Path("in/l.png")], None, lambda one: "sharp", together=True)
    assert found.pairs == ((Path("in/b.png"), Path("in/b-sharp.png")),) and not found.several


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("width", "height", "word"),
    [
        (3840, 2160, "4k"), (3840, 1600, "4k"), (4096, 2160, "4k"), (2880, 2160, "4k"),
        (2160, 3840, "4k"), (7680, 4320, "8k"), (2560, 1440, "1440p"), (1920, 1080, "1080p"),
        (1280, 720, "720p"), (1280, 960, None), (1440, 1152, None), (3840, 2400, None),
    ],
)  # fmt: skip
def test_what_sizes_are_called(width, height, word):
    assert naming.size(width, height) == word


def test_a_film_is_called_by_its_size(tmp_path):
    film = make(tmp_path / "film.mkv", size=(640, 360), frames=1)
    assert naming.enlarged(film, times(2)) == "720p" and naming.enlarged(film, times(3)) == "1080p"
    assert naming.enlarged(film, times(4)) == "1440p"
    for word, goal in (
        ("x1.5", times(1.5)), ("1440p", wanted(None, "1440p", None, None)),
        ("8k", wanted(None, "7680x4320", None, None)),
        ("100x90", wanted(None, "100x90", None, None)),
        ("1000p", wanted(None, None, 1000, None)),
    ):  # fmt: skip
        assert naming.enlarged(film, goal) == word
    film.write_bytes(b"no film")
    for name in ("film.mkv", "none.mkv"):
        assert naming.enlarged(tmp_path / name, times(2)) == "x2"
    os.mkfifo(tmp_path / "pipe.mkv")  # which could be read only once
    assert naming.enlarged(tmp_path / "pipe.mkv", times(2)) == "x2"


def test_folders_are_made_and_removed_if_they_stay_empty(tmp_path):
    outputs = [tmp_path / "a/b/1.png", tmp_path / "a/c/2.png", tmp_path / "3.png"]
    with folders.made(outputs):
        assert (tmp_path / "a/b").is_dir() and (tmp_path / "a/c").is_dir()
        outputs[0].touch()
    assert outputs[0].exists() and not (tmp_path / "a/c").exists()
    with pytest.raises(KeyError), folders.made([tmp_path / "x/y/1.png"]):
        raise KeyError
    assert not (tmp_path / "x").exists()


def test_folders_that_cannot_be_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match="cannot be made: Not a directory"),
        folders.made([tmp_path / "new/1.png", tmp_path / "file/x/y/2.png"]),
    ):
        pytest.fail("no folder can be there")
    assert not (tmp_path / "new").exists()

    for address in ("http://host/x/1.png", "smb://host/1.png"):
        with (
            pytest.raises(InputError, match="is an address"),
            folders.made([Path(address)]),
        ):
            pytest.fail("no folder can be there")
    assert not Path("http:").exists() and not Path("smb:").exists()

    def denied(self, *mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(OutputError, match="denied"), folders.made([tmp_path / "new/1.png"]):
        pytest.fail("no folder can be there")
