"""Ways to harm the bytes of a file. Those that know formats take their fields from `fields.py`."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable

from fuzz.case import Random
from fuzz.fields import fields

Mutator = Callable[[Random, bytearray], None]

_NUMBERS = (0, 1, 2, 7, 8, 255, 256, 32767, 32768, 65535, 65536, 1 << 24, (1 << 31) - 1, 1 << 31,
            (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
_BYTES = (0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF)
_WORDS = (b"0", b"1", b"-1", b"2", b"65536", b"2147483648", b"4294967295", b"99999999999999999999",
          b"1e308", b"nan", b"inf", b"null", b"[]", b"{}", b'"x"', b"\x1b[31m", b"%s", b"\0",
          b"F8_E4M3", b"I64", b"BF16", b"|O", b">f8", b"1" * 5000)  # fmt: skip


def mutated(random: Random, data: bytes, other: bytes = b"") -> tuple[bytes, str]:
    """Return the data after one to four harms, and their names; `other` is for a splice."""
    changed = bytearray(data)
    names = []
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        mutator = random.choices(MUTATORS, WEIGHTS)[0]
        if mutator is splice:
            changed[:] = spliced(random, changed, other or bytes(data))
        else:
            mutator(random, changed)
        names.append(mutator.__name__)
    return bytes(changed), "+".join(names)


def _place(random: Random, data: bytearray) -> int:
    """Return an offset: often near the front, where headers are."""
    if random.random() < 0.25:
        return random.randrange(min(len(data), 200) or 1)
    return random.randrange(len(data) or 1)


def _block(random: Random, data: bytearray) -> tuple[int, int]:
    share = random.choice((0.001, 0.01, 0.05, 0.25))
    size = max(1, round(len(data) * share))
    start = _place(random, data)
    return start, min(len(data), start + size)


def flip_bits(random: Random, data: bytearray) -> None:
    for _ in range(random.choice((1, 3, 10, 50))):
        if data:
            data[_place(random, data)] ^= 1 << random.randrange(8)


def set_bytes(random: Random, data: bytearray) -> None:
    for _ in range(random.choice((1, 2, 8))):
        if data:
            data[_place(random, data)] = random.choice(_BYTES)


def zero_block(random: Random, data: bytearray) -> None:
    start, end = _block(random, data)
    data[start:end] = bytes(end - start)


def noise_block(random: Random, data: bytearray) -> None:
    start, end = _block(random, data)
    data[start:end] = random.randbytes(end - start)


def remove_block(random: Random, data: bytearray) -> None:
    start, end = _block(random, data)
    del data[start:end]


def double_block(random: Random, data: bytearray) -> None:
    start, end = _block(random, data)
    data[start:start] = data[start:end]


def swap_blocks(random: Random, data: bytearray) -> None:
    start, end = _block(random, data)
    other = random.randrange(max(1, len(data) - (end - start)))
    one, two = data[start:end], data[other : other + end - start]
    data[start:end], data[other : other + end - start] = two, one


def truncate(random: Random, data: bytearray) -> None:
    keep = random.choice((random.random(), random.random() ** 0.1, random.random() ** 8))
    del data[int(len(data) * keep) :]


def append(random: Random, data: bytearray) -> None:
    data += random.choice((b"\0" * 100, random.randbytes(300), bytes(data[:500]), bytes(data)))


def resize_field(random: Random, data: bytearray) -> None:
    """Take any 4 bytes for a length, big or little endian, and make it another."""
    if len(data) < 8:
        return
    order, place = random.choice("<>"), min(_place(random, data), len(data) - 4)
    value = struct.unpack_from(order + "I", data, place)[0]
    struct.pack_into(order + "I", data, place, _other(random, value) & 0xFFFFFFFF)


def field(random: Random, data: bytearray) -> None:
    """Change one to three fields of the headers that the format has."""
    found = fields(bytes(data))
    for place, size, order in random.sample(found, min(len(found), random.choice((1, 1, 3)))):
        if place + size > len(data):
            continue
        value = int.from_bytes(data[place : place + size], order)
        new = _other(random, value) & ((1 << (8 * size)) - 1)
        data[place : place + size] = new.to_bytes(size, order)
    if random.random() < 0.9:
        repair_png(data)


def word(random: Random, data: bytearray) -> None:
    """Change a number or a word in the text at the front: y4m, PNM, .npy, JSON, positions."""
    front = bytes(data[: random.choice((100, 3000))])
    found = [m.span() for m in re.finditer(rb"\d+|[A-Za-z_]{2,}|<[fiu]\d", front)]
    if found:
        start, end = random.choice(found)
        data[start:end] = random.choice(_WORDS)


def magic(random: Random, data: bytearray) -> None:
    """Keep the first bytes only, and let noise follow."""
    data[random.choice((4, 8, 12, 16, 64)) :] = random.randbytes(random.choice((0, 20, 2000)))


def empty(random: Random, data: bytearray) -> None:
    data.clear()


def splice(random: Random, data: bytearray) -> None:
    """Stand for `spliced`, which needs a second file."""


def spliced(random: Random, data: bytes, other: bytes) -> bytes:
    """Return the front of one file and the end of another."""
    return (
        bytes(data[: random.randrange(len(data) + 1)]) + other[random.randrange(len(other) + 1) :]
    )


def repair_png(data: bytearray) -> None:
    """Write right checksums, so that a PNG's new fields are not refused for the old ones."""
    place = 8
    while data[:4] == b"\x89PNG" and place + 12 <= len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        end = place + 8 + size
        if end + 4 > len(data):
            return
        struct.pack_into(">I", data, end, zlib.crc32(data[place + 4 : end]))
        place = end + 4


def _other(random: Random, value: int) -> int:
    return random.choice((
        value + random.choice((-1, 1, -8, 8, 1000)), value * 2, value // 2, -value, value << 16,
        value ^ (1 << random.randrange(32)), random.choice(_NUMBERS), random.choice(_NUMBERS),
    ))  # fmt: skip


MUTATORS: tuple[Mutator, ...] = (
    flip_bits, set_bytes, zero_block, noise_block, remove_block, double_block, swap_blocks,
    truncate, append, resize_field, field, word, magic, empty, splice,
)  # fmt: skip
WEIGHTS = (4, 3, 4, 3, 3, 2, 2, 4, 1, 3, 8, 1.5, 0.4, 0.1, 2)
