"""Files that filters write: by the film alone, whole, and by no check."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from snellen.errors import InputError, OutputError
from snellen.video.clip import Clip
from snellen.video.filtering.overlaps import reach
from snellen.video.filtering.parse import parse
from snellen.video.filtering.side_files import SideFiles, check, outputs, silent, written
from snellen.video.filtering.step import FilterStep
from snellen.video.source.decode import Source
from support.video.clips import make

WRITING = {
    "metadata": "signalstats,metadata=print:file={}",
    "by place": "signalstats,metadata=print:lavfi.signalstats.YMIN:-1:greater:1:{}",
    "a URL": "signalstats,metadata=mode=print:file='file\\:{}'",
    "deshake": "deshake=filename={}",
    "vmafmotion": "vmafmotion={}",
    "curves": "curves=plot={}:all=0/0 1/1",
}
"""Chains that are taken."""
REFUSED = {
    "psnr": "psnr=stats_file={}", "ssim": "ssim=f={}", "xpsnr": "xpsnr={}",
    "ssim360": "ssim360=stats_file={}", "ametadata": "ametadata=print:file={}",
    "a later one": "metadata=print:file={},psnr",
    "an unknown one": "metadata=print:file={},nothing",
    "a wrong option": "metadata=print:file={},hflip=1:2",
}  # fmt: skip


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return make(tmp_path_factory.mktemp("side") / "in.mkv", frames=3)


def run(film, chain, files):
    """Send the film's frames through a chain; return how many come out."""
    with closing(Source(film, Clip())) as source:
        step = FilterStep(parse(chain, "vf"), source.info, "vf", files=files)
        try:
            step.prepare(source.info.picture.format)
            frames = [item.frame for item in source.items() if item.frame is not None]
            return sum(len(list(step.push(frame))) for frame in (*frames, None))
        finally:
            step.close()


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("chain", WRITING.values(), ids=WRITING)
def test_a_film_writes_the_file_when_it_is_complete(film, tmp_path, chain, there):
    path = tmp_path / "notes.log"
    if there:
        path.write_text("before")
    parsed = parse(chain.format(path), "vf")
    assert outputs(parsed) == (path,)
    assert reach(parsed) is None
    with SideFiles() as files:
        assert run(film, chain.format(path), files) == 3
        assert (path.read_text() == "before") if there else not path.exists()
        files.finish()
    text = path.read_text()
    assert len(text) > 20 and "before" not in text
    if "metadata" in chain:
        assert [line.split()[0] for line in text.splitlines() if line.startswith("frame:")] == [
            "frame:0", "frame:1", "frame:2"
        ]  # fmt: skip


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("chain", [*REFUSED.values(), *WRITING.values()], ids=[*REFUSED, *WRITING])
def test_nothing_else_writes(film, tmp_path, chain, there):
    """Neither what is refused nor frames of a run that is not the film's."""
    path = tmp_path / "notes.log"
    if there:
        path.write_text("before")
    if chain in REFUSED.values():
        with (
            pytest.raises(InputError, match=r"inputs|no filter|set up|makes"),
            SideFiles() as files,
        ):
            run(film, chain.format(path), files)
    else:
        run(film, chain.format(path), None)
        with SideFiles() as files:
            run(film, chain.format(path), files)  # the film was not completed
    assert (path.read_text() == "before") if there else not path.exists()


def test_the_last_run_of_a_film_counts(film, tmp_path):
    """As where the CPU does again what a GPU had not the memory for."""
    path = tmp_path / "notes.log"
    chain = f"signalstats,metadata=print:file={path}"
    with SideFiles() as files:
        run(film, chain, files)
        run(film, chain, files)
        files.finish()
    assert path.read_text().count("frame:") == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_is_said(film):
    with SideFiles() as files:
        run(film, "signalstats,metadata=print:file=/dev/full", files)
        with pytest.raises(OutputError, match="/dev/full: No space left"):
            files.finish()


def test_what_is_no_file_gets_the_text(film):
    read, write = os.pipe()
    try:
        with SideFiles() as files:
            run(film, f"signalstats,metadata=print:file=/proc/self/fd/{write}", files)
            files.finish()
        assert os.read(read, 10) == b"frame:0   "
    finally:
        os.close(read)
        os.close(write)


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        check(tmp_path / "none" / "notes.log")
    with pytest.raises(InputError, match="is a folder"):
        check(tmp_path)
    check(tmp_path / "notes.log")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "chain",
    [r"metadata=print:key=a\\:b:file='a b,c.log',crop=w=iw/2:h=ih",
     "hflip,metadata=mode=print:file=x.log:function=less:value=3",
     r"curves@one=plot=a\\\\b:r='0/0 1/1'"],
)  # fmt: skip
def test_only_the_file_is_another_one(chain):
    """And what is written again as a chain is read as the same filters."""
    parsed = parse(chain, "vf")
    quiet = silent(parsed)
    assert len(outputs(parsed)) == 1 and outputs(quiet) == (Path(os.devnull),)
    assert parse(written(parsed), "vf") == parsed
    assert parse(written(quiet), "vf") == quiet
    assert [(one.name, one.instance) for one in quiet] == [(o.name, o.instance) for o in parsed]


@pytest.mark.parametrize("chain", ["hflip", "lut3d=a.cube", "curves=psfile=a.acv", "metadata=print",
                                   "sendcmd=f=a.txt", "select=gt(scene\\,0.1)"])  # fmt: skip
def test_what_writes_no_file_is_left_as_it_is(chain):
    parsed = parse(chain, "vf")
    assert outputs(parsed) == () and silent(parsed) == parsed
