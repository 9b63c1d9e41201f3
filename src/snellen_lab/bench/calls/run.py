"""Runs all calls, each in a fresh process with empty caches, and the commands of a first use."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from snellen.bench import runner
from snellen.bench.clock import spread
from snellen.errors import SnellenError
from snellen.files import temporary
from snellen.gpu import device as devices
from snellen_lab.bench.calls import case, child, films, fresh, pictures, table
from snellen_lab.bench.calls.case import Call, Figures, Sizes

Say = Callable[[str], None]

FIRST = 3
"""Fresh installations that a command is measured in, at most, and its repeats in the first one."""
CHILD = "snellen_lab.bench.calls.child"


def run(
    method: str, repeats: int, say: Say, *, device: str = "auto", quick: bool = False,
    only: str = "", sizes: Sizes | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Check and time all calls; return the report as a JSON object.

    Parameters
    ----------
    method : str
        "calls".
    repeats : int
        Calls after the first one.
    say : callable
        Gets each line for the reader.
    device : str
        "auto", "cpu", "cuda" or "cuda:N"; or several GPUs between commas. "auto" and "cuda" are all
        GPUs that there are.
    quick : bool
        Whether films and batches are shorter.
    only : str
        Only calls with this in their names.
    sizes : Sizes, optional
        None: those of the table in docs/benchmarks.

    Raises
    ------
    DeviceError
        A device cannot be used.
    """
    chosen = _devices(device)
    report = runner.header(method, chosen[0], repeats, quick, say)
    report["devices"], report["note"] = list(chosen), child.NOTE
    if sizes is None:
        sizes = case.ON_CPU if chosen[0] == "cpu" else case.QUICK if quick else case.FULL
    report["parameters"] = asdict(sizes)
    with temporary.folder() as folder:
        wanted = [one for one in table.cases(chosen, sizes) if only in one.name]
        for film in dict.fromkeys(film for one in wanted for film in one.films):
            films.write(folder, film, sizes)
        cells = [called(one, folder, repeats, say) for one in wanted]
        commands = [one for one in COMMANDS if only in title(one, sizes)]
        cells += [first_use(one, chosen[0], sizes, folder, repeats, say) for one in commands]
    report["cells"] = cells
    report["failed"] = sum("error" in cell for cell in cells)
    return report


def called(one: Call, folder: Path, repeats: int, say: Say) -> Figures:
    """Return the cell of a call: its check and times, or the error instead of times."""
    request = {
        "name": one.name, "device": one.device, "sizes": asdict(one.sizes), "folder": str(folder),
        "repeats": repeats, "since": time.time(),
    }  # fmt: skip
    try:
        with fresh.installation() as given:
            found = json.loads(fresh.run(CHILD, given=given, request=json.dumps(request)).output)
    except SnellenError as error:
        found = {"error": str(error)}
    return _said({"call": one.name, "device": one.device, "unit": one.unit} | found, say)


COMMANDS: dict[str, tuple[str, ...]] = {
    "snellen upscale": ("upscale", "image.png", "-o", "large.png"),
    "snellen score": ("score", "image.png", "noisy.png", "--json"),
    "snellen deblur": (
        "deblur", "image.png", "-o", "sharp.png", "--roi", "0,0,128,128", "--edges", "taper",
        "--prior", "none",
    ),
}  # fmt: skip
"""Commands for an image, by what tables call them."""


