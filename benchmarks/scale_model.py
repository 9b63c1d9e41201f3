"""A model of throughput: what limits a film on some GPUs, or some nodes, and by how much.

Each resource has a rate in frames a second, and the slowest one is the limit. The tables of
docs/scale.md come from here, by `python -m benchmarks.tables`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
VIDEO = "e144dad/aplus-h200.json"
CALLS = "calls-h100.json"
SCORED = "snellen score, two films"
OVERHEAD = "scale/overhead.json"
HOURS, SEGMENTS = 4, 2000
"""Length and segments of the film whose overhead is told."""
PIXELS = 1920 * 1080
OUT = 4
"""Pixels of the result for each of the input."""
PLANES = 1.5
"""Samples of 4:2:0 for each pixel, bytes at 8 bits."""
SEGMENT = 60 * 24
"""Frames of a segment of a minute."""

Table = tuple[list[str], list[list[str]]]


class Constant(NamedTuple):
    """A number of the model."""

    value: float
    what: str
    """With its unit."""
    source: str
    measured: bool = True
    """False: assumed, or of a note that is no result file."""


@dataclass(frozen=True)
class Constants:
    """Figures that the model takes: 1080p → 4K, 8 bits, 4:2:0, by A+."""

    gpu: Constant
    decoded: Constant
    veryfast: Constant
    svt: Constant
    scored: Constant
    pcie: Constant
    given: Constant
    made: Constant
    network: Constant
    storage: Constant
    driver: Constant


def constants() -> Constants:
    """Return the constants, those that were measured from the files of results."""
    video = _read(VIDEO)
    cores = video["machine"]["threads"]
    line = next(
        one for one in video["throughput"] if (one["planes"], one["chroma"]) == ("4:2:0", "auto")
    )
    frames = video["video"]["frames"]
    taken = {one["codec"]: one["whole_s"]["median"] for one in video["video"]["encoders"]}
    score = next(one for one in _read(CALLS)["cells"] if one["call"].startswith(SCORED))
    assumed = "assumed"
    noted = _noted()[-1]
    return Constants(
        gpu=Constant(line["fps"]["median"], "frames/s of one GPU, host to host", VIDEO),
        decoded=Constant(
            video["video"]["drain_fps"]["median"],
            f"frames/s of one GPU, decoded by {cores} cores and discarded", VIDEO,
        ),
        veryfast=Constant(
            cores * taken["libx264"] / frames,
            "core-seconds a frame of a whole conversion, x264 veryfast", VIDEO,
        ),
        svt=Constant(
            cores * taken["libsvtav1"] / frames,
            "core-seconds a frame of a whole conversion, SVT-AV1 preset 12", VIDEO,
        ),
        scored=Constant(
            1e3 / score["ms"]["median"],
            "frames/s of two films of 2560×1440, scored on one GPU with 16 cores", CALLS,
        ),
        pcie=Constant(50, "GB/s of a GPU's own link, each way", "lab/cnn.md", False),
        given=Constant(0.2, "MB of a coded input frame (40 Mbit/s)", assumed, False),
        made=Constant(0.3, "MB of a coded output frame (60 Mbit/s)", assumed, False),
        network=Constant(1.25, "GB/s of a node's network (10 Gbit/s)", assumed, False),
        storage=Constant(5, "GB/s of the storage that all nodes share", assumed, False),
        driver=Constant(
            noted["ms_a_segment"] / 1e3,
            "seconds a segment that is written and noted, disk included", OVERHEAD,
        ),
    )  # fmt: skip


def _noted() -> list[dict[str, Any]]:
    """Return what was measured with one worker, by the number of segments."""
    return [one for one in _read(OVERHEAD)["noted"] if one["workers"] == 1]


def _overhead(film: float) -> Table:
    """Return the table of what segments add to a film of four hours at so many frames a second."""
    few, many = _noted()
    whole, parts, _ = _read(OVERHEAD)["film"][-1]["runs"]
    seconds = HOURS * 3600 * 24 / film

    def share(ms: float) -> str:
        return f"{ms:.1f} ms, {0.1 * SEGMENTS * ms / seconds:.2g} %"

    each = 1e3 / many["segments"]
    body = [
        ["tickets, records and the disk alone", share(many["ms_a_segment"])],
        ["of these, CPU of the driver", share(many["driver_cpu_ms_a_segment"])],
        ["all that a segment takes longer, with its own beginning of decoder and encoder",
         share(each * (parts["seconds"] - whole["seconds"]))],
        ["of this, CPU", f"{each * (parts['cpu_seconds'] - whole['cpu_seconds']):.1f} ms"],
        [f"memory of the driver, {few['segments']} and {many['segments']} segments",
         f"{few['driver_mb']:.0f} and {many['driver_mb']:.0f} MB"],
        *([f"start of {one['workers']} workers" if one["workers"] > 1 else "start of a worker",
           f"{one['seconds']:.1f} s, {one['cpu_seconds']:.1f} s of CPU"]
          for one in _read(OVERHEAD)["pool"]),
    ]  # fmt: skip
    return [
        f"{SEGMENTS} segments, {HOURS} hours at {film:.0f} frames/s",
        "each, and of the film",
    ], body


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class Machines:
    """Nodes that are alike."""

    nodes: int
    gpus: int
    """GPUs of each node."""
    cores: int
    """Cores of each node."""


def limits(known: Constants, machines: Machines, encoder: str = "veryfast") -> dict[str, float]:
    """Return the rate of each resource in frames a second, film to film; the least is the limit."""
    gpus, nodes = machines.nodes * machines.gpus, machines.nodes
    cost = {"veryfast": known.veryfast, "svt": known.svt}[encoder].value
    given, made = 1e6 * known.given.value, 1e6 * known.made.value
    return {
        "GPUs": gpus * known.gpu.value,
        "PCIe": gpus * 1e9 * known.pcie.value / (PIXELS * OUT * PLANES),
        "cores": nodes * machines.cores / cost,
        "network": nodes * 1e9 * known.network.value / (given + made),
        "storage": 1e3 * known.storage.value / stored(known),
        "driver": SEGMENT / known.driver.value,
    }


def limit(rates: dict[str, float]) -> tuple[str, float]:
    """Return the name and the rate of what limits."""
    return min(rates.items(), key=lambda one: one[1])


def stored(known: Constants) -> float:
    """Return the MB that the shared storage moves for a frame of a film.

    A worker reads the input and writes a segment; the join reads both and writes the output.
    """
    return 2 * known.given.value + 3 * known.made.value


def returned(known: Constants) -> float:
    """Return the MB that come into the machine of a command with --cluster, for each frame.

    Nodes return segments; the join reads these and the input from the shared storage.
    """
    return known.given.value + 2 * known.made.value


def busy(known: Constants, encoder: str = "veryfast") -> float:
    """Return the cores that keep one GPU busy."""
    return known.gpu.value * {"veryfast": known.veryfast, "svt": known.svt}[encoder].value


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _source(one: Constant) -> str:
    return f"`benchmarks/results/{one.source}`" if one.measured else one.source


COUNTS = (1, 2, 4, 8)
CORES = 16
"""Beside each GPU, as where it was measured."""
CLUSTERS = (Machines(1, 1, 16), Machines(10, 1, 16), Machines(100, 1, 16), Machines(200, 1, 16),
            Machines(100, 1, 128), Machines(100, 8, 128))  # fmt: skip


def tables() -> Iterator[Table]:
    """Yield the tables of docs/scale.md: constants, GPUs of one machine, clusters, overhead."""
    known = constants()
    yield (
        ["constant", "value", "source"],
        [
            *([one.what, _digits(one.value), _source(one)] for one in vars(known).values()),
            *([what, _digits(value), "the lines above"] for what, value in (
                ("cores that keep one GPU busy, x264 veryfast", busy(known)),
                ("MB that the storage moves for a frame: input twice, output three times",
                 stored(known)),
                ("frames/s that this storage can carry, whatever the nodes",
                 1e3 * known.storage.value / stored(known)),
                ("MB that come into the machine of one command with --cluster, for a frame",
                 returned(known)),
                ("frames/s that its network can carry",
                 1e3 * known.network.value / returned(known)),
            )),
        ],
    )  # fmt: skip
    body = []
    for count in COUNTS:
        machine = Machines(1, count, CORES * count)
        cells = [f"{count * one.value:.0f}" for one in (known.gpu, known.decoded)]
        for encoder in ("veryfast", "svt"):
            name, rate = limit(limits(known, machine, encoder))
            cells.append(f"{rate:.0f} ({name})")
        body.append([str(count), str(machine.cores), *cells, f"{count * known.scored.value:.0f}"])
    yield (
        ["GPUs", "cores", "made in workers, discarded", "decoded, discarded",
         "film to film, x264 veryfast", "film to film, SVT-AV1 12", "films scored, 2560×1440"],
        body,
    )  # fmt: skip
    body = []
    for one in CLUSTERS:
        rates = limits(known, one)
        name, rate = limit(rates)
        rest = {other: value for other, value in rates.items() if other != name}
        then, further = limit(rest)
        body.append([
            f"{one.nodes} × ({one.gpus} GPU, {one.cores} cores)", f"{rate:.0f}", name,
            f"{then} at {further:.0f}", f"{100 * rate / rates['GPUs']:.1g} %",
        ])  # fmt: skip
    yield ["nodes", "frames/s, x264 veryfast", "limit", "the next one", "of the GPUs"], body
    yield _overhead(limit(limits(known, Machines(1, 1, CORES)))[1])


if __name__ == "__main__":
    for head, lines in tables():
        print("\n".join(" | ".join(line) for line in [head, *lines]), end="\n\n")
