"""Facts about how a report was made."""

from __future__ import annotations

from types import SimpleNamespace

from snellen.jobs import Clip, CompareJob
from snellen.jobs.kinds.score import FILM
from snellen.jobs.reports.facts import of_run


def test_numbers_of_frames_are_no_options():
    """A report about another job chooses them itself."""
    job = CompareJob(
        reference="a.mkv", variants=("b.mkv",), target="r.html", every=3, clip=Clip(frames=60),
        metrics=("psnr",),
    )  # fmt: skip
    method, table = SimpleNamespace(device="cpu"), SimpleNamespace(models={})
    result = SimpleNamespace(method=method, kind=FILM, offset=0, table=table)
    found = dict(of_run(job, [result], 1.0))
    words = found["Settings"].split(", ")
    assert {"60 frames", "one frame of 3", "metrics=psnr"} <= {*words}
    assert not any(one.startswith(("frames=", "every=")) for one in words)
