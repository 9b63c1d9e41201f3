"""How large a picture may be: by a limit of the caller's, or by the memory of this machine.

A file of 70 bytes can claim 100,000 × 100,000 pixels. The size is compared with the limit before
anything of that size is allocated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from snellen.errors import InputError

STILL_BYTES = 200
"""Memory for a pixel of an image where the result is as large, bytes. Peak of the process for 4.3
megapixels less that for 0.1, a pixel: MIA 170, MAD 187."""
ENLARGED_BYTES = 24
"""Memory for a pixel of an image that is enlarged, bytes, for the file and the array."""
GROWTH_BYTES = 20
"""Memory for each pixel of a larger result, bytes: the array has up to 8, an encoder some 4 to 12.
Upscaling 36 megapixels by 2, in bands, took 34 for each pixel that was read."""
FILM_BYTES = 240
"""Memory for a pixel of a film's frame, bytes: a decoder keeps up to 20 frames, the pipeline some
20 more, of up to 6 bytes a pixel."""
FILM_GROWTH_BYTES = 100
"""Memory for each pixel of a film's result, bytes: x264 keeps some 50 frames of 1.5 to 3 bytes."""
_UNKNOWN = 8 << 30
"""Memory of a machine that does not state it, bytes."""
_CGROUPS = Path("/sys/fs/cgroup")
_STATM = Path("/proc/self/statm")
_OWN_GROUPS = Path("/proc/self/cgroup")

_chosen: ContextVar[tuple[int | None, int]] = ContextVar("snellen_limit", default=(None, 4))


@contextmanager
def at_most(pixels: int | None, growth: int = 4) -> Iterator[None]:
    """Within the block no picture that is read may have more pixels; None: by the memory.

    `growth` is how many pixels the result has for each pixel that is read.
    """
    token = _chosen.set((pixels, growth))
    try:
        yield
    finally:
        _chosen.reset(token)


def greatest(film: bool = False) -> int:
    """Return how many pixels a picture may have, or each frame of a film."""
    pixels, growth = _chosen.get()
    if pixels is not None:
        return pixels
    if film:
        return memory() // (FILM_BYTES + FILM_GROWTH_BYTES * growth)
    still = STILL_BYTES if growth == 1 else ENLARGED_BYTES + GROWTH_BYTES * growth
    return memory() // still


def check_size(name: object, width: int, height: int, film: bool = False) -> None:
    """Refuse (InputError) a picture, or a film's frame, that has more pixels than allowed."""
    limit = greatest(film)
    if width * height > limit:
        why = "" if _chosen.get()[0] is not None else ", by the memory of this machine"
        raise InputError(
            f"{name}: got {width}×{height}, {width * height:,} pixels; expected at most {limit:,} "
            f"(`max_pixels`{why})",
            parameter="max_pixels",
            advice="raise `max_pixels` if the file is to be trusted",
        )


def check_plausible(
    name: object, width: int, height: int, size: int, most: int, slack: int
) -> None:
    """Refuse (InputError) a header that claims more pixels than its file of `size` bytes can hold.

    A byte can hold `most` pixels, and `slack` are allowed in any case.
    """
    if width * height > most * size + slack:
        raise InputError(
            f"{name}: its header claims {width}×{height} pixels, more than {size:,} bytes can hold"
        )


@cache
def memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its cgroup's."""
    found = [_UNKNOWN]
    with suppress(OSError, ValueError, AttributeError):
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in _limit_files():
        with suppress(OSError, ValueError):  # "max": no limit
            found.append(int(file.read_text()))
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            found.append(soft)
    return max(1, min(found))


def resident() -> int | None:
    """Return the bytes of memory that this process has at the moment; None: nobody says."""
    with suppress(OSError, ValueError, AttributeError):
        pages = int(_STATM.read_bytes().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return None


def _limit_files() -> Iterator[Path]:
    """Yield the files with the memory limits of this process's cgroup, and of those around it."""
    lines = []
    with suppress(OSError):
        lines = _OWN_GROUPS.read_text().splitlines()
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, name = (
            (_CGROUPS / "memory", "memory.limit_in_bytes")
            if controllers
            else (_CGROUPS, "memory.max")
        )
        parts = Path(group).parts[1:]
        for depth in range(len(parts) + 1):  # a container may see its own group as the root
            yield root.joinpath(*parts[:depth]) / name
