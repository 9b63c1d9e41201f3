"""Checks what works on this machine by trying it, for `snellen doctor`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snellen.gpu.kernel import Kernel

KERNEL = Kernel(Path(__file__).with_suffix(".cu"), "total")


def checkup() -> dict[str, Any]:
    """Return the facts of this machine and what works on it, ready for JSON.

    Encoders are opened, the models enlarge a picture, and on a GPU a kernel is compiled and run.
    """
    from snellen import caches
    from snellen.gpu import device
    from snellen.jobs.machine import facts
    from snellen.video.sink.registry import names

    return {
        **facts(),
        "device": device.resolve("auto"),
        "gpu_kernels": _kernels(),
        "encoders": {name: _encoder(name) for name in names(lambda one: one.common)},
        "models": _models(),
        "compiler": _compiler(),
        "caches": caches.states(),
    }


def _encoder(name: str) -> str:
    """Return "works", or why an encoder does not: being listed proves nothing."""
    import os
    from fractions import Fraction

    import av

    from snellen.frames.frame import Format
    from snellen.video.sink import hardware
    from snellen.video.sink.encode import be_ordinary
    from snellen.video.sink.registry import traits

    os.environ.setdefault("SVT_LOG", "1")  # errors only: the encoder chats on stderr
    av.logging.set_level(None)
    known = traits(name)
    if known.on_cpu:
        why = hardware.probe(name, "nv12", Format(256, 256, 8, (1, 1)))
        return "works" if why is None else f"no: {why}"
    try:
        encoder: Any = av.CodecContext.create(name, "w")
        encoder.width = encoder.height = 256
        encoder.pix_fmt = encoder.codec.video_formats[0].name
        encoder.time_base = Fraction(1, 25)
        if known.always:
            own = ":".join(f"{key}={value}" for key, value in known.always.items())
            encoder.options = {known.parameters[0]: own}
        encoder.open()
        be_ordinary()
    except (av.FFmpegError, ValueError, OSError) as error:
        return f"no: {getattr(error, 'strerror', None) or error}"
    return "works"


def _kernels() -> str:
    """Return whether a kernel compiles and runs on the first GPU, or why not."""
    from snellen.errors import DeviceError
    from snellen.gpu import device, memory

    if reason := device.why_not():
        return f"no: {reason}"
    import cupy

    threads, shared = 1024, 60_000
    with device.using("cuda:0"):
        counts, total = cupy.arange(threads, dtype=cupy.int32), cupy.zeros(1, cupy.int32)
        try:
            KERNEL(1, threads, counts, total, shared=shared)
            found = int(total[0])
        except (DeviceError, RuntimeError) as error:
            return f"no: {error}"
        capability = f"{device.arch()}, {device.multiprocessors()} multiprocessors"
        free = f"{memory.free_memory() / 1e9:.1f} GB free"
    if found != threads * (threads - 1) // 2:
        return f"no: a kernel that ran counted {found}; update the driver"
    return f"works: compiled for {capability}, {free}"


def _compiler() -> str:
    """Return whether loops compile: the models have just used them."""
    from snellen.frames.quantise import _round

    return "works" if _round.types else "no loop has been compiled"


def _models() -> dict[str, str]:
    """Return each shipped model with what it says of itself, after enlarging a picture with it."""
    import numpy as np

    from snellen.errors import SnellenError
    from snellen.upscaling import models, shipped
    from snellen.upscaling.image import upscale

    states = {}
    for name, path in shipped.files().items():
        try:
            model = models.read(path)
            upscale(np.zeros((8, 8), np.float32), model.scale, model)
            states[name] = f"works: ×{model.scale}, {_data(model.about)}"
        except (SnellenError, ValueError, KeyError, OSError) as error:
            states[name] = f"no: {error}"
    return states


def _data(about: Mapping[str, str]) -> str:
    """Return what a model is learnt from: a folder, or the digest of a pack of pictures."""
    data = about.get("data", "data unnamed")
    if re.fullmatch("[0-9a-f]{64}", data):
        kind = f"{about.get('source', '')} pictures".strip()
        return f"learnt from {kind}, whose pack has the SHA-256 {data[:12]}…"
    return data
