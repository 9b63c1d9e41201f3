"""Says why a run takes long: code is compiled at first use, or others are waited for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from snellen import caches
from snellen.files.waiting import heard
from snellen.jobs.events import Events

_WHAT = {
    "loops": "loops are compiled for this processor, which takes some seconds",
    "kernels": "kernels are compiled for this GPU, which takes some seconds",
}


@contextmanager
def announced(events: Events) -> Iterator[None]:
    """Report, within the block, long waits for others, and the first code that is compiled.

    The thread that compiles, or one of our own, calls `notice` of the events, if they have it. At
    the end of the block a warning says that a cache does not last.
    """
    told: set[str] = set()
    lock = threading.Lock()
    notice: Any = getattr(events, "notice", None)

    def begins(kind: str) -> None:
        with lock:
            if kind in told:
                return
            told.add(kind)
        if notice is not None:
            notice("first use", f"{_WHAT[kind]}; {kept()}")

    try:
        with caches.watched(begins), heard(notice):
            yield
    finally:
        if told and (text := complaint()):
            events.warning(caches.VARIABLE, text)


def kept() -> str:
    """Return where compiled code is kept, as a clause."""
    folder = caches.place()
    return "nothing keeps them" if folder is None else f"they are kept in {folder.path}"


def complaint() -> str:
    """Return why compiled code does not last, and what to do; "": it lasts."""
    folder = caches.place()
    if folder is not None and not folder.temporary:
        chosen = next(caches.folders()).path if os.environ.get(caches.VARIABLE) else None
        reason = "" if chosen is None else caches.distrust(chosen)
        return f"{chosen} is not used: {reason}" if reason else ""
    states = "; ".join(f"{path}: {state}" for path, state in caches.states().items())
    advice = "let it name a folder that only you can write"
    if folder is None:
        return f"no folder keeps compiled code, which each start compiles anew ({states}); {advice}"
    return f"compiled code is kept in a folder for temporary files ({states}); {advice}"
