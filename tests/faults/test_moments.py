"""A signal at moments of a command's writing, by count instead of by the clock."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys

import pytest

from support.faults import COMMANDS, ROOT, Scene, inputs, measured

SEED = int(os.environ.get("SNELLEN_FAULTS_SEED", "0")) or random.SystemRandom().getrandbits(31)
MOMENTS = int(os.environ.get("SNELLEN_FAULTS", "12"))

_STRUCK = """
import os, signal, sys
from support.moments import Interrupts
from snellen.cli import main
moment, sys.argv = int(sys.argv[1]), ["snellen", *sys.argv[2:]]
files = ("snellen/unfinished.py", "files/atomic.py", "files/leftovers.py", "mad/heatmap.py",
         "jobs/inputs/folders.py", "contextlib.py")
moments = Interrupts(files, lambda: os.kill(os.getpid(), signal.SIGHUP))
try:
    moments.at(moment, main)
finally:
    print(moments.passed, flush=True)
"""


@pytest.mark.slow
def test_moments_of_maps_and_a_table(tmp_path):
    command = next(one for one in COMMANDS if one.name == "maps")
    scene = Scene(tmp_path / "scene", inputs(tmp_path / "given" / "in"))
    whole = measured(scene, command)

    def struck(moment):
        scene.reset()
        return subprocess.run(
            [sys.executable, "-c", _STRUCK, str(moment), *command.words],
            cwd=scene.folder, env=scene.environment() | {"PYTHONPATH": f"{ROOT}/src:{ROOT}/tests"},
            stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120,
        )  # fmt: skip

    count = int(struck(1 << 40).stdout.split()[-1])
    assert scene.visible().keys() == whole.files.keys()
    draw, found = random.Random(SEED), []
    for moment in sorted(draw.sample(range(count), MOMENTS)):
        ended = struck(moment)
        wrong = [f"left {one}" for one in scene.hidden()]
        wrong += [n for n, data in scene.visible().items() if not whole.is_whole(n, data)]
        if ended.returncode not in (0, 130, -signal.SIGHUP) or b"Traceback" in ended.stderr:
            wrong.append(f"{ended.returncode}: {ended.stderr[-600:]!r}")
        if wrong:
            found.append(f"seed {SEED}, moment {moment} of {count}: {wrong}")
    assert not found, "\n".join(found)
