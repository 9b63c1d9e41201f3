"""Registers and memory that kernels use, read from their machine code: a cubin, an ELF file.

The compiler's log says the same, but there is none where NVRTC takes code from a cache of its own,
as it does on machines with a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import iter_unpack, unpack_from

from snellen.errors import DeviceError
from snellen.gpu.loaded import Usage
from snellen.gpu.nvrtc import Binary

BEGIN, NAMES = (0x28, "<Q"), (0x3C, "<HH")  # where sections begin; their number, and whose names
SECTION, SYMBOL = "<IIQQQQIIQQ", "<IBBHQQ"
SYMBOLS = 2  # the kind of a section
VALUE, STACK, REGISTERS = 4, 0x12, 0x2F  # in .nv.info: a number of a symbol, and what it counts
RESERVED = 1024  # bytes of a block's shared memory that are CUDA's own, and counted from Hopper on


@dataclass(frozen=True)
class _Section:
    """A section of an ELF file."""

    name: str
    kind: int
    size: int
    data: bytes
    names: int
    """Number of the section with the names of its symbols."""


def usage(binary: Binary, name: str) -> Usage:
    """Return the use of registers and memory of the kernel with this name."""
    found = usages(binary.code).get(name)
    if found is None:
        raise DeviceError(
            f'{binary.file}: the compiled code has no kernel {name!r}; is it extern "C"? '
            f"The compiler said: {binary.log.strip() or 'nothing'}"
        )
    return found


def usages(code: bytes) -> dict[str, Usage]:
    """Return the use of each kernel of a cubin, by its name."""
    sections = _sections(code)
    named = {section.name: section for section in sections}
    table = next(section for section in sections if section.kind == SYMBOLS)
    symbols = [_text(sections[table.names].data, at) for at, *_ in iter_unpack(SYMBOL, table.data)]
    found: dict[str, dict[int, int]] = {}
    for attribute, symbol, number in _attributes(named[".nv.info"].data):
        found.setdefault(symbols[symbol], {})[attribute] = number
    reserved = RESERVED if ".nv.shared.reserved.0" in named else 0
    used = {}
    for name, numbers in found.items():
        if REGISTERS in numbers:  # a kernel, and no function that kernels call
            shared = named.get(f".nv.shared.{name}")
            held = shared.size - reserved if shared else 0
            used[name] = Usage(numbers[REGISTERS], held, numbers[STACK])
    return used


def _sections(code: bytes) -> list[_Section]:
    (begin,), (count, own) = (unpack_from(kind, code, at) for at, kind in (BEGIN, NAMES))
    found = list(iter_unpack(SECTION, code[begin : begin + 64 * count]))
    names = code[found[own][4] :]
    return [
        _Section(_text(names, name), kind, size, code[at : at + size], link)
        for name, kind, _, _, at, size, link, *_ in found
    ]


def _attributes(info: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield attribute, symbol and number of each entry of .nv.info that has these."""
    at = 0
    while at < len(info):
        kind, attribute, size = unpack_from("<BBH", info, at)
        at += 4
        if kind == VALUE:
            if size == 8:
                yield (attribute, *unpack_from("<II", info, at))
            at += size


def _text(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode()
