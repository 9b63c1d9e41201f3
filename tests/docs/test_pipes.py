"""Pipes of the documentation keep the number of frames, whatever the times of these are."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import av
import pytest

from support.video.clips import make

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = [
    (page.name, found.strip())
    for page in sorted(DOCS.glob("*.md"))
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    for found in re.split(r"[|\n]", block.replace("\\\n", " "))
    if found.strip().startswith("ffmpeg ") and found.rstrip().endswith("yuv4mpegpipe -")
]


def test_there_are_such_commands():
    assert {page for page, _ in COMMANDS} >= {"recipes.md", "remastering.md"}


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_frames_are_neither_repeated_nor_dropped(page, command, tmp_path):
    """Of a film with a gap in its times."""
    assert "-fps_mode passthrough" in command
    if (program := shutil.which("ffmpeg")) is None:
        pytest.skip("no ffmpeg here")
    words = shlex.split(command)
    source = words[words.index("-i") + 1]
    with_gap(tmp_path / source)
    found = subprocess.run(
        [program, "-loglevel", "error", *words[1:]], cwd=tmp_path, capture_output=True, check=True
    )
    assert found.stdout.count(b"FRAME") == 6


def with_gap(target):
    """Write six frames, of which the last three are shown a second later."""
    make(target.with_name("made.mkv"), frames=6, size=(32, 32))
    with av.open(target.with_name("made.mkv")) as before, av.open(target, "w") as after:
        old = before.streams.video[0]
        new = after.add_stream_from_template(old)
        for number, packet in enumerate(before.demux(old)):
            if packet.pts is None:
                continue
            late = int(1 / packet.time_base) * (number >= 3)
            packet.pts, packet.dts = packet.pts + late, packet.dts + late
            packet.stream = new
            after.mux(packet)
