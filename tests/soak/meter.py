"""What a process holds, sampled while it works, and whether that grows."""

from __future__ import annotations

import gc
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

FEWEST, MOST = 64, 512
"""Samples of a phase; the more there are, the less its medians vary."""
MIB = 1 << 20
SHARE = 0.03  # see README.md
LEAST = {"memory": 4 * MIB, "gpu": 2 * MIB, "pools": 2 * MIB}
COUNTS = ("descriptors", "threads", "files")


def held(gpu: bool) -> dict[str, int]:
    """Return bytes and numbers of what this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    found = {
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208  Path keeps it open
        "threads": len(os.listdir("/proc/self/task")),  # noqa: PTH208
        "files": len(os.listdir(tempfile.gettempdir())),  # noqa: PTH208
    }
    if gpu:
        import cupy

        from snellen.gpu import memory

        pool = cupy.get_default_memory_pool()
        free, total = cupy.cuda.runtime.memGetInfo()
        found |= {"gpu": total - free, "pools": pool.total_bytes() + memory.held()}
    return found


def kept(gpu: bool) -> dict[str, int]:
    """Return what is still held when nothing is at work and the caches are cleared: all is 0."""
    import snellen
    from snellen import process, unfinished

    snellen.clear_cache()
    gc.collect()
    holders = [one for one in gc.get_objects() if isinstance(one, process.Holder)]
    found = {
        "prepared objects": sum(one._holds() for one in holders),
        "unfinished files": len(unfinished._noted),
    }
    if gpu:
        import cupy

        from snellen.gpu import memory, pages

        snellen.clear_cache()  # what the garbage collector has just given back
        cupy.get_default_memory_pool().free_all_blocks()
        found |= {
            "bytes of Snellen's pool": memory.held(),
            "bytes of CuPy's pool": cupy.get_default_memory_pool().total_bytes(),
            "page-locked bytes": pages.pages.lent + pages.pages._bytes,
        }
    return found


@dataclass
class Meter:
    """Samples of one phase."""

    name: str
    operations: int
    gpu: bool = False
    samples: list[dict[str, int]] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    """What `end` has found."""

    @property
    def wanted(self) -> int:
        """How many samples are taken: a multiple of 4, as quarters are compared."""
        return max(FEWEST, min(MOST, self.operations // 4 * 4))

    @property
    def quarter(self) -> int:
        """Operations of a quarter: each does the same work, so that only leaks differ."""
        return -(-self.operations // 4)

    def tick(self, done: int, collect: bool = True) -> None:
        """Take a sample, if it is time for one; `done` operations are done."""
        if done * self.wanted // self.operations > (done - 1) * self.wanted // self.operations:
            if collect:
                gc.collect()
            self.samples.append(held(self.gpu))

    def end(self) -> None:
        """Look for what is held although the phase is over."""
        self.left = {what: count for what, count in kept(self.gpu).items() if count}

    def quarters(self, kind: str) -> tuple[int, int, int]:
        """Return the medians of the second, third and last quarter; of counts the least."""
        values = [sample[kind] for sample in self.samples]
        size = len(values) // 4
        take = min if kind in COUNTS else median
        second, third, last = (values[k * size : (k + 1) * size] for k in (1, 2, 3))
        return int(take(second)), int(take(third)), int(take(last))

    def grown(self) -> list[str]:
        """Return what has grown."""
        found = []
        for kind in self.samples[0]:
            second, _, last = self.quarters(kind)
            slack = 0 if kind in COUNTS else max(LEAST[kind], SHARE * second)
            if last > second + slack:
                found.append(kind)
        return [*found, *self.left]

    def line(self) -> str:
        """Return the figures and the verdict in one line."""
        parts = []
        for kind in self.samples[0]:
            values = self.quarters(kind)
            shown = values if kind in COUNTS else tuple(round(value / MIB, 1) for value in values)
            unit = "" if kind in COUNTS else " MiB"
            parts.append(f"{kind} {' → '.join(map(str, shown))}{unit}")
        grown = self.grown()
        verdict = f"GREW: {', '.join(grown)}" if grown else "flat"
        if self.left:
            verdict += f" · LEFT: {self.left}"
        return f"{self.name:<8} {self.operations:>6} × · {' · '.join(parts)} · {verdict}"
