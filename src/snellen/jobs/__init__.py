"""Jobs: what a run is, as values, and the functions that run them.

::

    job = UpscaleJob(source="a.mkv", target="b.mkv", scale=2)
    text = job.to_json()                       # a file, a queue, another machine …
    result = run(UpscaleJob.from_json(text))   # an UpscaleResult

The functions for files (`snellen.upscale_file` …) and the command line make jobs and run them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from snellen import _loaded

__all__ = [
    "Bar", "Clip", "CompareJob", "CompareResult", "DeblurJob", "DeblurResult", "DryRun", "Encoding",
    "Enhancement", "Events", "Job", "MadSettings", "MiaSettings", "NetworkSettings", "PairScore",
    "PreviewResult", "Progress", "Region", "ScoreJob", "ScoreResult", "ScoreRow", "ScoreTable",
    "Settings", "Silent", "TrainJob", "TrainResult", "UpscaleJob", "UpscaleResult", "VideoOptions",
    "dry_run", "join_plan", "preview", "run", "run_segments", "run_several", "score_pairs",
    "write_plan",
]  # fmt: skip

if TYPE_CHECKING:
    from snellen.aplus.training import Settings as Settings
    from snellen.cnn.training import NetworkSettings as NetworkSettings
    from snellen.jobs.bar import Bar as Bar
    from snellen.jobs.calls.dry import DryRun as DryRun
    from snellen.jobs.calls.dry import dry_run as dry_run
    from snellen.jobs.calls.execute import run as run
    from snellen.jobs.calls.pair_scores import PairScore as PairScore
    from snellen.jobs.calls.pair_scores import score_pairs as score_pairs
    from snellen.jobs.calls.plans import join_plan as join_plan
    from snellen.jobs.calls.plans import run_segments as run_segments
    from snellen.jobs.calls.plans import write_plan as write_plan
    from snellen.jobs.calls.previews import PreviewResult as PreviewResult
    from snellen.jobs.calls.previews import preview as preview
    from snellen.jobs.calls.several import run_several as run_several
    from snellen.jobs.events import Events as Events
    from snellen.jobs.events import Progress as Progress
    from snellen.jobs.events import Silent as Silent
    from snellen.jobs.kinds.compare import CompareJob as CompareJob
    from snellen.jobs.kinds.compare import CompareResult as CompareResult
    from snellen.jobs.kinds.deblur import DeblurJob as DeblurJob
    from snellen.jobs.kinds.deblur import DeblurResult as DeblurResult
    from snellen.jobs.kinds.enhance import Enhancement as Enhancement
    from snellen.jobs.kinds.score import ScoreJob as ScoreJob
    from snellen.jobs.kinds.score import ScoreResult as ScoreResult
    from snellen.jobs.kinds.train import TrainJob as TrainJob
    from snellen.jobs.kinds.train import TrainResult as TrainResult
    from snellen.jobs.kinds.upscale import UpscaleJob as UpscaleJob
    from snellen.jobs.kinds.upscale import UpscaleResult as UpscaleResult
    from snellen.jobs.options.methods import MadSettings as MadSettings
    from snellen.jobs.options.methods import MiaSettings as MiaSettings
    from snellen.jobs.options.options import VideoOptions as VideoOptions
    from snellen.jobs.options.positions import Region as Region
    from snellen.jobs.options.serial import Job as Job
    from snellen.jobs.steps.score_table import ScoreRow as ScoreRow
    from snellen.jobs.steps.score_table import ScoreTable as ScoreTable
    from snellen.video.clip import Clip as Clip
    from snellen.video.sink.encoding import Encoding as Encoding

_NAMES = {
    "aplus.training": "Settings",
    "cnn.training": "NetworkSettings",
    "jobs.bar": "Bar",
    "jobs.calls.dry": "DryRun dry_run",
    "jobs.calls.execute": "run",
    "jobs.calls.pair_scores": "PairScore score_pairs",
    "jobs.calls.plans": "join_plan run_segments write_plan",
    "jobs.calls.previews": "PreviewResult preview",
    "jobs.calls.several": "run_several",
    "jobs.events": "Events Progress Silent",
    "jobs.kinds.compare": "CompareJob CompareResult",
    "jobs.kinds.deblur": "DeblurJob DeblurResult",
    "jobs.kinds.enhance": "Enhancement",
    "jobs.kinds.score": "ScoreJob ScoreResult",
    "jobs.kinds.train": "TrainJob TrainResult",
    "jobs.kinds.upscale": "UpscaleJob UpscaleResult",
    "jobs.options.methods": "MadSettings MiaSettings",
    "jobs.options.options": "VideoOptions",
    "jobs.options.positions": "Region",
    "jobs.options.serial": "Job",
    "jobs.steps.score_table": "ScoreRow ScoreTable",
    "video.clip": "Clip",
    "video.sink.encoding": "Encoding",
}
"""Modules of the package, and what is public of each."""
_HOME = {name: f"snellen.{module}" for module, names in _NAMES.items() for name in names.split()}


if not TYPE_CHECKING:  # which would find any name in the module

    def __getattr__(name: str) -> object:
        """Import a name when it is first used."""
        if name not in _HOME:
            raise AttributeError(f"module 'snellen.jobs' has no attribute {name!r}")
        if sys.is_finalizing():
            return _loaded(name, __name__)
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
