"""Commands that a signal ends at any moment leave nothing half done.

`make faults RUNS=300` strikes that many times, at moments drawn by a seed that is printed;
`SEED=n` repeats them.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys

import pytest

from support.faults import COMMANDS, LATER, Scene, Whole, faults, inputs, measured, tree

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
RUNS = int(os.environ.get("SNELLEN_FAULTS", "36"))
SEED = int(os.environ.get("SNELLEN_FAULTS_SEED", "0")) or random.SystemRandom().getrandbits(31)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    return inputs(tmp_path_factory.mktemp("given") / "in")


def strike(folder, given, commands, runs, draw):
    """Strike commands in turn; return what was wrong."""
    scene = Scene(folder / "scene", given)
    wholes = {command.name: measured(scene, command) for command in commands}
    found = []
    for i in range(runs):
        command = commands[i % len(commands)]
        number = draw.choice(SIGNALS)
        whole = wholes[command.name]
        delay = draw.uniform(0, 1.05 * whole.seconds)
        group = number == signal.SIGINT and draw.random() < 0.5
        what = f"seed {SEED}, run {i}: {command.name}, {number.name} after {delay:.3f} s"
        scene.reset(command)
        ended = scene.struck(command, number, delay, group)
        wrong = faults(scene, whole, number, delay, ended)
        killed = number == signal.SIGKILL
        if ended.sent and not wrong and (killed or (command.goes_on and ended.code)):
            wrong = after_a_kill(scene, command, whole)
        found += [f"{what}: {one}" for one in wrong]
        for one in wrong:
            print(f"{what}: {one}", flush=True)
    return found


def after_a_kill(scene, command, whole):
    """The same command again: it removes what the killed one left, says so, and makes all."""
    left = scene.hidden()
    left += [path.name for path in (scene.folder / "tmp").iterdir() if any(path.iterdir())]
    ended = scene.run(command)
    made = scene.visible()
    found = []
    if ended.code != 0:
        found.append(f"the next run: exit code {ended.code}, {ended.err[-400:]!r}")
    if made.keys() != whole.files.keys():
        found.append(f"the next run made {sorted(made)} of {sorted(whole.files)}")
    found += [
        f"the next run: {n} is not whole" for n, d in made.items() if not whole.is_whole(n, d)
    ]
    if still := scene.hidden() + [path.name for path in (scene.folder / "tmp").iterdir()]:
        found.append(f"the next run left {still}")
    if scene.waiting() != whole.waiting:
        found.append(f"the next run left {scene.waiting()}; expected {whole.waiting}")
    if left and not any(name.rsplit("/", 1)[-1] in ended.err for name in left):
        found.append(f"the next run removed {left} without a word: {ended.err[-400:]!r}")
    if tree(scene.folder / "in") != scene.before:
        found.append("the next run changed an input")
    return found


def test_reports_differ_by_their_times_only():
    """A report names the minute it was made in, which the next run's differs in."""
    page = "<dd>{}, in {} s</dd><dd>2026-07-01 09:{} UTC</dd></dl>"
    whole = Whole({"p.html": page.format("luma", "1.5", "59").encode()}, b"", 1.0, set())
    assert whole.is_whole("p.html", page.format("luma", "0.12", "07").encode())
    assert not whole.is_whole("p.html", page.format("chroma", "1.5", "59").encode())
    assert not whole.is_whole("p.html", page.format("luma", "1.5", "59").encode()[:-1])


@pytest.mark.slow
def test_some_signals(tmp_path, given):
    """One command, twice: the rest is slow."""
    draw = random.Random(SEED)
    commands = [c for c in COMMANDS if c.name == "train"]
    assert strike(tmp_path, given, commands, 2, draw) == []


@pytest.mark.slow
def test_signals_at_any_moment_of_every_command(tmp_path, given):
    draw = random.Random(SEED)
    print(f"SNELLEN_FAULTS_SEED={SEED}")
    commands = [c for c in COMMANDS if os.environ.get("SNELLEN_FAULTS_OF", "") in c.name]
    found = strike(tmp_path, given, commands, RUNS, draw)
    assert found == [], "\n".join(found)


@pytest.mark.slow
def test_signals_at_any_moment_of_what_goes_on(tmp_path, given):
    draw = random.Random(SEED)
    print(f"SNELLEN_FAULTS_SEED={SEED}")
    commands = [c for c in LATER if os.environ.get("SNELLEN_FAULTS_OF", "") in c.name]
    draw.shuffle(commands)
    found = strike(tmp_path, given, commands[: max(2, RUNS // 18)], max(4, RUNS // 9), draw)
    assert found == [], "\n".join(found)


def test_the_exit_code_of_an_interrupt_in_generated_code(tmp_path):
    """Where dataclasses are made while modules are imported: `python -m` would die of SIGINT."""
    (tmp_path / "struck.py").write_text(
        "import sys\nfrom snellen.cli import interrupts\n"
        "try:\n    exec('raise KeyboardInterrupt')\n"
        "except KeyboardInterrupt:\n    interrupts.end(130)\n    sys.exit(130)\n"
    )
    done = subprocess.run([sys.executable, "-m", "struck"], cwd=tmp_path, check=False)
    assert done.returncode == 130


def test_a_signal_while_python_ends(tmp_path):
    """Its handlers are gone then; the work is done, and its exit code stays."""
    (tmp_path / "late.py").write_text(
        "import os, signal, sys\nfrom snellen.cli import interrupts\n"
        "class Late:\n    def __del__(self):\n        self.kill(self.pid, 1)\n"
        "late = Late()\nlate.kill, late.pid = os.kill, os.getpid()\n"
        "interrupts.install()\ninterrupts.end(3)\nsys.last = late\nsys.exit(3)\n"
    )
    done = subprocess.run([sys.executable, "late.py"], cwd=tmp_path, check=False)
    assert done.returncode == 3


@pytest.mark.slow
def test_the_end_beside_threads_that_are_in_a_library(tmp_path):
    """Python's own end aborts where SciPy's C++ comes back to it (seen once in 300 runs)."""
    (tmp_path / "busy.py").write_text(
        "import atexit, sys, threading\nimport numpy as np\nfrom scipy import fft\n"
        "from snellen.cli import interrupts\n"
        "def work():\n    while True:\n        fft.rfft2(np.ones((64, 64)))\n"
        "for _ in range(3):\n    threading.Thread(target=work, daemon=True).start()\n"
        "atexit.register(print, 'cleaned up')\n"
        "interrupts.end(130)\ninterrupts.leave(130)\nsys.exit(130)\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "busy.py"], cwd=tmp_path, check=False, capture_output=True, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, b"cleaned up\n", b"")
