"""Enhancement of films: options as values, the order of the steps, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.jobs import Enhancement, Job, UpscaleJob, run
from snellen.jobs.events import Silent
from support.video.clips import luma, make, picture, read


class Notes(Silent):
    """Keeps notices and warnings."""

    def __init__(self):
        self.notices, self.warnings = [], []

    def notice(self, subject, message):
        self.notices.append(message)

    def warning(self, subject, message):
        self.warnings.append(message)


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """Three frames, exactly `picture(0)` … `picture(2)`."""
    return make(tmp_path_factory.mktemp("enhance") / "in.mkv", codec="ffv1", frames=3)


def enhanced(film, tmp_path, **options):
    """Run a job; return its summary, what was said, and what was written."""
    from snellen.jobs import Encoding, VideoOptions

    target, notes = tmp_path / "out.mkv", Notes()
    job = UpscaleJob(
        source=film, target=target, model="t91-x2", device="cpu",
        video=VideoOptions(encoding=Encoding("ffv1")), enhancement=Enhancement(**options),
    )  # fmt: skip
    result = run(Job.from_json(job.to_json()), notes)
    return result.summary, notes, read(target)


def test_nothing_is_the_default():
    assert not Enhancement()
    assert Enhancement(crop="8:8:0:0")
    assert Enhancement(crop="8:8:0:0").named() == ("crop",)


def test_a_part_is_enlarged(film, tmp_path):
    """As that part alone is, but for what the method sees beyond it."""
    summary, notes, found = enhanced(film, tmp_path, crop="32:24:8:4")
    assert summary.chain == (
        "64×48 4:2:0 8 bit", "crop 32:24:8:4", "32×24 4:2:0 8 bit", "upscale ×2",
        "64×48 4:2:0 8 bit",
    )  # fmt: skip
    assert notes.notices[-1] == "chain: " + " → ".join(summary.chain)
    expected = luma(picture(0))[4:28, 8:40].repeat(2, 0).repeat(2, 1)
    assert np.abs(luma(found.frames[0])[8:-8, 8:-8].astype(int) - expected[8:-8, 8:-8]).mean() < 4


@pytest.mark.parametrize(
    ("crop", "words"),
    [
        ("", "W:H:X:Y"),
        ("32x24", "W:H:X:Y"),
        ("0:24:0:0", "W:H:X:Y"),
        ("32:24:8", "W:H:X:Y"),
        ("32:24:8:26", "beyond"),
        ("32:24:7:4", "32:24:8:4|30:24:8:4"),
        ("31:24:8:4", "30:24:8:4"),
    ],
)
def test_a_wrong_part(film, tmp_path, crop, words):
    with pytest.raises(InputError, match=words) as caught:
        enhanced(film, tmp_path, crop=crop)
    assert caught.value.parameter == "crop"
    assert not (tmp_path / "out.mkv").exists()
