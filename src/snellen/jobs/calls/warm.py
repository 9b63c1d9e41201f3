"""Prepares the first use: small work of every kind, so that all code is compiled and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import fields
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from snellen import caches
from snellen.files import temporary
from snellen.frames.frame import Format, Frame
from snellen.gpu import device as devices
from snellen.jobs.first_use import complaint

SIDE = 48
"""Side of the pictures; MAD takes 34 or more."""
FRAMES = 34
"""Frames of a clip: ST-MAD takes no fewer."""
ITERATIONS = 11
"""Iterations of MIA: it looks at the change every ten."""


def warm(say: Callable[[str], object], device: str = "auto") -> dict[str, Any]:
    """Do small work of every kind on a device; return what was prepared, ready for JSON.

    `say` gets a line before each kind of work. Code of CPU loops is compiled with a GPU, too: what
    a GPU's memory does not suffice for is done there.

    Raises
    ------
    DeviceError
        The device cannot be used.
    """
    where = list(dict.fromkeys((devices.resolve(device), "cpu")))
    begun: list[str] = []
    times = {}
    with caches.watched(begun.append), caches.completed():
        for name, work in _WORK.items():
            for one in where:
                say(f"preparing {name} on {devices.name(one)}")
                start = perf_counter()
                for call in work(one):
                    call()
                times[f"{name} on {one}"] = round(perf_counter() - start, 1)
    folder = caches.place()
    return {
        "seconds": times,
        "compiled": {kind: begun.count(kind) for kind in dict.fromkeys(begun)},
        "kept": None if folder is None else str(folder.path),
        "warning": complaint(),
    }


def _picture(dtype: Any = np.uint8, shape: tuple[int, ...] = (SIDE, SIDE)) -> Any:
    """Return a picture with edges, smooth parts and noise."""
    random = np.random.default_rng(1)
    waves = np.sin(np.arange(shape[0])[:, None] / 5) * np.cos(np.arange(shape[1]) / 4) > 0
    values: Any = 60 + 120 * waves.reshape(*shape[:2], *[1] * (len(shape) - 2))
    values = np.clip(values + random.normal(0, 4, shape), 0, 255) / 255
    white = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1
    return (values * white).astype(dtype)


def _frame(bits: int, subsampling: tuple[int, int] = (1, 1)) -> tuple[Frame, Format]:
    format = Format(SIDE, SIDE, bits, subsampling)
    return Frame(tuple(np.full(size, 99, format.dtype) for size in format.shapes)), format


def _layout(model: Any) -> tuple[object, ...]:
    """Return what code is compiled for: models with the same run by the same."""
    shapes = (getattr(getattr(model, one.name), "shape", None) for one in fields(model))
    return type(model), model.scale, *shapes


def _upscale(device: str) -> Iterator[Callable[[], object]]:
    from snellen.upscaling import shipped
    from snellen.upscaling.image import upscale
    from snellen.upscaling.models import read
    from snellen.upscaling.upscaler import Upscaler

    def film(model: Any, bits: int, subsampling: tuple[int, int]) -> None:
        frame, format = _frame(bits, subsampling)
        with Upscaler(model.scale, model, device) as upscaler:
            upscaler.prepare(format)
            upscaler.run(frame)

    alike = set()
    for path in shipped.files().values():
        model = read(path)
        if (layout := _layout(model)) in alike:
            continue
        alike.add(layout)
        for dtype in (np.uint8, np.uint16, np.float32):
            for shape in ((SIDE, SIDE), (SIDE, SIDE, 4)):
                picture = _picture(dtype, shape)
                yield partial(upscale, picture, model.scale, model, device)
        for bits, subsampling in product((8, 10), ((1, 1), (1, 0), (0, 0))):
            yield partial(film, model, bits, subsampling)


def _enhance(device: str) -> Iterator[Callable[[], object]]:
    from snellen.filters.grain import Grain
    from snellen.filters.lut.cube import Cube
    from snellen.filters.lut.step import LutStep
    from snellen.filters.nlm.step import Denoiser
    from snellen.frames.coding import BT709

    def denoise(bits: int) -> None:
        frame, format = _frame(bits)
        with closing(Denoiser(device=device)) as step:
            step.prepare(format)
            step.push(frame)
            step.push(None)

    def colour(bits: int, dimensions: int) -> None:
        frame, format = _frame(bits)
        cube = Cube(np.zeros((2,) * dimensions + (3,), np.float32))
        for step in (LutStep(cube, BT709, device), Grain(1)):
            with closing(step):
                step.prepare(format)
                step.run(frame)

    yield from (partial(denoise, bits) for bits in (8, 10))
    yield from (partial(colour, *kind) for kind in product((8, 10), (1, 3)))


def _score(device: str) -> Iterator[Callable[[], object]]:
    from snellen.frames.values import Precision
    from snellen.mad.image import score
    from snellen.mad.temporal import st_mad

    precisions: tuple[Precision, ...] = "float32", "float64"
    for dtype, precision in product((np.uint8, np.uint16, np.float32), precisions):
        for shape in ((SIDE, SIDE), (SIDE, SIDE, 3)):
            one = _picture(dtype, shape)
            yield partial(score, one, one[::-1].copy(), maps=True, device=device, dtype=precision)
    clip = np.stack([np.roll(_picture(), n, 1) for n in range(FRAMES)])
    yield partial(st_mad, clip, clip[:, ::-1].copy(), device=device)


def _deblur(device: str) -> Iterator[Callable[[], object]]:
    from snellen.mia.image import deblur

    restore = partial(deblur, prior=None, iterations=ITERATIONS, device=device)
    psf = np.full((3, 3), 1 / 9)
    how: list[dict[str, Any]] = [
        {}, {"psf": psf}, {"tv": 0.004}, {"noise": "gaussian"}, {"read_noise": 0.01},
        {"edges": "taper"}, {"edges": "circular"}, {"tolerance": 0.001}, {"tile": 32},
    ]  # fmt: skip
    for settings, dtype in product(how, ("float32", "float64")):
        given = {"psf_size": 5} | settings if "psf" not in settings else settings
        for shape in ((SIDE, SIDE), (SIDE, SIDE, 3)):
            picture = _picture(shape=shape)
            yield partial(restore, picture, dtype=dtype, **given)
    several = np.stack([_picture()] * 3)
    for multiframe in (False, True):
        yield partial(restore, several, psf_size=5, multiframe=multiframe)
    yield partial(restore, _picture(), psf_size=5, prior="l0")


def _films(device: str) -> Iterator[Callable[[], object]]:
    """Films are read and written: FFmpeg's messages are collected by compiled code, too."""
    from snellen.jobs.calls.execute import run
    from snellen.jobs.kinds.upscale import UpscaleJob

    def enlarge() -> None:
        with temporary.folder() as folder:
            source, target = folder / "a.y4m", folder / "b.y4m"
            planes = bytes([99]) * (SIDE * SIDE * 3 // 2)
            head = f"YUV4MPEG2 W{SIDE} H{SIDE} F25:1 Ip C420\nFRAME\n".encode()
            source.write_bytes(head + planes)
            run(UpscaleJob(source=source, target=target, device=device))

    yield enlarge


_WORK: dict[str, Callable[[str], Iterator[Callable[[], object]]]] = {
    "upscaling": _upscale, "films": _films, "enhancement": _enhance, "scores": _score,
    "deblurring": _deblur,
}  # fmt: skip
