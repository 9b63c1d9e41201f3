"""Runs in segments that are compared with those in one piece, and that die."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from snellen.video.convert import Encoding, Segments
from snellen.video.steps.chain import Chain
from support.video.clips import make, read
from support.video.converting import convert
from support.video.steps import Nearest

LOSSLESS = Encoding(preset="ultrafast", crf=0)
MS = Fraction(1, 1000)


class Run:
    """One run, with what it says."""

    def __init__(self, source, target, step=None, job=None, encoding=LOSSLESS, **settings):
        self.said = []
        how = {name: settings.pop(name) for name in ("keep", "discard") if name in settings}
        folder = target.with_name(f"{target.name}.segments")
        segments = Segments(folder, job or {"job": {"crf": 0}}, self.said.append, **how)
        self.folder, self.step = folder, step or Nearest()
        self.error = None
        try:
            self.summary = convert(
                source, target, self.step, encoding=encoding, segments=segments, **settings
            )
        except Exception as error:
            self.error = error


class KilledError(Exception):
    """What stands for a kill."""


class Dying(Nearest):
    """A step that ends after so many frames."""

    def __init__(self, frames):
        super().__init__()
        self._left = frames

    def run(self, frame):
        self._left -= 1
        if self._left < 0:
            raise KilledError
        return super().run(frame)


class Mortal(Dying):
    """A step that does nothing, and ends after so many frames."""

    def outcome(self, format, frames):
        return format

    def prepare(self, format, bits=None, *, on_device=False):
        return format

    def run(self, frame):
        self._left -= 1
        if self._left < 0:
            raise KilledError
        return frame

    def alpha(self):
        return Mortal(10**9)


def same(one, other, tolerance=0):
    """Two files hold the same frames, times and packets of other streams."""
    a, b = read(one), read(other)
    assert len(a.frames) == len(b.frames)
    differ = [abs(x - y) for x, y in zip(a.times, b.times, strict=True)]
    assert max(differ) <= tolerance
    for x, y in zip(a.frames, b.frames, strict=True):
        for p, q in zip(x.planes, y.planes, strict=True):
            assert bytes(p) == bytes(q)
    assert a.types == b.types
    assert a.chapters == b.chapters
    video = a.types.index("video")
    for index in a.packets:
        if index != video:
            assert [data for _, data in a.packets[index]] == [d for _, d in b.packets[index]]
            moved = [abs(x - y) for (x, _), (y, _) in zip(a.packets[index], b.packets[index],
                                                         strict=True)]  # fmt: skip
            assert max(moved, default=0) <= tolerance


KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "bf": "2", "preset": "veryfast"}


def check(source, tmp_path, suffix=".mkv", tolerance=0, step=Nearest, after=30, **settings):
    """Work on a film whole, in segments, and in segments with a kill; all results are the same."""
    whole, cut, again = (tmp_path / f"{name}{suffix}" for name in ("whole", "cut", "again"))
    convert(source, whole, step(), encoding=settings.get("encoding", LOSSLESS),
            clip=settings.get("clip"))  # fmt: skip
    run = Run(source, cut, step(), **settings)
    assert run.error is None, run.error
    assert "segments" in run.said[0], run.said
    assert not run.folder.exists()
    same(whole, cut, tolerance)
    dying = Dying(after) if step is Nearest else Chain(Mortal(after), step())
    assert isinstance(Run(source, again, dying, **settings).error, KilledError)
    assert not again.exists()
    second = Run(source, again, step(), **settings)
    assert second.error is None
    assert any("goes on" in text for text in second.said)
    if step is Nearest:
        assert second.step.ran < run.step.ran
    same(cut, again)
    return run


DIFFICULT = ("open", "refresh", "variable", "ts", "edits")


def difficult(kind, folder, frames=60):
    """Make a film at whose cuts something is special."""
    from support.video.edits import skipping

    options = {
        "open": {"flags": "-cgop", "x264-params": "open-gop=1"},
        "refresh": {"intra-refresh": "1", "bf": "0"},
    }.get(kind, {})
    settings = {"rate": Fraction(12), "frames": frames, "audio": "aac"}
    if kind == "variable":
        draw = np.random.default_rng(5)
        times = np.cumsum(draw.integers(10, 160, frames)).tolist()
        settings = {"times": times, "time_base": MS}
    suffix = {"ts": ".ts", "edits": ".mp4"}.get(kind, ".mkv")
    if kind == "ts":
        settings["audio"] = "mp2"
    source = make(folder / f"in{suffix}", options={**KEYS, **options}, **settings)
    return skipping(source, folder / "edits.mp4", Fraction(1, 3)) if kind == "edits" else source
