"""The memory into which FFmpeg's messages are written, and the compiled callback that writes them.

A decoder's threads log too. If a callback took the interpreter's lock in such a thread, it could
wait for ever for a holder of the lock who waits for that thread. This one takes no lock at all.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import av.logging
import llvmlite.binding
import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from snellen.cpu.compiled import compiled_callback
from snellen.video.libavutil import libavutil

SLOTS = 256
"""Listeners that can be active at once."""
RECORDS = 512
"""Messages that a slot holds; a newer one replaces the oldest."""
_TEXT = 360
"""Bytes of a message."""

HEADER = np.dtype(
    [("tag", "i8"), ("thread", "i8"), ("level", "i8"), ("count", "i8"), ("errors", "i8")]
)
"""Which messages a slot takes (those whose level carries its tag, and those of a thread; up to a
level), how many came, and how many of these were errors."""
RECORD = np.dtype(
    [("number", "i8"), ("tag", "i8"), ("level", "i8"), ("prefix", "i8"), ("text", f"S{_TEXT}")]
)
"""A message; its number counts from 1 and is written last. The tag is that of its level."""
SLOT = np.dtype([("header", HEADER), ("records", RECORD, RECORDS)])

memory: npt.NDArray[Any] = np.zeros(SLOTS, SLOT)
"""All slots; never released, since a thread of FFmpeg may log at any time."""

_HEADER, _RECORD, _SLOT = HEADER.itemsize, RECORD.itemsize, SLOT.itemsize
_TAG, _THREAD, _LEVEL, _COUNT, _ERRORS = (HEADER.fields[n][1] for n in HEADER.names)  # type: ignore[index,union-attr]
_NUMBER, _AT_TAG, _AT_LEVEL, _PREFIX, _AT_TEXT = (RECORD.fields[n][1] for n in RECORD.names)  # type: ignore[index,union-attr]
_ERROR, _INFO = av.logging.ERROR, av.logging.INFO

_MEMORY = "snellen_log_memory"
_format_line: Any = types.ExternalFunction(
    "snellen_av_log_format_line",
    types.int32(
        types.uintp, types.int32, types.uintp, types.uintp, types.uintp, types.int32, types.uintp
    ),
)
_thread_ident: Any = types.ExternalFunction("snellen_thread_ident", types.uintp())

_LONG = ir.IntType(64)

# What the cache knows of compiled code leaves out these four: give them other names if they change.


def _base_code(typing: Any) -> Any:
    """Return the address of `memory`: a symbol, since machine code is cached for any process."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        symbol = builder.module.globals.get(_MEMORY)
        if symbol is None:
            symbol = ir.GlobalVariable(builder.module, ir.IntType(8), _MEMORY)
        return builder.ptrtoint(symbol, _LONG)

    return types.int64(), generate


def _load_code(typing: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _LONG.as_pointer())
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(types.int64), generate


def _store_code(typing: Any, address: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _LONG.as_pointer())
        builder.store_atomic(arguments[1], pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _increment_code(typing: Any, address: Any) -> Any:
    """Add 1; return the value before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _LONG.as_pointer())
        return builder.atomic_rmw("add", pointer, ir.Constant(_LONG, 1), "seq_cst")

    return types.int64(types.int64), generate


_base: Any = intrinsic(_base_code)
_load: Any = intrinsic(_load_code)
_store: Any = intrinsic(_store_code)
_increment: Any = intrinsic(_increment_code)


def _search(tag: int) -> Any:
    """Return the address of the slot with this tag or, for tag 0, of this thread; 0: none."""
    if tag != 0:
        slot = _base() + _SLOT * (tag % SLOTS)
        return slot if _load(slot + _TAG) == tag else 0
    ident = _thread_ident()
    for number in range(SLOTS):
        slot = _base() + _SLOT * number
        if _load(slot + _THREAD) == ident:
            return slot
    return 0


_slot_of: Any = numba.njit(_search)


def _callback(context: int, level: int, text: int, arguments: int) -> None:
    """Write a message into the slot that takes it.

    `arguments` is a va_list: a pointer, or passed as one, in every calling convention that PyAV is
    built for (System V x86-64, AArch64, Windows, macOS).
    """
    plain = level & 0xFF  # above it: a colour, and the tag from bit 16 on
    if level < 0 or plain > _INFO:
        return
    slot = _slot_of(level >> 16)
    if slot == 0 or plain > _load(slot + _LEVEL):
        return
    number = _increment(slot + _COUNT)
    if plain <= _ERROR:
        _increment(slot + _ERRORS)
    record = slot + _HEADER + _RECORD * (number % RECORDS)
    _store(record + _NUMBER, 0)
    _store(record + _AT_TAG, level >> 16)
    _store(record + _AT_LEVEL, plain)
    _store(record + _PREFIX, 1)
    _format_line(context, plain, text, arguments, record + _AT_TEXT, _TEXT, record + _PREFIX)
    _store(record + _NUMBER, number + 1)


@cache
def callback() -> int | None:
    """Return the address of the compiled callback; None: PyAV's libavutil was not found."""
    library = libavutil()
    if library is None:
        return None
    for name, function in (
        (_format_line.symbol, library.av_log_format_line2),
        (_thread_ident.symbol, ctypes.pythonapi.PyThread_get_thread_ident),
    ):
        llvmlite.binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    llvmlite.binding.add_symbol(_MEMORY, memory.ctypes.data)
    arguments = (types.uintp, types.int32, types.uintp, types.uintp)
    made = compiled_callback(_callback, types.void, arguments)
    _kept.append(made)
    return int(made.address)


_kept: list[Any] = []
