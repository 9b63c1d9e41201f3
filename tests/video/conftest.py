import threading

import pytest

from support.video.clips import make
from support.video.steps import Nearest


@pytest.fixture
def step():
    return Nearest()


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """One second of 64×48 at 25 frames/s with AAC."""
    return make(tmp_path_factory.mktemp("plain") / "plain.mp4", audio="aac")


@pytest.fixture(autouse=True)
def no_thread_left():
    """Fail a test that leaves a thread of the pipeline behind."""
    yield
    names = [t.name for t in threading.enumerate()]
    left = [name for name in names if name.partition(" ")[0] in ("decode", "encode", "worker")]
    assert not left


@pytest.fixture(scope="session")
def lossless(tmp_path_factory):
    """8 frames, exactly `picture(0)` … `picture(7)`."""
    return make(tmp_path_factory.mktemp("pairs") / "film.mkv", codec="ffv1", frames=8)
