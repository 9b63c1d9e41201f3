"""Output files: refusals, and files that appear only when they are complete."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from snellen.errors import InputError, OutputError
from snellen.files import atomic


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_check_lets_new_names_pass(tmp_path):
    source = tmp_path / "in.png"
    source.write_bytes(b"in")
    atomic.check_target(tmp_path / "out.png", source, False)
    atomic.check_target(tmp_path / "out.png", None, False)
    atomic.check_target(tmp_path / "out.png", tmp_path / "missing.png", False)


def test_check_refuses_existing_files_but_for_overwrite(tmp_path):
    goal = tmp_path / "out.png"
    goal.write_bytes(b"mine")
    with pytest.raises(InputError, match=r"out\.png exists; .* give overwrite=True"):
        atomic.check_target(goal, None, False)
    atomic.check_target(goal, None, True)
    atomic.check_target(goal, tmp_path / "missing.png", True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_check_refuses_folders(tmp_path, overwrite):
    with pytest.raises(InputError, match="is a folder; name a file"):
        atomic.check_target(tmp_path, None, overwrite)
    with pytest.raises(InputError, match="does not exist; make it first"):
        atomic.check_target(tmp_path / "no" / "out.png", None, overwrite)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="does not exist"):
        atomic.check_target(tmp_path / "file" / "out.png", None, overwrite)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_never_replaced(tmp_path, overwrite, linked):
    pipe, goal = tmp_path / "pipe", tmp_path / "out.png"
    os.mkfifo(pipe)
    goal.symlink_to(pipe) if linked else pipe.rename(goal)
    with pytest.raises(InputError, match="not a file that can be replaced"):
        atomic.check_target(goal, None, overwrite)
    with pytest.raises(OutputError, match="not a file"), atomic.replacing(goal, overwrite):
        pytest.fail("a pipe was to be replaced")
    assert goal.is_fifo() and len(names(tmp_path)) == 1 + linked


def test_a_folder_that_takes_no_file(tmp_path, monkeypatch):
    atomic.check_folder(tmp_path)
    assert names(tmp_path) == []
    with pytest.raises(OutputError, match="takes no file: No such file"):
        atomic.check_folder(tmp_path / "none")

    def refuse(path, flags, mode=0o777):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OutputError, match="takes no file: Read-only"):
        atomic.check_folder(tmp_path)
    with pytest.raises(OutputError, match=r"out\.png could not be written: Read-only"):
        atomic.check_target(tmp_path / "out.png", None, False)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to", None])
def test_check_refuses_the_input_itself(tmp_path, overwrite, link):
    source = tmp_path / "in.png"
    source.write_bytes(b"in")
    goal = tmp_path / "." / "in.png" if link is None else tmp_path / "out.png"
    if link:
        getattr(goal, link)(source)
    with pytest.raises(InputError, match="is the input itself"):
        atomic.check_target(goal, source, overwrite)


def test_a_name_without_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    atomic.check_target(Path("out.png"), None, False)
    with atomic.replacing(Path("out.png"), False) as temporary:
        temporary.write_bytes(b"done")
    assert names(tmp_path) == ["out.png"]


def test_the_file_appears_at_the_end(tmp_path):
    goal = tmp_path / "out.png"
    with atomic.replacing(goal, False) as temporary:
        temporary.write_bytes(b"done")
        assert not goal.exists()
        assert temporary.parent == tmp_path and temporary.suffix == ".png"
        assert temporary.name.startswith(".")
    assert goal.read_bytes() == b"done" and names(tmp_path) == ["out.png"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("there", [False, True])
def test_nothing_is_left_after_an_error(tmp_path, error, there):
    goal = tmp_path / "out.png"
    if there:
        goal.write_bytes(b"before")
    with pytest.raises(error), atomic.replacing(goal, True) as temporary:
        temporary.write_bytes(b"half")
        raise error
    assert names(tmp_path) == (["out.png"] if there else [])
    assert not there or goal.read_bytes() == b"before"


def test_the_temporary_file_may_be_gone(tmp_path):
    with pytest.raises(RuntimeError), atomic.replacing(tmp_path / "out.png", True) as temporary:
        temporary.unlink()
        raise RuntimeError
    with pytest.raises(OSError), atomic.replacing(tmp_path / "out.png", True) as temporary:
        temporary.unlink()
    assert names(tmp_path) == []


def test_overwrite_replaces_the_file(tmp_path):
    goal = tmp_path / "out.png"
    goal.write_bytes(b"before")
    with atomic.replacing(goal, True) as temporary:
        temporary.write_bytes(b"after")
    assert goal.read_bytes() == b"after" and names(tmp_path) == ["out.png"]


def test_a_target_that_appears_meanwhile_is_left(tmp_path):
    goal = tmp_path / "out.png"
    with (
        pytest.raises(OutputError, match="come to exist meanwhile; it stays"),
        atomic.replacing(goal, False) as temporary,
    ):
        temporary.write_bytes(b"ours")
        goal.write_bytes(b"theirs")
    assert goal.read_bytes() == b"theirs" and names(tmp_path) == ["out.png"]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o027, 0])
def test_permissions_are_those_of_a_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        with atomic.replacing(tmp_path / "out.png", False):
            pass
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.png").stat().st_mode) == 0o666 & ~mask


def test_a_name_that_the_disk_cannot_hold(tmp_path):
    """No bare OSError: the command line knows only our own."""
    with pytest.raises(InputError, match="File name too long"):
        atomic.check_target(tmp_path / ("x" * 300 + ".png"), None, False)
    with pytest.raises(OutputError), atomic.replacing(tmp_path / ("x" * 300 + ".png"), False):
        pass
    assert names(tmp_path) == []


def test_a_long_name_that_the_disk_can_hold(tmp_path):
    goal = tmp_path / ("x" * 251 + ".png")
    goal.write_bytes(b"")
    goal.unlink()
    with atomic.replacing(goal, False) as temporary:
        temporary.write_bytes(b"done")
    assert goal.read_bytes() == b"done"


def test_a_folder_that_vanishes(tmp_path):
    folder = tmp_path / "folder"
    with pytest.raises(OutputError), atomic.replacing(folder / "out.png", False):
        pass
    folder.mkdir()
    with pytest.raises(OutputError), atomic.replacing(folder / "out.png", False) as temporary:
        temporary.unlink()
        folder.rmdir()


def test_several_temporary_files_at_a_time(tmp_path):
    goal = tmp_path / "out.png"
    with atomic.replacing(goal, True) as one, atomic.replacing(goal, True) as two:
        assert one != two
        one.write_bytes(b"outer")
        two.write_bytes(b"inner")
    assert goal.read_bytes() == b"outer" and names(tmp_path) == ["out.png"]


def test_a_link_is_followed(tmp_path):
    real, link = tmp_path / "real.png", tmp_path / "link.png"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    with atomic.replacing(link, overwrite=True) as temporary:
        temporary.write_text("new")
    assert link.is_symlink() and real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600


def test_without_hard_links(tmp_path, monkeypatch):
    """FAT and some network file systems have none."""

    def refuse(source, goal):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    with atomic.replacing(tmp_path / "a.png", overwrite=False) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "a.png").read_text() == "new"
    with (
        pytest.raises(OutputError),
        atomic.replacing(tmp_path / "a.png", overwrite=False) as temporary,
    ):
        temporary.write_text("newer")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert (tmp_path / "a.png").read_text() == "new"


def test_contents_are_on_the_disk_before_the_name(tmp_path, monkeypatch):
    goal, seen, real = tmp_path / "a.png", [], os.fsync

    def sync(descriptor):
        seen.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), goal.exists()))
        real(descriptor)

    monkeypatch.setattr("os.fsync", sync)
    with atomic.writing(goal, False) as file:
        file.write(b"done")
    assert seen == [(False, False), (True, True)]


@pytest.mark.parametrize(("number", "fails"), [(22, False), (5, True), (28, True), (122, True)])
def test_what_the_disk_says_at_last(tmp_path, monkeypatch, number, fails):
    """EINVAL comes from file systems that have no fsync."""

    def sync(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.fsync", sync)
    goal = tmp_path / "a.png"
    if not fails:
        with atomic.writing(goal, False) as file:
            file.write(b"done")
        assert goal.read_bytes() == b"done"
        return
    with (
        pytest.raises(OutputError, match=r"a\.png could not be written: " + os.strerror(number)),
        atomic.writing(goal, False) as file,
    ):
        file.write(b"done")
    assert names(tmp_path) == []


def test_the_umask_is_never_changed(tmp_path, monkeypatch):
    monkeypatch.setattr("os.umask", lambda mask: pytest.fail("other threads would see it"))
    with atomic.replacing(tmp_path / "a.png", False):
        pass


@pytest.mark.parametrize("mask", [0o777, 0o400, 0o200])
def test_a_umask_that_keeps_the_owner_out(tmp_path, mask):
    before = os.umask(mask)
    try:
        with atomic.replacing(tmp_path / "a.png", False) as temporary:
            temporary.write_bytes(b"done")
            assert temporary.stat().st_mode & 0o600 == 0o600
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.png").stat().st_mode) == 0o666 & ~mask


def test_a_private_file_stays_private_meanwhile(tmp_path):
    goal = tmp_path / "a.png"
    goal.write_bytes(b"secret")
    goal.chmod(0o640)
    with atomic.replacing(goal, True) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert stat.S_IMODE(goal.stat().st_mode) == 0o640


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
@pytest.mark.parametrize("may", [True, False])
def test_the_owner_of_a_file_that_is_replaced(tmp_path, monkeypatch, may):
    goal = tmp_path / "a.png"
    goal.write_bytes(b"theirs")
    goal.chmod(0o664)
    os.chown(goal, 1234, 5678)
    if not may:

        def refuse(*arguments):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr("os.fchown", refuse)
    with atomic.replacing(goal, True):
        pass
    found = goal.stat()
    assert (found.st_uid, found.st_gid) == ((1234, 5678) if may else (0, found.st_gid))
    assert stat.S_IMODE(found.st_mode) == (0o664 if may else 0o644)  # another group may read only


def test_what_a_library_writes_is_never_cut_short(tmp_path):
    """Through a descriptor Pillow would not look at how much of a write the system took."""
    with atomic.writing(tmp_path / "a.png", False) as file, pytest.raises(OSError):
        file.fileno()


def test_a_file_without_a_name_is_no_target(tmp_path):
    if not os.path.lexists("/proc/self/fd"):
        pytest.skip("no /proc here")
    (tmp_path / "gone").touch()
    with (tmp_path / "gone").open("w") as stream:
        (tmp_path / "gone").unlink()
        (tmp_path / "a.png").symlink_to(f"/proc/self/fd/{stream.fileno()}")
        with pytest.raises(InputError, match="not a file that can be replaced"):
            atomic.check_target(tmp_path / "a.png", None, True)
    assert names(tmp_path) == ["a.png"]


def test_a_run_may_write_a_checkpoint_again(tmp_path):
    goal = tmp_path / "a.checkpoint"
    with atomic.protected([]):
        for data in (b"first", b"second"):
            with atomic.rewriting(goal) as file:
                file.write(data)
            assert goal.read_bytes() == data
        with pytest.raises(KeyError), atomic.rewriting(goal) as file:
            file.write(b"third")
            raise KeyError
        assert goal.read_bytes() == b"second" and list(tmp_path.iterdir()) == [goal]
        with atomic.writing(goal, True) as file:
            file.write(b"done")
        with pytest.raises(InputError, match="output of this run already"):
            atomic.check_target(goal, None, True)
