"""Filters that make many frames of one, or keep many: what is in memory of these."""

from __future__ import annotations

import mmap
from itertools import islice

import pytest

from snellen.errors import InputError
from snellen.frames import limits
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.filtering import graph
from snellen.video.filtering.parse import parse
from snellen.video.filtering.step import FilterStep
from snellen.video.source.decode import Source
from snellen.video.steps.chain import Chain
from support.video.clips import make, read
from support.video.converting import convert
from support.video.steps import Nearest

PICTURE = 64 * 48 * 3 // 2


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return make(tmp_path_factory.mktemp("many") / "in.mkv", codec="ffv1", frames=20)


def chain_of(info, *chains):
    steps = [FilterStep(parse(one, "vf"), info, "vf") for one in chains]
    return steps[0] if len(steps) == 1 else Chain(*steps)


def opened(film, *chains):
    """A prepared step for a film, and the frames of the film."""
    source = Source(film, Clip())
    try:
        frames = [item.frame for item in source.items() if item.frame is not None]
        step = chain_of(source.info, *chains)
        step.prepare(source.info.picture.format)
        return step, frames
    finally:
        source.close()


CHAINS = [
    ("zoompan=d=20:s=64x48",),
    ("loop=loop=40:size=3",),
    ("fps=500",),
    ("reverse",),
    ("tile=2x2",),
    ("zoompan=d=10:s=64x48", "fps=50"),
    ("null", "zoompan=d=9:s=64x48"),
]


@pytest.mark.slow
@pytest.mark.cases(len(CHAINS))
@pytest.mark.parametrize("chains", CHAINS)
def test_a_bound_of_memory_changes_no_result(film, chains, monkeypatch):
    """Whatever part of them is taken at once."""
    found = []
    for ahead in (1 << 28, 2 * PICTURE):
        monkeypatch.setattr(graph, "_AHEAD", ahead)
        step, frames = opened(film, *chains)
        found.append([made for frame in [*frames, None] for made in step.push(frame)])
    assert len(found[0]) > 4
    for one, other in zip(*found, strict=True):
        assert (one.pts, one.duration) == (other.pts, other.duration)
        assert all((a == b).all() for a, b in zip(one.planes, other.planes, strict=True))


def test_frames_are_made_when_they_are_needed(film, monkeypatch):
    """Of 20,000 only those that are taken, and a few ahead."""
    monkeypatch.setattr(graph, "_AHEAD", 4 * PICTURE)
    step, frames = opened(film, "zoompan=d=20000:s=64x48")
    found = list(islice(step.push(frames[0]), 50))
    assert len(found) == 50 and step._graph._given < 60


def test_a_film_of_many_frames_of_one(film, tmp_path, monkeypatch):
    """As a slow zoom into a picture: those in the pipeline are few."""
    monkeypatch.setattr(graph, "_AHEAD", 6 * PICTURE)
    alive = []

    class Watched(Nearest):
        def run(self, frame):
            if late.step._graph is not None:  # the last frame comes when it has ended
                alive.append(late.step._graph._given - self.ran)
            return super().run(frame)

    def late(info):
        late.step = FilterStep(parse("zoompan=d=300:s=64x48", "vf"), info, "vf")
        return Chain(late.step, Watched(1)), info

    out = tmp_path / "out.mkv"
    convert(film, out, late, clip=Clip(frames=2), encoding=Encoding("ffv1"))
    assert len(read(out).frames) == 600
    assert max(alive) < 16


@pytest.mark.parametrize(("chain", "keeps"), [("reverse", True), ("select=0", False)])
def test_frames_that_filters_keep_are_bounded_by_the_memory(film, monkeypatch, chain, keeps):
    """The process grows by those that are kept, and not by those that are dropped."""
    size, step, frames = [1 << 20], *opened(film, chain)
    monkeypatch.setattr(limits, "memory", lambda: 20 * PICTURE)

    def resident():
        size[0] += PICTURE * keeps * graph._CHECKED
        return size[0]

    monkeypatch.setattr(limits, "resident", resident)
    step._start()
    if not keeps:
        assert [list(step.push(frame)) for frame in frames] == [[]] * len(frames)
        return
    with pytest.raises(InputError, match=r"keep 16 frames in memory, .*duration") as caught:
        for frame in frames:
            list(step.push(frame))
    assert caught.value.parameter == "vf"


def test_the_memory_of_this_process():
    before = limits.resident()
    if before is None:
        pytest.skip("this system does not say it")
    with mmap.mmap(-1, 64 << 20) as held:  # NumPy might get memory that this process has already
        held[:: mmap.PAGESIZE] = bytes([1]) * (len(held) // mmap.PAGESIZE)
        assert limits.resident() - before > 48 << 20
