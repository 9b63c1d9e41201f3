"""What is opened: the files that were named, whatever their names look like, and nothing else.

strace watches a process that reads files of all kinds. Beside each lies bait: what FFmpeg, Pillow
or a pattern would make of the name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from snellen.stills.still import Still, write
from support.video.clips import make

STEMS = [
    b"http:localhost:9?", b"x%03d", b"x%d", b"y*", b"y?", b"[y]", b"-x", b"a\nb", b"C:x", b"pipe:0",
    b"data:image,x", b"concat:a|b", b"subfile,,start,0,end,9,,:x", b"cache:x", b"async:x",
    b"file:x",
    b"crypto:x", b"tcp:localhost:9", b"l" * 250, b"\xff\xfe", b"x;touch y", b"$(touch y)", b"`y`",
]  # fmt: skip
BAIT = [b"x000", b"x001", b"x1", b"y1", b"a", b"b", b"x", b"y", b"b"]

STILL = "from snellen.stills.still import read; read(path)"
FILM = """
from snellen.video.clip import Clip
from snellen.video.source.decode import Source
source = Source(path, Clip())
list(source.items()); source.close()
"""
READERS = {
    "still": (".png", np.uint8, STILL),
    "header": (".png", np.uint8, "from snellen.stills.still import header; header(path)"),
    "deep": (".tif", np.uint16, STILL),
    "deep_png": (".png", np.uint16, STILL),
    "training": (".png", np.uint8, "from snellen_lab.protocol import luma; luma(path)"),
    "film": (".mkv", None, FILM),
    "psf_image": (".png", "psf", "from snellen.jobs.options.psf_files import read; read(path)"),
    "psf": (".npy", "array", "from snellen.jobs.options.psf_files import read; read(path)"),
    "positions": (".txt", b"1,2\n", "from snellen.jobs.options.positions import Region\n"
                  "Region(3, 4, positions=path).track()"),
    "model": (".st", "model", "from snellen.files.tensors import read; read(path)"),
}  # fmt: skip
LISTS = {
    "hls.mkv": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nbait.mkv\n#EXT-X-ENDLIST\n",
    "concat.mkv": "ffconcat version 1.0\nfile bait.mkv\n",
    "sdp.mkv": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=video 9999 RTP/AVP 96\n",
    "eps.png": "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(bait.mkv) run\n",
    "svg.png": '<svg xmlns="http://www.w3.org/2000/svg"><image href="bait.mkv"/></svg>',
    "msl.png": '<image><read filename="bait.mkv"/></image>',
    "dash.mkv": '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><BaseURL>bait.mkv</BaseURL>',
}
PROGRAM = """
import os, sys
from pathlib import Path
def one(path):
    {reader}
for name in open("names", "rb").read().split(b"\\0"):
    path = Path(os.fsdecode(name))
    try:
        one(path)
    except Exception as error:
        if {must_read}:
            raise
"""


def watched(folder, reader, must_read):
    """Run a reader over the files that `names` lists; return what it opened in the folder."""
    if shutil.which("strace") is None:
        pytest.skip("no strace here")
    body = reader.strip().replace("\n", "\n    ")
    program = PROGRAM.format(reader=body, must_read=must_read)
    log = folder.parent / "strace.log"
    calls = "trace=open,openat,connect,socket,execve,fork,vfork"
    done = subprocess.run(
        ["strace", "-f", "-xx", "-s", "5000", "-e", calls, "-o", log,
         sys.executable, "-c", program],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    text = log.read_text() if log.exists() else ""
    if "ptrace" in done.stderr and not text:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    assert text.count("execve(") == 1
    assert not re.search(r"connect\(|socket\(AF_INET", text)
    opened = set()
    for line in text.splitlines():
        if found := re.search(r'open(?:at\(AT_FDCWD, |\()"((?:\\x[0-9a-f]{2})*)"', line):
            name = bytes.fromhex(found[1].replace("\\x", ""))
            path = folder / os.fsdecode(name)
            if folder == path.parent or folder in path.parents:
                opened.add(os.fsencode(path.name))
    return opened - {b"names"}


def content(kind, folder):
    """Return the bytes of a file that the reader takes."""
    path = folder / "made"
    if isinstance(kind, bytes):
        return kind
    if kind is None:
        return make(path.with_suffix(".mkv"), frames=3).read_bytes()
    if kind == "array":
        np.save(path.with_suffix(".npy"), np.ones((3, 3)))
        return path.with_suffix(".npy").read_bytes()
    if kind == "model":
        from snellen.upscaling.shipped import files

        return next(iter(files().values())).read_bytes()
    shape, dtype = ((3, 3), np.uint8) if kind == "psf" else ((6, 7, 3), kind)
    path = path.with_suffix(".tif" if kind == np.uint16 else ".png")
    write(path, Still(np.full(shape, 9, dtype)))
    return path.read_bytes()


@pytest.mark.parametrize("reader", READERS)
def test_names_are_only_names(tmp_path, reader):
    suffix, kind, code = READERS[reader]
    folder = tmp_path / "in"
    folder.mkdir()
    data, end = content(kind, tmp_path), os.fsencode(suffix)
    names = [stem + end for stem in STEMS]
    for name in [*names, *(bait + end for bait in BAIT), *BAIT]:
        (folder / os.fsdecode(name)).write_bytes(data)
    (folder / "names").write_bytes(b"\0".join(names))
    assert watched(folder, code, must_read=True) == set(names)


@pytest.mark.parametrize("reader", ["still", "film"])
def test_contents_that_name_other_files(tmp_path, reader):
    folder = tmp_path / "in"
    folder.mkdir()
    make(folder / "bait.mkv", frames=3)
    for name, text in LISTS.items():
        (folder / name).write_text(text)
    (folder / "names").write_bytes(b"\0".join(os.fsencode(name) for name in LISTS))
    opened = watched(folder, READERS[reader][2], must_read=False)
    assert opened == {os.fsencode(name) for name in LISTS}
