"""The step that deblurs luma: regions and bursts in flight."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import Deblurrer
from snellen.frames.frame import Format, Frame
from snellen.jobs.steps.deblur_step import DeblurStep, FrameFits
from snellen.video.channel import in_flight
from snellen.video.steps.region import RegionStep
from snellen.video.steps.track import Track


class Deferred(Deblurrer):
    """A Deblurrer that keeps pictures in flight: each is restored when its result is asked for."""

    slots = 3
    most = outstanding = begun = 0

    def submit(self, image):
        Deferred.begun += 1
        Deferred.outstanding += 1
        Deferred.most = max(Deferred.most, Deferred.outstanding)
        given = image.copy()

        def result():
            Deferred.outstanding -= 1
            return self.run(given)

        return result


@pytest.mark.parametrize("window", [1, 3])
def test_regions_and_bursts_are_in_flight(monkeypatch, random, window):
    """As many as the Deblurrer has slots; the first is begun as the step is prepared."""
    settings = {"psf_size": 3, "iterations": 2}
    frames = [
        Frame((random.integers(16, 235, (20, 24), np.uint8),), number, 1) for number in range(7)
    ]
    format, track = Format(24, 20), Track(16, 12, ((4, 6),))
    found = []
    for kind in (Deblurrer, Deferred):
        monkeypatch.setattr("snellen.jobs.steps.deblur_step.Deblurrer", kind)
        fits = FrameFits(lambda row: None, keep=True)
        step = RegionStep(DeblurStep(settings, "cpu", None, window, False, fits), track)
        Deferred.begun = Deferred.most = 0
        step.prepare(format)
        assert fits.rows == [] and Deferred.begun == (kind is Deferred)
        found.append([one.planes[0] for one in in_flight(step.submit, frames, step.traits.slots)])
        assert [row.frame for row in fits.rows] == list(range(7)) and len(fits.psfs) == 7
        step.close()
    assert Deferred.most == 3 and Deferred.begun == 8
    for one, other in zip(*found, strict=True):
        assert one.shape == (12, 16) and (one == other).all()
