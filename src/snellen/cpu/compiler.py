"""From Python functions to object files, by Numba, whose compiler is used without its run time.

The object file has an entry for C that gets arrays as Python objects and reads what it needs from
them, as NumPy's C interface defines it; a foreign call then costs as little as one of Numba's own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import compiler, types
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from snellen.cpu.external import External, Intrinsic
from snellen.cpu.machine import Code

HEAD = object.__basicsize__
"""Bytes of a Python object before its own fields."""
DATA, AXES, SHAPE, STRIDES, DTYPE, FLAGS = (HEAD + 8 * i for i in (0, 1, 2, 3, 5, 6))
"""Offsets of fields of NumPy's PyArrayObject."""
ORDER, NUMBER = HEAD + 10, HEAD + 12
"""Offsets of byte order and type number in NumPy's PyArray_Descr."""
CONTIGUOUS, ALIGNED = 0x1, 0x100
"""NumPy's NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED."""
SWAPPED = ord(np.dtype(np.int32).newbyteorder("S").byteorder)

BYTE, INT, LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
POINTER = BYTE.as_pointer()
Callees = Callable[[Callable[..., Any]], dict[str, Callable[..., Any]]]

OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False, "inline": "always"}


def loop(
    name: str, function: Callable[..., Any], arguments: tuple[str, ...], callees: Callees
) -> Code:
    """Compile a loop for types of arguments.

    Parameters
    ----------
    name : str
        Name of its entry: int32 entry(arguments …), with arrays as Python objects. It returns 0,
        or −1 without having done anything: an array's type or layout is another one.
    arguments : tuple of str
        As `compiled._type` writes them.
    callees : callable
        Returns what a function calls that is compiled, too, or made elsewhere, by its names.
    """
    kinds = tuple(_numba_type(one) for one in arguments)
    return _compiled(name, _linked(function, callees), kinds, INT)


def callback(name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Code:
    """Compile a function of numbers, by Numba's types, for callers in C: void name(arguments …)."""
    return _compiled(name, function, arguments, ir.VoidType())


def _compiled(name: str, function: Any, kinds: tuple[Any, ...], returned: Any) -> Code:
    with global_compiler_lock:
        return _entered(name, _lowered(function, kinds), kinds, returned)


def _entered(name: str, result: Any, kinds: tuple[Any, ...], returned: Any) -> Code:
    """Add an entry for C to a function that Numba has lowered, and finish it."""
    context, code = cpu_target.target_context, result.fndesc
    module = context.create_module(name)
    callee = ir.Function(
        module, context.call_conv.get_function_type(code.restype, code.argtypes),
        code.llvm_func_name,
    )  # fmt: skip
    passed = [POINTER if isinstance(one, types.Array) else context.get_value_type(one)
              for one in kinds]  # fmt: skip
    entry = ir.Function(module, ir.FunctionType(returned, passed), name)
    builder = ir.IRBuilder(entry.append_basic_block())
    values = list(entry.args)
    arrays = [i for i, kind in enumerate(kinds) if isinstance(kind, types.Array)]
    for i in arrays:
        with builder.if_then(builder.not_(_fits(builder, values[i], kinds[i])), likely=False):
            builder.ret(ir.Constant(INT, -1))
    for i in arrays:
        values[i] = _array(context, builder, values[i], kinds[i])
    status, _ = context.call_conv.call_function(
        builder, callee, code.restype, code.argtypes, values
    )
    if returned is INT:
        builder.ret(status.code)
    else:
        builder.ret_void()
    return _finished(result.library, module)


def _numba_type(text: str) -> Any:
    if text[-1] not in "CA":
        return getattr(types, text)
    dtype, axes, layout = text.split()
    array: Any = types.Array
    return array(numba.from_dtype(np.dtype(dtype)), int(axes), layout)


def _linked(function: Callable[..., Any], callees: Callees) -> Any:
    """Return a copy of a function for Numba: what it calls, too, is as Numba wants it."""
    names: dict[str, Any] = {}
    for name, one in callees(function).items():
        if isinstance(one, External):
            signature = types.void(*[types.uintp] * one.count)
            names[name] = types.ExternalFunction(one.symbol, signature)
        elif isinstance(one, Intrinsic):
            signature = types.float32(*[types.float32] * one.count)
            names[name] = types.ExternalFunction(one.symbol, signature)
        else:
            names[name] = numba.njit(**OPTIONS)(_linked(one, callees))
    return FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)


