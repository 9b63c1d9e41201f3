"""Commands that are struck while they run: by signals, full disks, inputs that change.

A scene is a folder with `in/`, `out/` and `tmp/`, in which a command runs as a child. `struck`
runs it and sends it a signal after a while; `faults` says what is wrong with what it left.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from snellen.stills.still import Still, write
from support.jobs import write_y4m
from support.video import clips

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20
"""After a signal a command ends within this; a few seconds, if the machine has nothing else."""
STARTING = 2.0
"""Seconds in which a signal may arrive before Python has come to our code, on a busy machine."""
FRAMES = 30


@dataclass(frozen=True)
class Command:
    """A command line of a scene."""

    name: str
    words: tuple[str, ...]
    stdin: str = ""
    codes: tuple[int, ...] = (0,)
    """Exit codes of a run that nothing disturbs."""
    before: tuple[tuple[str, ...], ...] = ()
    """Commands that run before it, undisturbed."""

    @property
    def rerun(self) -> tuple[str, ...]:
        """What every run gets, so that the next one may replace what it made."""
        return () if self.words[-1] == "-" or self.before else ("--overwrite",)

    @property
    def goes_on(self) -> bool:
        """Whether segments, or rows of a table, stay when it is ended, for the next run."""
        return "--pairs" in self.words or any("long" in word for word in self.words)


def _commands():
    yield "image", "upscale in/a.png -o out/a.png"
    yield "images", "upscale in/a.png in/b.png in/folder/c.png -o out --scale 3"
    yield "film", "upscale in/film.mkv -o out/film.mkv --preset ultrafast"
    yield "film of two", "upscale in/film.mkv in/clip.y4m in/a.png -o out --frames 8"
    yield "folder", "upscale in/folder -o out"
    yield "pipe", "upscale - -o -"
    yield "pipe to a film", "upscale - -o out/film.mp4 --preset ultrafast"
    yield "deblur image", "deblur in/a.png -o out/a.png --prior none --psf-size 5 --iterations 60"
    yield "deblur film", "deblur in/clip.y4m -o out/clip.y4m --psf-size 5 --iterations 5"
    yield "deblur burst", "deblur in/folder/c.png in/folder/d.png --burst -o out/b.tif --psf-size 5"
    yield "psf", "deblur in/a.png -o out/a.png --prior none --psf-size 5 --psf-out out/psf.npy"
    yield "psfs", "deblur in/folder -o out --prior none --psf-size 5 --iterations 20 --psf-out out"
    yield "score films", "score in/clip.y4m in/other.y4m --csv out/scores.csv"
    yield "score folders", "score in/folder in/folder2 --csv out/scores.csv --json"
    yield "maps", "score in/clip.y4m in/other.y4m --map-out out/maps --worst 5 --csv out/s.csv"
    yield (
        "train",
        (
            "train --images in/folder -o out/m.safetensors --anchors 16 --samples 3000 "
            "--iterations 3 --neighbours 64"
        ),
    )
    yield "bench", "bench aplus --quick --repeats 1 --device cpu -o out/bench.json"


COMMANDS = [
    Command(name, tuple(words.split()), "in/clip.y4m" if " - " in words else "")
    for name, words in _commands()
]
_LONG = "upscale in/long.mkv -o out/long.mkv --preset ultrafast --threads 1"
_PLAN = "upscale --plan out/long.plan"


def _later():
    """Yield commands whose work goes on after a kill, or that use the temporary folder."""
    film = "upscale in/film.mkv --preset ultrafast"
    yield "preview", f"{film} -o out/film.mkv --preview 2 --preview-seconds 0.3 --report out/p.html"
    yield "compare", "compare in/clip.y4m in/other.y4m -o out/report.html --pictures 3 --every 6"
    yield "report", f"{film} --frames 6 -o out/film.mkv --report out/report.html"
    yield "target", f"{film} -o out/film.mkv --target-mad 5"
    yield "dry run", f"{film} -o out/film.mkv --dry-run"
    yield "pairs", "score --pairs in/list.csv --csv out/table.csv"
    yield "pairs by workers", "score --pairs in/list.csv --csv out/table.csv --workers 2"
    yield "segments", _LONG
    yield "segments by workers", f"{_LONG} --workers 2"
    yield (
        "psfs of segments",
        (
            "deblur in/long.mkv -o out/long.mkv --preset ultrafast --threads 1 --prior none "
            "--psf-size 5 --iterations 3 --psf-out out/psf.npy"
        ),
    )
    yield "part of a plan", f"{_PLAN} --segments 2:5", f"{_LONG} --plan out/long.plan"
    yield "join", f"{_PLAN} --join", f"{_LONG} --plan out/long.plan", f"{_PLAN} --segments 1:99"


LATER = [
    Command(name, tuple(words.split()), before=tuple(tuple(one.split()) for one in before))
    for name, words, *before in _later()
]


def inputs(folder: Path) -> Path:
    """Make the folder `in` of a scene."""
    random = np.random.default_rng(14)
    (folder / "folder").mkdir(parents=True)
    (folder / "folder2").mkdir()
    steps = random.integers(0, 255, (12, 14)).astype(np.uint8).repeat(6, 0).repeat(6, 1)
    for i, name in enumerate(("a.png", "b.png", "folder/c.png", "folder/d.png", "folder/e.png")):
        write(folder / name, Still(np.ascontiguousarray(steps[i : 60 + i, i : 70 + i])))
    for path in (folder / "folder").iterdir():
        write(folder / "folder2" / path.name, Still(steps[3:63, 2:72] // 2 + 60))
    (folder / "folder" / "notes.txt").write_text("no picture\n")
    moving = [steps[n % 20 : n % 20 + 48, n % 15 : n % 15 + 64] for n in range(FRAMES)]
    chroma = [np.full((24, 32), value, np.uint8) for value in (110, 140)]
    write_y4m(folder / "clip.y4m", [[np.ascontiguousarray(m), *chroma] for m in moving])
    noise = random.integers(-9, 9, (FRAMES, 48, 64))
    others = [(m + n).clip(0, 255).astype(np.uint8) for m, n in zip(moving, noise, strict=True)]
    write_y4m(folder / "other.y4m", [[o, *chroma] for o in others])
    clips.make(folder / "film.mkv", frames=FRAMES, audio="aac")
    long = {"g": "10", "keyint_min": "10", "sc_threshold": "0", "bf": "2", "preset": "veryfast"}
    clips.make(folder / "long.mkv", rate=Fraction(1), frames=70, size=(48, 32), options=long)
    pairs = ("a.png,b.png", "b.png,b.png", "clip.y4m,other.y4m", "folder/c.png,folder2/c.png")
    (folder / "list.csv").write_text("\n".join(pairs * 2) + "\n")
    return folder


def reset_signals() -> None:
    """Give a child the signals as a terminal does; whoever runs the tests may ignore some."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def no_core() -> None:
    """Reset signals; leave no memory dump behind."""
    reset_signals()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def tree(folder: Path) -> dict[str, str]:
    """The files of a folder, by name, with digests of what is in them."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@dataclass
class Ended:
    """A child that has ended."""

    code: int
    out: bytes
    err: str
    seconds: float
    """Since the signal."""
    sent: bool
    """Whether it still ran when the signal was sent."""
    orphans: list[str] = field(default_factory=list)


class Scene:
    """A folder in which a command runs."""

    def __init__(self, folder: Path, source: Path):
        self.folder, self.source = folder, source
        self._prepared: dict[str, Path] = {}
        self.reset()

    def reset(self, command: Command | None = None) -> None:
        """Make it as new; what runs before a command is done."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
        shutil.copytree(self.source, self.folder / "in")
        for name in ("out", "tmp"):
            (self.folder / name).mkdir()
        self.before = tree(self.folder / "in")
        if command is not None and command.before:
            self._prepare(command)

    def _prepare(self, command: Command) -> None:
        """Do what runs before a command, or put there what that made."""
        kept = self._prepared.get(command.name)
        if kept is not None:
            shutil.copytree(kept, self.folder / "out", dirs_exist_ok=True)
            return
        for number, words in enumerate(command.before):
            ended = self.run(Command(f"{command.name} {number}", words, before=((),)))
            assert ended.code == 0, ended
        kept = self.folder.with_name(f"{self.folder.name} {command.name}")
        shutil.copytree(self.folder / "out", kept)
        self._prepared[command.name] = kept

    def start(self, command: Command, *more: str, setup=no_core, environment=None):
        """Start the child; its streams are files of the scene."""
        with (
            (self.folder / "stdout").open("wb") as out,
            (self.folder / "stderr").open("wb") as err,
            (self.folder / command.stdin if command.stdin else Path(os.devnull)).open(
                "rb"
            ) as given,
        ):
            return subprocess.Popen(
                [sys.executable, "-m", "snellen", *command.words, *command.rerun, *more],
                cwd=self.folder,
                stdin=given,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=setup,
                env={**self.environment(), **(environment or {})},
            )

    def environment(self) -> dict[str, str]:
        """The environment of a child; a disk that is full must not break Python's own files."""
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.folder / "tmp"),
            "NO_COLOR": "1",
        }

    def piped(self, command: Command, setup=no_core) -> Ended:
        """Run a command whose streams are pipes, which no limit of files concerns."""
        with (self.folder / command.stdin if command.stdin else Path(os.devnull)).open(
            "rb"
        ) as given:
            done = subprocess.run(
                [sys.executable, "-m", "snellen", *command.words, *command.rerun],
                cwd=self.folder,
                stdin=given,
                capture_output=True,
                preexec_fn=setup,
                env=self.environment(),
                check=False,
                timeout=300,
            )
        err = done.stderr.decode("utf-8", "replace")
        return Ended(done.returncode, done.stdout, err, 0.0, False)

    def end(self, child: subprocess.Popen, since: float, sent: bool, limit=SECONDS) -> Ended:
        """Wait for the child, and look for what it has left running."""
        try:
            code = child.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            code = 999
        seconds = time.monotonic() - since
        orphans = []
        for _ in range(10):  # those that have just been told to end
            if not (orphans := session(child.pid)):
                break
            time.sleep(0.1)
        return Ended(
            code,
            (self.folder / "stdout").read_bytes(),
            (self.folder / "stderr").read_text("utf-8", "replace"),
            seconds,
            sent,
            orphans,
        )

    def run(self, command: Command, *more: str, limit=180.0, **how) -> Ended:
        """Run a command to its end."""
        now = time.monotonic()
        return self.end(self.start(command, *more, **how), now, False, limit)

    def struck(self, command: Command, number: int, delay: float, group: bool) -> Ended:
        """Run a command and send it a signal after a delay; Ctrl-C goes to the whole group."""
        child = self.start(command)
        try:
            child.wait(delay)
            sent = False
        except subprocess.TimeoutExpired:
            sent = True
            (os.killpg if group else os.kill)(child.pid, number)
        return self.end(child, time.monotonic(), sent)

    def hidden(self) -> list[str]:
        """Hidden files in the folder of outputs, but those that wait for the next run."""
        return [
            name
            for name in tree(self.folder / "out")
            if any(part.startswith(".") for part in name.split("/")) and ".segments/" not in name
        ]

    def visible(self) -> dict[str, bytes]:
        """Files under final names."""
        hidden, out = set(self.hidden()), self.folder / "out"
        return {
            name: (out / name).read_bytes()
            for name in tree(out)
            if name not in hidden and ".segments/" not in name and not name.endswith(".unfinished")
        }

    def waiting(self) -> list[str]:
        """Folders of segments and tables that grow, in the folder of outputs."""
        out = self.folder / "out"
        return sorted(one.name for one in (*out.glob("*.segments"), *out.glob("*.unfinished")))


