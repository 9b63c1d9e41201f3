"""FFmpeg's log callback, which Numba compiles: imported only where no compiled one is kept.

A decoder's threads log too. If a callback took the interpreter's lock in such a thread, it could
wait for ever for a holder of the lock who waits for that thread. This one takes no lock at all.
"""

from __future__ import annotations

from typing import Any

import av.logging
import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from snellen.cpu import compiler, machine
from snellen.video.logs.layout import HEADER, RECORD, RECORDS, SLOT, SLOTS, TEXT

FORMAT, THREAD, MEMORY = "snellen_av_log_format_line", "snellen_thread_ident", "snellen_log_memory"
"""Symbols: FFmpeg's av_log_format_line2, Python's PyThread_get_thread_ident, the slots."""

_HEADER, _RECORD, _SLOT = HEADER.itemsize, RECORD.itemsize, SLOT.itemsize
_TAG, _THREAD, _LEVEL, _COUNT, _ERRORS = (HEADER.fields[n][1] for n in HEADER.names)  # type: ignore[index,union-attr]
_NUMBER, _AT_TAG, _AT_LEVEL, _PREFIX, _AT_TEXT = (RECORD.fields[n][1] for n in RECORD.names)  # type: ignore[index,union-attr]
_ERROR, _VERBOSE = av.logging.ERROR, av.logging.VERBOSE

_format_line: Any = types.ExternalFunction(
    FORMAT,
    types.int32(
        types.uintp, types.int32, types.uintp, types.uintp, types.uintp, types.int32, types.uintp
    ),
)
_thread_ident: Any = types.ExternalFunction(THREAD, types.uintp())

_LONG = ir.IntType(64)


def _base_code(typing: Any) -> Any:
    """Return the address of `memory`: a symbol, since machine code is cached for any process."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        symbol = builder.module.globals.get(MEMORY)
        if symbol is None:
            symbol = ir.GlobalVariable(builder.module, ir.IntType(8), MEMORY)
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


_slot_of: Any = numba.njit(**compiler.OPTIONS)(_search)


def _callback(context: int, level: int, text: int, arguments: int) -> None:
    """Write a message into the slot that takes it."""
    # `arguments` is a va_list: a pointer, or passed as one, in every calling convention that PyAV
    # is built for (System V x86-64, AArch64, Windows, macOS).
    plain = level & 0xFF  # above it: a colour, and the tag from bit 16 on
    if level < 0 or plain > _VERBOSE:
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
    _format_line(context, plain, text, arguments, record + _AT_TEXT, TEXT, record + _PREFIX)
    _store(record + _NUMBER, number + 1)


def code(name: str) -> machine.Code:
    """Compile the callback as a C function of this name."""
    return compiler.callback(name, _callback, (types.uintp, types.int32, types.uintp, types.uintp))
