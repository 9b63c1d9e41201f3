"""Frames in flight while their neighbours need them: on streams that run late and in any order."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.filters.nlm.cuda import backend
from snellen.filters.nlm.step import Denoiser
from snellen.frames.frame import Format, Frame
from support.fake_cupy import disordered

FORMAT = Format(7, 6, 8, (1, 1))
RADIUS = 2


@pytest.fixture(params=range(4))
def fake(request, monkeypatch):
    yield from disordered(request.param, monkeypatch)


def group_of(fake):
    """In place of `Group`: sums of frames, each times its place, and of the middle one's samples.

    Like kernels these go through scratch that all frames share.
    """

    class Group:
        def __init__(self, settings, planes, source, target):
            from cupy import empty

            self.planes = planes
            self.scratch = [empty(shape, np.int64) for shape in source.shapes[planes]]

        def estimate(self, planes, threshold):
            fake.kernel(lambda *a: [sum(int(one.sum()) for one in a), 1], planes, threshold)

        def denoise(self, frames, given, threshold, out):
            for number, frame in enumerate(frames):
                for plane, scratch in zip(frame, self.scratch, strict=True):
                    fake.kernel(
                        lambda kept, one, there, n=number: (
                            (kept if n else 0) + there[n] * (n + 1) * one.astype(np.int64)
                        ),
                        [scratch, plane, given], scratch,
                    )  # fmt: skip
            for scratch, plane in zip(self.scratch, out, strict=True):
                fake.kernel(lambda kept, t: (kept + int(t[0])) % 251, [scratch, threshold], plane)

    return Group


def wanted(frames, at):
    found = []
    for place, planes in enumerate(zip(*frames, strict=True)):
        group = frames[at][:1] if place == 0 else frames[at][1:]
        total = sum(int(one.sum()) for one in group)
        for k in range(2 * RADIUS + 1):
            if 0 <= at + k - RADIUS < len(frames):
                total = total + (k + 1) * planes[at + k - RADIUS].astype(np.int64)
        found.append(total % 251)
    return found


@pytest.mark.parametrize("there", [False, True])
def test_each_frame_by_those_around_it(fake, monkeypatch, there):
    """Two runs of films, one shorter than the window; frames are dropped once they are pushed."""
    from cupy import empty

    monkeypatch.setattr(backend, "Group", group_of(fake))
    random = np.random.default_rng(fake.random.randrange(99))
    step = Denoiser(radius=RADIUS, device="cpu")
    step.device = "cuda:0"
    step.prepare(FORMAT, on_device=there)
    for count in (9, 2, 1, 0):
        frames = [
            [random.integers(0, 256, shape, np.uint8) for shape in FORMAT.shapes]
            for _ in range(count)
        ]
        out = []
        for number, planes in enumerate(frames):
            given = list(planes)
            if there:
                given = [empty(plane.shape, plane.dtype) for plane in planes]
                for array, plane in zip(given, planes, strict=True):
                    fake.kernel(lambda p=plane: p, [], array)
                fake.null.synchronize()
            out += step.push(Frame(tuple(given), pts=number))
            del given
        out += step.push(None)
        assert [frame.pts for frame in out] == list(range(count))
        for at, frame in enumerate(out):
            if there:
                frame.ready.synchronize()
            for plane, expected in zip(frame.planes, wanted(frames, at), strict=True):
                np.testing.assert_array_equal(plane.get() if there else plane, expected)
    step.close()
