"""Folders of compiled code: their order, and whose files are taken."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path

import pytest

from snellen import caches

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX owners and modes")
KEY, CONTENT = "a" * 64, b"code"
NOBODY = 65534


@pytest.fixture
def places(monkeypatch, tmp_path):
    """The three folders, empty: chosen, the user's, temporary."""
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "chosen"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    found = [folder.path for folder in caches.folders()]
    mine = f"snellen-{os.geteuid()}"
    assert found == [tmp_path / "chosen", tmp_path / "home/snellen", tmp_path / "temporary" / mine]
    return [folder / "kernels" for folder in found]


@pytest.fixture
def file(places):
    """The one file of the first folder."""
    caches.write("kernels", KEY, CONTENT)
    (found,) = places[0].iterdir()
    return found


def read():
    return caches.read("kernels", KEY)


def owned(monkeypatch, path, owner):
    """Let a path, as the system tells it, belong to somebody; works as an ordinary user, too."""
    real_lstat, real_fstat = Path.lstat, os.fstat

    def changed(found):
        return os.stat_result((*found[:4], owner, *found[5:]))

    monkeypatch.setattr(
        Path, "lstat", lambda one: changed(real_lstat(one)) if one == path else real_lstat(one)
    )
    inode = path.stat().st_ino

    def fstat(handle):
        found = real_fstat(handle)
        return changed(found) if found.st_ino == inode else found

    monkeypatch.setattr(os, "fstat", fstat)


def test_what_was_written_is_read(places, file):
    assert read() == CONTENT and caches.read("loops", KEY) is None
    assert file.read_bytes() == hashlib.sha256(CONTENT).digest() + CONTENT
    assert [path.exists() for path in places] == [True, False, False]


@pytest.mark.parametrize("umask", [0, 0o077])
def test_folders_and_files_have_safe_modes_whatever_the_umask(places, umask):
    before = os.umask(umask)
    try:
        caches.write("kernels", KEY, CONTENT)
        places[0].rename(places[0].with_name("elsewhere"))
        places[0].write_bytes(b"")  # no folder: the next one is taken
        caches.write("kernels", KEY, CONTENT)
    finally:
        os.umask(before)
    assert read() == CONTENT
    for path in (places[0].parent, *places[1].parents[:2], places[1], *places[1].iterdir()):
        assert not path.stat().st_mode & caches.OTHERS
    assert stat.S_IMODE(places[1].stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [b"", b"short", hashlib.sha256(CONTENT).digest() + b"cod", os.urandom(300)],
    ids=["empty", "short", "cut", "random"],
)
def test_what_is_damaged_is_not_there(file, damage):
    file.write_bytes(damage)
    assert read() is None


def test_too_large_a_file_is_not_read(file, monkeypatch):
    monkeypatch.setattr(caches, "LARGEST", 35)
    assert read() is None


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_can_write_is_not_taken(file, mode):
    file.chmod(mode)
    assert read() is None


def test_a_file_of_another_user_is_not_taken(file, monkeypatch):
    owned(monkeypatch, file, NOBODY)
    assert read() is None


def test_a_link_is_not_followed(file, tmp_path):
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert read() is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_not_taken(file, make):
    file.unlink()
    make(file)
    assert read() is None  # and at once


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_that_others_can_write_is_not_used(places, file, level, mode):
    """Nor what is in a folder in it: it could be replaced."""
    folder = (file.parent, *file.parents)[level + (level > 0)]
    before = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(mode)
    try:
        assert "can be written by other users" in caches.distrust(places[0])
        assert read() is None
        caches.write("kernels", KEY, CONTENT)
        assert list(places[0].iterdir()) == [file]
        # The sticky bit, as of /tmp, protects what is in a folder, but it does not keep others out.
        folder.chmod(mode | stat.S_ISVTX)
        assert bool(caches.distrust(places[0])) == (level == 0)
    finally:
        folder.chmod(before)


