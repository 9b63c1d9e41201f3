"""An encoder does not make the process one of real time, for which all others would wait."""

from __future__ import annotations

import os
import sys

import pytest

from snellen import upscale_file
from support.video.clips import make


@pytest.mark.skipif(sys.platform != "linux", reason="the priorities of Linux")
def test_svt_av1_leaves_the_priority_as_it_was(tmp_path):
    source = make(tmp_path / "in.mkv")
    upscale_file(source, tmp_path / "out.webm", device="cpu", codec="libsvtav1")
    threads = map(int, os.listdir("/proc/self/task"))  # noqa: PTH208  # numbers
    assert {os.sched_getscheduler(one) for one in threads} == {os.SCHED_OTHER}
