"""Machine code of this process: kept on disk as an object file, loaded without the compiler.

Importing Numba and starting it takes longer than the work on one picture. An object file needs
LLVM's loader only, which llvmlite has.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm

from snellen import caches

KIND = "loops"

LOCK = threading.RLock()
"""Held while code is compiled or loaded."""
_state: dict[str, Any] = {}


class Code(NamedTuple):
    """An object file."""

    symbols: list[str]
    """Functions and variables that it uses and does not define."""
    content: bytes
    """The file."""


def address(entry: str, meaning: object, make: Callable[[str], Code]) -> int:
    """Return the address of a function, whose code is read from disk or made now.

    Parameters
    ----------
    entry : str
        What its name in the object file begins with.
    meaning : object
        All that the code depends on besides the processor and LLVM; its `repr` counts.
    make : callable
        Compiles the code for a name.
    """
    with LOCK:
        key = hashlib.sha256(repr((meaning, target())).encode()).hexdigest()
        name = f"{entry}_{key[:32]}"
        if (found := caches.read(KIND, key)) is not None and (code := _unpacked(found)) is not None:
            return _loaded(code, name)
        caches.compiling(KIND)
        code = make(name)
        caches.write(KIND, key, json.dumps(code.symbols).encode() + b"\n" + code.content)
        return _loaded(code, name)


def define(symbol: str, address: int) -> None:
    """Let machine code that is loaded from now on find a function or variable in C by a name."""
    llvm.add_symbol(symbol, address)


def target() -> tuple[Any, ...]:
    """Return what decides, besides the source, which machine code is made."""
    if "target" not in _state:
        settings = sorted(one for one in os.environ.items() if one[0].startswith("NUMBA_"))
        _state["target"] = (
            llvmlite.__version__, llvm.get_process_triple(), llvm.get_host_cpu_name(),
            llvm.get_host_cpu_features().flatten(), settings,
        )  # fmt: skip
    found: tuple[Any, ...] = _state["target"]
    return found


def _unpacked(content: bytes) -> Code | None:
    """Return the code of a file; None: it is of another kind, or needs what is not loaded here."""
    try:
        head, _, body = content.partition(b"\n")
        symbols = json.loads(head)
        # LLVM would end the process if it did not find one of them.
        known = all(llvm.address_of_symbol(symbol) is not None for symbol in symbols)
    except (ValueError, TypeError, AttributeError):
        return None
    return Code(symbols, body) if known else None


def _loaded(code: Code, name: str) -> int:
    if "engine" not in _state:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
            codemodel="jitdefault", jit=True
        )
        _state["engine"] = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine = _state["engine"]
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.content))
    engine.finalize_object()
    return int(engine.get_function_address(name))


if hasattr(os, "register_at_fork"):
    # A fork waits for the thread that compiles: the child would wait for its locks for ever.
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )
