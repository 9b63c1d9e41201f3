"""Segments that end in any order: the film is that of one worker."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import pytest

from snellen.video.convert import Encoding, Segments
from snellen.video.segments import cuts, store
from snellen.video.segments.encode import encode_segment
from snellen.video.segments.manifest import read_manifest
from snellen.video.segments.values import Cut, Record
from support.video.clips import make, read
from support.video.converting import convert
from support.video.steps import Nearest

KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "bf": "2", "preset": "veryfast"}


class Backwards:
    """Takes three tasks, and does the last of them first."""

    slots = 3

    def __init__(self, step, meter):
        self.step, self.meter, self.tasks, self.done = step, meter, [], []

    def submit(self, task):
        assert len(self.tasks) < self.slots
        self.tasks.append(task)

    def wait(self):
        task = self.tasks.pop()
        self.done.append(task.number)
        return encode_segment(task, self.step, self.meter)


def run(source, target, workers=None):
    folder = target.with_name(f"{target.name}.segments")
    how = Segments(folder, {}, lambda text: None, workers=workers)
    convert(source, target, Nearest(), encoding=Encoding(preset="ultrafast", crf=0),
            segments=how)  # fmt: skip
    assert not folder.exists()
    found = read(target)
    return [[bytes(plane) for plane in frame.planes] for frame in found.frames], found.times


def check(source, tmp_path):
    executors = []

    @contextmanager
    def workers(device, given, bits, meter):
        step = Nearest()
        step.prepare(given.picture.format, bits)
        executors.append(Backwards(step, meter))
        yield executors[0]

    one = run(source, tmp_path / "one.mkv")
    assert one == run(source, tmp_path / "several.mkv", workers)
    return executors[0].done


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})


@pytest.mark.slow
def test_segments_may_end_in_any_order(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=60, size=(64, 48), options=KEYS)
    assert check(source, tmp_path) == [3, 4, 5, 2, 1]


@pytest.mark.slow
def test_a_segment_that_began_too_late_is_made_again_when_the_one_before_is_finished(tmp_path):
    """Key frames of the container that are none, and frames that say when the refresh is over."""
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=240,
                  options={**KEYS, "intra-refresh": "1", "bf": "0"})  # fmt: skip
    done = check(source, tmp_path)
    assert len(done) > len(set(done))


def test_the_manifest_is_not_written_again_for_each_record(tmp_path):
    """Films of thousands of segments: the last one costs no more than the first."""
    film = store.Store(tmp_path / "film.segments", {})
    cut = Cut(number=1, begin=None, end=None, stop=None, frames=9, first=None)
    film.begin(store.Cuts(Fraction(1, 25), Fraction(0), None, None, 3,
                          tuple(replace(cut, number=n) for n in range(1, 6))))  # fmt: skip
    before = (film.folder / "manifest.json").stat()
    record = Record(number=1, frames=9, first=None, after=None, delay=0, size=0, checksum="",
                    headers="", device="cpu")  # fmt: skip
    for number in range(1, 6):
        film.add(replace(record, number=number))
    after = (film.folder / "manifest.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    sizes = {one.stat().st_size for one in film.folder.glob("*.record")}
    assert len(sizes) == 1
    film.leave()
    again = store.Store(film.folder, {})
    again.open()
    assert again.records == {n: replace(record, number=n) for n in range(1, 6)}
    again.joined(None)
    found = read_manifest(film.folder)
    assert found is not None
    assert list(found["segments"]) == ["1", "2", "3", "4", "5"]
    again.leave()
