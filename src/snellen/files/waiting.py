"""Says who is waited for, where others take long: servers, stores, clusters, ends of pipes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

PATIENCE = 5.0
"""Seconds of a wait until the first word of it; each further one comes after twice as long."""

Listener = Callable[[str, str], object]
"""Takes the subject, and a message; called by any thread."""


class _Hearing:
    """A listener, the thread that has brought it, and what it was told: each word counts once."""

    def __init__(self, listener: Listener) -> None:
        self.listener, self.thread = listener, threading.get_ident()
        self._known: set[tuple[str, int]] = set()

    def tell(self, subject: str, what: str, number: int) -> None:
        """Tell of a wait for the first time (0), or again."""
        if (subject, number) not in self._known:
            self._known.add((subject, number))
            self.listener(subject, f"waiting for {what}, {PATIENCE * (2 ** (number + 1) - 1):g} s")


_hearings: list[_Hearing] = []


@contextmanager
def heard(listener: Listener | None) -> Iterator[None]:
    """Within the block, a function is told of long waits of this thread and of those it starts.

    Of two such blocks, one within the other, the inner one counts. Any thread calls
    ``listener(subject, message)``. Its exception ends the wait's block as soon as the wait is over.
    None: nobody is told.
    """
    if listener is None:
        yield
        return
    hearing = _Hearing(listener)
    _hearings.append(hearing)
    try:
        yield
    finally:
        _hearings.remove(hearing)


@contextmanager
def waiting(subject: object, what: str) -> Iterator[None]:
    """Tell who hears of it that the block takes long: about which file, and what it waits for."""
    own = threading.get_ident()
    hearings = sorted(_hearings, key=lambda one: one.thread == own)
    if not hearings:
        yield
        return
    over, wrong = threading.Event(), list[BaseException]()

    def speak() -> None:
        number = 0
        try:
            while not over.wait(PATIENCE * 2**number):
                hearings[-1].tell(str(subject), what, number)
                number += 1
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=speak, name="waiting", daemon=True)
    with suppress(RuntimeError):  # at the end of Python, or where threads do not suffice
        thread.start()
    try:
        yield
    finally:
        over.set()
        if thread.ident is not None:
            thread.join()
    if wrong:
        raise wrong[0]
