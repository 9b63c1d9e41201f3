"""Heat maps: where a picture differs from its reference, as PNG with a fixed colour scale.

A value v gets colour ⌊255·ln(1 + v) / ln(1 + brightest) + ½⌋ of 256, and the brightest if it is
greater: detection maps span five decades. `brightest` is the same for every picture and every run,
so that maps can be compared.
"""

from __future__ import annotations

import json
import os
from collections import deque
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo

from snellen import unfinished
from snellen.cpu.pool import Pool
from snellen.errors import InputError, OutputError
from snellen.files import atomic
from snellen.files.leftovers import is_hidden
from snellen.files.protection import is_input
from snellen.files.remote import check_local
from snellen.frames.notebook import host

DETECTION = 200.0
"""Detection maps are shown so many times larger, whatever `hi_scale` is: HI of 2011 is the root
mean square of what is shown."""
BRIGHTEST = {"detection": 1e5, "appearance": 20.0}
"""Noise of 25 grey levels reaches some 1e5, and JPEG of quality 10 some 1e4; appearance 20 is half
again the LO of noise on a flat picture."""
_SHOWN = {
    "detection": f"{DETECTION:g} times the detection map: HI is its root mean square, no margin",
    "appearance": "the appearance map: LO is its root mean square, no margin",
}
_RULE = "colour = floor(255 * ln(1 + value) / ln(1 + brightest) + 0.5)"

_STOPS = [(0, 0, 8), (48, 16, 112), (136, 32, 120), (216, 72, 64), (248, 152, 32), (255, 252, 192)]
"""Black, violet, purple, red, orange, pale yellow: luma rises in steps of about 45."""
LONGEST = 220
"""Bytes of a picture's name in those of its maps: with "_appearance.png" at most 255, as systems
allow, and some room for what marks a file that is being written."""
SHADING = 2
"""Threads that bring maps to their colours; each may have as many maps more to come."""
INDEX = "index.json"
LEGEND = "legend.png"


@dataclass(frozen=True, slots=True)
class Kept:
    """The maps of one picture as indices into the palette, (H, W) uint8."""

    mad: float
    name: str
    """Prefix of the names of its files."""
    facts: dict[str, Any]
    """Entry of the picture in the index, ready for JSON."""
    detection: npt.NDArray[np.uint8]
    appearance: npt.NDArray[np.uint8]


class Worst:
    """The maps of the `count` pictures with the highest MAD; of equal scores the first.

    Threads bring maps to their colours meanwhile: that takes longer than a GPU takes for a pair.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._kept: list[tuple[float, str, dict[str, Any], Future[Any]]] = []
        self._threads: Pool | None = None
        self._begun: deque[Future[Any]] = deque()

    def wants(self, mad: float) -> bool:
        """Return whether a picture of this MAD would be kept."""
        return len(self._kept) < self._count or (bool(self._kept) and mad > self._kept[-1][0])

    def keep(self, name: str, score: Any, facts: dict[str, Any]) -> None:
        """Keep the maps of a `Score`; drop those of the lowest score if there are too many."""
        if self._threads is None:
            self._threads = Pool(SHADING, "maps")
        if len(self._begun) >= 2 * SHADING:
            wait([self._begun.popleft()])
        begun = self._threads.submit(_both, score.detection, score.appearance)
        self._begun.append(begun)
        self._add(score.mad, name, facts, begun)

    def take(self, one: Kept) -> None:
        """Keep maps that another run has kept, as `keep` does; runs come in the order of pictures.

        What they have kept comes in the order of `kept`.
        """
        begun: Future[Any] = Future()
        begun.set_result((one.detection, one.appearance))
        self._add(one.mad, one.name, one.facts, begun)

    def _add(self, mad: float, name: str, facts: dict[str, Any], begun: Future[Any]) -> None:
        self._kept.append((mad, name, facts, begun))
        self._kept.sort(key=lambda one: -one[0])
        for *_, dropped in self._kept[self._count :]:
            dropped.cancel()
        del self._kept[self._count :]

    @property
    def facts(self) -> tuple[dict[str, Any], ...]:
        """Entries of the pictures in the index, worst first: what is added to them is written."""
        return tuple(facts for _, _, facts, _ in self._kept)

    def close(self) -> None:
        """End the threads; no picture comes after this."""
        if self._threads is not None:
            self._threads.shutdown()

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Worst first."""
        return tuple(
            Kept(mad, name, facts, *begun.result()) for mad, name, facts, begun in self._kept
        )