def session(leader: int) -> list[str]:
    """Processes of a session, but for those that have ended and wait to be reaped."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if facts[3] == str(leader) and facts[0] not in "ZX":
            found.append(path.parent.name)
    return found


@dataclass
class Whole:
    """What a command makes when nothing disturbs it."""

    files: dict[str, bytes]
    out: bytes
    seconds: float
    same: set[str]
    """Names of files that have the same bytes each time."""
    waiting: list[str] = field(default_factory=list)
    """Folders of segments that stay: those of a plan, until they are joined."""

    def is_whole(self, name: str, data: bytes) -> bool:
        """Whether a file is one that an undisturbed run makes."""
        if name not in self.files:
            return False
        if name.endswith(".html"):
            return _timeless(data) == _timeless(self.files[name])
        if name in self.same or data == self.files[name]:
            return data == self.files[name]
        if name.endswith(".json"):
            return _keys(data) == _keys(self.files[name])
        if name.endswith((".mkv", ".mp4")):
            return _decoded(data) == _decoded(self.files[name])
        return False

    def out_varies(self, out: bytes) -> bool:
        """Whether what a run said differs from this one only in times or the input's size."""
        varies = rb"\(99 %: [0-9.]+\)|[0-9.]+ bits a pixel"
        plain = [re.sub(varies, b"", _timeless(text)) for text in (out, self.out)]
        return bool(self.files) and plain[0] == plain[1]


