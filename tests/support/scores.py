"""Fixtures of tests of scoring files: films, images, folders."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.stills.still import Still, write
from support.mad.pairs import authors
from support.video.clips import make

FRAMES = 6


@pytest.fixture(scope="session")
def films(tmp_path_factory):
    """A film, and two encodes, the second worse; better ones score 0 on so small a picture."""
    folder = tmp_path_factory.mktemp("films")
    return [
        make(folder / "film.mkv", codec="ffv1", frames=FRAMES),
        make(folder / "good.mp4", frames=FRAMES, options={"crf": "45"}),
        make(folder / "bad.mp4", frames=FRAMES, options={"crf": "51"}),
    ]


@pytest.fixture(scope="session")
def clips(tmp_path_factory):
    """A film of 36 frames, enough for ST-MAD, and a bad encode."""
    folder = tmp_path_factory.mktemp("clips")
    return [
        make(folder / "film.mkv", codec="ffv1", frames=36),
        make(folder / "bad.mp4", frames=36, options={"crf": "45"}),
    ]


@pytest.fixture
def images(tmp_path):
    """The authors' pairs here as files, with their scores."""
    found = []
    for pair in authors():
        paths = [tmp_path / f"{pair.name}_{side}.png" for side in ("ref", "dst")]
        for path, pixels in zip(paths, (pair.reference, pair.distorted), strict=True):
            write(path, Still(pixels))
        found.append((*paths, pair.scores))
    return found


@pytest.fixture
def folders(tmp_path, random):
    """Two folders of three images of one size."""
    found = [tmp_path / "one", tmp_path / "two"]
    for folder in found:
        folder.mkdir()
        for name in "abc":
            write(folder / f"{name}.png", Still(random.integers(0, 256, (50, 52), np.uint8)))
    return found