def _lowered(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Compile down to LLVM's language; the library that the result has is not finished."""
    numba_compiler: Any = compiler
    library_class: Any = _Library
    flags = numba_compiler.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model, flags.nrt = "numpy", False
    typing, context = cpu_target.typing_context, cpu_target.target_context
    typing.refresh()
    context.refresh()
    library = library_class(context.codegen(), function.__name__)
    return numba_compiler.compile_extra(
        typing, context, function, arguments, types.none, flags, {}, library
    )


class _Library(CPUCodeLibrary):
    """The modules of one loop, not optimised one by one before the whole is."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


def _finished(library: Any, module: Any) -> Code:
    """Add a module with the entry to a library, optimise all of it, and return the object file."""
    library.add_ir_module(module)
    whole, machine = library._final_module, library.codegen._tm
    for other in library._linking_libraries:
        if other is not rtsys.library:  # Numba's allocator, which no loop calls
            whole.link_in(other._get_module_for_linking(), preserve=True)
    for one in (*whole.functions, *whole.global_variables):
        if not one.is_declaration and one.name != module.name:
            one.linkage = "internal"
    options = llvm.create_pipeline_tuning_options()
    options.speed_level = 2
    options.loop_vectorization, options.slp_vectorization = True, False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(whole, builder)
    symbols = [one.name for one in (*whole.functions, *whole.global_variables)
               if one.is_declaration and not one.name.startswith("llvm.")]  # fmt: skip
    return Code(symbols, machine.emit_object(whole))


def _field(builder: Any, start: Any, offset: int, kind: Any) -> Any:
    place = builder.gep(start, [ir.Constant(LONG, offset)])
    return builder.load(builder.bitcast(place, kind.as_pointer()))


def _fits(builder: Any, array: Any, kind: Any) -> Any:
    """Return whether an array has this type, as a bit."""
    wanted = np.dtype(str(kind.dtype))
    dtype = _field(builder, array, DTYPE, POINTER)
    flags = ALIGNED | (CONTIGUOUS if kind.layout == "C" else 0)
    found = (
        (_field(builder, array, AXES, INT), INT, kind.ndim),
        (_field(builder, dtype, NUMBER, INT), INT, wanted.num),
        (builder.and_(_field(builder, array, FLAGS, INT), ir.Constant(INT, flags)), INT, flags),
    )
    fits = builder.icmp_unsigned("!=", _field(builder, dtype, ORDER, BYTE), BYTE(SWAPPED))
    for value, size, right in found:
        fits = builder.and_(fits, builder.icmp_signed("==", value, ir.Constant(size, right)))
    return fits


def _array(context: Any, builder: Any, array: Any, kind: Any) -> Any:
    """Return Numba's value of an array."""
    item = np.dtype(str(kind.dtype)).itemsize
    shape, strides = (
        [_field(builder, _field(builder, array, at, POINTER), 8 * i, LONG)
         for i in range(kind.ndim)] for at in (SHAPE, STRIDES)
    )  # fmt: skip
    value = context.make_array(kind)(context, builder)
    data = builder.bitcast(_field(builder, array, DATA, POINTER), value.data.type)
    context.populate_array(
        value, data=data, shape=shape, strides=strides, itemsize=ir.Constant(LONG, item),
        meminfo=None,
    )  # fmt: skip
    return value._getvalue()
