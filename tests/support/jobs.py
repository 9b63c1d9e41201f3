"""Fixtures of tests of jobs and commands: pictures, files, films, and events that are kept."""

from __future__ import annotations

import av
import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.stills.still import Still, write

WIDTH, HEIGHT, FRAMES = 24, 20, 4
FORMAT = Format(WIDTH, HEIGHT, 8, (1, 1))
"""Of the frames of `clip`."""


class Heard:
    """Events, kept in the order in which they came."""

    def __init__(self):
        self.steps, self.warnings, self.frames = [], [], []

    def progress(self, progress):
        self.steps.append(progress)

    def warning(self, subject, message):
        self.warnings.append((subject, message))

    def frame(self, subject, frame):
        self.frames.append((subject, frame))


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def picture(random):
    """A maker of pictures with edges."""

    def draw(shape=(HEIGHT, WIDTH), white=255):
        steps = random.integers(0, white, (*(-(-side // 5) for side in shape[:2]), *shape[2:]))
        large = steps.repeat(5, 0).repeat(5, 1)[: shape[0], : shape[1]]
        return large.astype(np.uint8 if white < 256 else np.uint16)

    return draw


@pytest.fixture
def saved(tmp_path):
    """A maker of image files."""

    def save(name, pixels, **facts):
        write(tmp_path / name, Still(pixels, **facts))
        return tmp_path / name

    return save


@pytest.fixture
def frames(random):
    """Planes of frames with edges that move."""
    steps = random.integers(20, 230, (8, 10)).astype(np.uint8).repeat(5, 0).repeat(5, 1)
    lumas = [steps[n : n + HEIGHT, 2 * n : 2 * n + WIDTH] for n in range(FRAMES)]
    shape = HEIGHT // 2, WIDTH // 2
    return [[luma, *random.integers(16, 240, (2, *shape), np.uint8)] for luma in lumas]


@pytest.fixture
def clip(frames, tmp_path):
    """A film of these frames, y4m."""
    return write_y4m(tmp_path / "clip.y4m", frames)


def write_y4m(path, frames):
    """Write frames of 4:2:0, 8 bit, each three planes; return the path."""
    height, width = frames[0][0].shape
    head = f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420mpeg2\n".encode()
    pictures = [b"FRAME\n" + b"".join(p.tobytes() for p in frame) for frame in frames]
    path.write_bytes(head + b"".join(pictures))
    return path


def planes(path):
    """Return the decoded planes of every frame, by PyAV alone."""
    with av.open(str(path)) as container:
        found = []
        for frame in container.decode(video=0):
            views = [np.frombuffer(p, np.uint8).reshape(-1, p.line_size) for p in frame.planes]
            widths = [frame.width, -(-frame.width // 2), -(-frame.width // 2)]
            found.append([v[:, :w].copy() for v, w in zip(views, widths, strict=True)])
    return found


def coded(restored):
    """Return code values of restored luma of limited range."""
    return np.rint(np.clip(16 + np.float32(219) * restored, 0, 255)).astype(np.uint8)


def same(found, lumas, frames):
    """Check that these are the lumas, and the chroma of the given frames."""
    assert len(found) == len(lumas) == len(frames)
    for one, luma, given in zip(found, lumas, frames, strict=True):
        assert (one[0] == luma).all()
        assert all((a == b).all() for a, b in zip(one[1:], given[1:], strict=True))
