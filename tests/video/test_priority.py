"""An encoder does not make the process one of real time, for which all others would wait."""

from __future__ import annotations

import os
import sys

import pytest

from fuzz import films
from fuzz.case import Random
from snellen import upscale_file
from snellen.jobs import checkup
from support.video.clips import make


def upscaled(folder):
    source = make(folder / "in.mkv")
    upscale_file(source, folder / "out.webm", device="cpu", codec="libsvtav1")


def checked(folder):
    assert checkup._encoder("libsvtav1") == "works"


def fuzzed(folder):
    (film,) = (one for one in films.FILMS if one.codec == "libsvtav1")
    films.make(film, Random(1))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the priorities of Linux")
@pytest.mark.parametrize("opens", [upscaled, checked, fuzzed], ids=lambda one: one.__name__)
def test_svt_av1_leaves_the_priority_as_it_was(tmp_path, opens):
    opens(tmp_path)
    threads = map(int, os.listdir("/proc/self/task"))  # noqa: PTH208  # numbers
    assert {os.sched_getscheduler(one) for one in threads} == {os.SCHED_OTHER}
