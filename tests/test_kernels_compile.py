"""Every kernel of the package compiles for each architecture it declares, and spills nothing.

A stage that gets a kernel gets a row in CASES. No GPU is needed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snellen import bicubic
from snellen.cli import doctor
from snellen.frame import CENTRE, LEFT, TOP_LEFT
from snellen.kernel import Kernel
from snellen.nvrtc import PACKAGE

# Each stage's kernels, with the constants of the models that ship.
CASES = [
    doctor.KERNEL,
    *(
        bicubic.kernel(*case)
        for case in (
            (2, LEFT, "uint8", "uint8"),
            (3, TOP_LEFT, "uint16", "uint8"),
            (4, CENTRE, "float32", "float32"),
            (4, LEFT, "uint16", "uint16"),
        )
    ),
]

HERE = Path(__file__).parent / "kernels"


def check(kernel, arch):
    used = kernel.compile(arch).usage(kernel.name)
    assert used.local <= kernel.spills, (
        f"{kernel!r} for {arch}: each thread takes {used.local} bytes of local memory "
        f"({used.spilled} spilled; {used.registers} registers), {kernel.spills} are declared"
    )


@pytest.mark.parametrize(
    ("kernel", "arch"),
    [pytest.param(k, arch, id=f"{k!r}-{arch}") for k in CASES for arch in k.arches],
)
def test_compiles_and_spills_nothing(nvrtc, kernel, arch):
    check(kernel, arch)


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.cu")), ids=lambda file: file.stem)
def test_every_kernel_of_every_file_is_checked(nvrtc, file):
    checked = [kernel for kernel in CASES if kernel.file == file]
    assert checked, f"{file} has no row in CASES"
    compiled = {
        name
        for kernel in checked
        for name in re.findall("entry function '(.*?)'", kernel.compile(kernel.arches[0]).log)
    }
    assert compiled == {kernel.name for kernel in checked}


@pytest.mark.parametrize(("name", "declared"), [("spills", 400), ("indexed", 396)])
def test_local_memory_fails_the_check(nvrtc, name, declared):
    kernel = Kernel(HERE / "add.cu", name, weight=1, spills=declared)
    with pytest.raises(AssertionError, match=rf"add.cu, {name}.* for sm_80: .* {declared} are"):
        check(kernel, "sm_80")


def test_declared_local_memory_passes(nvrtc):
    check(Kernel(HERE / "add.cu", "indexed", weight=1, spills=400), "sm_80")