def _timeless(text: bytes) -> bytes:
    """A text or a report without the times that it tells, and without the minute it was made in."""
    return re.sub(rb"[0-9.]+ m?s\b|[0-9-]{10} [0-9:]{5} UTC", b"", text)


def _keys(data: bytes):
    """The keys of a JSON object; None where it is none."""
    try:
        return sorted(json.loads(data))
    except ValueError:
        return None


def _decoded(data: bytes):
    """Digests of all frames and sizes of the streams of a film; None where it is broken."""
    from io import BytesIO

    try:
        with av.open(BytesIO(data)) as film:
            found = [frame.to_ndarray().tobytes() for frame in film.decode(video=0)]
            return hashlib.sha256(b"".join(found)).hexdigest(), len(found), len(film.streams)
    except av.FFmpegError:
        return None


def measured(scene: Scene, command: Command) -> Whole:
    """Run a command twice, undisturbed."""
    made = []
    for _ in range(2):
        scene.reset(command)
        ended = scene.run(command)
        assert ended.code in command.codes, (command.name, ended)
        assert not scene.hidden() and not ended.orphans
        assert tree(scene.folder / "in") == scene.before
        made.append((scene.visible(), ended))
    (first, _), (second, ended) = made
    assert first.keys() == second.keys(), command.name
    assert bool(first) or bool(ended.out), command.name
    same = {name for name in first if first[name] == second[name]}
    return Whole(second, ended.out, ended.seconds, same, scene.waiting())


