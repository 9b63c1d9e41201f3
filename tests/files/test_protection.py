"""Files that are read, and outputs of one run, are never replaced, whatever they are called."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from snellen.errors import InputError, OutputError
from snellen.files import atomic, protection


def refused(target, match):
    with pytest.raises(InputError, match=match):
        atomic.check_target(target, None, True)
    with pytest.raises(OutputError, match=match), atomic.replacing(target, True):
        pytest.fail("it was to be replaced")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.png"
    path.write_bytes(b"in")
    return path


@pytest.mark.parametrize("how", ["name", "dots", "symlink_to", "hardlink_to", "chain"])
def test_an_input_by_any_name(source, tmp_path, how):
    target = tmp_path / "out.png"
    if how == "name":
        target = source
    elif how == "dots":
        target = tmp_path / ".." / tmp_path.name / "in.png"
    elif how == "chain":
        (tmp_path / "folder").symlink_to(tmp_path)
        target.symlink_to(tmp_path / "folder" / "in.png")
    else:
        getattr(target, how)(source)
    with atomic.protected([source]):
        refused(target, "is the input itself")
    assert source.read_bytes() == b"in"
    atomic.check_target(target, None, True)


def test_an_input_by_its_descriptor(source):
    with source.open("rb") as stream, atomic.protected([stream]):
        refused(source, "is the input itself")
        if (name := Path(f"/dev/fd/{stream.fileno()}")).exists():
            with atomic.protected([name]):
                refused(source, "is the input itself")


def test_what_cannot_be_found_protects_nothing(source):
    def files():
        yield source
        raise InputError("no such folder")

    with pytest.raises(InputError, match="no such folder"), atomic.protected(files()):
        pytest.fail("it begins")
    atomic.check_target(source, None, True)


def test_inputs_are_counted(source, tmp_path):
    with atomic.protected([source, source]):
        with atomic.protected([tmp_path / "none.png", source]):
            pass
        refused(source, "input")
    atomic.check_target(source, None, True)


def test_inputs_of_all_threads(source):
    begun, end = threading.Event(), threading.Event()

    def read():
        with atomic.protected([source]):
            begun.set()
            end.wait(60)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        assert begun.wait(60)
        refused(source, "input")
    finally:
        end.set()
        thread.join()
    atomic.check_target(source, None, True)


@pytest.mark.parametrize("how", ["moved", "hardlink_to"])
def test_a_target_that_becomes_an_input_meanwhile(source, tmp_path, how):
    target = tmp_path / "out.png"
    with (
        pytest.raises(OutputError, match="is the input itself"),
        atomic.protected([source]),
        atomic.replacing(target, True) as temporary,
    ):
        temporary.write_bytes(b"new")
        source.rename(target) if how == "moved" else target.hardlink_to(source)
    assert target.read_bytes() == b"in" and not list(tmp_path.glob(".*"))


def test_a_target_that_becomes_a_link_meanwhile(source, tmp_path):
    target = tmp_path / "out.png"
    with (
        pytest.raises(OutputError, match="can be replaced"),
        atomic.replacing(target, True) as temporary,
    ):
        temporary.write_bytes(b"new")
        target.symlink_to(source)
    assert target.is_symlink() and source.read_bytes() == b"in"


def test_outputs_of_one_run(tmp_path):
    one, other = tmp_path / "one.png", tmp_path / "other.png"
    other.symlink_to(one)
    with atomic.protected([]):
        with atomic.protected([]), atomic.writing(one, True) as file:
            file.write(b"one")
        refused(other, "is an output of this run already")
    assert one.read_bytes() == b"one"
    with atomic.writing(other, True) as file:  # another run
        file.write(b"other")
    assert one.read_bytes() == b"other" and other.is_symlink()


def test_the_file_that_standard_output_goes_to(source, tmp_path, monkeypatch):
    out = tmp_path / "out.txt"
    with out.open("w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        refused(out, "standard output goes to")
        with atomic.protected([out]), pytest.raises(InputError, match="goes into an input"):
            protection.check_streams()
        with atomic.protected([source]):
            protection.check_streams()
    monkeypatch.setattr(sys, "stdout", None)
    protection.check_streams()


def test_devices_and_pipes_are_no_inputs(tmp_path):
    read, write = os.pipe()
    with os.fdopen(read), os.fdopen(write, "w") as stream:
        assert protection.identity(stream) is None
    assert protection.identity(Path(os.devnull)) is None
    assert protection.identity(None) is None
