"""Runs in segments that are killed at any moment, by SIGKILL, go on with what is finished."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

from snellen.video.segments.store import tidy
from support.video.checks import PATHS
from support.video.clips import SRT, make, read
from support.video.segments import DIFFICULT, difficult

SEED = int(os.environ.get("SNELLEN_FAULTS_SEED", "0")) or random.SystemRandom().getrandbits(31)
KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "bf": "2", "preset": "veryfast"}

# With a macroblock tree, which this preset has not, libx264 may give other bytes, once in 50 times.
DRIVER = """
import os, signal, sys
from pathlib import Path
import snellen
from snellen.video.steps.chain import Chain
from snellen.video.convert import Clip, Encoding, Segments
from support.video.converting import convert
from snellen.video.segments import cuts, join
from support.video.steps import Between, Median, Nearest

cuts.LONG, cuts.SECONDS, cuts.LEADING = 1, {"cpu": 1}, 0
source, target, at = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
put = join.JoiningSink.put
def dying(sink, packet):
    if sink.written == at:
        os.kill(os.getpid(), signal.SIGKILL)
    put(sink, packet)
join.JoiningSink.put = dying
how = Segments(target.with_name(target.name + ".segments"), {}, print)
kind = sys.argv[4]
print("ready", flush=True)
if kind == "deblur":
    snellen.deblur_file(source, target, prior=None, psf_size=3, iterations=2, window=2,
                        device="cpu", preset="ultrafast", psf_out=target.with_suffix(".npy"))
    sys.exit()
step = Chain(Median(), Between(), Nearest()) if kind == "reach" else Nearest()
fields = {"ivtc": True} if kind == "ivtc" else {"deinterlace": kind}
clip = Clip(interlaced="top", **fields) if kind in ("frame", "field", "ivtc") else None
convert(source, target, step, encoding=Encoding(preset="ultrafast"), clip=clip, segments=how)
"""


@pytest.fixture
def source(tmp_path):
    return long_film(tmp_path)


def long_film(folder):
    return make(folder / "in.mkv", rate=Fraction(12), frames=180, size=(160, 120), options=KEYS,
                audio="aac", subtitles=SRT, chapters=((0, 9000, "one"),))  # fmt: skip


def started(command):
    environment = {**os.environ, "PYTHONPATH": PATHS}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def driven(source, target, at=-1, kind="plain"):
    return started([sys.executable, "-c", DRIVER, str(source), str(target), str(at), kind])


def killed(process, delay):
    """Kill a process after so many seconds; return its exit code, and what it printed."""
    try:
        said, _ = process.communicate(timeout=delay)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
    return process.returncode, said


def parts(target):
    """When each segment was written that has a record, and so is finished."""
    folder = target.with_name(f"{target.name}.segments")
    done = [file.stem for file in folder.glob("[0-9]*.record")]
    return {n: (folder / f"{n}.packets").stat().st_mtime_ns for n in done}


def same(one, other):
    a, b = read(one), read(other)
    assert a.times == b.times
    assert a.packets.keys() == b.packets.keys()
    assert {k: v for k, v in a.packets.items() if k} == {k: v for k, v in b.packets.items() if k}
    assert (a.types, a.chapters) == (b.types, b.chapters)
    for x, y in zip(a.frames, b.frames, strict=True):
        assert all(bytes(p) == bytes(q) for p, q in zip(x.planes, y.planes, strict=True))


def film(folder, kind, draw):
    """Make a film for a kind of run, at whose cuts something may be special."""
    if kind == "plain":
        return long_film(folder)
    if kind in ("reach", "deblur"):
        return difficult(draw.choice(DIFFICULT), folder, 150)
    return make(folder / f"in{draw.choice(['.mkv', '.ts'])}", rate=Fraction(30000, 1001),
                frames=200, fields="telecined" if kind == "ivtc" else "woven", interlaced=True,
                phase=draw.randrange(5), options={**KEYS, "crf": "0", "g": "14"})  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "reach", "fields", "deblur"])
def test_kills_at_random_moments(tmp_path, kind):
    draw = random.Random(SEED)
    if kind == "fields":
        kind = draw.choice(["frame", "field", "ivtc"])
    source = film(tmp_path, kind, draw)
    begun = {one.name for one in tmp_path.iterdir()}
    print(f"seed {SEED}: {kind} of {source.name}")
    whole, target = tmp_path / "whole.mkv", tmp_path / "out.mkv"
    process = driven(source, whole, kind=kind)
    process.stdout.readline()  # Python has started, which takes longer than a short film
    began = time.monotonic()
    code, said = killed(process, None)
    assert code == 0, said
    usual = time.monotonic() - began
    kills, known = 0, {}
    for attempt in range(200):
        process = driven(source, target, kind=kind)
        process.stdout.readline()  # Python has started
        longer = 1 + attempt / 20  # else it would never end where one segment takes that long
        code, said = killed(process, draw.uniform(0, usual / 6 * longer))
        if target.exists():  # the run is killed while it ends
            tidy(target.with_name(f"{target.name}.segments"), target)
            break
        now = parts(target)
        assert code == -signal.SIGKILL, said
        assert known.items() <= now.items(), "a finished segment was made again"
        known, kills = now, kills + 1
    else:
        pytest.fail("it never ended")
    assert kills > 2
    same(whole, target)
    found = {"out.mkv", "whole.mkv"}
    if kind == "deblur":
        found |= {"whole.npy", "out.npy"}
        assert np.array_equal(np.load(tmp_path / "out.npy"), np.load(tmp_path / "whole.npy"))
    assert {p.name for p in tmp_path.iterdir()} == begun | found


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 100, 179])
def test_a_kill_while_segments_are_joined(tmp_path, source, at):
    whole, target = tmp_path / "whole.mp4", tmp_path / "out.mp4"
    assert killed(driven(source, whole), None)[0] == 0
    assert killed(driven(source, target, at), None)[0] == -signal.SIGKILL
    assert not target.exists()
    before = parts(target)
    assert len(before) == 15
    code, said = killed(driven(source, target), None)
    assert code == 0, said
    assert "15 of 15 segments are finished" in said
    same(whole, target)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.mkv", "out.mp4", "whole.mp4"]


@pytest.mark.slow
def test_the_command_goes_on(tmp_path):
    """A film of 100 seconds, as the command takes it."""
    source = make(tmp_path / "in.mkv", rate=Fraction(2), frames=200, options=KEYS, audio="aac")
    target, whole = tmp_path / "out.mkv", tmp_path / "whole.mkv"

    def command(target, *more):
        return started([sys.executable, "-m", "snellen", "upscale", str(source), "-o", str(target),
                        "--device", "cpu", "--preset", "ultrafast", *more])  # fmt: skip

    code, said = killed(command(whole), None)
    assert code == 0, said
    process = command(target)
    while len(parts(target)) < 3:
        time.sleep(0.02)
        assert process.poll() is None
    killed(process, 0)
    code, said = killed(command(target, "--crf", "30"), None)
    assert code == 2
    assert "crf" in said
    assert "--discard-segments" in said
    with source.open("r+b") as file:  # another date
        os.utime(file.fileno(), (1, 1))
    code, said = killed(command(target), None)
    assert code == 2
    assert "the input is another one" in said
    assert len(parts(target)) >= 3
    code, said = killed(command(target, "--discard-segments"), None)
    assert code == 0, said
    same(whole, target)
