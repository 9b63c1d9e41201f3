"""What tests of jobs share: pictures, files, films, and events that are kept."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.still import Still, write

WIDTH, HEIGHT, FRAMES = 24, 20, 4


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
    head = f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip A1:1 C420mpeg2\n".encode()
    pictures = [b"FRAME\n" + b"".join(p.tobytes() for p in frame) for frame in frames]
    (tmp_path / "clip.y4m").write_bytes(head + b"".join(pictures))
    return tmp_path / "clip.y4m"
