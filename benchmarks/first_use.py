"""Times the steps of a first use: `python -m benchmarks.first_use`; see `snellen bench calls`.

Each call is made in a process of its own whose caches are empty, then in another one with the
caches that the first has left. Beside the seconds stand the programs that NVRTC compiled for us,
from when to when, and the names of the kernels that CuPy compiled.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command import arguments, write
from snellen_lab.bench.calls import fresh

CASES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "upscale grey": ((300, 451), {}),
    "upscale RGB": ((300, 451, 3), {}),
    "score": ((1080, 1920), {}),
    "deblur 128": ((128, 128), {"prior": None, "edges": "taper", "iterations": 50}),
    "deblur 512": ((512, 512), {"prior": None, "psf_size": 9, "iterations": 50}),
    "deblur tiles": ((720, 1280), {"prior": None, "psf_size": 9, "iterations": 10, "tile": 128}),
    "deblur l0": ((512, 512), {"psf_size": 9, "iterations": 10, "prior": "l0"}),
}
"""The shape of a picture, and options."""


def child(name: str, device: str) -> None:
    """Make a call, and again; print what took how long, as JSON."""
    began = time.perf_counter()
    laps: dict[str, float] = {}

    def lap(what: str) -> None:
        laps[what] = time.perf_counter() - began - sum(laps.values())

    import snellen
    from snellen.gpu import device as devices
    from snellen.gpu import nvrtc

    programs: list[tuple[str, str, float, float]] = []
    really = nvrtc._compile

    def compiled(file: Path, *rest: Any) -> Any:
        since = time.perf_counter() - began
        found = really(file, *rest)
        thread = threading.current_thread().name
        programs.append((file.name, thread, since, time.perf_counter() - began))
        return found

    nvrtc._compile = compiled
    call = getattr(snellen, name.split()[0])
    lap("imports")
    devices.resolve(device)
    lap("device")
    shape, options = CASES[name]
    random = np.random.default_rng(1)
    pictures = [random.integers(0, 256, shape, np.uint8) for _ in range(1 + (name == "score"))]
    lap("pictures")
    call(*pictures, device=device, **options)
    lap("first call")
    call(*pictures, device=device, **options)
    lap("second call")
    print(json.dumps({"seconds": laps, "programs": programs}))


def measure(name: str, device: str) -> dict[str, Any]:
    """Return what a call takes without and with caches, and what CuPy compiled for it."""
    found: dict[str, Any] = {"call": name, "device": device}
    with fresh.installation() as given:
        given["CUPY_CACHE_SAVE_CUDA_SOURCE"] = "1"
        for caches in ("empty", "filled"):
            ran = fresh.run(__spec__.name, "child", name, device, given=given)
            found[caches] = {
                "process_s": ran.seconds, "cpu_s": ran.cpu, **json.loads(ran.output)
            }  # fmt: skip
        sources = sorted(Path(given["HOME"]).rglob("*.cu"))
        text = "".join(path.read_text(errors="replace") for path in sources)
        found["by_cupy"] = re.findall(r"__global__\s+void\s+(?:__\w+__\s*\([^)]*\)\s*)?(\w+)", text)
    return found


def show(found: dict[str, Any]) -> None:
    """Print what `measure` found."""
    for caches in ("empty", "filled"):
        one = found[caches]
        laps = ", ".join(f"{what} {seconds:.3f}" for what, seconds in one["seconds"].items())
        print(f"{found['call']}, caches {caches}: {one['process_s']:.2f} s, {one['cpu_s']:.2f} s "
              f"of CPU; {laps}", flush=True)  # fmt: skip
        for file, thread, since, until in one["programs"]:
            print(f"    {since:.3f} … {until:.3f} {file} in {thread}")
    print(f"    CuPy compiled {len(found['by_cupy'])}: {' '.join(found['by_cupy'])}", flush=True)


def main() -> None:
    """Measure all calls."""
    given = arguments(
        __doc__, lambda parser: parser.add_argument("--only", default="", help="part of a name")
    )
    rows = []
    for name in CASES:
        if given.only in name:
            rows.append(measure(name, given.device))
            show(rows[-1])
    write({"calls": rows}, given.output)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
    else:
        main()
