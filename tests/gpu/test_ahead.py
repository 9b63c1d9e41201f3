"""Kernels compile side by side, each once, and whoever needs one waits for it alone."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from pathlib import Path

import pytest

from snellen.errors import DeviceError
from snellen.gpu import ahead, loaded
from snellen.gpu import device as devices
from snellen.gpu.kernel import Kernel
from snellen.gpu.nvrtc import PACKAGE

FILES = [PACKAGE / f"{number}.cu" for number in range(40)]
WAIT = 20


@pytest.fixture
def compiler(monkeypatch):
    """A compiler that lists what it has begun, and waits as long as it is told to."""

    class Compiler:
        done, go_on, fails = [], threading.Event(), set()

        def __call__(self, file, arch, constants):
            self.done.append((file.name, arch, *constants.items()))
            assert self.go_on.wait(WAIT)
            if file in self.fails:
                raise DeviceError(f"{file.name} does not compile")
            return file.name

        def has_begun(self, count):
            end = time.monotonic() + WAIT
            while len(self.done) < count and time.monotonic() < end:
                time.sleep(0.001)
            return len(self.done) == count

    made = Compiler()
    monkeypatch.setattr(ahead.nvrtc, "compile", made)
    monkeypatch.setattr(ahead, "_files", OrderedDict())
    monkeypatch.setattr(ahead, "_cores", lambda: 3)
    yield made
    made.go_on.set()
    end = time.monotonic() + WAIT
    while ahead._threads and time.monotonic() < end:
        time.sleep(0.001)
    assert ahead._threads == 0 and not ahead._waiting


def begin(*numbers):
    for number in numbers:
        ahead.begin(FILES[number], "sm_90", {})


def take(number, arch="sm_90", **constants):
    return ahead.take(FILES[number], arch, constants)


def test_as_many_at_once_as_there_are_cores(compiler):
    begin(0, 1, 2, 3, 4)
    assert compiler.has_begun(3)
    compiler.go_on.set()
    assert [take(number) for number in range(5)] == [f"{number}.cu" for number in range(5)]
    assert sorted(compiler.done) == [(f"{number}.cu", "sm_90") for number in range(5)]


def test_what_no_thread_has_begun_is_compiled_by_whoever_takes_it(compiler):
    begin(0, 1, 2, 3)
    assert compiler.has_begun(3)
    fourth = threading.Thread(target=take, args=[3])
    fourth.start()
    assert compiler.has_begun(4)
    compiler.go_on.set()
    fourth.join(WAIT)


def test_each_is_compiled_once_for_each_architecture_and_constant(compiler):
    compiler.go_on.set()
    begin(0, 0)
    for _ in range(2):
        assert take(0) == take(0, "sm_80") == take(0, size=2) == "0.cu"
        begin(0)
    assert sorted(compiler.done) == [
        ("0.cu", "sm_80"), ("0.cu", "sm_90"), ("0.cu", "sm_90", ("size", 2)),
    ]  # fmt: skip


def test_several_wait_for_one(compiler):
    found = []
    begin(0)
    takers = [threading.Thread(target=lambda: found.append(take(0))) for _ in range(4)]
    for one in takers:
        one.start()
    compiler.go_on.set()
    for one in takers:
        one.join(WAIT)
    assert found == ["0.cu"] * 4 and len(compiler.done) == 1


def test_an_error_comes_where_the_code_is_needed_and_is_not_kept(compiler):
    compiler.fails.add(FILES[0])
    compiler.go_on.set()
    begin(0, 1)
    with pytest.raises(DeviceError, match=r"0\.cu does not compile"):
        take(0)
    compiler.fails.clear()
    assert take(0) == "0.cu" and take(1) == "1.cu"


def test_few_are_kept(compiler):
    compiler.go_on.set()
    for number in range(40):
        take(number)
        take(0)  # used again and again, so it is not compiled again
    assert len(ahead._files) == ahead.KEPT and len(compiler.done) == 40


def test_without_threads(compiler, monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    compiler.go_on.set()
    monkeypatch.setattr(threading.Thread, "start", start)
    begin(0, 1)
    assert take(1) == "1.cu" and take(0) == "0.cu"


def test_files_of_others_may_change(compiler, tmp_path):
    compiler.go_on.set()
    ahead.begin(tmp_path / "0.cu", "sm_90", {})
    for _ in range(2):
        assert ahead.take(tmp_path / "0.cu", "sm_90", {}) == "0.cu"
    assert len(compiler.done) == 2 and not ahead._files


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_waits_for_no_thread_of_its_parent(compiler):
    begin(0, 1, 2, 3)
    assert compiler.has_begun(3)
    child = os.fork()
    if not child:
        compiler.go_on = threading.Event()  # threads of the parent may hold the other one's lock
        compiler.go_on.set()
        os._exit(0 if take(0) == "0.cu" and take(3) == "3.cu" else 1)
    end = time.monotonic() + WAIT
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert ended == (child, 0)


@pytest.mark.parametrize("gpu", ["cpu", "cuda:1"])
def test_a_kernel_that_is_made_on_a_gpu_is_compiled_from_then_on(compiler, monkeypatch, gpu):
    compiler.go_on.set()
    monkeypatch.setattr(loaded, "_sources", OrderedDict())
    monkeypatch.setattr(devices, "current", lambda: gpu)
    monkeypatch.setattr(devices, "arch", lambda: "sm_120")
    kernel = Kernel(FILES[0], "some", size=2)
    there = gpu != "cpu"
    assert compiler.has_begun(there) and len(ahead._files) == there
    assert ahead.take(FILES[0], "sm_120", kernel.constants) == "0.cu" and len(compiler.done) == 1
    ahead._files.clear()
    loaded._sources[kernel._source, 1] = object()
    Kernel(FILES[0], "some", size=2)
    assert not ahead._files, "it has been loaded there"
    assert not Kernel(Path("/elsewhere/0.cu"), "some")._source and not ahead._files


def test_the_cores_that_this_process_may_use():
    assert 1 <= ahead._cores() <= os.cpu_count()
