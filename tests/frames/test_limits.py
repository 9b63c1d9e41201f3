"""Sizes that a header claims: refused before anything of that size is allocated."""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames import limits
from snellen.stills.still import Still, header, read, write


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width, height, *more):
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", head), *more, chunk(b"IDAT", zlib.compress(b"x")), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def bmp(width, height):
    return b"BM" + struct.pack(
        "<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0
    )


def tiff(width, height, compression=1):
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, compression),
            (262, 3, 1, 2), (273, 4, 1, 8), (277, 3, 1, 3), (278, 4, 1, height),
            (279, 4, 1, 100)]  # fmt: skip
    entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + entries + bytes(200)


CLAIMS = {
    "a.png": png, "a.bmp": bmp, "a.tif": tiff, "lzw.tif": lambda w, h: tiff(w, h, 5),
    "a.ppm": lambda w, h: f"P6\n{w} {h}\n255\n".encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_beyond_the_limit(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(CLAIMS[name](100_000, 100_000))
    for reader in (read, header):
        with pytest.raises(InputError, match="got 100000×100000, 10,000,000,000 pixels; expected"):
            reader(path)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_that_the_file_cannot_hold(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(CLAIMS[name](9000, 9000))
    with limits.at_most(10**9), pytest.raises(InputError, match=r"more than .* bytes can hold"):
        read(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [b"zTXt", b"iCCP"])
def test_metadata_that_inflate_to_much(tmp_path, kind):
    body = b"k\0\0" + zlib.compress(bytes(10**8), 9)
    (tmp_path / "a.png").write_bytes(png(8, 8, chunk(kind, body)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="too large"):
        read(tmp_path / "a.png")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


def test_the_limit_of_a_block(tmp_path):
    path = tmp_path / "a.png"
    write(path, Still(np.zeros((10, 10), np.uint8)))
    with limits.at_most(100):
        assert read(path).pixels.shape == (10, 10)
    with limits.at_most(99), pytest.raises(InputError, match="max_pixels") as caught:
        read(path)
    assert caught.value.parameter == "max_pixels" and "memory" not in str(caught.value)


def test_flat_pictures_are_not_refused(tmp_path):
    """What compresses best of all that we write."""
    for suffix in (".png", ".tif", ".webp", ".bmp", ".ppm", ".jpg"):
        path = tmp_path / f"a{suffix}"
        write(path, Still(np.zeros((1500, 1500), np.uint8)))
        assert read(path).pixels.shape[:2] == (1500, 1500)


def test_the_default_goes_by_memory_and_growth():
    assert limits.memory() > 1 << 20
    with limits.at_most(None, 1):
        small = limits.greatest(), limits.greatest(film=True)
    with limits.at_most(None, 16):
        large = limits.greatest(), limits.greatest(film=True)
    assert small[0] > large[0] > 0 and small[1] > large[1] > 0 and small[0] > small[1]


@pytest.mark.parametrize(
    ("line", "file"),
    [("0::/job/one", "job/memory.max"), ("0::/job/one", "memory.max"),
     ("4:cpu,memory:/job/one", "memory/job/one/memory.limit_in_bytes"),
     ("4:memory:/job/one", "memory/memory.limit_in_bytes")],
)  # fmt: skip
def test_a_limit_of_a_control_group_counts(tmp_path, monkeypatch, line, file):
    """Of cgroup v2 and v1, of the process's own group and of those around it."""
    told = tmp_path / "cgroup"
    told.write_text(f"2:cpu:/other\n{line}\n")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("123456789\n")
    (tmp_path / "memory.limit_in_bytes").write_text("5")  # of no group
    monkeypatch.setattr(limits, "_CGROUPS", tmp_path)
    monkeypatch.setattr(limits, "_OWN_GROUPS", told)
    limits.memory.cache_clear()
    try:
        assert limits.memory() == 123456789
    finally:
        limits.memory.cache_clear()


def test_a_limit_of_the_process_counts():
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))\n"
        "from snellen.frames import limits; assert limits.memory() <= 1 << 33"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
