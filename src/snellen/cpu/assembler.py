"""From LLVM's language to object files, for loops that need more than Numba's language says."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm
from llvmlite import ir

from snellen.cpu import machine

PLACE = "entry_of_this_module"
"""Name of the function of a module that `address` takes."""


def address(name: str, module: ir.Module) -> int:
    """Return the address of the function called PLACE of a module, compiled now or before.

    Parameters
    ----------
    name : str
        What its name in the object file begins with.
    module : ir.Module
        It calls nothing but intrinsics that are instructions.
    """
    text = str(module)

    def make(entry: str) -> machine.Code:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        parsed = llvm.parse_assembly(text.replace(PLACE, entry))
        parsed.verify()
        target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
            llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(),
            codemodel="jitdefault", jit=True,
        )  # fmt: skip
        options = llvm.create_pipeline_tuning_options()
        options.speed_level = 2
        options.loop_vectorization = options.slp_vectorization = False
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(parsed, builder)
        return machine.Code([], target.emit_object(parsed))

    return machine.address(name, text, make)


@cache  # llvmlite has a lock, which a child that is forked meanwhile would find taken for ever
def registers() -> tuple[int, int]:
    """Return the number of vector registers of this processor, and float32 values in one."""
    triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 32, 16
    if triple.startswith(("aarch64", "arm64")):
        return 32, 4
    return 16, 8 if features.get("avx") else 4
