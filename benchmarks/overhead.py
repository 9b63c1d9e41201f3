"""Measure what segments add to a long film: `python -m benchmarks.overhead`.

"noted": 2,000 segments go through the real `Film`, `Store` and `Pool`, and nothing is decoded: each
worker writes some bytes. So what is measured is tickets, records and waiting for the disk.

"film": a film of as many segments, whose pictures are so small that the work is next to nothing, in
one piece, in segments, and in segments by two processes. So it is all that a segment costs beside
its frames: the input is opened anew and read from a second before the cut, and an encoder begins.

"pool": how long workers take to start, until all have answered a first ticket, which imports what
a segment needs; and the CPU time of all. Python's compiled modules are in a folder of their own,
filled before: some environments forbid to write them, and workers would compile all they import.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import av
import numpy as np

from benchmarks import digest, scheduler
from benchmarks.overhead_tickets import Hello, Written
from snellen.files import atomic
from snellen.jobs.events import Silent
from snellen.jobs.machine import facts
from snellen.jobs.sharing.pool import Pool
from snellen.video.progress import Meter
from snellen.video.segments.values import SegmentTask

SECONDS, FRAMES = 10, 2
"""Length of a segment in "film", as short as one may be."""
WORKERS = (1, 2, 4, 8)
SIZE = (64, 48)


class Dealer:
    """An executor of tasks as such tickets."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @property
    def slots(self) -> int:
        """The most that there may be at once."""
        return self._pool.slots

    def submit(self, task: SegmentTask) -> None:
        """Take a task."""
        self._pool.submit(Written(task.number, None, task))

    def wait(self) -> Any:
        """Return the record of the one that ends first."""
        return self._pool.wait().result


def noted(segments: int, workers: int, folder: Path) -> dict[str, float]:
    """Return what it takes to deal so many segments out, and to note them."""
    world = scheduler.World(segments=segments)

    @contextmanager
    def executor(*given: Any) -> Iterator[Dealer]:
        with Pool(["cpu"] * workers, 1, Silent(), Meter(None, None)) as pool:
            for number in range(workers):
                pool.submit(Hello(number, None))
            for _ in range(workers):
                pool.wait()
            clock.append((time.perf_counter(), time.process_time()))
            yield Dealer(pool)
            clock.append((time.perf_counter(), time.process_time()))

    clock: list[tuple[float, float]] = []
    film = scheduler.film_of(world, folder, executor)
    with atomic.protected([], lambda name, text: None), film() as opened:
        opened.encode(scheduler.SIMULATED, Meter(None, None), opened.given)
    (began, spent), (ended, after) = clock
    return {
        "segments": segments, "workers": workers, "seconds": ended - began,
        "ms_a_segment": 1e3 * (ended - began) / segments,
        "driver_cpu_ms_a_segment": 1e3 * (after - spent) / segments,
        "driver_mb": peak(),
    }  # fmt: skip


def peak() -> float:
    """Return the most memory of this process so far, in MB, without its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(one.split()[1]) for one in lines if one.startswith("VmHWM")) / 1e3


def started(workers: int) -> dict[str, float]:
    """Return the seconds until so many workers have answered, and their CPU seconds."""
    spent, began = _children(), time.perf_counter()
    with Pool(["cpu"] * workers, 1, Silent()) as pool:
        for number in range(workers):
            pool.submit(Hello(number, None))
        found = {pool.wait().result for _ in range(workers)}
        passed = time.perf_counter() - began
    assert len(found) == workers
    return {"workers": workers, "seconds": passed, "cpu_seconds": _children() - spent}


def _children() -> float:
    """Return the CPU seconds of all processes that this one has waited for."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


@contextmanager
def compiled() -> Iterator[None]:
    """Have workers find their modules compiled, whatever the environment says."""
    names = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    before = {name: os.environ.pop(name, None) for name in names}
    with TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        try:
            started(1)
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def write_film(file: Path, segments: int) -> None:
    """Write a film of few and tiny pictures."""
    draw = np.random.default_rng(1)
    pictures = [draw.integers(0, 256, (SIZE[1] * 3 // 2, SIZE[0]), np.uint8) for _ in range(8)]
    with av.open(str(file), "w") as out:
        options = {"preset": "ultrafast", "g": str(FRAMES), "keyint_min": str(FRAMES)}
        stream: Any = out.add_stream("libx264", rate=Fraction(FRAMES, SECONDS), options=options)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        stream.time_base = Fraction(1)
        stream.thread_count = 1
        for number in range(FRAMES * segments):
            frame = av.VideoFrame.from_ndarray(pictures[number % 8], "yuv420p")
            frame.pts = number * SECONDS // FRAMES
            out.mux(stream.encode(frame))
        out.mux(stream.encode())


_RUN = """
import json, resource, sys, time
from benchmarks.overhead import peak
from snellen.jobs import Encoding, UpscaleJob, VideoOptions, run
source, target, segments, workers = sys.argv[1:]
job = UpscaleJob(source=source, target=target, method="aplus", source_kind="clean", device="cpu",
                 threads=1, segments=segments == "True", workers=int(workers) or None,
                 video=VideoOptions(encoding=Encoding(preset="ultrafast", crf=30)))
began = time.perf_counter()
result = run(job)
mine, others = (resource.getrusage(one) for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps({
    "seconds": time.perf_counter() - began,
    "cpu_seconds": sum(one.ru_utime + one.ru_stime for one in (mine, others)),
    "driver_mb": peak()}))
"""


_NOTED = """
import json, sys
from pathlib import Path
from benchmarks.overhead import noted
print(json.dumps(noted(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
"""


def alone(code: str, *words: object) -> dict[str, Any]:
    """Run code in a process of its own, whose memory counts; return what it prints as JSON."""
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def converted(source: Path, target: Path, segments: bool, workers: int) -> dict[str, Any]:
    """Convert a film by a process of its own; return its times and its memory."""
    found = alone(_RUN, source, target, segments, workers)
    target.unlink()
    return {"in_segments": segments, "workers": workers or 1, **found}


def films(segments: int, folder: Path) -> dict[str, Any]:
    """Return what a film takes in one piece and in segments."""
    source, target = folder / "film.mkv", folder / "out.mkv"
    write_film(source, segments)
    whole, parts, shared = (
        converted(source, target, *how) for how in ((False, 0), (True, 0), (True, 2))
    )
    more = 1e3 * (parts["cpu_seconds"] - whole["cpu_seconds"]) / segments
    return {"segments": segments, "runs": [whole, parts, shared], "cpu_ms_a_segment": more}


def main() -> int:
    """Measure, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=2000)
    parser.add_argument("--folder", type=Path, help="on the disk to measure")
    parser.add_argument("--out", type=Path, help="file for the report")
    given = parser.parse_args()
    report: dict[str, Any] = {
        "benchmark": "overhead", "machine": facts(), "digest": digest.digest(digest.ROOT),
    }  # fmt: skip
    counts = (given.segments // 8, given.segments)
    with compiled():
        report["pool"] = [started(one) for one in WORKERS]
        found = []
        for segments in counts:
            for workers in (1, 2):
                with TemporaryDirectory(dir=given.folder) as folder:
                    found.append(alone(_NOTED, segments, workers, folder))
        report["noted"] = found
        with TemporaryDirectory(dir=given.folder) as folder:
            report["film"] = [films(n, Path(folder)) for n in counts]
    text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