def test_a_folder_of_another_user_is_not_used(places, file, monkeypatch):
    owned(monkeypatch, places[0].parent, NOBODY)
    assert "another user" in caches.distrust(places[0])
    assert read() is None
    caches.write("kernels", KEY, CONTENT)
    assert read() == CONTENT and list(places[1].iterdir())


def test_a_folder_of_root_serves_everybody(places, file, monkeypatch):
    owned(monkeypatch, places[0], 0)
    assert read() == CONTENT


def test_a_read_only_folder_is_read_and_new_code_goes_to_the_users_own(places, file, monkeypatch):
    def full(path, *rest):
        if path == places[0]:
            raise PermissionError
        return really(path, *rest)

    really = caches._write
    monkeypatch.setattr(caches, "_write", full)
    caches.write("kernels", "b" * 64, b"more")
    assert read() == CONTENT and caches.read("kernels", "b" * 64) == b"more"
    assert [path.name for path in places[1].iterdir()] == ["b" * 64 + caches.SUFFIX]


def test_without_a_home_the_temporary_folder_is_used(places, monkeypatch, tmp_path):
    for name in ("chosen", "home"):
        (tmp_path / name).write_bytes(b"")
    caches.write("kernels", KEY, CONTENT)
    assert read() == CONTENT and stat.S_IMODE(places[2].parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_temporary_folder_that_was_planted_is_not_used(places, monkeypatch, tmp_path, kind):
    for name in ("chosen", "home"):
        (tmp_path / name).write_bytes(b"")
    planted = places[2].parent
    if kind == "file":
        planted.write_bytes(b"")
    else:
        (tmp_path / "theirs/kernels").mkdir(parents=True)
        planted.symlink_to(tmp_path / "theirs")
    caches.write("kernels", KEY, CONTENT)
    assert read() is None and not list(tmp_path.glob("theirs/kernels/*"))


def test_a_full_disk_leaves_nothing(places, monkeypatch):
    class Full:
        def __init__(self, handle):
            self.handle = handle

        def __enter__(self):
            return self

        def write(self, data):
            raise OSError(28, "No space left on device")

        def __exit__(self, *error):
            os.close(self.handle)

    monkeypatch.setattr(os, "fdopen", lambda handle, mode: Full(handle))
    caches.write("kernels", KEY, CONTENT)
    assert not [file for place in places for file in place.iterdir()]


def test_what_doctor_says(places, file, tmp_path):
    (tmp_path / "home").write_bytes(b"")
    (tmp_path / "temporary").chmod(0o777)
    found = list(caches.states().items())
    assert found[0] == (str(tmp_path / "chosen"), "read and written")
    assert found[1][1] == "not there, and it cannot be made"
    assert found[2][1].startswith("not used: ") and "other users" in found[2][1]


def test_the_users_folder_without_settings(monkeypatch):
    for name in ("SNELLEN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    first = next(caches.folders())
    assert first.path == Path.home().resolve() / ".cache/snellen" and first.private
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the specification says to ignore it
    assert len(list(caches.folders())) == 1


def test_what_a_killed_process_left_is_removed(places, file):
    old, new = (file.parent / f".{KEY[:16]}-{name}.part" for name in ("old", "new"))
    for left in (old, new):
        left.write_bytes(b"")
    os.utime(old, (0, 0))
    caches.write("kernels", "b" * 64, b"more")
    assert not old.exists() and new.exists()


def test_what_a_later_folder_has_is_kept_in_the_first_where_that_is_wanted(places, monkeypatch):
    """Others than the user, who read the first folder, would compile it again."""
    monkeypatch.delenv("SNELLEN_CACHE")
    caches.write("kernels", KEY, CONTENT)
    monkeypatch.setenv("SNELLEN_CACHE", str(places[0].parent))
    assert read() == CONTENT and not places[0].exists()
    with caches.completed():
        assert read() == CONTENT
    (copied,) = places[0].iterdir()
    assert copied.read_bytes() == next(places[1].iterdir()).read_bytes()
    with caches.completed():
        before = copied.stat().st_mtime_ns
        assert read() == CONTENT and copied.stat().st_mtime_ns == before