@np.errstate(all="ignore")  # which a new thread does not inherit
def _both(detection: Any, appearance: Any) -> tuple[Any, Any]:
    return (
        shades(DETECTION * detection, BRIGHTEST["detection"]),
        shades(appearance, BRIGHTEST["appearance"]),
    )


def shades(values: npt.NDArray[Any], brightest: float) -> npt.NDArray[np.uint8]:
    """Return the palette index of each value: 0 for 0, 255 for `brightest` and above."""
    share = np.log1p(np.maximum(values, 0)) / np.log1p(brightest)
    numbers: npt.NDArray[np.uint8] = (255 * np.minimum(share, 1) + 0.5).astype(np.uint8)
    return numbers


def drawn(values: Any, kind: str) -> npt.NDArray[np.uint8]:
    """Return the map of a `Score`, "detection" or "appearance", as a picture (H, W, 3)."""
    factor = DETECTION if kind == "detection" else 1.0
    return palette()[shades(factor * host(values), BRIGHTEST[kind])]


def values(shades: npt.NDArray[np.uint8], brightest: float) -> npt.NDArray[np.float64]:
    """Return the value of each palette index."""
    return np.asarray(np.expm1(shades / 255 * np.log1p(brightest)))


def palette() -> npt.NDArray[np.uint8]:
    """Return the 256 colours, (256, 3), interpolated linearly between a few."""
    stops = np.array(_STOPS, np.float64)
    at = np.linspace(0, 1, len(stops))
    share = np.linspace(0, 1, 256)
    return (
        np.stack([np.interp(share, at, channel) for channel in stops.T], 1).round().astype(np.uint8)
    )


def write(folder: Path, worst: Worst, facts: dict[str, Any], overwrite: bool) -> None:
    """Write two maps of each picture kept, a legend, and last an index; each file appears whole.

    Maps that an earlier index in the folder names and this one does not are removed at the end, so
    that none is mistaken for one of this run. Other files in the folder stay. After an error new
    files are removed, and the folder if it is new; files that have been replaced are whole. `facts`
    are further entries of the index, ready for JSON. OutputError: the disk is full or not writable.
    """
    place, added = folder.absolute(), list[Path]()
    if not folder.is_dir():
        unfinished.note(str(place), place.rmdir)
    try:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder} could not be made: {error.strerror or error}") from error
        atomic.sweep(folder)
        before = _named(folder) if overwrite else set()
        maps = []
        for number, one in enumerate(worst.kept):
            files = {kind: f"{_shortened(one.name, number)}_{kind}.png" for kind in BRIGHTEST}
            for kind, file in files.items():
                _put(folder / file, _png(getattr(one, kind), kind), overwrite, added)
            maps.append({**one.facts, **files})
        _put(folder / LEGEND, _bytes(_legend()), overwrite, added)
        index = {**facts, "scales": scales(), "legend": LEGEND, "maps": maps}
        _put(folder / INDEX, (json.dumps(index, indent=1) + "\n").encode(), overwrite, added)
    except BaseException:
        for path in added:
            with suppress(OSError):
                path.unlink()
        raise
    finally:
        unfinished.remove(str(place))  # rmdir removes no folder that something is in
    _remove(folder, before - {one[kind] for one in maps for kind in BRIGHTEST})


def _shortened(name: str, number: int) -> str:
    """Return a name that leaves room for what follows it; cut, it ends with the map's number."""
    if len(os.fsencode(name)) <= LONGEST:
        return name
    while len(os.fsencode(name)) > LONGEST - len(str(number)) - 1:
        name = name[:-1]
    return f"{name}-{number}"


