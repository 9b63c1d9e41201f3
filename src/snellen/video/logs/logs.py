"""Listens to FFmpeg's messages, each of which goes to the listener that it concerns."""

from __future__ import annotations

import re
import threading
import weakref
from atexit import register
from collections.abc import Iterator
from contextlib import contextmanager

import av.logging
from av.container import InputContainer

from snellen import process
from snellen.errors import InputError
from snellen.video.logs import slots
from snellen.video.logs.slots import libavutil

_CONTEXT = re.compile(r"\[([^\[\]]*) @ (?:0x)?[0-9a-fA-F]+\] ?")
"""FFmpeg writes this before a message: the name of a codec or container, and an address."""
_GENERATIONS = 120
"""Different tags of a slot, so that late messages of its last owner go nowhere."""

_lock, _describing = process.lock(), process.lock()
_owners: list[bool] = [False] * slots.SLOTS
_here = threading.local()

Message = tuple[int, str, str]
"""Level, name of the codec or container, and text; without text: it was replaced too soon."""


class Listener:
    """Collects the messages of the objects that carry its tag, and of the threads that it is in.

    While a listener is open, FFmpeg's callback is ours; then it is PyAV's again, with the level
    that PyAV was given. Nothing is printed, and no message takes the interpreter's lock. It takes
    messages up to a level; `options` of a codec tag its messages, and its threads inherit the tag.
    """

    def __init__(self, level: int = av.logging.WARNING) -> None:
        self._slot = _acquire()
        header = slots.memory["header"][self._slot]
        generation = (int(header["tag"]) // slots.SLOTS + 1) % _GENERATIONS
        tag = self._slot + slots.SLOTS * max(1, generation)
        header["level"] = level
        header["tag"] = tag
        self.options = {"log_level_offset": str(tag << 16)}
        self._tag = tag
        self._header = header
        self._records = slots.memory["records"][self._slot]
        self._taken = int(header["count"])
        self._errors = int(header["errors"])
        self._close = weakref.finalize(self, _release, self._slot)

    def close(self) -> None:
        """Listen no more."""
        self._close()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Collect what this thread logs during a call into FFmpeg."""
        _install()  # somebody else may have set PyAV's level meanwhile
        outer: Listener | None = getattr(_here, "listener", None)
        if outer is not None:
            outer._header["thread"] = 0
        _here.listener = self
        self._header["thread"] = threading.get_ident()
        try:
            yield
        finally:
            self._header["thread"] = 0
            _here.listener = outer
            if outer is not None:
                outer._header["thread"] = threading.get_ident()

    def take(self) -> list[Message]:
        """Return the messages since the last call."""
        errors, count = int(self._header["errors"]), int(self._header["count"])
        if count == self._taken:
            return []
        found: list[Message] = []
        replaced = 0
        while self._taken < count:
            record = self._records[self._taken % slots.RECORDS]
            number = int(record["number"])  # first: once it is there, the rest is too
            if number <= self._taken:  # it is being written
                return found
            self._taken += 1
            level, text = int(record["level"]), bytes(record["text"])
            if number != self._taken or number != int(record["number"]):
                replaced += 1  # by a later one
                continue
            self._errors += level <= av.logging.ERROR
            if int(record["tag"]) in (0, self._tag):  # not of the slot's last owner
                found.append((level, *_parted(text)))
        if replaced and errors > self._errors:
            found += [(av.logging.ERROR, "", "")] * min(replaced, errors - self._errors)
            self._errors = errors
        return found


def _parted(line: bytes) -> tuple[str, str]:
    """Return the name and the text of a line of FFmpeg; an older text may lie behind it."""
    text, name = line.partition(b"\0")[0].decode("utf-8", "replace"), ""
    while match := _CONTEXT.match(text):
        name, text = match[1], text[match.end() :]
    return name, text


def _acquire() -> int:
    slots.callback()
    with _lock:
        if all(_owners):
            raise InputError(f"{len(_owners)} films are open at once; expected fewer")
        slot = _owners.index(False)
        _owners[slot] = True
        _install()
        return slot


def _release(slot: int) -> None:
    with _lock:
        slots.memory["header"][slot]["thread"] = 0
        slots.memory["header"][slot]["level"] = -1
        _owners[slot] = False
        if not any(_owners):
            _restore()


def _install() -> None:
    library, callback = libavutil(), slots.callback()
    if library is not None and callback is not None:
        library.av_log_set_callback(callback)


@register
def _restore() -> None:
    """Give the messages back to PyAV, which ignores them or not, as it was told."""
    av.logging.set_level(av.logging.get_level())


@contextmanager
def listening(level: int = av.logging.WARNING) -> Iterator[list[Message]]:
    """Collect what this thread logs; the list is filled when the block ends."""
    listener = Listener(level)
    messages: list[Message] = []
    try:
        with listener.here():
            try:
                yield messages
            finally:
                messages += listener.take()
    finally:
        listener.close()


def description(container: InputContainer) -> str:
    """Return FFmpeg's description of the container with all details."""
    with _describing:  # two at once would leave the level of one of them behind
        before = libav_level()
        av.logging.set_libav_level(av.logging.VERBOSE)  # fewer details at its default level
        try:
            with listening(av.logging.INFO) as messages:
                text: str = container.dumps_format()  # type: ignore[attr-defined,unused-ignore]
            return text + "".join(words for _, _, words in messages)
        finally:
            av.logging.set_libav_level(before)


def libav_level() -> int:
    """Return FFmpeg's own level, which PyAV can set but not get; its default if not found."""
    library = libavutil()
    return int(library.av_log_get_level()) if library is not None else av.logging.INFO
