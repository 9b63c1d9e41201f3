"""Loops compiled by Numba, without the interpreter lock and kept on disk."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps

from snellen import caches

KIND = "loops"
CONSTANTS = (bool, int, float, complex, str, tuple, np.generic)


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile a function when it is first called with a set of types.

    The machine code is kept on disk, see `caches`; not by Numba's own cache, which runs whatever it
    finds in its folder, and fails where a file of it is damaged or a disk is full. If no folder can
    be written (a service account in a read-only container), every process compiles anew.
    Floating-point arithmetic follows IEEE 754: fastmath is off.
    """
    made = numba.njit(nogil=True)(loop)
    # Where NUMBA_DISABLE_JIT is set, Numba returns the function itself.
    if hasattr(made, "_cache") and not loop.__closure__:
        made._cache = _Kept(loop)
    return made


def compiled_callback(
    function: Callable[..., Any], returned: Any, arguments: tuple[Any, ...]
) -> Any:
    """Compile a function for callers in C, who get its `address`; it is kept as loops are.

    It takes the interpreter's lock only to report an exception, of which there must be none.
    """
    made: Any = CFunc(function, (arguments, returned), locals={}, options={})
    made._cache = _Kept(function)
    made.compile()
    return made


class _Kept(NullCache):
    """Machine code of one function on disk, by the types of its arguments, as Numba asks for it.

    Parameters
    ----------
    loop : callable
    """

    def __init__(self, loop: Callable[..., Any]):
        self._loop = loop

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature; None where it is not kept."""
        rebuild: Any = CompileResult._rebuild
        target_context.refresh()
        if (found := caches.read(KIND, self._key(sig, target_context.codegen()))) is None:
            return None
        try:
            return rebuild(target_context, *pickle.loads(found))
        except Exception:  # of another Numba, say: it is compiled anew
            return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the code for a signature, where it can be kept."""
        if cres.lifted or cres.library.has_dynamic_globals:
            return
        dump: Any = dumps
        try:
            content: bytes = dump(cres._reduce())
        except Exception:  # it works, and takes its time at each start
            return
        caches.write(KIND, self._key(sig, cres.codegen), content)

    def _key(self, sig: Any, codegen: Any) -> str:
        versions = numba.__version__, np.__version__, sys.version_info[:2]
        parts = (versions, _meaning(self._loop), str(sig), codegen.magic_tuple())
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def _meaning(loop: Callable[..., Any], seen: tuple[Any, ...] = ()) -> list[object]:
    """Return all that the machine code of a function depends on, but for the types of arguments.

    That is its own code, and constants and compiled functions that it finds by a global name.
    """
    found: list[object] = [loop.__qualname__, loop.__defaults__]
    for code in _codes(loop.__code__):
        constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
        found += [code.co_code, constants, code.co_names, code.co_varnames]
        for name in code.co_names:
            value = loop.__globals__.get(name)
            if callable(inner := getattr(value, "py_func", None)):
                if inner not in seen:
                    found += _meaning(inner, (*seen, loop, inner))
            elif isinstance(value, np.ndarray):
                found.append((name, value.dtype, value.shape, value.tobytes()))
            elif isinstance(value, ModuleType):
                found += [(one, getattr(value, one, None)) for one in code.co_names
                          if isinstance(getattr(value, one, None), CONSTANTS)]  # fmt: skip
            elif isinstance(value, CONSTANTS):
                found.append((name, value))
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code, and that of its comprehensions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


if hasattr(os, "register_at_fork"):
    # A fork waits for the thread that compiles: the child would wait for its lock for ever.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