def faults(scene: Scene, whole: Whole, number: int, delay: float, ended: Ended) -> list[str]:
    """What is wrong after a command was struck; empty where all is well."""
    found = []
    if tree(scene.folder / "in") != scene.before:
        found.append("an input changed")
    if ended.orphans:
        found.append(f"processes run on: {ended.orphans}")
    if ended.code == 999:
        found.append(f"it did not end within {SECONDS} s")
    made = scene.visible()
    found += [f"{name} is not whole" for name, d in made.items() if not whole.is_whole(name, d)]
    if number == signal.SIGKILL and ended.sent:
        if ended.code not in (-signal.SIGKILL, 0, 999):
            found.append(f"exit code {ended.code}")
        return found
    if left := scene.hidden():
        found.append(f"left behind: {left}")
    if left := [path.name for path in (scene.folder / "tmp").rglob("*")]:
        found.append(f"left in the temporary folder: {left}")
    early = delay < max(STARTING, whole.seconds / 2) and not made
    # Before our code runs: the signal's own end, or Python's traceback of its own start.
    if ended.code == -number and ended.sent and early and not ended.err:
        return found
    ours = not ended.err or re.search(r"snellen.*, in main$", ended.err, re.MULTILINE)
    if number == signal.SIGINT and early and not ours and ended.code in (1, 130, -2):
        return found
    if ended.code == 0:
        if made.keys() != whole.files.keys():
            found.append(f"exit code 0, but of {sorted(whole.files)} there are {sorted(made)}")
    elif ended.code == 130:
        lines = [line for line in ended.err.splitlines() if line.startswith("error: ")]
        if lines != ["error: interrupted; nothing incomplete is left under an output's name"]:
            found.append(f"not one line of error: {ended.err!r}")
    elif ended.code != 999:
        found.append(f"exit code {ended.code}: {ended.err[-600:]!r}")
    if "Traceback" in ended.err or "Exception ignored" in ended.err:
        found.append(f"a traceback: {ended.err[-900:]!r}")
    return found