def check(folder: Path, overwrite: bool) -> None:
    """Refuse (InputError) a folder that maps cannot or must not be written to, before any work."""
    check_local(folder)
    try:
        _check(folder, overwrite)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from error


def _check(folder: Path, overwrite: bool) -> None:
    if not folder.parent.is_dir():
        raise InputError(
            f"{folder}: the folder {folder.parent} does not exist", advice="make it first"
        )
    if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
        raise InputError(
            f"{folder} is a file or a broken link", advice="name a folder for the maps"
        )
    if folder.is_dir() and not overwrite and any(not is_hidden(p.name) for p in folder.iterdir()):
        raise InputError(
            f"{folder} is not empty",
            parameter="overwrite",
            advice="choose another folder or give `overwrite`=True",
        )


def scales() -> dict[str, Any]:
    """Return the colour scales of both maps, ready for JSON."""
    return {
        kind: {"shown": _SHOWN[kind], "darkest": 0.0, "brightest": brightest, "rule": _RULE}
        for kind, brightest in BRIGHTEST.items()
    }


def _named(folder: Path) -> set[str]:
    """Return the names of the maps in the folder's index; none if Snellen did not write it."""
    index = folder / INDEX
    try:
        maps = json.loads(index.read_bytes())["maps"] if index.is_file() else []
        found = {str(one[kind]) for one in maps for kind in BRIGHTEST}
    except (OSError, ValueError, LookupError, TypeError):
        return set()
    # Names with a path are ignored: Snellen writes into this folder only.
    ours = tuple(f"_{kind}.png" for kind in BRIGHTEST)
    return {name for name in found if name.endswith(ours) and not {*name} & {*"/\\\0"}}


def _remove(folder: Path, names: set[str]) -> None:
    for name in sorted(names):
        if is_input(folder / name):
            continue
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            why = error.strerror or error
            raise OutputError(f"{folder / name} could not be removed: {why}") from error


def _put(path: Path, data: bytes, overwrite: bool, added: list[Path]) -> None:
    """Write a file; add it to `added` where there was none."""
    is_new = not os.path.lexists(path)
    with atomic.writing(path, overwrite) as file:
        file.write(data)
    if is_new:
        added.append(path)


def _png(numbers: npt.NDArray[np.uint8], kind: str) -> bytes:
    """Return a PNG of palette indices, from which values can be read, with its scale as text."""
    image = Image.fromarray(numbers).convert("P")
    image.putpalette(palette().tobytes())
    text = PngInfo()
    scale = f"{_SHOWN[kind]}; darkest 0, brightest {BRIGHTEST[kind]:g} and above; {_RULE}"
    text.add_text("Title", f"MAD: {kind}")
    text.add_text("Description", scale)
    return _bytes(image, text)


def _bytes(image: Image.Image, text: PngInfo | None = None) -> bytes:
    file = BytesIO()
    image.save(file, "PNG", pnginfo=text)
    return file.getvalue()


def _legend() -> Image.Image:
    """Draw both scales: a ramp of 512 × 24 each, decades marked."""
    picture = Image.new("RGB", (560, 120), "white")
    draw = ImageDraw.Draw(picture)
    for row, (kind, brightest) in enumerate(BRIGHTEST.items()):
        top = 60 * row
        draw.text((16, top + 2), f"{kind} ({'200 x map, ' if row == 0 else ''}log scale)", "black")
        ramp = palette()[np.arange(512) // 2]
        picture.paste(Image.fromarray(np.broadcast_to(ramp, (24, 512, 3)).copy()), (16, top + 16))
        for value in _ticks(brightest):
            x = 16 + 511 * np.log1p(value) / np.log1p(brightest)
            draw.line((x, top + 36, x, top + 43), "black")
            draw.text((x - 3 * len(f"{value:g}"), top + 44), f"{value:g}", "black")
    return picture


def _ticks(brightest: float) -> list[float]:
    return [0, *(10.0**n for n in range(6) if 10.0**n < brightest), brightest]