def first_use(
    name: str, device: str, sizes: Sizes, folder: Path, repeats: int, say: Say
) -> Figures:
    """Return the cell of a command in fresh installations, and in the last one once more."""
    _images(folder, sizes.image)
    cell: Figures = {"call": title(name, sizes), "device": device, "unit": "command"}
    given = [str(folder / one) if one.endswith(".png") else one for one in COMMANDS[name]]
    more = [*given, "--device", device]
    if "-o" in given:
        more.append("--overwrite")
    first, later, results = [], [], []
    try:
        for number in range(min(FIRST, repeats)):
            with fresh.installation() as place:
                first.append(fresh.run("snellen", *more, given=place))
                results.append(_result(given, first[-1]))
                for _ in range(min(FIRST, repeats) if number == 0 else 0):
                    later.append(fresh.run("snellen", *more, given=place))
                    results.append(_result(given, later[-1]))
        if any(result != results[0] for result in results):
            raise SnellenError("results differ from run to run")
        if name == "snellen upscale":
            cell["check"] = _check_upscaled(folder, device)
    except SnellenError as error:
        return _said(cell | {"error": str(error)}, say)
    cell["first"] = {
        "s": spread(one.seconds for one in first), "cpu_s": spread(one.cpu for one in first)
    }  # fmt: skip
    cell["ms"] = spread(1e3 * one.seconds for one in later)
    cell["cpu_s"] = spread(one.cpu for one in later)
    return _said(cell, say)


def title(name: str, sizes: Sizes) -> str:
    """Return what tables call a command in a fresh installation."""
    width, height = sizes.image
    return f"{name}, an image of {width}×{height}, fresh installation"


def _images(folder: Path, size: tuple[int, int]) -> None:
    """Write a grey image, and the same with noise."""
    from PIL import Image

    plane = pictures.blurred(*size)
    noise = np.random.default_rng(2).normal(0, 255 * pictures.NOISE, plane.shape)
    noisy = np.rint(plane + noise).clip(0, 255).astype(np.uint8)
    for name, one in (("image.png", plane), ("noisy.png", noisy)):
        Image.fromarray(one).save(folder / name)


def _result(given: list[str], ran: fresh.Ran) -> bytes:
    """Return the samples that a command has written, or the score that it has told."""
    if "-o" in given:
        return bytes(_read(Path(given[given.index("-o") + 1])))
    told = [json.loads(line) for line in ran.output.splitlines()]
    told = [row for row in told if row.get("event") != "notice"]  # of a first use
    return json.dumps([{key: row.get(key) for key in ("mad", "hi", "lo")} for row in told]).encode()


def _read(path: Path) -> Any:
    from PIL import Image

    with Image.open(path) as image:
        return np.array(image)


def _check_upscaled(folder: Path, device: str) -> Figures:
    """Compare the enlarged image with what an Upscaler makes of it."""
    from snellen import Format, Frame, Upscaler

    plane, large = _read(folder / "image.png"), _read(folder / "large.png")
    with Upscaler(2, device=device) as upscaler:
        upscaler.prepare(Format(plane.shape[1], plane.shape[0]))
        wanted = upscaler.run(Frame((plane,), 0, 1)).planes[0]
    off = int(np.abs(large.astype(int) - wanted).max())
    if off:
        raise SnellenError(f"samples differ by {off} code values from an Upscaler's")
    return {"codes": off}


def _devices(device: str) -> tuple[str, ...]:
    """Return the devices that are measured."""
    if device not in ("auto", "cuda"):
        return devices.several(device)
    first = devices.resolve(device)
    if first == "cpu":
        return ("cpu",)
    import cupy

    count = int(cupy.cuda.runtime.getDeviceCount())
    return tuple(f"cuda:{number}" for number in range(count) if not devices.why_not(number))


def _said(cell: Figures, say: Say) -> Figures:
    """Say a cell in a line, and return it."""
    name = f"  {cell['call']}, {cell['device']}"
    if "error" in cell:
        say(f"{name}: WRONG, nothing is timed: {cell['error']}")
        return cell
    first = cell["first"]
    seconds, used = (one["median"] if isinstance(one, dict) else one for one in first.values())
    text = f"{name}: {cell['ms']['median']:.4g} ms a {cell['unit']}"
    if "p99_ms" in cell:
        text += f" (p99 between outputs {cell['p99_ms']['median']:.4g}"
        text += f", the first after {cell['start_ms']['median']:.3g})"
    if "cpu_s" in cell:
        text += f", {cell['cpu_s']['median']:.3g} s of CPU"
    say(f"{text}; first {seconds:.3g} s, {used:.3g} s of CPU")
    return cell
